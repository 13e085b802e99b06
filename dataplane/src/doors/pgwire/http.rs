//! HTTP on the port of the PostgreSQL wire, told apart by its first bytes: a startup packet begins with a length, a
//! request with the name of its method. What is served is `doors::rest`'s, with the caller's own credential.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::{Extension, Router};
use bytes::{Buf, Bytes};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::wire::Io;
use crate::doors::rest::Peer;
use crate::ending::Ending;

/// What a client says in the TLS handshake when it means HTTP.
pub const ALPN: &[u8] = b"http/1.1";

const HEADERS_WITHIN: Duration = Duration::from_secs(10);

/// Beginnings of requests; `PRI ` is HTTP/2's.
const METHODS: [&[u8; 4]; 8] = [b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"DELE", b"PATC", b"PRI "];

/// Do these bytes begin a request?
pub fn begins(first: [u8; 4]) -> bool {
    METHODS.contains(&&first)
}

/// A connection whose first bytes were read already.
pub struct Begun {
    pub first: Bytes,
    pub io: Box<dyn Io>,
}

impl AsyncRead for Begun {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.io).poll_read(cx, buffer);
        }
        let count = self.first.len().min(buffer.remaining());
        if let Some(bytes) = self.first.get(..count) {
            buffer.put_slice(bytes);
        }
        self.first.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Begun {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// Serves requests until the client leaves, or the process does.
pub async fn serve(begun: Begun, peer: SocketAddr, may_ask: bool, routes: Router, ending: &Ending) {
    let routes = routes.layer(Extension(Peer { ip: peer.ip(), may_ask }));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Duration::from_secs(20));
    let serving = builder.serve_connection(TokioIo::new(begun), TowerToHyperService::new(routes));
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = ending.leaving.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(?peer, error = %error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_startup_packet_is_no_request() {
        assert!(begins(*b"GET ") && begins(*b"POST"));
        for length in [8_u32, 84, 10_000] {
            assert!(!begins(length.to_be_bytes()), "{length}");
        }
    }
}
