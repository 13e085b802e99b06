//! HTTP on the port of the PostgreSQL wire, told apart by its first bytes: a startup packet begins with a length, a
//! request with the name of its method. What is served is `protocols::rest`'s, with the caller's own credential.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::{Extension, Router};
use bytes::{Buf, Bytes};
use connections::Limits;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::wire::Io;
use crate::protocols::http::{any_version, connection};
use crate::protocols::rest::MayAsk;
use crate::shutdown::Ending;

/// What a client says in the TLS handshake when it means HTTP.
pub const ALPN: &[u8] = b"http/1.1";

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
pub async fn serve(begun: Begun, peer: SocketAddr, (may_ask, limits): (bool, Limits), routes: Router, ending: &Ending) {
    let routes = routes.layer(Extension(MayAsk(may_ask)));
    connection(any_version(), begun, peer, limits, routes, ending.leaving.clone()).await;
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
