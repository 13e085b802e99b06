//! Bindings of the rules of policies, for the control plane: it asks for itself, on behalf of nobody.

use axum::response::Response;
use contract::EnvId;
use contract::binding::{BindBody, Bound};

use super::RestRequest;
use crate::Error;
use crate::protocols::http;

pub(super) async fn bind(request: RestRequest<EnvId>) -> Response {
    request.answered(async |_| bound(&request).await).await
}

async fn bound(RestRequest { context, path, body, .. }: &RestRequest<EnvId>) -> Result<Bound, Error> {
    context.serves(path)?;
    let question: BindBody = http::json(body)?;
    let cancel = context.ending.closed.child_token();
    let _give_up = cancel.clone().drop_guard();
    context.pipeline.bindings(&question, &cancel).await
}
