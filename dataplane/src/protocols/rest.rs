//! The internal REST listener (8090): for the control plane alone. The same routes are served on 5439 to callers who
//! come themselves (`own_routes`).
//!
//! The control plane has authenticated the caller and says who it is in `X-Sluice-Caller`, never
//! the credential; that header counts only under the control plane's own certificate, and the caller
//! is looked up again in our snapshot. Errors are body 2; the control plane renders them as its own.

mod binding;
mod body;
mod explain;
mod load;
mod operations;
mod stage_files;
mod tool;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bytes::Bytes;
use connections::Limits;
use contract::policy::abac::Origin;
use contract::wire::{self, Format, Forwarded, QueryBody, TIMEOUT_MS_MAX, Who};
use contract::{Code, EnvId, Heal, QueryId, RequestId};
use rustls::ServerConfig;
use serde::Serialize;
use serde::de::DeserializeOwned;
use telemetry::Place;
use tokio::net::TcpListener;
use tokio::sync::watch;

use self::operations::RunningLoads;
use super::http::{self, BODY_BYTES_MAX, Peer, Security};
use super::{credential, keyed, request_id};
use crate::agents::memory::Memories;
use crate::agents::reasoning::Thoughts;
use crate::agents::triggers::Triggers;
use crate::governance::sessions::confirmed;
use crate::pipeline::Once;
use crate::request::ask::with_standard_strings;
use crate::shutdown::Ending;
use crate::storage::branches::schema_on;
use crate::{Ask, Bounds, DeclaredAgent, Error, Names, Pipeline, Sessions};

/// The state of the handlers.
#[derive(Debug, Clone)]
pub struct RestContext {
    pub env_id: EnvId,
    pub pipeline: Arc<Pipeline>,
    pub memories: Memories,
    pub thoughts: Thoughts,
    pub triggers: Triggers,
    pub ending: Ending,
    pub limits: Limits,
}

impl RestContext {
    /// It serves one environment alone.
    fn serves(&self, env_id: &EnvId) -> Result<(), Error> {
        if *env_id == self.env_id { Ok(()) } else { Err(Error::OtherEnvironment) }
    }

    /// The control plane has authenticated them; whether we know them yet is a matter of moments.
    async fn announced(&self, who: &Who) {
        let _ = confirmed(&self.pipeline.snapshots, who).await;
    }
}

/// Serves until everything is closed.
pub async fn serve(listener: TcpListener, tls: watch::Receiver<Arc<ServerConfig>>, context: RestContext) {
    let refusing = Router::new().fallback(shutting_down).with_state(context.clone());
    let (ending, limits) = (context.ending.clone(), context.limits);
    http::serve(listener, Security::ControlPlane(tls), limits, routes(context), refusing, ending).await;
}

/// The routes; a path that is not here is 404.
pub fn routes(context: RestContext) -> Router {
    Router::new()
        .route("/v1/environments/{env_id}/query", post(query))
        .route("/v1/environments/{env_id}/query/arrow", post(query_arrow))
        .route("/v1/environments/{env_id}/transpile", post(explain::transpile))
        .route("/v1/environments/{env_id}/policies/test", post(explain::test))
        .route("/v1/environments/{env_id}/policies/bind", post(binding::bind))
        .route("/v1/environments/{env_id}/tools/{name}", post(tool::call))
        .route("/v1/environments/{env_id}/tables/{name}/load", post(load::load))
        .route(
            "/v1/environments/{env_id}/operations/{operation_id}",
            get(operations::progress).delete(operations::cancel),
        )
        .layer(Extension(RunningLoads::default()))
        .route("/v1/environments/{env_id}/stages/{stage}/files", get(stage_files::list))
        .route(
            "/v1/environments/{env_id}/stages/{stage}/files/{path}",
            get(stage_files::get).put(stage_files::put).delete(stage_files::remove),
        )
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(context)
}

/// Whether the connection keeps a credential secret; an extension of every request of a caller who comes alone.
#[derive(Debug, Clone, Copy)]
pub struct MayAsk(pub bool);

/// The same routes for callers who come themselves, each request with its own credential. It answers with body 2
/// too; a caller that somebody else names counts for nothing here.
pub fn own_routes(context: RestContext, sessions: Sessions) -> Router {
    Router::new()
        .route("/v1/environments/{env_id}/query", post(own_query))
        .route("/v1/environments/{env_id}/query/arrow", post(own_query_arrow))
        .with_state((context, sessions))
}

type RestState = State<(RestContext, Sessions)>;

async fn own_query(own: RestState, env_id: Path<EnvId>, request: Request) -> Response {
    own_answer(own, env_id, request, None).await
}

async fn own_query_arrow(own: RestState, env_id: Path<EnvId>, request: Request) -> Response {
    own_answer(own, env_id, request, Some(body::BodyFormat::ArrowBase64)).await
}

async fn own_answer(
    State((context, sessions)): RestState,
    Path(env_id): Path<EnvId>,
    request: Request,
    shape: Option<body::BodyFormat>,
) -> Response {
    let (parts, body) = request.into_parts();
    let asked = async {
        let caller = own_caller(&sessions, &parts).await?;
        Ok((caller, http::whole(body).await?))
    };
    let (caller, body) = match asked.await {
        Ok((caller, body)) => (Ok(caller), body),
        Err(error) => (Err(error), Bytes::new()),
    };
    answer(context, caller, env_id, parts.headers, body, shape).await
}

async fn own_caller(sessions: &Sessions, parts: &Parts) -> Result<Forwarded, Error> {
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
    if !parts.extensions.get::<MayAsk>().is_some_and(|may| may.0) {
        return Err(Error::Caller(Code::MissingAuth));
    }
    let admitted = sessions.admit_shown(credential::shown(&parts.headers)?, peer).await?;
    Ok(Forwarded::of(admitted.who, peer))
}

/// The caller that the control plane names.
fn forwarded(headers: &HeaderMap) -> Result<Forwarded, Error> {
    let forwarded = headers.get(wire::header::CALLER).ok_or(Error::Caller(Code::MissingAuth))?;
    serde_json::from_slice(forwarded.as_bytes())
        .map_err(|_| Error::InvalidParams { field: "caller", message: "the caller cannot be read".to_owned() })
}

/// A request of the control plane, with its whole body.
struct RestRequest<P> {
    context: RestContext,
    path: P,
    headers: HeaderMap,
    body: Bytes,
}

impl<P: DeserializeOwned + Send> FromRequest<RestContext> for RestRequest<P> {
    type Rejection = Response;

    async fn from_request(request: Request, context: &RestContext) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let path = Path::<P>::from_request_parts(&mut parts, context).await;
        let Path(path) = path.map_err(IntoResponse::into_response)?;
        let headers = parts.headers.clone();
        let body = Bytes::from_request(Request::from_parts(parts, body), context).await;
        let body = body.map_err(IntoResponse::into_response)?;
        Ok(Self { context: context.clone(), path, headers, body })
    }
}

impl<P> RestRequest<P> {
    /// Answers it in JSON, or refuses it.
    async fn answered<T: Serialize, F: Future<Output = Result<T, Error>>>(
        &self,
        answer: impl FnOnce(RequestId) -> F,
    ) -> Response {
        let _serving = self.context.ending.serving(); // until it is answered
        let request_id = request_id::of(&self.context.pipeline, &self.headers);
        let answered = answer(request_id.clone()).await;
        json_response(&self.context, &request_id, answered)
    }
}

async fn query(RestRequest { context, path, headers, body }: RestRequest<EnvId>) -> Response {
    answer(context, forwarded(&headers), path, headers, body, None).await
}

async fn query_arrow(RestRequest { context, path, headers, body }: RestRequest<EnvId>) -> Response {
    answer(context, forwarded(&headers), path, headers, body, Some(body::BodyFormat::ArrowBase64)).await
}

async fn shutting_down(State(context): State<RestContext>, headers: HeaderMap) -> Response {
    refusal(&Error::ShuttingDown, &request_id::of(&context.pipeline, &headers), context.pipeline.clock.now())
}

async fn answer(
    context: RestContext,
    caller: Result<Forwarded, Error>,
    env_id: EnvId,
    headers: HeaderMap,
    body: Bytes,
    shape: Option<body::BodyFormat>,
) -> Response {
    let serving = context.ending.serving(); // until the last byte
    let request_id = request_id::of(&context.pipeline, &headers);
    let asked = caller.and_then(|caller| {
        let (ask, once, shape) = asked(&context, &env_id, caller, (&headers, &body), shape, &request_id)?;
        Ok((Ask { place: Place::of_headers(&headers), ..ask }, once, shape))
    });
    let sent = match asked {
        Ok((ask, once, shape)) => {
            context.announced(&ask.who).await;
            let give_up = ask.cancel.clone().drop_guard();
            let ran = context.pipeline.run_once(ask, once).await;
            give_up.disarm();
            match ran {
                Ok(answer) => body::response(answer, shape, serving).await,
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    };
    let response = sent.unwrap_or_else(|error| refusal(&error, &request_id, context.pipeline.clock.now()));
    request_id::known_by(response, &request_id)
}

/// The answer of an endpoint in JSON, or its refusal.
fn json_response<T: Serialize>(context: &RestContext, request_id: &RequestId, told: Result<T, Error>) -> Response {
    let response = match told.and_then(|told| written(&told)) {
        Ok(json) => ([(header::CONTENT_TYPE, "application/json")], Body::from(json)).into_response(),
        Err(error) => refusal(&error, request_id, context.pipeline.clock.now()),
    };
    request_id::known_by(response, request_id)
}

fn written(told: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(told).map_err(|error| Error::Unverified { why: error.to_string() })
}

fn asked(
    context: &RestContext,
    env_id: &EnvId,
    forwarded: Forwarded,
    (headers, body): (&HeaderMap, &[u8]),
    shape: Option<body::BodyFormat>,
    request_id: &RequestId,
) -> Result<(Ask, Option<Once>, body::BodyFormat), Error> {
    context.serves(env_id)?;
    let body: QueryBody = http::json(body)?;
    let path = if shape.is_some() { "query/arrow" } else { "query" };
    // a body means the same however it was written
    let once = keyed::once(path, headers, &written(&body)?)?;
    if body.numbers.is_some() && (shape.is_some() || body.format != Format::Json) {
        let message = "numbers goes with format json: CSV and Arrow have every digit".to_owned();
        return Err(Error::InvalidParams { field: "numbers", message });
    }
    let shape = shape.unwrap_or(match body.format {
        Format::Json => body::BodyFormat::Json(body.numbers.unwrap_or_default()),
        Format::Csv => body::BodyFormat::Csv,
        Format::Parquet => body::BodyFormat::Parquet,
        Format::Arrow => body::BodyFormat::Arrow,
    });
    if shape.is_arrow() && !context.pipeline.rules()?.organization.tier.has_arrow() {
        return Err(Error::TierLimit);
    }
    if body.timeout_ms.is_some_and(|timeout_ms| !(1..=TIMEOUT_MS_MAX).contains(&timeout_ms)) {
        let message = format!("timeout_ms is from 1 to {TIMEOUT_MS_MAX}");
        return Err(Error::InvalidParams { field: "timeout_ms", message });
    }
    let agent = DeclaredAgent::told(("agent_id", body.agent_id), ("agent_framework", body.agent_framework))?;
    let mut names = Names::default();
    if let Some(branch_id) = &body.branch_id {
        names.schema = schema_on(branch_id)?;
    }
    let query_id = QueryId::fresh(context.pipeline.clock.now(), &context.pipeline.entropy);
    let ask = Ask {
        sql: with_standard_strings(body.sql, body.standard_conforming_strings)?,
        peer: forwarded.peer,
        by_dashboard: forwarded.by_dashboard,
        agent,
        timeout: body.timeout_ms.map(Duration::from_millis),
        cancel: context.ending.closed.child_token(),
        names,
        bounds: Bounds {
            heal: heal(forwarded.origin, body.heal),
            strings: body.standard_conforming_strings,
            reads_only: forwarded.by_dashboard || body.reads_only == Some(true),
            ..Bounds::default()
        },
        ..Ask::of(query_id, request_id.clone(), forwarded.who, origin(forwarded.origin, shape))
    };
    Ok((ask.as_session(), once, shape))
}

/// The dashboard reads no Arrow: with its cookies one still asks for Arrow here.
fn origin(forwarded: Option<Origin>, shape: body::BodyFormat) -> Origin {
    match forwarded {
        Some(Origin::Shadow) => Origin::Shadow,
        _ if shape.is_arrow() => Origin::Arrow,
        other => other.unwrap_or(Origin::Rest),
    }
}

/// What is replayed to be compared must run as it was written, or fail.
fn heal(forwarded: Option<Origin>, wanted: Option<Heal>) -> Option<Heal> {
    if forwarded == Some(Origin::Shadow) { Some(Heal::Off) } else { wanted }
}

/// Body 2.
fn refusal(error: &Error, request_id: &RequestId, now: contract::Timestamp) -> Response {
    let problem = error.problem();
    let status = StatusCode::from_u16(problem.code.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = problem.machine(request_id, now).to_string();
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], Body::from(body)).into_response();
    if let Some(seconds) = problem.retry_after_s {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
