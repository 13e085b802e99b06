//! The body of a request, read to its end: so many bytes, in so much time.
//!
//! The time is that of the whole body. A limit between two frames, as `tower_http::timeout` has it, would let a
//! peer that sends a byte now and then keep its place, and the drain of a shutdown, for ever.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_ENCODING;
use http_body_util::LengthLimitError;

use crate::{Error, Result};

/// Largest body of a request, save where a route takes less or streams.
pub const BYTES_MAX: usize = 8 * 1024 * 1024;
/// How long it may take, from the request's head to the body's end.
pub const WITHIN: Duration = Duration::from_mins(1);

/// A longer encoding is shown as its beginning.
const ENCODING_SHOWN: usize = 64;

/// Libraries compress by themselves, and then bytes are no JSON: what they are is said, not what they are not.
pub fn is_plain(headers: &HeaderMap) -> Result<()> {
    let encodings = headers.get_all(CONTENT_ENCODING).iter();
    let mut encodings = encodings.map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned());
    match encodings.find(|encoding| !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity")) {
        None => Ok(()),
        Some(encoding) => Err(Error::Encoded { encoding: encoding.chars().take(ENCODING_SHOWN).collect() }),
    }
}

pub async fn read(body: Body, bytes_max: usize, within: Duration) -> Result<Bytes> {
    let read = tokio::time::timeout(within, to_bytes(body, bytes_max)).await.map_err(|_| {
        let seconds = within.as_secs();
        let message = format!("the body has not ended within {seconds} s: send it faster, or less of it");
        Error::invalid("body", format!("within {seconds} s"), message)
    })?;
    read.map_err(|error| {
        let source = std::error::Error::source(&error);
        let is_too_large = matches!(source, Some(source) if source.is::<LengthLimitError>());
        if is_too_large {
            return Error::BodyTooLarge;
        }
        Error::invalid("body", "readable", "the body could not be read to its end")
    })
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, stream};

    use super::*;

    type Chunk = std::io::Result<&'static [u8]>;

    /// Sends a byte, and another, and never ends.
    fn trickling() -> Body {
        let pause = || tokio::time::sleep(Duration::from_millis(1));
        Body::from_stream(stream::repeat_with(pause).then(async |pause| {
            pause.await;
            Chunk::Ok(b"[")
        }))
    }

    async fn refusal(body: Body) -> (u16, serde_json::Value) {
        let error = read(body, 1_000_000, Duration::from_millis(50)).await.unwrap_err();
        (error.code().http(), error.problem().details["constraint"].clone())
    }

    #[tokio::test]
    async fn a_body_that_goes_on_and_on_is_given_up() {
        assert_eq!(refusal(trickling()).await, (400, "within 0 s".into()));
        assert_eq!(refusal(Body::from_stream(stream::pending::<Chunk>())).await, (400, "within 0 s".into()));
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_not_called_too_large() {
        let broken = stream::iter([Chunk::Ok(b"["), Err(std::io::ErrorKind::ConnectionReset.into())]);
        assert_eq!(refusal(Body::from_stream(broken)).await, (400, "readable".into()));
        let error = read(Body::from("four"), 3, WITHIN).await.unwrap_err();
        assert_eq!(error.code().http(), 413);
        assert_eq!(read(Body::from("four"), 4, WITHIN).await.unwrap(), "four");
    }
}
