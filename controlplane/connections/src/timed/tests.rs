use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::{Notify, mpsc};

use super::*;
use crate::{Patience, serving};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const LIMITS: Limits = Patience::DEFAULT.limits();
const TICK: Duration = Duration::from_millis(1);

fn just_before(limit: Duration) -> Duration {
    limit.checked_sub(TICK).unwrap()
}

/// A time that passes when the test says so.
#[derive(Debug, Default)]
struct Hand {
    now: Duration,
    rings: Duration,
    waker: Option<Waker>,
}

/// An alarm that goes by it, and tells for how long it is set.
struct ByHand {
    hand: Arc<Mutex<Hand>>,
    sets: mpsc::UnboundedSender<Duration>,
}

impl Alarm for ByHand {
    fn set(&mut self, within: Duration) {
        let mut hand = self.hand.lock().unwrap();
        hand.rings = hand.now + within;
        self.sets.send(within).unwrap();
    }

    fn poll_rung(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut hand = self.hand.lock().unwrap();
        if hand.now >= hand.rings {
            return Poll::Ready(());
        }
        hand.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// A peer of a connection that is served as both planes do.
struct Peer {
    stream: DuplexStream,
    hand: Arc<Mutex<Hand>>,
    sets: mpsc::UnboundedReceiver<Duration>,
    /// A request that takes its time has begun.
    begun: Arc<Notify>,
    /// It may end.
    go: Arc<Notify>,
}

impl Peer {
    #[expect(clippy::disallowed_methods, reason = "ends with the connection")]
    fn connected() -> Self {
        let (ours, stream) = duplex(64 * 1024);
        let (hand, (sender, sets)) = (Arc::<Mutex<Hand>>::default(), mpsc::unbounded_channel());
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let clock = Clock::default();
        let alarm = ByHand { hand: hand.clone(), sets: sender };
        let timed = Timed::under(ours, clock.clone(), LIMITS, alarm);
        let service = serving(clock, routes(&begun, &go), |_| ());
        tokio::spawn(async move {
            let mut builder = Builder::new(TokioExecutor::new());
            builder.http1().timer(TokioTimer::new()).header_read_timeout(None);
            let _ = builder.serve_connection(TokioIo::new(timed), service).await;
        });
        Self { stream, hand, sets, begun, go }
    }

    async fn says(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// From here on it has so long.
    async fn has(&mut self, limit: Duration) {
        assert_eq!(self.sets.recv().await, Some(limit));
    }

    fn pass(&self, time: Duration) {
        let mut hand = self.hand.lock().unwrap();
        hand.now += time;
        if hand.now >= hand.rings
            && let Some(waker) = hand.waker.take()
        {
            waker.wake();
        }
    }

    /// What comes until the answer is whole.
    async fn answer(&mut self) -> String {
        let mut answer = String::new();
        while !answer.contains("\r\n\r\n") || !answer.ends_with(['e', 'd']) {
            let mut bytes = [0; 1_024];
            let count = self.stream.read(&mut bytes).await.unwrap();
            assert_ne!(count, 0, "it was closed after {answer:?}");
            answer.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
        }
        answer
    }

    /// Comes back when the connection is closed.
    async fn closes(mut self) {
        self.stream.read_to_end(&mut Vec::new()).await.unwrap();
        assert_eq!(self.sets.try_recv().ok(), None, "it was waited for anew");
    }

    /// A frame of HTTP/2: its type, its flags, and what it holds.
    async fn frame(&mut self) -> (u8, u8, Vec<u8>) {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await.unwrap();
        let mut payload = vec![0; usize::from(u16::from_be_bytes([head[1], head[2]]))];
        self.stream.read_exact(&mut payload).await.unwrap();
        (head[3], head[4], payload)
    }
}

fn routes(begun: &Arc<Notify>, go: &Arc<Notify>) -> Router {
    let slow = {
        let (begun, go) = (begun.clone(), go.clone());
        async move || {
            begun.notify_one();
            go.notified().await;
            "done"
        }
    };
    let begun = begun.clone();
    let body = async move |body: Body| {
        begun.notify_one();
        axum::body::to_bytes(body, 100).await.map(|_| "read").unwrap()
    };
    Router::new().route("/", get(async || "done")).route("/slow", get(slow)).route("/body", post(body))
}

#[test]
fn the_limits_are_longer_than_a_balancers_and_a_setting() {
    assert_eq!((LIMITS.idle.as_secs(), LIMITS.head.as_secs()), (75, 10));
    assert_eq!(Patience { http_idle_secs: 5 }.limits().idle.as_secs(), 5);
}

#[tokio::test]
async fn a_connection_lives_between_two_requests_and_not_for_ever() {
    let mut peer = Peer::connected();
    peer.has(LIMITS.idle).await;
    for _ in 0..3 {
        peer.pass(just_before(LIMITS.idle));
        peer.says(REQUEST).await;
        peer.has(LIMITS.head).await;
        assert!(peer.answer().await.starts_with("HTTP/1.1 200"));
        peer.has(LIMITS.idle).await;
    }
    peer.pass(LIMITS.idle);
    peer.closes().await;
    let mut silent = Peer::connected();
    silent.has(LIMITS.idle).await;
    silent.pass(LIMITS.idle);
    silent.closes().await;
}

#[tokio::test]
async fn a_head_that_has_begun_ends_soon() {
    let mut peer = Peer::connected();
    peer.has(LIMITS.idle).await;
    peer.pass(just_before(LIMITS.idle));
    peer.says(&REQUEST[..10]).await;
    peer.has(LIMITS.head).await;
    peer.pass(just_before(LIMITS.head));
    peer.says(&REQUEST[10..]).await;
    peer.answer().await;
    peer.has(LIMITS.idle).await;
    peer.says(&REQUEST[..10]).await;
    peer.has(LIMITS.head).await;
    peer.pass(LIMITS.head);
    peer.closes().await;
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_is_not_waited_for() {
    let mut peer = Peer::connected();
    peer.has(LIMITS.idle).await;
    peer.says(b"GET / HTTP/1.1\r\nx: ").await;
    peer.has(LIMITS.head).await;
    peer.pass(just_before(LIMITS.head));
    peer.says(b"a").await;
    tokio::task::yield_now().await;
    peer.says(b"a").await;
    peer.pass(TICK);
    peer.closes().await;
}

#[tokio::test]
async fn a_request_takes_as_long_as_it_takes() {
    let mut peer = Peer::connected();
    peer.has(LIMITS.idle).await;
    peer.says(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await;
    peer.begun.notified().await;
    peer.pass(10 * LIMITS.idle);
    tokio::task::yield_now().await;
    peer.go.notify_one();
    assert!(peer.answer().await.starts_with("HTTP/1.1 200"));
    peer.says(b"POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\na").await;
    peer.begun.notified().await;
    peer.pass(10 * LIMITS.idle);
    tokio::task::yield_now().await;
    peer.says(b"b").await;
    assert!(peer.answer().await.ends_with("read"));
    for limit in [LIMITS.head, LIMITS.idle, LIMITS.head, LIMITS.idle] {
        peer.has(limit).await;
    }
    peer.pass(LIMITS.idle);
    peer.closes().await;
}

#[tokio::test]
async fn a_request_that_was_sent_ahead_is_answered() {
    let mut peer = Peer::connected();
    peer.says(&[REQUEST, REQUEST, &REQUEST[..5]].concat()).await;
    let mut both = peer.answer().await;
    if both.matches("HTTP/1.1 200").count() == 1 {
        both += &peer.answer().await;
    }
    assert_eq!(both.matches("HTTP/1.1 200").count(), 2);
    peer.says(&REQUEST[5..]).await;
    peer.answer().await;
}

#[tokio::test]
async fn http_2_is_known_by_its_first_bytes_however_they_come() {
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    const PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0];
    for parts in [vec![HTTP2], vec![&HTTP2[..3], &HTTP2[3..]]] {
        let mut peer = Peer::connected();
        peer.has(LIMITS.idle).await;
        for part in parts {
            peer.says(part).await;
            tokio::task::yield_now().await;
        }
        peer.has(LIMITS.head).await;
        peer.says(SETTINGS).await;
        peer.frame().await;
        peer.pass(10 * LIMITS.idle);
        tokio::task::yield_now().await;
        peer.says(&[PING, b"still up"].concat()).await;
        while peer.frame().await != (6, 1, b"still up".to_vec()) {}
    }
    let mut half = Peer::connected();
    half.has(LIMITS.idle).await;
    half.says(&HTTP2[..5]).await;
    half.has(LIMITS.head).await;
    half.pass(LIMITS.head);
    half.closes().await;
}
