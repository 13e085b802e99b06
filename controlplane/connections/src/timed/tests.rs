use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::{sleep, timeout};

use super::*;
use crate::{ConnectionTimeouts, serving};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
/// Far apart, so that a machine that is busy elsewhere does not take one for the other.
const LIMITS: Limits = Limits { idle: Duration::from_secs(3), head: SHORT };
const SHORT: Duration = Duration::from_millis(300);

/// A peer of a connection that is served as both planes do.
#[expect(clippy::disallowed_methods, reason = "ends with the connection")]
fn peer(limits: Limits) -> DuplexStream {
    let (ours, theirs) = duplex(64 * 1024);
    let routes = Router::new()
        .route("/", get(async || "done"))
        .route("/slow", get(async || sleep(3 * SHORT).await))
        .route("/body", post(async |body: Body| axum::body::to_bytes(body, 100).await.map(|_| "read").unwrap()));
    let clock = Clock::default();
    let stream = Timed::new(ours, clock.clone(), limits);
    tokio::spawn(async move {
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(None);
        let _ = builder.serve_connection(TokioIo::new(stream), serving(clock, routes, |_| ())).await;
    });
    theirs
}

/// What comes until the answer is whole.
async fn answer(peer: &mut DuplexStream) -> String {
    let mut answer = String::new();
    while !answer.contains("\r\n\r\n") || !answer.ends_with(['e', 'd', '\n']) {
        let mut bytes = [0; 1_024];
        let count = peer.read(&mut bytes).await.unwrap();
        assert_ne!(count, 0, "it was closed after {answer:?}");
        answer.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    answer
}

/// How long it takes until the connection is closed.
async fn closed_after(peer: &mut DuplexStream) -> Duration {
    let began = Instant::now();
    let mut rest = Vec::new();
    timeout(Duration::from_mins(1), peer.read_to_end(&mut rest)).await.unwrap().unwrap();
    began.elapsed()
}

#[test]
fn the_limits_are_longer_than_a_balancers_and_a_setting() {
    let limits = ConnectionTimeouts::DEFAULT.limits();
    assert_eq!((limits.idle.as_secs(), limits.head.as_secs()), (75, 10));
    assert_eq!(ConnectionTimeouts { http_idle_secs: 5 }.limits().idle.as_secs(), 5);
}

#[tokio::test]
async fn a_connection_lives_between_two_requests_and_not_for_ever() {
    let mut peer = peer(LIMITS);
    for _ in 0..3 {
        sleep(LIMITS.idle / 2).await;
        peer.write_all(REQUEST).await.unwrap();
        assert!(answer(&mut peer).await.starts_with("HTTP/1.1 200"));
    }
    assert!(closed_after(&mut peer).await > LIMITS.idle.checked_sub(SHORT).unwrap());
    let mut silent = self::peer(LIMITS);
    assert!(closed_after(&mut silent).await > LIMITS.idle.checked_sub(SHORT).unwrap(), "one that has never asked");
}

#[tokio::test]
async fn a_head_that_has_begun_ends_soon() {
    let mut peer = peer(LIMITS);
    sleep(2 * SHORT).await;
    peer.write_all(&REQUEST[..10]).await.unwrap();
    peer.write_all(&REQUEST[10..]).await.unwrap();
    answer(&mut peer).await;
    peer.write_all(&REQUEST[..10]).await.unwrap();
    assert!(closed_after(&mut peer).await < LIMITS.idle.checked_sub(SHORT).unwrap());
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_is_not_waited_for() {
    let mut peer = peer(LIMITS);
    let began = Instant::now();
    peer.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
    while peer.write_all(b"a").await.is_ok() {
        sleep(SHORT / 10).await;
    }
    assert!(began.elapsed() < LIMITS.idle.checked_sub(SHORT).unwrap(), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_request_takes_as_long_as_it_takes() {
    let mut peer = peer(Limits { idle: SHORT, head: SHORT });
    peer.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(answer(&mut peer).await.starts_with("HTTP/1.1 200"));
    peer.write_all(b"POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\na").await.unwrap();
    sleep(3 * SHORT).await;
    peer.write_all(b"b").await.unwrap();
    assert!(answer(&mut peer).await.ends_with("read"));
    closed_after(&mut peer).await;
}

/// Counts how often a stream was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[tokio::test]
async fn a_stream_is_woken_when_its_request_ends() {
    let (ours, _theirs) = duplex(64);
    let clock = Clock::default();
    let mut stream = Timed::new(ours, clock.clone(), LIMITS);
    let woken = Arc::new(Woken::default());
    let waker = Arc::clone(&woken).into();
    let request = clock.busy();
    let mut bytes = [0; 8];
    let mut buffer = ReadBuf::new(&mut bytes);
    assert!(Pin::new(&mut stream).poll_read(&mut Context::from_waker(&waker), &mut buffer).is_pending());
    drop(request);
    assert_eq!(woken.0.load(Ordering::Acquire), 1, "its time between two requests begins now");
}

#[tokio::test]
async fn a_request_that_was_sent_ahead_is_answered() {
    let mut peer = peer(LIMITS);
    peer.write_all(&[REQUEST, REQUEST, &REQUEST[..5]].concat()).await.unwrap();
    let mut both = answer(&mut peer).await;
    if both.matches("HTTP/1.1 200").count() == 1 {
        both += &answer(&mut peer).await;
    }
    assert_eq!(both.matches("HTTP/1.1 200").count(), 2);
    peer.write_all(&REQUEST[5..]).await.unwrap();
    answer(&mut peer).await;
}

#[tokio::test]
async fn http_2_is_known_by_its_first_bytes_however_they_come() {
    let limits = Limits { idle: SHORT, head: SHORT };
    for parts in [vec![HTTP2], vec![&HTTP2[..3], &HTTP2[3..]]] {
        let mut peer = peer(limits);
        for part in parts {
            peer.write_all(part).await.unwrap();
            tokio::task::yield_now().await;
        }
        // An empty SETTINGS frame.
        peer.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
        let mut first = [0; 9];
        peer.read_exact(&mut first).await.unwrap();
        let silent = timeout(4 * SHORT, async {
            let mut bytes = [0; 1_024];
            while peer.read(&mut bytes).await.unwrap() != 0 {}
        });
        assert!(silent.await.is_err(), "it was closed");
    }
    let mut half = peer(limits);
    half.write_all(&HTTP2[..5]).await.unwrap();
    closed_after(&mut half).await;
}
