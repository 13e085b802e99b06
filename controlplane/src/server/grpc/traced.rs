//! The span of a call that a data plane makes for a request: one that comes with a context. What data planes
//! ask on their own, all day long, has none.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use platform::App;
use telemetry::{Kind, Place};

/// Of a call that streams, until the stream begins.
pub async fn call(State(app): State<App>, request: Request, next: Next) -> Response {
    let asked = Place::of_headers(request.headers());
    let name = request.uri().path().trim_start_matches('/').to_owned();
    let mut span = app.tracer().follow(name, Kind::Server, &asked);
    span.tell("rpc.system.name", "grpc");
    let response = span.place().clone().around(next.run(request)).await;
    // An error without a message has its status in the head.
    if let Some(status) = response.headers().get("grpc-status").and_then(|status| status.to_str().ok()) {
        span.tell("rpc.response.status_code", status.to_owned());
    }
    response
}
