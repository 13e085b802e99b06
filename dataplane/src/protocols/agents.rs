//! The protocols of agents and programs (5440): `/mcp`, the raw Arrow route, Arrow Flight SQL, `/health` and `/ready`.
//!
//! "POST /v1/query/arrow … API key or token; served on the agent tool server port (default 5440)";
//! "The server path is `/mcp`." One listener for HTTP/1.1 and HTTP/2, under the same certificate as
//! the PostgreSQL wire outside local mode. Each request carries the caller's own key, which is
//! checked here, or the token of their session, which the control plane is asked about; nothing is
//! remembered between two requests, so a revoked key and a session that was signed out end with the next.

pub(super) mod flight;
mod mcp;
mod raw_arrow;
mod tool_caller;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use connections::Limits;
use contract::{Code, RequestId};
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::http::{self, Security};
use super::{probes, request_id};
use crate::agents::memory::Memories;
use crate::agents::reasoning::Thoughts;
use crate::agents::tools::ResultBudget;
use crate::agents::triggers::Triggers;
use crate::shutdown::Ending;
use crate::{Error, Pipeline, Sessions};

/// The context of the handlers of these protocols.
#[derive(Debug, Clone)]
pub struct AgentsContext {
    pub pipeline: Arc<Pipeline>,
    pub sessions: Sessions,
    pub memories: Memories,
    pub thoughts: Thoughts,
    pub triggers: Triggers,
    pub ending: Ending,
    pub limits: Limits,
    /// What a result of a tool may hold.
    pub budget: ResultBudget,
    pub probe_state: probes::ProbeState,
    /// Everything is on this machine: names and origins other than its own are refused.
    pub local: bool,
}

/// Serves until everything is closed.
pub async fn serve(listener: TcpListener, tls: Option<watch::Receiver<Arc<ServerConfig>>>, context: AgentsContext) {
    let security = tls.map_or(Security::Plain, Security::Tls);
    let refusing = Router::new().fallback(shutting_down).with_state(context.clone());
    let (ending, limits) = (context.ending.clone(), context.limits);
    http::serve(listener, security, limits, routes(context), refusing, ending).await;
}

/// The routes.
pub fn routes(context: AgentsContext) -> Router {
    let (tools, flight, probes) =
        (mcp::routes(&context), flight::routes(&context), probes::routes(context.probe_state.clone()));
    let own = Router::new().route("/v1/query/arrow", post(raw_arrow::query)).fallback(nothing_here);
    own.with_state(context).merge(tools).merge(flight).merge(probes)
}

async fn shutting_down(State(context): State<AgentsContext>, headers: HeaderMap) -> Response {
    let request_id = request_id::of(&context.pipeline, &headers);
    if flight::is_grpc(&headers) {
        let status = flight::status_of(&Error::ShuttingDown, &request_id, context.pipeline.clock.now());
        return status.into_http();
    }
    refusal(&context, &Error::ShuttingDown, &request_id)
}

async fn nothing_here(State(context): State<AgentsContext>, headers: HeaderMap) -> Response {
    refusal(&context, &Error::Caller(Code::NotFound), &request_id::of(&context.pipeline, &headers))
}

/// Body 2.
fn refusal(context: &AgentsContext, error: &Error, request_id: &RequestId) -> Response {
    let body = error.problem().machine(request_id, context.pipeline.clock.now());
    answered(error, &body, request_id)
}

/// An error with its status and headers around either body.
fn answered(error: &Error, body: &serde_json::Value, request_id: &RequestId) -> Response {
    let problem = error.problem();
    let status = StatusCode::from_u16(problem.code.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = [(header::CONTENT_TYPE, "application/json")];
    let mut response = (status, json, Body::from(body.to_string())).into_response();
    if let Some(seconds) = problem.retry_after_s {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer, ApiKey"));
    }
    request_id::known_by(response, request_id)
}
