//! Loading a file: its bytes go on to the data plane as they come, and nothing of them is kept or read here.
//!
//! Who may load is the data plane's to say, as for a statement: it refuses before it takes anything in. A load that
//! names an operation can be followed and cancelled meanwhile (`followed_load`).

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use contract::OperationId;
use contract::load::{LoadQuery, Loaded};
use contract::wire::header;
use platform::http::body;
use platform::http::call::Call;
use platform::http::json::Query;
use platform::http::signature::{self, Answers, ResponseSignature, Signature, Takes};
use platform::{App, Error, Result};

use super::{followed_load, forward};
use crate::domain::operations::OperationRecord;

const PREFER: HeaderName = HeaderName::from_static("prefer");
const UNNAMED: &str = "`Sluice-Operation` is 1 to 64 letters, digits, dots, hyphens and underscores";

/// What the file may be called; how it is read, `format` says.
const KINDS: [&str; 5] = [
    "application/octet-stream",
    "text/csv",
    "application/x-ndjson",
    "application/vnd.apache.parquet",
    "application/vnd.apache.arrow.stream",
];

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

/// The data plane's answer to a load.
pub struct LoadedAnswer(Response);

impl IntoResponse for LoadedAnswer {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answers for LoadedAnswer {
    fn answers(said: &mut Signature<'_>) {
        said.answers::<Loaded>(StatusCode::OK);
        let accepted = said.shape::<OperationRecord>();
        said.says(ResponseSignature {
            status: StatusCode::ACCEPTED,
            content: vec![("application/json", Some(accepted))],
            headers: &["location"],
        });
    }
}

/// Whether a load is an operation: its id, and whether it is answered before its end.
pub struct OperationRequest {
    operation_id: Option<OperationId>,
    is_async: bool,
}

impl FromRequestParts<App> for OperationRequest {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let is_async = parts.headers.get_all(PREFER).iter().any(prefers_async);
        let given = parts.headers.get(header::OPERATION).map(|value| {
            let named = value.to_str().ok().and_then(OperationId::accepted);
            named.ok_or_else(|| Error::invalid("Sluice-Operation", "[A-Za-z0-9._-]{1,64}", UNNAMED))
        });
        let minted = || is_async.then(|| OperationId::fresh(app.now(), app.entropy()));
        Ok(Self { operation_id: given.transpose()?.or_else(minted), is_async })
    }
}

impl Takes for OperationRequest {
    fn takes(said: &mut Signature<'_>) {
        said.header(
            "Sluice-Operation",
            "An id of your choice, such as a new UUID: while the file comes, `/v1/operations/{operation_id}` tells bytes \
             and rows, and cancels.",
        );
        said.header("Prefer", "`respond-async`: answered with 202 and `Location` once the whole file has come.");
    }
}

fn prefers_async(value: &HeaderValue) -> bool {
    let words = value.to_str().unwrap_or_default().split([',', ';']);
    words.map(str::trim).any(|word| word.eq_ignore_ascii_case("respond-async"))
}

pub async fn load(
    cx: Call,
    Query(_): Query<LoadQuery>,
    requested: OperationRequest,
    file: SentFile,
) -> Result<LoadedAnswer> {
    let OperationRequest { operation_id, is_async } = requested;
    if let Some(operation_id) = operation_id {
        return followed_load::load(cx, (operation_id, is_async), file).await.map(LoadedAnswer);
    }
    let SentFile { uri, length, body } = file;
    forward::stream(&cx, (Method::POST, place(&uri)?), length, body, None).await.map(LoadedAnswer)
}

/// Path and query, which are the data plane's too.
pub(super) fn place(uri: &Uri) -> Result<&str> {
    let place = uri.path_and_query().ok_or_else(|| Error::internal("a request without a path"))?;
    Ok(place.as_str())
}
