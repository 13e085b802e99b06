//! What becomes of a statement, for the endpoints of the control plane that ask it.

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
use crate::governance::sessions::{announced, is_known};
use crate::protocols::request_id;
use crate::request::ask::with_standard_strings;
use crate::{Ask, Bounds, DeclaredAgent, Error, Names};

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
        if *env_id != context.env_id {
            return Err(Error::OtherEnvironment);
        }
        let caller = forwarded(headers)?;
        let question = serde_json::from_slice(body).map_err(|error| Error::InvalidParams {
            field: "body",
            message: format!("the body cannot be read: {error}"),
        })?;
        // The control plane has authenticated them; whether we know them yet is a matter of moments.
        let _ = announced(&context.pipeline.snapshots, |rules| is_known(rules, &caller.who)).await;
        let (clock, entropy) = (&context.pipeline.clock, &context.pipeline.entropy);
        let ask = Ask {
            query_id: QueryId::fresh(clock.now(), entropy),
            request_id: request_id.clone(),
            sql: String::new(),
            params: Vec::new(),
            types: Vec::new(),
            who: caller.who,
            peer: caller.peer,
            origin: caller.origin.unwrap_or(Origin::Rest),
            by_dashboard: false, // nothing of it is run
            agent: DeclaredAgent::default(),
            timeout: None,
            cancel: context.ending.closed.child_token(),
            transaction: None,
            names: Names::default(),
            bounds: Bounds::default(),
            place: Place::of_headers(headers),
        };
        let give_up = ask.cancel.clone().drop_guard();
        let answered = answer(ask, question).await?;
        give_up.disarm();
        serde_json::to_vec(&answered).map_err(|error| Error::Unverified { why: error.to_string() })
    };
    super::json_response(context, &request_id, answered.await)
}
