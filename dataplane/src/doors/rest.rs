//! The internal REST door (8090): for the control plane alone. The same routes are served on 5439 to callers who
//! come themselves (`own_routes`).
//!
//! The control plane has authenticated the caller and says who it is in `X-Sluice-Caller`, never
//! the credential; that header counts only under the control plane's own certificate, and the caller
//! is looked up again in our snapshot. Errors are body 2; the control plane renders them as its own.

mod body;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use bytes::Bytes;
use contract::policy::abac::Origin;
use contract::wire::{self, Format, Forwarded, QueryBody, TIMEOUT_MS_MAX};
use contract::{Code, EnvId, QueryId, RequestId};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::tls::is_control_plane;
use crate::ending::Ending;
use crate::sessions::{announced, is_known};
use crate::{Ask, Declared, Error, Names, Pipeline, Sessions};

/// A statement of a megabyte, every byte escaped.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
const CONNECTIONS_MAX: usize = 1_024;
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
const HEADERS_WITHIN: Duration = Duration::from_secs(10);

/// The protocols offered in the handshake: HTTP/2 carries trailers without being asked.
pub const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The door's own state.
#[derive(Debug, Clone)]
pub struct Door {
    pub env_id: EnvId,
    pub pipeline: Arc<Pipeline>,
    pub ending: Ending,
}

/// Serves until everything is closed. A connection of before we leave is asked to end and served as
/// long as something comes; who comes while it drains is told so.
pub async fn serve(listener: TcpListener, tls: watch::Receiver<Arc<ServerConfig>>, door: Door) {
    let ending = door.ending.clone();
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let (serving, refusing) = (routes(door.clone()), Router::new().fallback(shutting_down).with_state(door));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.closed.cancelled() => return,
        };
        ending.newcomer();
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let acceptor = TlsAcceptor::from(Arc::clone(&tls.borrow()));
        let (routes, ends) = match (ending.leaving.is_cancelled(), ending.draining.is_cancelled()) {
            (false, false) => (serving.clone(), ending.leaving.clone()),
            (true, false) => (serving.clone(), ending.draining.clone()),
            (_, true) => (refusing.clone(), ending.closed.clone()),
        };
        ending.spawn(async move {
            connection(stream, acceptor, routes, ends).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, routes: Router, ends: CancellationToken) {
    let _ = stream.set_nodelay(true);
    let peer = stream.peer_addr().ok();
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_WITHIN, acceptor.accept(stream)).await else {
        tracing::info!(?peer, "a handshake failed");
        return;
    };
    if !is_control_plane(stream.get_ref().1.peer_certificates()) {
        tracing::warn!(?peer, "a certificate that is not the control plane's was presented");
        return;
    }
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Duration::from_secs(20));
    let serving = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = ends.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(?peer, error = %error, "a connection ended early");
    }
}

/// What the door serves; a path that is not here is 404.
pub fn routes(door: Door) -> Router {
    Router::new()
        .route("/v1/environments/{env_id}/query", post(query))
        .route("/v1/environments/{env_id}/query/arrow", post(query_arrow))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(door)
}

/// Who sends a request that came without the control plane in between.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    pub ip: IpAddr,
    /// The connection keeps a credential secret.
    pub may_ask: bool,
}

/// The same routes for callers who come themselves, each request with its own credential. It answers with body 2
/// too; a caller that somebody else names counts for nothing here.
pub fn own_routes(door: Door, sessions: Sessions) -> Router {
    Router::new()
        .route("/v1/environments/{env_id}/query", post(own_query))
        .route("/v1/environments/{env_id}/query/arrow", post(own_query_arrow))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state((door, sessions))
}

type Own = State<(Door, Sessions)>;

async fn own_query(own: Own, peer: Extension<Peer>, env_id: Path<EnvId>, headers: HeaderMap, body: Bytes) -> Response {
    own_answer(own, peer, env_id, headers, body, None).await
}

async fn own_query_arrow(
    own: Own,
    peer: Extension<Peer>,
    env_id: Path<EnvId>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    own_answer(own, peer, env_id, headers, body, Some(body::Shape::ArrowBase64)).await
}

async fn own_answer(
    State((door, sessions)): Own,
    Extension(peer): Extension<Peer>,
    Path(env_id): Path<EnvId>,
    headers: HeaderMap,
    body: Bytes,
    shape: Option<body::Shape>,
) -> Response {
    let caller = match credential(&headers) {
        _ if !peer.may_ask => Err(Error::Caller(Code::MissingAuth)),
        Some(key) => sessions.admit(key, Some(peer.ip)).await.map(|admitted| admitted.who),
        None => Err(Error::Caller(Code::MissingAuth)),
    };
    let caller = caller.map(|who| Forwarded { who, peer: Some(peer.ip) });
    answer(door, caller, env_id, headers, body, shape).await
}

/// `Authorization: ApiKey …` or `Bearer …`, or `X-API-Key: …`.
fn credential(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let authorization = text("authorization").and_then(|value| value.split_once(' '));
    match authorization {
        Some((scheme, key)) if ["apikey", "bearer"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) => {
            Some(key.trim())
        }
        Some(_) => None,
        None => text("x-api-key"),
    }
}

/// The caller that the control plane names.
fn forwarded(headers: &HeaderMap) -> Result<Forwarded, Error> {
    let forwarded = headers.get(wire::header::CALLER).ok_or(Error::Caller(Code::MissingAuth))?;
    serde_json::from_slice(forwarded.as_bytes())
        .map_err(|_| Error::InvalidParams { field: "caller", message: "the caller cannot be read".to_owned() })
}

async fn query(State(door): State<Door>, Path(env_id): Path<EnvId>, headers: HeaderMap, body: Bytes) -> Response {
    let caller = forwarded(&headers);
    answer(door, caller, env_id, headers, body, None).await
}

async fn query_arrow(State(door): State<Door>, Path(env_id): Path<EnvId>, headers: HeaderMap, body: Bytes) -> Response {
    let caller = forwarded(&headers);
    answer(door, caller, env_id, headers, body, Some(body::Shape::ArrowBase64)).await
}

async fn shutting_down(State(door): State<Door>, headers: HeaderMap) -> Response {
    refusal(&Error::ShuttingDown, &request_id(&door, &headers), door.pipeline.clock.now())
}

async fn answer(
    door: Door,
    caller: Result<Forwarded, Error>,
    env_id: EnvId,
    headers: HeaderMap,
    body: Bytes,
    shape: Option<body::Shape>,
) -> Response {
    let serving = door.ending.serving(); // until the last byte
    let request_id = request_id(&door, &headers);
    let asked = caller.and_then(|caller| asked(&door, &env_id, caller, &body, shape, &request_id));
    let ran = match asked {
        Ok((ask, shape)) => {
            // The control plane has authenticated them; whether we know them yet is a matter of moments.
            let _ = announced(&door.pipeline.snapshots, |rules| is_known(rules, &ask.who)).await;
            let give_up = ask.cancel.clone().drop_guard();
            let ran = door.pipeline.run(ask).await.map(|answer| (answer, shape));
            give_up.disarm();
            ran
        }
        Err(error) => Err(error),
    };
    let now = door.pipeline.clock.now();
    let mut response = match ran {
        Ok((answer, shape)) => body::response(answer, shape, request_id.clone(), now, serving),
        Err(error) => refusal(&error, &request_id, now),
    };
    if let Ok(value) = HeaderValue::from_str(request_id.as_str()) {
        response.headers_mut().insert(wire::header::REQUEST_ID, value);
    }
    response
}

fn request_id(door: &Door, headers: &HeaderMap) -> RequestId {
    let given = headers.get(wire::header::REQUEST_ID).and_then(|value| value.to_str().ok());
    given
        .and_then(RequestId::accepted)
        .unwrap_or_else(|| RequestId::minted(door.pipeline.clock.now(), &door.pipeline.entropy))
}

fn asked(
    door: &Door,
    env_id: &EnvId,
    forwarded: Forwarded,
    body: &[u8],
    shape: Option<body::Shape>,
    request_id: &RequestId,
) -> Result<(Ask, body::Shape), Error> {
    if *env_id != door.env_id {
        return Err(Error::OtherEnvironment);
    }
    let body: QueryBody = serde_json::from_slice(body).map_err(|error| Error::InvalidParams {
        field: "body",
        message: format!("the body cannot be read: {error}"),
    })?;
    let shape = shape.unwrap_or(match body.format {
        Format::Json => body::Shape::Json,
        Format::Csv => body::Shape::Csv,
        Format::Arrow => body::Shape::Arrow,
    });
    if shape.is_arrow() && !door.pipeline.rules()?.organization.tier.has_arrow() {
        return Err(Error::TierLimit);
    }
    if body.timeout_ms.is_some_and(|timeout_ms| !(1..=TIMEOUT_MS_MAX).contains(&timeout_ms)) {
        let message = format!("timeout_ms is from 1 to {TIMEOUT_MS_MAX}");
        return Err(Error::InvalidParams { field: "timeout_ms", message });
    }
    let ask = Ask {
        query_id: QueryId::fresh(door.pipeline.clock.now(), &door.pipeline.entropy),
        request_id: request_id.clone(),
        sql: body.sql,
        params: Vec::new(),
        who: forwarded.who,
        peer: forwarded.peer,
        origin: if shape.is_arrow() { Origin::Arrow } else { Origin::Rest },
        agent: Declared { agent_id: body.agent_id, framework: body.agent_framework },
        timeout: body.timeout_ms.map(Duration::from_millis),
        cancel: door.ending.closed.child_token(),
        transaction: None,
        names: Names::default(),
    };
    Ok((ask, shape))
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

/// Where the door listens.
pub fn address(listener: &TcpListener) -> std::io::Result<SocketAddr> {
    listener.local_addr()
}
