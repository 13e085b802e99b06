//! A stream of events as a test reads it, piece by piece.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use http_body_util::BodyExt;
use serde_json::Value;

use super::TestApp;

/// Longer than anything in a test takes.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Stream(Response);

impl Stream {
    /// `after`: the last event that was seen.
    pub async fn open(app: &TestApp, path: &str, authorization: &str, after: Option<&str>) -> Self {
        let mut request = Request::get(path).header("authorization", authorization);
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let mut stream = Self(app.open(request.body(Body::empty()).unwrap()).await);
        assert_eq!(stream.0.status(), 200);
        assert_eq!(stream.piece().await.as_deref(), Some(": open\n\n"));
        stream
    }

    /// The next piece; `None` when the stream has ended.
    pub async fn piece(&mut self) -> Option<String> {
        let frame = tokio::time::timeout(PATIENCE, self.0.body_mut().frame()).await.expect("the stream is silent")?;
        Some(String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap())
    }

    /// Id, type and data of the next event.
    pub async fn event(&mut self) -> (String, String, Value) {
        let piece = self.piece().await.expect("the stream has ended");
        let line = |name: &str| piece.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        (line("id: "), line("event: "), serde_json::from_str(&line("data: ")).unwrap())
    }
}
