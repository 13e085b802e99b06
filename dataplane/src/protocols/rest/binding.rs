//! Bindings of the rules of policies, for the control plane: it asks for itself, on behalf of nobody.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use contract::EnvId;
use contract::binding::{BindBody, Bound};

use super::RestContext;
use crate::Error;
use crate::protocols::{http, request_id};

pub(super) async fn bind(
    State(context): State<RestContext>,
    Path(env_id): Path<EnvId>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let _serving = context.ending.serving(); // until it is answered
    let request_id = request_id::of(&context.pipeline, &headers);
    super::json_response(&context, &request_id, bound(&context, &env_id, &body).await)
}

async fn bound(context: &RestContext, env_id: &EnvId, body: &[u8]) -> Result<Bound, Error> {
    context.serves(env_id)?;
    let question: BindBody = http::json(body)?;
    let cancel = context.ending.closed.child_token();
    let _give_up = cancel.clone().drop_guard();
    context.pipeline.bindings(&question, &cancel).await
}
