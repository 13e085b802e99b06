//! The one guard: who is calling, how often, and may they.
//!
//! It stands around every handler with the row of its route, so a handler without a row cannot be
//! reached. In this order: the credential, the rate limit of the identity behind it, the
//! organization and environment in the path, role and scope, the second factor, the parameters of the
//! query. What belongs to another tenant answers exactly as what is absent.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Instant;

use axum::RequestExt;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use contract::body::Problem;
use contract::caller::Credential;
use contract::{Access, RequestId, Scope};
use platform::http::call::{Call, PathIds, Visit};
use platform::http::conditional::{self, ExpectedVersion};
use platform::http::parameters::Parameters;
use platform::http::rate_limit::RateLimitState;
use platform::http::route::Route;
use platform::http::{deprecation, idempotency};
use platform::{App, Error, Result};

use crate::domain::authentication::{self, AuthenticatedCaller};
use crate::domain::{environments, jit_access, runtime};

#[derive(Clone)]
pub struct RouteGuard {
    pub app: App,
    pub route: Route,
    pub parameters: Parameters,
}

/// Facts of a request that the middleware read before the guard.
#[derive(Debug, Clone)]
pub struct Arrival {
    pub request_id: RequestId,
    pub peer: IpAddr,
}

pub async fn guard(State(gate): State<RouteGuard>, mut request: Request, next: Next) -> Response {
    let RouteGuard { app, route, parameters } = gate;
    let began = Instant::now();
    let mut rate_limit = None;
    let admitted = admit(&app, &route, &mut request, &mut rate_limit).await;
    let mut response = match admitted.and_then(|()| asked(&parameters, &mut request)) {
        Ok(()) => {
            let change = change(&route, &request);
            let held = conditional::held(request.headers());
            let response = idempotency::once(&app, &route, request, next).await;
            let response = conditional::answered(&route, &held, response).await;
            if let (true, Some(path)) = (response.status().is_success(), change) {
                in_force(&app, &path).await;
            }
            response
        }
        Err(error) => error.into_response(),
    };
    if let Some(mut rate_limit) = rate_limit {
        if status(&response).is_client_error() {
            rate_limit = app.limits().kept_nothing(rate_limit);
            response = rate_limit.allowed().err().map_or(response, IntoResponse::into_response);
        }
        rate_limit.stamp(response.headers_mut());
    }
    deprecation::stamp(&route, response.headers_mut());
    app.metrics().answered(&route.method, route.path, status(&response), began.elapsed());
    response
}

/// Refuses a parameter that the route does not know, or leaves it out.
fn asked(parameters: &Parameters, request: &mut Request) -> Result<()> {
    if let Some(uri) = parameters.admitted(request.uri())? {
        *request.uri_mut() = uri;
    }
    Ok(())
}

/// The status that will be answered: an error is still on its way to its body.
fn status(response: &Response) -> StatusCode {
    let problem = response.extensions().get::<Problem>().map(|problem| problem.code.http());
    problem.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or_else(|| response.status())
}

/// The organization or environment that a request may change the rules of.
fn change(route: &Route, request: &Request) -> Option<PathIds> {
    let reads = route.method == Method::GET || route.scope == Some(Scope::QueryRead);
    request.extensions().get::<Call>().filter(|_| !reads).map(|call| call.path.clone())
}

/// What was answered with success rules from then on, wherever a data plane is connected.
async fn in_force(app: &App, path: &PathIds) {
    let versions = match (path.env_id(), path.org_id()) {
        (Some(env_id), _) => environments::versions(app.pool(), &[env_id]).await,
        (None, Some(org_id)) => environments::versions_in(app.pool(), &org_id).await,
        (None, None) => return,
    };
    match versions {
        Ok(versions) => {
            let waiting = versions.iter().map(|(env_id, version)| app.attached().in_force(env_id, *version));
            futures::future::join_all(waiting).await;
        }
        // The change itself has been made; the data planes learn of it all the same.
        Err(error) => tracing::warn!(%error, "a change was answered before it was seen to be in force"),
    }
}

/// Puts a [`Call`] or, on a public route, a [`Visit`] into the request.
async fn admit(app: &App, route: &Route, request: &mut Request, rate_limit: &mut Option<RateLimitState>) -> Result<()> {
    let Some(Arrival { request_id, peer }) = request.extensions().get::<Arrival>().cloned() else {
        return Err(Error::Unguarded);
    };
    let path = ids(request).await?;
    if route.access == Access::Public {
        // Probes are not counted: an orchestrator asks as often as it likes.
        if route.path.starts_with("/v1/") {
            rate_limit.insert(app.limits().spend_address(peer)).allowed()?;
        }
        request.extensions_mut().insert(Visit { app: app.clone(), request_id, peer, path });
        return Ok(());
    }
    let known = authentication::known(app, request.headers(), peer).await;
    let AuthenticatedCaller { caller, tier, limits, second_factor, agent_id, place } = match known {
        Ok(known) => known,
        Err(error) => return Err(app.limits().after_failed_credential(peer, error)),
    };
    authentication::intended(request.method(), request.headers())?;
    let identity = caller.key_id().map_or_else(|| caller.actor_id(), |key_id| key_id.as_str());
    let spent = if route.path.starts_with(runtime::PREFIX) {
        let heartbeat_of = path.get("attempt_id").filter(|_| route.path == runtime::HEARTBEAT);
        app.limits().spend_runtime(&caller.org_id, identity, heartbeat_of)
    } else {
        app.limits().spend(identity, tier)
    };
    rate_limit.insert(spent).allowed()?;
    let expected = ExpectedVersion::default();
    let in_browser = authentication::is_in_browser(request.headers());
    let mut call = Call {
        app: app.clone(),
        caller,
        in_browser,
        by_dashboard: in_browser && route.of_pages,
        agent_id,
        place,
        tier,
        limits,
        request_id,
        peer,
        path,
        expected,
        key: None,
    };
    owned(&call).await?;
    if let Err(refusal) = call.caller.may(route.access, route.scope) {
        raise(route, &mut call).await?;
        call.caller.may(route.access, route.scope).map_err(|_| Error::Lacks(refusal))?;
    }
    // Where one signs in, out, and enrols a second factor, its lack is no hindrance.
    if !route.path.starts_with(authentication::PREFIX) {
        second_factor.suffices()?;
    }
    if route.step_up {
        second_factor.is_fresh(app.now())?;
    }
    let told =
        if route.path.starts_with(runtime::PREFIX) { runtime::hidden::told(&route.method, route.path) } else { &[] };
    if !told.is_empty() {
        let mut conn = app.pool().acquire().await?;
        runtime::hidden::permit(&mut conn, (&call).into(), told).await?;
    }
    call.expected = ExpectedVersion::read(route, request.headers())?;
    request.extensions_mut().insert(call);
    Ok(())
}

/// Where the caller's own role does not suffice, the one they were given here for a while may.
async fn raise(route: &Route, call: &mut Call) -> Result<()> {
    if let (false, Some(env_id), Some(user_id)) = (route.own_role, call.path.env_id(), &call.caller.user_id) {
        let own = call.caller.role;
        call.caller.role = jit_access::raised(call.app.pool(), &env_id, user_id, own, call.now()).await?;
    }
    Ok(())
}

async fn ids(request: &mut Request) -> Result<PathIds> {
    let params = request.extract_parts::<RawPathParams>().await.map_err(|_| Error::NotFound { kind: "path" })?;
    let mut ids = BTreeMap::new();
    for (name, text) in &params {
        // PostgreSQL's text has no NUL: such an id names nothing.
        if text.is_empty() || text.len() > PathIds::bytes_max(name) || text.contains('\0') {
            return Err(Error::NotFound { kind: "record" });
        }
        ids.insert(name.to_owned(), text.to_owned());
    }
    Ok(PathIds::new(ids))
}

/// "A key is bound to one environment. A key used in another environment is rejected with 403."
/// That holds for any other id, so the refusal says nothing about what exists. A session sees its
/// own organization's environments; all others are absent.
async fn owned(call: &Call) -> Result<()> {
    if call.path.org_id().is_some_and(|org_id| org_id != call.caller.org_id) {
        return Err(Error::NotFound { kind: "organization" });
    }
    let Some(env_id) = call.path.env_id() else {
        return Ok(());
    };
    match &call.caller.credential {
        Credential::Key { env_id: own, .. } if *own == env_id => Ok(()),
        Credential::Key { .. } => Err(Error::EnvironmentMismatch),
        Credential::Session { .. } => {
            let exists = environments::belongs(call.app.pool(), &env_id, &call.caller.org_id).await?;
            exists.then_some(()).ok_or(Error::EnvironmentNotFound)
        }
    }
}
