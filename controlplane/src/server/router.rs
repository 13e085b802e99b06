//! The middleware that every request passes, in this order.
//!
//! Request id → address → body limit → (guard: who → rate limit → may they) → idempotency → handler →
//! error body →
//! `X-Request-Id` and rate limit headers. A handler never renders an error: it names a row of the
//! code table, and the middleware writes body 1 with the request id.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr};
use std::panic::AssertUnwindSafe;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode, header::RETRY_AFTER};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use contract::RequestId;
use contract::body::Problem;
use contract::wire::header::REQUEST_ID;
use futures::FutureExt;
use platform::http::body::BYTES_MAX;
use platform::http::parameters::Parameters;
use platform::http::route::Route;
use platform::http::routes::Routes;
use platform::{App, Error};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate, SizeAbove};
use tracing::Instrument;

use crate::domain::runtime;
use crate::server::endpoints;
use crate::server::guard::{Arrival, RouteGuard, guard};

/// The whole HTTP surface of the control plane.
pub fn router(app: &App) -> Router {
    let has_runtime = app.config().v2_runtime_enabled;
    guarded(app, endpoints::routes(), |row| has_runtime || !row.path.starts_with(runtime::PREFIX))
        .fallback(async || Error::NotFound { kind: "path" })
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(DefaultBodyLimit::max(BYTES_MAX))
        .layer(from_fn_with_state(app.clone(), middleware))
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(is_worth_compressing()))
        .with_state(app.clone())
}

/// The router of the rows that are served, with the guard of its row around each handler.
fn guarded(app: &App, table: Routes, served: impl Fn(&Route) -> bool) -> Router<App> {
    let mut router = Router::new();
    for (row, handler) in table.into_rows().filter(|(row, _)| served(row)) {
        let path = row.path;
        let gate =
            RouteGuard { app: app.clone(), parameters: Parameters::of(&row, endpoints::parameters(&row)), route: row };
        router = router.route(path, handler.route_layer(from_fn_with_state(gate, guard)));
    }
    router
}

/// Text of more than a packet; events are told at once, and Arrow has a compression of its own.
fn is_worth_compressing() -> impl Predicate {
    const ARROW: NotForContentType = NotForContentType::const_new("application/vnd.apache.arrow");
    DefaultPredicate::new().and(SizeAbove::new(1_400)).and(ARROW)
}

async fn middleware(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let request_id = request_id(&app, &request);
    let origin = platform::http::peer::of(&request, &app.config().trusted_proxies);
    let peer = origin.as_ref().copied().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let span = tracing::info_span!(
        "request",
        request.id = %request_id,
        http.method = %request.method(),
        http.path = request.uri().path(),
        trace.id = tracing::field::Empty,
    );
    let probe = !request.uri().path().starts_with("/v");
    let mut traced = platform::http::traced::begun(&app, &request, probe);
    let place = traced.place().clone();
    if let Some(trace_id) = place.trace_id() {
        span.record("trace.id", trace_id);
    }
    let is_arrow = request.uri().path().ends_with("/query/arrow");
    request.extensions_mut().insert(Arrival { request_id: request_id.clone(), peer });
    let answer = async {
        if app.shutdown().is_cancelled() && !probe {
            return Error::ShuttingDown.into_response();
        }
        if origin.is_err() && !probe {
            return platform::http::peer::unreadable().into_response();
        }
        let handler = AssertUnwindSafe(next.run(request)).catch_unwind();
        handler.await.unwrap_or_else(|_| Error::Panicked.into_response())
    };
    let answered = place.around(answer.instrument(span)).await;
    platform::http::traced::answered(&mut traced, &answered, &request_id);
    let mut response = with_body(answered, &request_id, is_arrow);
    let counted = ["x-ratelimit-limit", "ratelimit-limit"].iter().any(|name| response.headers().contains_key(*name));
    if !counted {
        app.limits().spend_address(peer).stamp(response.headers_mut());
    }
    if let Ok(value) = HeaderValue::from_str(request_id.as_str()) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// "Accept client `X-Request-Id` if it is well formed, else create one."
fn request_id(app: &App, request: &Request) -> RequestId {
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    given.and_then(RequestId::accepted).unwrap_or_else(|| RequestId::minted(app.now(), app.entropy()))
}

/// Body 1 for a response that carries a [`Problem`]; body 3 on the Arrow endpoint.
fn with_body(mut response: Response, request_id: &RequestId, is_arrow: bool) -> Response {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else {
        return response;
    };
    let status = StatusCode::from_u16(problem.code.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = if is_arrow { problem.arrow() } else { problem.control_plane(request_id) };
    let mut rendered = (status, axum::Json(body)).into_response();
    // What the guard stamped stays, each value of a name.
    let own = rendered.headers().clone();
    for (name, value) in response.headers().iter().filter(|(name, _)| !own.contains_key(*name)) {
        rendered.headers_mut().append(name, value.clone());
    }
    if let Some(seconds) = problem.retry_after_s {
        rendered.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if status == StatusCode::UNAUTHORIZED {
        rendered.headers_mut().insert("www-authenticate", HeaderValue::from_static("Bearer, ApiKey"));
    }
    rendered
}
