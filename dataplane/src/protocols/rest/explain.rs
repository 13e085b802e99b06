//! The explanation of a statement, for the endpoints of the control plane.

use std::future::Future;

use axum::response::Response;
use contract::explain::{TestBody, TranspileBody};
use contract::policy::abac::Origin;
use contract::{EnvId, QueryId, Scope};
use serde::Serialize;
use serde::de::DeserializeOwned;
use telemetry::Place;

use super::{RestRequest, forwarded};
use crate::protocols::http;
use crate::request::ask::with_standard_strings;
use crate::{Ask, Bounds, DeclaredAgent, Error};

pub(super) async fn transpile(request: RestRequest<EnvId>) -> Response {
    let context = &request.context;
    told(&request, async |ask, body: TranspileBody| {
        let agent = DeclaredAgent::told(("agent_id", body.agent_id), ("agent_framework", body.agent_framework))?;
        let strings = body.standard_conforming_strings;
        let bounds = Bounds { scope: Some(Scope::QueryRead), strings, ..Bounds::default() };
        let sql = with_standard_strings(body.sql, strings)?;
        context.pipeline.transpiled(Ask { sql, agent, bounds, ..ask }.as_session()).await
    })
    .await
}

pub(super) async fn test(request: RestRequest<EnvId>) -> Response {
    let context = &request.context;
    told(&request, async |ask, body: TestBody| {
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
    request: &RestRequest<EnvId>,
    answer: impl FnOnce(Ask, Q) -> F,
) -> Response {
    let answered = request.answered(async |request_id| {
        let RestRequest { context, path, headers, body } = request;
        context.serves(path)?;
        let caller = forwarded(headers)?;
        let question = http::json(body)?;
        context.announced(&caller.who).await;
        let query_id = QueryId::fresh(context.pipeline.clock.now(), &context.pipeline.entropy);
        let ask = Ask {
            peer: caller.peer,
            cancel: context.ending.closed.child_token(),
            place: Place::of_headers(headers),
            ..Ask::of(query_id, request_id, caller.who, caller.origin.unwrap_or(Origin::Rest))
        };
        let give_up = ask.cancel.clone().drop_guard();
        let answered = answer(ask, question).await?;
        give_up.disarm();
        Ok::<_, Error>(answered)
    });
    answered.await
}
