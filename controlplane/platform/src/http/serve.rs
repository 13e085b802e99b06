//! The listener: connections in, requests to the router, and a drain at the end.
//!
//! Its limits are what a peer could otherwise hold forever: the number of connections, the time between two
//! requests and until the head of one has been sent (`connections`; its body's is `http::body`), and the drain.

use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use connections::{Clock, Limits, Timed};
use contract::wire::TIMEOUT_MS_MAX;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const CONNECTIONS_MAX: usize = 10_000;
/// Until the requests that had begun at the shutdown have been answered, and their answers read. Beyond the longest
/// query, and below the grace of a pod and the patience of `./dev down`: 330 s.
const DRAIN: Duration = Duration::from_millis(TIMEOUT_MS_MAX + 20_000);
/// How long an idle HTTP/2 peer may stay silent to a ping.
const PING: Duration = Duration::from_secs(30);
const STREAMS_MAX: u32 = 256;
/// After an error of `accept`, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `shutdown`, and then until every request that has begun is answered; whoever neither sends nor
/// reads to the end by then is cut off.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits, shutdown: CancellationToken) {
    within(DRAIN, limits, listener, router, shutdown).await;
}

async fn within(drain: Duration, limits: Limits, listener: TcpListener, router: Router, shutdown: CancellationToken) {
    let mut held = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(_) = held.join_next() => {}
            accepted = listener.accept(), if held.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, peer)) => {
                    held.spawn(connection(limits, stream, peer, router.clone(), shutdown.clone()));
                }
                Err(error) => {
                    tracing::warn!(error = %error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    let drained = async { while held.join_next().await.is_some() {} };
    if tokio::time::timeout(drain, drained).await.is_err() {
        tracing::warn!(connections = held.len(), "not all requests had ended in time: they are cut off");
        held.shutdown().await;
    }
}

async fn connection(limits: Limits, stream: TcpStream, peer: SocketAddr, router: Router, shutdown: CancellationToken) {
    // Answers are small and wait for nobody.
    let _ = stream.set_nodelay(true);
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(PING).max_concurrent_streams(STREAMS_MAX);
    let clock = Clock::default();
    let service = connections::serving(clock.clone(), router, move |request| {
        request.extensions_mut().insert(ConnectInfo(peer));
    });
    let stream = Timed::new(stream, clock, limits);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = %error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::Body;
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;

    use super::*;

    const LIMITS: Limits = connections::ConnectionTimeouts::DEFAULT.limits();
    const SHORT: Duration = Duration::from_millis(50);

    struct Served {
        address: SocketAddr,
        shutdown: CancellationToken,
        server: tokio::task::JoinHandle<()>,
    }

    #[expect(clippy::disallowed_methods, reason = "the test waits for the task itself")]
    async fn served(drain: Duration, head: Duration, router: Router) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let server = tokio::spawn(within(drain, Limits { head, ..LIMITS }, listener, router, shutdown.clone()));
        Served { address, shutdown, server }
    }

    async fn ask(address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        stream
    }

    #[tokio::test]
    async fn a_request_that_has_begun_is_answered_while_draining() {
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let handler = {
            let (begun, go) = (begun.clone(), go.clone());
            async move || {
                begun.notify_one();
                go.notified().await;
                "done"
            }
        };
        let served = served(DRAIN, LIMITS.head, Router::new().route("/", get(handler))).await;
        let mut stream = ask(served.address).await;
        begun.notified().await;
        served.shutdown.cancel();
        go.notify_one();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("done"), "{answer}");
        served.server.await.unwrap();
        assert!(TcpStream::connect(served.address).await.is_err());
    }

    #[tokio::test]
    async fn a_peer_that_never_ends_its_head_is_dropped() {
        let served = served(DRAIN, SHORT, Router::new().route("/", get(async || "done"))).await;
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost:").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
        served.shutdown.cancel();
        served.server.await.unwrap();
    }

    #[tokio::test]
    async fn a_peer_that_never_ends_its_request_does_not_hold_up_the_shutdown() {
        let begun = Arc::new(Notify::new());
        let handler = {
            let begun = begun.clone();
            async move |body: Body| {
                begun.notify_one();
                axum::body::to_bytes(body, 100).await.unwrap();
                "done"
            }
        };
        let served = served(SHORT, LIMITS.head, Router::new().route("/", post(handler))).await;
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n1").await.unwrap();
        begun.notified().await;
        served.shutdown.cancel();
        tokio::time::timeout(Duration::from_secs(20), served.server).await.unwrap().unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        assert_eq!(answer, "");
    }
}
