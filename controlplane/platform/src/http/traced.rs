//! The span of a request, from its head to the head of its answer. Its name is its route: what a path names is
//! its tenant's own, and is not told. Probes and the page are not worth one.

use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use contract::body::Problem;
use contract::{Code, RequestId};
use telemetry::{Kind, Place, Span};

use crate::App;
use crate::metrics;

/// Asked where its headers say.
pub fn begun(app: &App, request: &Request, is_probe: bool) -> Span {
    let asked = Place::of_headers(request.headers());
    if is_probe {
        return telemetry::Tracer::default().begin("", Kind::Server, &asked);
    }
    let method = metrics::name(request.method());
    let mut span = app.tracer().begin(method, Kind::Server, &asked);
    span.tell("http.request.method", method);
    if let Some(route) = request.extensions().get::<MatchedPath>().filter(|_| span.is_told()) {
        span.name(format!("{method} {}", route.as_str()));
        span.tell("http.route", route.as_str().to_owned());
    }
    span
}

/// What it comes to is known; an error is still on its way to its body.
pub fn answered(span: &mut Span, response: &Response, request_id: &RequestId) {
    let problem = response.extensions().get::<Problem>().map(|problem| problem.code);
    let status = problem.map_or_else(|| response.status().as_u16(), Code::http);
    span.tell("http.response.status_code", i64::from(status));
    span.tell("sluice.request.id", request_id.to_string());
    match problem {
        Some(code) if status >= 500 => span.failed(code.stable()),
        Some(code) => span.tell("error.type", code.stable()),
        None => {}
    }
}
