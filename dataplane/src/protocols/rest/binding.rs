//! What the rules of policies name, for the control plane: it asks for itself, on behalf of nobody.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use contract::EnvId;
use contract::binding::{BindBody, Bound};

use super::RestContext;
use crate::Error;
use crate::protocols::request_id;

pub(super) async fn bind(
    State(context): State<RestContext>,
    Path(env_id): Path<EnvId>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let _serving = context.ending.serving(); // until it is answered
    let request_id = request_id::of(&context.pipeline, &headers);
    let told = bound(&context, &env_id, &body).await;
    let json =
        told.and_then(|bound| serde_json::to_vec(&bound).map_err(|error| Error::Unverified { why: error.to_string() }));
    super::json_response(&context, &request_id, json)
}

async fn bound(context: &RestContext, env_id: &EnvId, body: &[u8]) -> Result<Bound, Error> {
    if *env_id != context.env_id {
        return Err(Error::OtherEnvironment);
    }
    let question: BindBody = serde_json::from_slice(body).map_err(|error| Error::InvalidParams {
        field: "body",
        message: format!("the body cannot be read: {error}"),
    })?;
    let cancel = context.ending.closed.child_token();
    let _give_up = cancel.clone().drop_guard();
    context.pipeline.bindings(&question, &cancel).await
}
