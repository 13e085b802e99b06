//! State that a stream shares with the requests on it: whether one is being served.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::task::AtomicWaker;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// The clock of one connection. Each request moves it twice, so that its count is odd while one is served.
#[derive(Debug, Clone, Default)]
pub struct Clock(Arc<RequestCount>);

#[derive(Debug, Default)]
struct RequestCount {
    count: AtomicU64,
    /// The stream, while it waits for the end of a request: its time between two requests begins then.
    stream: AtomicWaker,
}

impl Clock {
    /// A request has come: from here on the peer waits for us.
    pub fn busy(&self) -> Busy {
        self.0.count.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(&self.0))
    }

    /// Another number after each turn, and whether a request is being served.
    pub(crate) fn read(&self) -> (u64, bool) {
        let turns = self.0.count.load(Ordering::Acquire);
        (turns, turns % 2 == 1)
    }

    /// Wakes the stream when no request is being served any more.
    pub(crate) fn wake_when_done(&self, stream: &Waker) {
        self.0.stream.register(stream);
    }
}

/// A request that is being served; dropped, the connection waits for the next.
#[derive(Debug)]
pub struct Busy(Arc<RequestCount>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.count.fetch_add(1, Ordering::AcqRel);
        self.0.stream.wake();
    }
}

impl Busy {
    /// Ends with the answer's last byte, and not before.
    pub fn until_sent(self, answer: Response) -> Response {
        answer.map(|body| Body::new(Held { body, _busy: self }))
    }
}

/// A body that is part of a request which is being served.
struct Held {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
