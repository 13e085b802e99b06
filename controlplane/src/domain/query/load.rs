//! Loading a file: its bytes go on to the data plane as they come, and nothing of them is kept or read here.
//!
//! Who may load is the data plane's to say, as for a statement: it refuses before it takes anything in.

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use contract::load::{LoadQuery, Loaded};
use platform::http::body;
use platform::http::call::Call;
use platform::http::json::Query;
use platform::http::signature::{self, Answers, Signature, Takes};
use platform::{App, Error, Result};

use super::forward;

/// What the file may be called; how it is read, `format` says.
const KINDS: [&str; 4] =
    ["application/octet-stream", "text/csv", "application/x-ndjson", "application/vnd.apache.parquet"];

/// A file that comes.
pub struct SentFile {
    pub(super) uri: Uri,
    /// As far as it is said before.
    pub(super) length: Option<HeaderValue>,
    pub(super) body: Body,
}

impl FromRequest<App> for SentFile {
    type Rejection = Error;

    async fn from_request(request: Request, _: &App) -> Result<Self> {
        body::is_plain(request.headers())?;
        let (parts, body) = request.into_parts();
        Ok(Self { length: parts.headers.get(CONTENT_LENGTH).cloned(), uri: parts.uri, body })
    }
}

impl Takes for SentFile {
    fn takes(said: &mut Signature<'_>) {
        said.body = Some(signature::Body { kinds: &KINDS, schema: None, is_required: true });
    }
}

/// What the data plane says of it.
pub struct LoadedAnswer(Response);

impl IntoResponse for LoadedAnswer {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answers for LoadedAnswer {
    fn answers(said: &mut Signature<'_>) {
        said.answers::<Loaded>(StatusCode::OK);
    }
}

pub async fn load(cx: Call, Query(_): Query<LoadQuery>, file: SentFile) -> Result<LoadedAnswer> {
    let SentFile { uri, length, body } = file;
    let path = uri.path_and_query().ok_or_else(|| Error::internal("a request without a path"))?;
    forward::stream(&cx, (Method::POST, path.as_str()), length, body).await.map(LoadedAnswer)
}
