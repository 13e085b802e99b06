//! The HTTP listeners: each takes connections, secures them, and serves HTTP/1.1 or HTTP/2 on them.
//!
//! They end in the steps of `ending`: a connection of before we leave is asked to end and served as
//! long as something comes; who comes while it drains is told so.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use connections::{Clock, Limits, Timed};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::tls::is_control_plane;
use crate::Error;
use crate::shutdown::Ending;

/// A statement of a megabyte, every byte escaped.
pub const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
const BODY_WITHIN: Duration = Duration::from_secs(30);
const CONNECTIONS_MAX: usize = 1_024;
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(20);
/// After the listener refused a connection: out of file descriptors, usually.
const PAUSE: Duration = Duration::from_millis(50);

const HTTP2: &[u8] = b"h2";
/// The protocols offered in the handshake: HTTP/2 carries trailers without being asked.
pub const PROTOCOLS: [&[u8]; 2] = [HTTP2, b"http/1.1"];

/// Whom a connection may come from.
#[derive(Debug, Clone)]
pub enum Security {
    /// Anybody, in the clear: local mode.
    Plain,
    /// Anybody, under the certificate that is shown now.
    Tls(watch::Receiver<Arc<ServerConfig>>),
    /// The control plane, by its certificate.
    ControlPlane(watch::Receiver<Arc<ServerConfig>>),
}

/// Where a request comes from; an extension of every request.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// Serves until everything is closed; `refusing` answers who comes while it drains.
pub async fn serve(
    listener: TcpListener,
    security: Security,
    limits: Limits,
    serving: Router,
    refusing: Router,
    ending: Ending,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Some(accepted) = ending.closed.run_until_cancelled(listener.accept()).await else { return };
        ending.newcomer();
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let (routes, ends) = match (ending.leaving.is_cancelled(), ending.draining.is_cancelled()) {
            (false, false) => (serving.clone(), ending.leaving.clone()),
            (true, false) => (serving.clone(), ending.draining.clone()),
            (_, true) => (refusing.clone(), ending.closed.clone()),
        };
        let security = security.clone();
        ending.spawn(async move {
            Box::pin(secured(stream, peer, (security, limits), routes, ends)).await;
            drop(place);
        });
    }
}

async fn secured(
    stream: TcpStream,
    peer: SocketAddr,
    (security, limits): (Security, Limits),
    routes: Router,
    ends: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    let (tls, control_plane_alone) = match security {
        Security::Plain => return connection(any_version(), stream, peer, limits, routes, ends).await,
        Security::Tls(tls) => (tls, false),
        Security::ControlPlane(tls) => (tls, true),
    };
    let acceptor = TlsAcceptor::from(Arc::clone(&tls.borrow()));
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_WITHIN, acceptor.accept(stream)).await else {
        tracing::info!(%peer, "a handshake failed");
        return;
    };
    if control_plane_alone && !is_control_plane(stream.get_ref().1.peer_certificates()) {
        tracing::warn!(%peer, "a certificate that is not the control plane's was presented");
        return;
    }
    let builder = if stream.get_ref().1.alpn_protocol() == Some(HTTP2) { http2() } else { any_version() };
    connection(builder, stream, peer, limits, routes, ends).await;
}

/// For a client that has agreed on no version: its first bytes tell.
pub fn any_version() -> auto::Builder<TokioExecutor> {
    auto::Builder::new(TokioExecutor::new())
}

/// For a client that has agreed on HTTP/2.
///
/// Its first bytes are not awaited: a connection that ended meanwhile would not say whether its request was heard.
fn http2() -> auto::Builder<TokioExecutor> {
    any_version().http2_only()
}

/// Serves requests on a connection until the client leaves, or is asked to.
pub async fn connection(
    mut builder: auto::Builder<TokioExecutor>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    limits: Limits,
    routes: Router,
    ends: CancellationToken,
) {
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(KEEP_ALIVE_EVERY);
    let (clock, from) = (Clock::default(), Peer(peer.ip().to_canonical()));
    let service = connections::serving(clock.clone(), routes, move |request| {
        request.extensions_mut().insert(from);
    });
    let serving = builder.serve_connection(TokioIo::new(Timed::new(stream, clock, limits)), service);
    tokio::pin!(serving);
    let ended = tokio::select! {
        biased; // a request that is here already is heard before we leave
        ended = serving.as_mut() => ended,
        () = ends.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, error = %error, "a connection ended early");
    }
}

/// What a body of JSON says.
pub fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body)
        .map_err(|error| Error::InvalidParams { field: "body", message: format!("the body cannot be read: {error}") })
}

/// A whole body, within its size and its time.
pub async fn whole(body: Body) -> Result<Bytes, Error> {
    let read = tokio::time::timeout(BODY_WITHIN, axum::body::to_bytes(body, BODY_BYTES_MAX)).await;
    let refused = |message: &str| Error::InvalidParams { field: "body", message: message.to_owned() };
    match read {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(refused("the body is cut short, or larger than 8 MiB")),
        Err(_) => Err(refused("the body did not come within 30 seconds")),
    }
}

#[cfg(test)]
mod tests {
    use connections::ConnectionTimeouts;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const PREFACE_AND_SETTINGS: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    const GO_AWAY: u8 = 7;

    #[tokio::test]
    async fn a_client_that_agrees_on_http2_while_we_leave_is_told_so() {
        let (ours, mut theirs) = tokio::io::duplex(64 * 1024);
        let (ends, peer) = (CancellationToken::new(), SocketAddr::from(([127, 0, 0, 1], 1)));
        ends.cancel();
        let limits = ConnectionTimeouts::DEFAULT.limits();
        let told = async {
            theirs.write_all(PREFACE_AND_SETTINGS).await.unwrap();
            loop {
                let mut head = [0; 9];
                theirs.read_exact(&mut head).await.expect("it says that it leaves");
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
                let mut payload = vec![0; usize::try_from(length).unwrap()];
                theirs.read_exact(&mut payload).await.unwrap();
                if head[3] == GO_AWAY {
                    return payload;
                }
            }
        };
        let told = tokio::select! {
            told = told => told,
            () = connection(http2(), ours, peer, limits, Router::new(), ends) => panic!("it ended without a word"),
        };
        assert_eq!(told[..4], i32::MAX.to_be_bytes(), "what has been begun is served");
    }
}
