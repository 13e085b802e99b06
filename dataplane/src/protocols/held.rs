//! An answer over HTTP that no client can take for whole unless it is.
//!
//! The first mebibyte is held back. An answer that fits in it has its length and its totals in the headers, and an error
//! in it is an answer of its own, with its status. A longer one streams, with its totals in trailers. If that fails, its
//! transfer breaks: HTTP/1.1 gets no last chunk, HTTP/2 a reset stream. Why stands in the audit entry that `X-Query-Id`
//! names.

use std::future::Future;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body::Frame;
use http_body_util::StreamBody;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::Error;

const HELD_BYTES: usize = 1 << 20;

/// An answer that is made piece by piece.
pub(super) trait Pieces: Send + 'static {
    /// The next piece; none after the last.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Error>> + Send;

    /// Names of what is told at its end beside the body: headers, or trailers behind a whole answer.
    fn told(&self) -> &'static [&'static str];

    /// The same with their values, once it has ended.
    fn totals(&self) -> HeaderMap;
}

/// The response, or why there is none; `serving` is given back with the last byte.
pub(super) async fn response<P: Pieces>(
    mut pieces: P,
    mut headers: HeaderMap,
    serving: TaskTrackerToken,
) -> Result<Response, Error> {
    let mut held = HeldPieces::default();
    let ended = loop {
        match pieces.next().await? {
            Some(piece) => held.add(piece),
            None => break true,
        }
        if held.bytes >= HELD_BYTES {
            break false;
        }
    };
    let body = if ended {
        headers.extend(pieces.totals());
        Body::from(held.whole())
    } else {
        if !pieces.told().is_empty() {
            put(&mut headers, header::TRAILER.as_str(), &pieces.told().join(", "));
        }
        streamed(held, pieces, serving)
    };
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    Ok(response)
}

/// Pieces that are not sent yet.
#[derive(Default)]
struct HeldPieces {
    pieces: Vec<Bytes>,
    bytes: usize,
}

impl HeldPieces {
    fn add(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.bytes += piece.len();
            self.pieces.push(piece);
        }
    }

    /// All of them as one.
    fn whole(mut self) -> Bytes {
        if self.pieces.len() < 2 {
            return self.pieces.pop().unwrap_or_default();
        }
        let mut whole = Vec::with_capacity(self.bytes);
        self.pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
        whole.into()
    }
}

fn streamed<P: Pieces>(held: HeldPieces, pieces: P, serving: TaskTrackerToken) -> Body {
    let rest = stream::unfold(Some((pieces, serving)), |left| async move {
        let (mut pieces, serving) = left?;
        match pieces.next().await {
            Ok(Some(piece)) => Some((Ok(Frame::data(piece)), Some((pieces, serving)))),
            Ok(None) if pieces.told().is_empty() => None,
            Ok(None) => Some((Ok(Frame::trailers(pieces.totals())), None)),
            Err(error) => Some((Err(error), None)),
        }
    });
    let first = held.pieces.into_iter().map(|piece| Ok(Frame::data(piece)));
    Body::new(StreamBody::new(stream::iter(first).chain(rest)))
}

/// A header, as far as its value can be one.
pub(super) fn put(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        headers.insert(name, value);
    }
}
