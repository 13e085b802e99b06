//! One query to one data plane and its answer back, as a stream. Where that breaks, ours breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use axum::response::Response;
use bytes::Bytes;
use contract::body::Problem;
use contract::caller::Credential;
use contract::load::WITHIN_SECS;
use contract::policy::abac::Origin;
use contract::wire::{self, Forwarded, QueryBody, TIMEOUT_MS_MAX, Who, header};
use contract::{Code, EnvId, OperationId, RequestId};
use futures::StreamExt;
use http_body_util::{BodyExt, Collected, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, TE, TRAILER};
use hyper_util::client::legacy;
use platform::dataplane_client::connections::DataPlaneConnection;
use platform::http::call::{Call, EnvironmentPlace};
use platform::{App, Error, Result, chain};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::error::Elapsed;

use super::attempts;
use crate::domain::environments::placement;

/// Beyond the longest time a query may take.
const PATIENCE: Duration = Duration::from_millis(TIMEOUT_MS_MAX + 15_000);
/// The same of a load, which ends before.
const LOAD_PATIENCE: Duration = Duration::from_secs(WITHIN_SECS + 15);
/// The longest error body that is read.
const PROBLEM_BYTES_MAX: usize = 64 * 1024;
/// More than a data plane gives in one record.
const RECORD_BYTES_MAX: usize = 32 * 1024 * 1024;
/// What of the data plane's answer goes to the caller.
const PASSED_ON: [HeaderName; 11] = [
    CONTENT_TYPE,
    TRAILER,
    HeaderName::from_static(header::QUERY_ID),
    HeaderName::from_static(header::COLUMNS_MASKED),
    HeaderName::from_static(header::CACHE_HIT),
    HeaderName::from_static(header::QUERY_HEALED),
    HeaderName::from_static(header::ROW_COUNT),
    HeaderName::from_static(header::CREDITS_CONSUMED),
    HeaderName::from_static(header::REPLAYED),
    HeaderName::from_static(header::ROWS_WITHHELD),
    HeaderName::from_static("x-execution-time-ms"),
];

/// A question to a data plane.
#[derive(Debug)]
pub struct ForwardedQuery<'a> {
    pub env_id: &'a EnvId,
    /// None where the control plane asks for itself.
    pub caller: Option<&'a Forwarded>,
    pub request_id: &'a RequestId,
    /// The `Idempotency-Key`: sent again with it, a statement that changes something is not run again.
    pub key: Option<&'a str>,
    /// How long the statement may take, if it says so.
    pub timeout_ms: Option<u64>,
    /// Where the data plane is, if that is known already.
    pub place: Option<&'a EnvironmentPlace>,
}

impl<'a> ForwardedQuery<'a> {
    /// For the caller of this call, without a key or a time of its own.
    fn of(cx: &'a Call, env_id: &'a EnvId, caller: &'a Forwarded) -> Self {
        let (request_id, place) = (&cx.request_id, place(cx, env_id));
        Self { env_id, caller: Some(caller), request_id, key: None, timeout_ms: None, place }
    }
}

/// Runs `body` at `/v1/environments/{env_id}/{path}` of the data plane, for the caller.
pub async fn forward(cx: &Call, path: &str, body: &QueryBody) -> Result<Response> {
    let caller = caller(cx)?;
    let env_id = cx.env_id()?;
    let key = cx.key.as_deref();
    let timeout_ms = body.timeout_ms;
    let asked = ForwardedQuery { key, timeout_ms, ..ForwardedQuery::of(cx, &env_id, &caller) };
    send(&cx.app, &asked, path, body).await
}

/// The same, where the answer is a record and not a stream.
pub async fn told<T: DeserializeOwned>(cx: &Call, path: &str, body: &impl Serialize) -> Result<T> {
    told_of(cx, &cx.env_id()?, path, body).await
}

/// The same of an environment that the path does not name.
pub async fn told_of<T: DeserializeOwned>(cx: &Call, env_id: &EnvId, path: &str, body: &impl Serialize) -> Result<T> {
    let caller = caller(cx)?;
    let asked = ForwardedQuery::of(cx, env_id, &caller);
    record(send(&cx.app, &asked, path, body).await?).await
}

/// The same for the control plane itself.
pub async fn told_to_us<T: DeserializeOwned>(
    app: &App,
    env_id: &EnvId,
    path: &str,
    body: &impl Serialize,
) -> Result<T> {
    let request_id = RequestId::minted(app.now(), app.entropy());
    let asked =
        ForwardedQuery { env_id, caller: None, request_id: &request_id, key: None, timeout_ms: None, place: None };
    record(send(app, &asked, path, body).await?).await
}

/// Asks without a body at the same path and query of the data plane, for the caller.
pub async fn bare(cx: &Call, method: Method, path_and_query: &str) -> Result<Response> {
    let (caller, env_id) = (caller(cx)?, cx.env_id()?);
    let asked = ForwardedQuery::of(cx, &env_id, &caller);
    let line = line(&cx.app, &asked).await?;
    let request = addressed(&asked, (method, path_and_query), "application/octet-stream", Full::default())?;
    let answer = tokio::time::timeout(PATIENCE, ask(&line, request, asked.timeout_ms)).await;
    answered(&cx.app, &env_id, &line, answer).await
}

/// The same, where the answer is a record.
pub async fn bare_record<T: DeserializeOwned>(cx: &Call, method: Method, path_and_query: &str) -> Result<T> {
    record(bare(cx, method, path_and_query).await?).await
}

/// Sends a body on as it comes, to the same path and query of the data plane, for the caller. It cannot be sent twice.
/// Under the name of its operation the data plane tells how far it is.
pub async fn stream(
    cx: &Call,
    (method, path_and_query): (Method, &str),
    length: Option<HeaderValue>,
    body: Body,
    operation_id: Option<&OperationId>,
) -> Result<Response> {
    let (caller, env_id) = (caller(cx)?, cx.env_id()?);
    let asked = ForwardedQuery::of(cx, &env_id, &caller);
    let line = line(&cx.app, &asked).await?;
    let broke = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&broke);
    let pieces = body.into_data_stream().inspect(move |piece| {
        noted.fetch_or(piece.is_err(), Ordering::AcqRel);
    });
    let mut request =
        addressed(&asked, (method, path_and_query), "application/octet-stream", Body::from_stream(pieces))?;
    if let Some(length) = length {
        request.headers_mut().insert(CONTENT_LENGTH, length);
    }
    if let Some(operation_id) = operation_id {
        let named = HeaderValue::from_str(operation_id.as_str()).map_err(Error::internal)?;
        request.headers_mut().insert(header::OPERATION, named);
    }
    let answer = tokio::time::timeout(LOAD_PATIENCE, line.streaming.request(request)).await;
    if broke.load(Ordering::Acquire) {
        return Err(Error::invalid("body", "readable", "the body could not be read to its end"));
    }
    answered(&cx.app, &env_id, &line, answer).await
}

async fn record<T: DeserializeOwned>(answer: Response) -> Result<T> {
    serde_json::from_slice(&whole(answer.into_body()).await?).map_err(Error::internal)
}

/// The bytes of an answer that is a record.
pub async fn whole(body: Body) -> Result<Bytes> {
    let read = Limited::new(body, RECORD_BYTES_MAX).collect().await.map_err(Error::internal)?;
    Ok(read.to_bytes())
}

/// Runs `body` at `/v1/environments/{env_id}/{path}` of the data plane, for whom it is asked.
pub async fn send(app: &App, asked: &ForwardedQuery<'_>, path: &str, body: &impl Serialize) -> Result<Response> {
    let line = line(app, asked).await?;
    let body = Full::from(serde_json::to_vec(body).map_err(Error::internal)?);
    let path = format!("/v1/environments/{}/{path}", asked.env_id);
    let request = addressed(asked, (Method::POST, path.as_str()), "application/json", body)?;
    let answer = tokio::time::timeout(PATIENCE, ask(&line, request, asked.timeout_ms)).await;
    answered(app, asked.env_id, &line, answer).await
}

/// The way to a data plane, unless it has not answered for some time.
async fn line(app: &App, asked: &ForwardedQuery<'_>) -> Result<Arc<DataPlaneConnection>> {
    let address = if let Some(place) = asked.place {
        placement::address(Some(place))?
    } else {
        let mut conn = app.pool().acquire().await?;
        placement::internal_address(&mut conn, asked.env_id).await?
    };
    let line = app.data_planes()?.line(asked.env_id, &address)?;
    line.breaker.try_pass(app.now()).map_err(|retry_after_s| Error::CircuitOpen { retry_after_s })?;
    Ok(line)
}

async fn answered(
    app: &App,
    env_id: &EnvId,
    line: &DataPlaneConnection,
    answer: std::result::Result<std::result::Result<hyper::Response<Incoming>, legacy::Error>, Elapsed>,
) -> Result<Response> {
    match answer {
        Ok(Ok(answer)) => {
            line.breaker.succeeded();
            passed_on(answer).await
        }
        Ok(Err(error)) => {
            line.breaker.failed(app.now());
            tracing::warn!(env.id = %env_id, error = %chain(&error), "a data plane did not answer");
            Err(Error::ProxyUnreachable)
        }
        Err(_) => {
            line.breaker.failed(app.now());
            tracing::warn!(env.id = %env_id, "a data plane did not answer in time");
            Err(Error::ProxyUnreachable)
        }
    }
}

/// Asks, and asks again where nothing was heard: whoever was about to leave may have a successor at the same address.
async fn ask(
    line: &DataPlaneConnection,
    request: hyper::Request<Full<Bytes>>,
    timeout_ms: Option<u64>,
) -> std::result::Result<hyper::Response<Incoming>, legacy::Error> {
    let patience = attempts::patience(line.breaker.is_untroubled(), timeout_ms);
    attempts::until_heard(patience, || line.client.request(request.clone())).await
}

/// Where the data plane is, as it was found with the key of this request: none of another environment.
fn place<'c>(cx: &'c Call, env_id: &EnvId) -> Option<&'c EnvironmentPlace> {
    let is_its = matches!(&cx.caller.credential, Credential::Key { env_id: own, .. } if own == env_id);
    cx.place.as_ref().filter(|_| is_its)
}

/// As whom the data plane looks the caller up.
pub fn caller(cx: &Call) -> Result<Forwarded> {
    let origin = cx.in_browser.then_some(Origin::Dashboard);
    Ok(Forwarded { who: who(cx)?, peer: Some(cx.peer), origin, by_dashboard: cx.by_dashboard })
}

fn who(cx: &Call) -> Result<Who> {
    match (&cx.caller.credential, &cx.caller.user_id) {
        (Credential::Key { key_id, .. }, _) => Ok(Who::Key { key_id: key_id.clone() }),
        (Credential::Session { session_id }, Some(user_id)) => {
            Ok(Who::Session { user_id: user_id.clone(), session_id: session_id.clone() })
        }
        (Credential::Session { .. }, None) => Err(Error::Refused(Code::InvalidToken)),
    }
}

/// A request to this path of the data plane, with who asks it.
fn addressed<B>(
    asked: &ForwardedQuery<'_>,
    (method, path_and_query): (Method, &str),
    content_type: &'static str,
    body: B,
) -> Result<hyper::Request<B>> {
    let ForwardedQuery { env_id, caller, request_id, key, .. } = asked;
    let mut request = hyper::Request::builder()
        .method(method)
        .uri(format!("https://{}{path_and_query}", wire::environment_name(env_id)))
        .header(CONTENT_TYPE, content_type)
        .header(TE, "trailers")
        .header(header::REQUEST_ID, request_id.as_str())
        .body(body)
        .map_err(Error::internal)?;
    if let Some(caller) = caller {
        let caller = serde_json::to_string(caller).map_err(Error::internal)?;
        request.headers_mut().insert(header::CALLER, HeaderValue::try_from(caller).map_err(Error::internal)?);
    }
    if let Some(key) = key {
        let key = HeaderValue::from_str(key).map_err(Error::internal)?;
        request.headers_mut().insert(header::IDEMPOTENCY_KEY, key);
    }
    telemetry::here().write(request.headers_mut());
    Ok(request)
}

async fn passed_on(answer: hyper::Response<Incoming>) -> Result<Response> {
    let (head, body) = answer.into_parts();
    if !head.status.is_success() {
        return Err(Error::FromDataPlane(Box::new(problem(head.status.as_u16(), &head.headers, body).await)));
    }
    let mut response = Response::new(Body::new(body));
    *response.status_mut() = head.status;
    for name in PASSED_ON {
        for value in head.headers.get_all(&name) {
            response.headers_mut().append(name.clone(), value.clone());
        }
    }
    Ok(response)
}

/// Body 2 of a data plane.
#[derive(Deserialize)]
struct Machine {
    error: MachineError,
}

#[derive(Deserialize)]
struct MachineError {
    code: String,
    message: String,
    #[serde(default)]
    details: Map<String, Value>,
}

/// The row of the code table that a data plane's answer names. What names none is an answer that
/// no data plane of ours gives.
async fn problem(status: u16, headers: &HeaderMap, body: Incoming) -> Problem {
    let bytes = Limited::new(body, PROBLEM_BYTES_MAX).collect().await.map(Collected::to_bytes).unwrap_or_default();
    let Ok(Machine { error }) = serde_json::from_slice(&bytes) else {
        return unreadable(status);
    };
    let sqlstate = error.details.get("sqlstate").and_then(Value::as_str);
    let Some(code) = Code::told(&error.code, status, sqlstate) else {
        return unreadable(status);
    };
    let retry_after = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    Problem { code, message: error.message, details: error.details, retry_after_s: retry_after }
}

fn unreadable(status: u16) -> Problem {
    tracing::warn!(http.status = status, "a data plane answered with an error that cannot be read");
    Problem::new(Code::ProxyUnreachable, "the data plane gave an answer that cannot be read")
}
