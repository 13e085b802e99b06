//! The header `X-Request-Id`: every response carries it.

use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use contract::{RequestId, wire};

use crate::Pipeline;

/// What the request gave, or one of its own.
pub(super) fn of(pipeline: &Pipeline, headers: &HeaderMap) -> RequestId {
    let given = headers.get(wire::header::REQUEST_ID).and_then(|value| value.to_str().ok());
    given.and_then(RequestId::accepted).unwrap_or_else(|| RequestId::minted(pipeline.clock.now(), &pipeline.entropy))
}

/// The response with the header.
pub(super) fn known_by(mut response: Response, request_id: &RequestId) -> Response {
    if let Ok(value) = HeaderValue::from_str(request_id.as_str()) {
        response.headers_mut().insert(wire::header::REQUEST_ID, value);
    }
    response
}
