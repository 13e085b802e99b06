//! The explanation of a statement, for the endpoints of the control plane.

use std::future::Future;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use contract::explain::{TestBody, TranspileBody};
use contract::policy::abac::Origin;
use contract::{EnvId, QueryId, Scope};
use serde::Serialize;
use serde::de::DeserializeOwned;
use telemetry::Place;

use super::{RestContext, forwarded};
use crate::protocols::{http, request_id};
use crate::request::ask::with_standard_strings;
use crate::{Ask, Bounds, DeclaredAgent, Error};

pub(super) async fn transpile(
    State(context): State<RestContext>,
    Path(env_id): Path<EnvId>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    told(&context, &env_id, &headers, &body, async |ask, body: TranspileBody| {
        let agent = DeclaredAgent::told(("agent_id", body.agent_id), ("agent_framework", body.agent_framework))?;
        let strings = body.standard_conforming_strings;
        let bounds = Bounds { scope: Some(Scope::QueryRead), strings, ..Bounds::default() };
        let sql = with_standard_strings(body.sql, strings)?;
        context.pipeline.transpiled(Ask { sql, agent, bounds, ..ask }.as_session()).await
    })
    .await
}

pub(super) async fn test(
    State(context): State<RestContext>,
    Path(env_id): Path<EnvId>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    told(&context, &env_id, &headers, &body, async |ask, body: TestBody| {
        let supposed = (body.run_as.agent_id.clone(), body.run_as.framework.clone());
        DeclaredAgent::told(("as.agent_id", supposed.0), ("as.framework", supposed.1))?;
        let strings = body.standard_conforming_strings;
        let bounds = Bounds { scope: Some(Scope::PolicyRead), strings, ..Bounds::default() };
        let sql = with_standard_strings(body.sql, strings)?;
        context.pipeline.tested(Ask { sql, bounds, ..ask }.as_session(), body.run_as).await
    })
    .await
}

/// Reads the question, has it answered for the caller that the control plane names, and writes the answer.
async fn told<Q: DeserializeOwned, T: Serialize, F: Future<Output = Result<T, Error>>>(
    context: &RestContext,
    env_id: &EnvId,
    headers: &HeaderMap,
    body: &[u8],
    answer: impl FnOnce(Ask, Q) -> F,
) -> Response {
    let _serving = context.ending.serving(); // until it is answered
    let request_id = request_id::of(&context.pipeline, headers);
    let answered = async {
        context.serves(env_id)?;
        let caller = forwarded(headers)?;
        let question = http::json(body)?;
        context.announced(&caller.who).await;
        let query_id = QueryId::fresh(context.pipeline.clock.now(), &context.pipeline.entropy);
        let ask = Ask {
            peer: caller.peer,
            cancel: context.ending.closed.child_token(),
            place: Place::of_headers(headers),
            ..Ask::of(query_id, request_id.clone(), caller.who, caller.origin.unwrap_or(Origin::Rest))
        };
        let give_up = ask.cancel.clone().drop_guard();
        let answered = answer(ask, question).await?;
        give_up.disarm();
        Ok(answered)
    };
    super::json_response(context, &request_id, answered.await)
}
