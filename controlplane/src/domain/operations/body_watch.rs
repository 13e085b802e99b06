//! A body on its way through: its bytes are counted, and it breaks off where its operation is cancelled.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Body, BodyDataStream};
use bytes::Bytes;
use futures::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

/// The progress of a body on its way, and the means to break it off.
#[derive(Debug, Default)]
pub struct BodyWatch {
    /// As far as it is said before.
    total: Option<u64>,
    bytes: AtomicU64,
    whole: CancellationToken,
    cancel: CancellationToken,
}

impl BodyWatch {
    pub fn of(total: Option<u64>) -> Arc<Self> {
        Arc::new(Self { total, ..Self::default() })
    }

    /// Those that have gone on.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// All of it has gone on: breaking it off would tell nobody anything.
    pub fn is_whole(&self) -> bool {
        self.whole.is_cancelled()
    }

    /// Waits until all of it has gone on.
    pub async fn whole(&self) {
        self.whole.cancelled().await;
    }

    /// Breaks it off, unless all of it has gone on.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    fn came(&self, bytes: usize) {
        let more = u64::try_from(bytes).unwrap_or(u64::MAX);
        let before = self.bytes.fetch_add(more, Ordering::Relaxed);
        // Whoever knows its length does not ask for its end.
        if self.total == Some(before.saturating_add(more)) {
            self.whole.cancel();
        }
    }
}

/// The same body under a watch.
pub fn watched(body: Body, watch: &Arc<BodyWatch>) -> Body {
    let coming = WatchedBody { rest: body.into_data_stream(), watch: Arc::clone(watch) };
    Body::from_stream(stream::unfold(Some(coming), |coming| async move {
        let mut coming = coming?;
        let piece = coming.next().await?;
        let rest = piece.is_ok().then_some(coming);
        Some((piece, rest))
    }))
}

/// The part of a body that has not gone on yet.
struct WatchedBody {
    rest: BodyDataStream,
    watch: Arc<BodyWatch>,
}

impl WatchedBody {
    /// What was broken off ends with an error: its reader must not take it for whole.
    async fn next(&mut self) -> Option<Result<Bytes, axum::Error>> {
        if self.watch.is_whole() {
            return None;
        }
        let piece = tokio::select! {
            biased;
            () = self.watch.cancel.cancelled() => Some(Err(broken_off())),
            piece = self.rest.next() => piece,
        };
        match &piece {
            Some(Ok(bytes)) => self.watch.came(bytes.len()),
            Some(Err(_)) => {}
            None => self.watch.whole.cancel(),
        }
        piece
    }
}

fn broken_off() -> axum::Error {
    axum::Error::new(std::io::Error::from(ErrorKind::ConnectionAborted))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    fn pieces(texts: &[&'static str]) -> Body {
        let pieces: Vec<_> = texts.iter().map(|text| Ok::<_, std::io::Error>(*text)).collect();
        Body::from_stream(stream::iter(pieces))
    }

    #[tokio::test]
    async fn a_body_under_a_watch_is_the_same_and_counted() {
        for total in [None, Some(5)] {
            let watch = BodyWatch::of(total);
            let read = watched(pieces(&["abc", "de"]), &watch).collect().await.unwrap().to_bytes();
            assert_eq!((read.as_ref(), watch.bytes(), watch.is_whole()), (&b"abcde"[..], 5, true));
        }
    }

    #[tokio::test]
    async fn a_body_that_is_cancelled_breaks_off_and_does_not_end() {
        let watch = BodyWatch::of(None);
        let mut body = watched(pieces(&["abc", "de"]), &watch);
        assert!(body.frame().await.unwrap().is_ok());
        watch.cancel().cancel();
        assert!(body.frame().await.unwrap().is_err());
        assert!(!watch.is_whole());
    }

    #[tokio::test]
    async fn a_body_that_has_gone_on_whole_is_not_broken_off() {
        let watch = BodyWatch::of(Some(5));
        let mut body = watched(pieces(&["abcde"]), &watch);
        assert!(body.frame().await.unwrap().is_ok());
        watch.cancel().cancel();
        assert!(body.frame().await.is_none() && watch.is_whole());
    }
}
