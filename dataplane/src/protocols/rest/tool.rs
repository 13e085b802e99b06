//! One call of a tool, for the REST surfaces that the control plane makes of it: the same row of the
//! same table that `/mcp` calls, for a caller whom the control plane has authenticated.

use axum::response::Response;
use contract::policy::abac::Origin;
use contract::{Code, EnvId, RequestId};
use rmcp::model::JsonObject;
use serde::Deserialize;
use telemetry::Place;

use super::{RestRequest, forwarded};
use crate::agents::tool_caller::ToolCaller;
use crate::agents::tools::{self, ResultBudget, ToolCall, ToolResult};
use crate::protocols::http;
use crate::{DeclaredAgent, Error};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolRequest {
    agent_id: Option<String>,
    #[serde(default)]
    arguments: JsonObject,
}

pub(super) async fn call(request: RestRequest<(EnvId, String)>) -> Response {
    request.answered(async |request_id| called(&request, request_id).await.map(|told| told.structured)).await
}

async fn called(request: &RestRequest<(EnvId, String)>, request_id: RequestId) -> Result<ToolResult, Error> {
    let RestRequest { context, path: (env_id, name), headers, body } = request;
    context.serves(env_id)?;
    let forwarded = forwarded(headers)?;
    let row = tools::by_name(name).ok_or(Error::Caller(Code::NotFound))?;
    let input: ToolRequest = http::json(body)?;
    let agent = DeclaredAgent::told(("agent_id", input.agent_id), ("agent_framework", None))?;
    context.announced(&forwarded.who).await;
    let call = ToolCall {
        pipeline: context.pipeline.clone(),
        memories: context.memories.clone(),
        thoughts: context.thoughts.clone(),
        triggers: context.triggers.clone(),
        tool_caller: ToolCaller {
            who: forwarded.who,
            peer: forwarded.peer,
            agent,
            origin: forwarded.origin.unwrap_or(Origin::Rest),
            by_dashboard: forwarded.by_dashboard,
            request_id,
            place: Place::of_headers(headers),
        },
        scope: row.scope,
        budget: ResultBudget::NONE,
        cancel: context.ending.closed.child_token(),
    };
    let _give_up = call.cancel.clone().drop_guard();
    row.run(call, input.arguments).await
}
