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
    let mut held = Vec::new();
    let ended = loop {
        match pieces.next().await? {
            Some(piece) => held.extend_from_slice(&piece),
            None => break true,
        }
        if held.len() >= HELD_BYTES {
            break false;
        }
    };
    let body = if ended {
        headers.extend(pieces.totals());
        Body::from(held)
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

fn streamed<P: Pieces>(held: Vec<u8>, pieces: P, serving: TaskTrackerToken) -> Body {
    let rest = stream::unfold(Some((pieces, serving)), |left| async move {
        let (mut pieces, serving) = left?;
        match pieces.next().await {
            Ok(Some(piece)) => Some((Ok(Frame::data(piece)), Some((pieces, serving)))),
            Ok(None) if pieces.told().is_empty() => None,
            Ok(None) => Some((Ok(Frame::trailers(pieces.totals())), None)),
            Err(error) => Some((Err(error), None)),
        }
    });
    Body::new(StreamBody::new(stream::iter([Ok(Frame::data(Bytes::from(held)))]).chain(rest)))
}

/// A header, as far as its value can be one.
pub(super) fn put(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        headers.insert(name, value);
    }
}
