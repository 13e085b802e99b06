//! The listener: connections in, requests to the router, and a drain at the end.
//!
//! Its limits are what a peer could otherwise hold forever: the number of connections, the time until a
//! request's head has been sent (its body's is `http::body`), and the drain.

use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use contract::wire::TIMEOUT_MS_MAX;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const CONNECTIONS_MAX: usize = 10_000;
const LIMITS: Limits = Limits {
    head: Duration::from_secs(10),
    // Beyond the longest query, and below the grace of a pod and the patience of `./dev down`: 330 s.
    drain: Duration::from_millis(TIMEOUT_MS_MAX + 20_000),
};
/// How long an idle HTTP/2 peer may stay silent to a ping.
const PING: Duration = Duration::from_secs(30);
const STREAMS_MAX: u32 = 256;
/// After an error of `accept`, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long peers are waited for.
#[derive(Debug, Clone, Copy)]
struct Limits {
    head: Duration,
    /// Until the requests that had begun at the shutdown have been answered, and their answers read.
    drain: Duration,
}

/// Serves until `shutdown`, and then until every request that has begun is answered; whoever neither sends nor
/// reads to the end by then is cut off.
pub async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) {
    within(LIMITS, listener, router, shutdown).await;
}

async fn within(limits: Limits, listener: TcpListener, router: Router, shutdown: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(connection(limits.head, stream, peer, router.clone(), shutdown.clone()));
                }
                Err(error) => {
                    tracing::warn!(error = %error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.drain, drained).await.is_err() {
        tracing::warn!(connections = connections.len(), "not all requests had ended in time: they are cut off");
        connections.shutdown().await;
    }
}

async fn connection(head: Duration, stream: TcpStream, peer: SocketAddr, router: Router, shutdown: CancellationToken) {
    // Answers are small and wait for nobody.
    let _ = stream.set_nodelay(true);
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(PING).max_concurrent_streams(STREAMS_MAX);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        router.clone().oneshot(request.map(Body::new))
    });
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

    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);

    struct Served {
        address: SocketAddr,
        shutdown: CancellationToken,
        server: tokio::task::JoinHandle<()>,
    }

    #[expect(clippy::disallowed_methods, reason = "the test waits for the task itself")]
    async fn served(limits: Limits, router: Router) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let server = tokio::spawn(within(limits, listener, router, shutdown.clone()));
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
        let served = served(LIMITS, Router::new().route("/", get(handler))).await;
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
        let served = served(Limits { head: SHORT, ..LIMITS }, Router::new().route("/", get(async || "done"))).await;
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
        let served = served(Limits { drain: SHORT, ..LIMITS }, Router::new().route("/", post(handler))).await;
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
