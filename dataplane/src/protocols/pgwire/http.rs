//! HTTP on the port of the PostgreSQL wire, told apart by its first bytes: a startup packet begins with a length, a
//! request with the name of its method. What is served is `protocols::rest`'s, with the caller's own credential.

use std::io::Cursor;
use std::net::SocketAddr;

use axum::{Extension, Router};
use connections::Limits;
use tokio::io::AsyncReadExt;

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
pub fn begun(first: [u8; 4], io: impl Io + 'static) -> Box<dyn Io> {
    let (read, write) = tokio::io::split(io);
    Box::new(tokio::io::join(Cursor::new(first).chain(read), write))
}

/// Serves requests until the client leaves, or the process does.
pub async fn serve(
    io: Box<dyn Io>,
    peer: SocketAddr,
    (may_ask, limits): (bool, Limits),
    routes: Router,
    ending: &Ending,
) {
    let routes = routes.layer(Extension(MayAsk(may_ask)));
    connection(any_version(), io, peer, limits, routes, ending.leaving.clone()).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn parts_of_a_body_are_written_from_where_they_are() {
        let (ours, _theirs) = tokio::net::UnixStream::pair().unwrap();
        assert!(begun(*b"GET ", ours).is_write_vectored());
    }

    #[test]
    fn a_startup_packet_is_no_request() {
        assert!(begins(*b"GET ") && begins(*b"POST"));
        for length in [8_u32, 84, 10_000] {
            assert!(!begins(length.to_be_bytes()), "{length}");
        }
    }
}
