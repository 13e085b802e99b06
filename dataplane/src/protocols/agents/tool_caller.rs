//! Who a request comes from, by its headers: the key or the token, and the agent that is declared.

use std::net::IpAddr;

use axum::http::{Extensions, HeaderMap};
use contract::RequestId;
use contract::policy::abac::Origin;
use contract::wire::Who;
use telemetry::Place;

use super::super::credential;
use super::super::http::Peer;
use super::AgentsContext;
use crate::agents::tool_caller::ToolCaller;
use crate::{AgentName, DeclaredAgent, Error};

/// Checks the credential of a request.
pub async fn admit(
    context: &AgentsContext,
    headers: &HeaderMap,
    extensions: &Extensions,
    origin: Origin,
    request_id: &RequestId,
) -> Result<ToolCaller, Error> {
    let peer = extensions.get::<Peer>().map(|peer| peer.0);
    let admitted = context.sessions.admit_shown(credential::shown(headers)?, peer).await?;
    declared_by(admitted.who, peer, headers, origin, request_id)
}

/// Somebody whose credential was checked, with the agent that their headers declare.
pub fn declared_by(
    who: Who,
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    origin: Origin,
    request_id: &RequestId,
) -> Result<ToolCaller, Error> {
    let agent = DeclaredAgent {
        agent_id: declared(headers, "x-agent-id")?,
        framework: declared(headers, "x-agent-framework")?,
    };
    let (by_dashboard, place) = (false, Place::of_headers(headers));
    Ok(ToolCaller { who, peer, agent, origin, by_dashboard, request_id: request_id.clone(), place })
}

fn declared(headers: &HeaderMap, name: &'static str) -> Result<Option<AgentName>, Error> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let ascii = || Error::InvalidParams { field: name, message: format!("{name} is characters of ASCII") };
    AgentName::of(name, value.to_str().map_err(|_| ascii())?).map(Some)
}
