//! Who a request comes from: the key's owner, the agent that is declared, the address.

use std::net::IpAddr;
use std::time::Duration;

use axum::http::{Extensions, HeaderMap};
use contract::policy::abac::Origin;
use contract::wire::Who;
use contract::{QueryId, RequestId};
use tokio_util::sync::CancellationToken;

use super::super::http::Peer;
use super::{Door, credential};
use crate::{Ask, Bounds, Declared, Error, Names, Pipeline};

/// The longest name of an agent or a framework.
const NAME_CHARS_MAX: usize = 256;

/// Somebody whose key was checked for this request.
#[derive(Debug, Clone)]
pub struct Guest {
    pub who: Who,
    pub peer: Option<IpAddr>,
    pub agent: Declared,
    pub request_id: RequestId,
}

impl Guest {
    /// Checks the credential of a request.
    pub(super) async fn admit(
        door: &Door,
        headers: &HeaderMap,
        extensions: &Extensions,
        request_id: &RequestId,
    ) -> Result<Self, Error> {
        let peer = extensions.get::<Peer>().map(|peer| peer.0);
        let admitted = door.sessions.admit(credential::key(headers)?, peer).await?;
        let agent =
            Declared { agent_id: declared(headers, "x-agent-id")?, framework: declared(headers, "x-agent-framework")? };
        Ok(Self { who: admitted.who, peer, agent, request_id: request_id.clone() })
    }

    /// One statement of this guest.
    pub fn ask(&self, pipeline: &Pipeline, origin: Origin, sql: String, timeout_ms: Option<u64>) -> Ask {
        Ask {
            query_id: QueryId::fresh(pipeline.clock.now(), &pipeline.entropy),
            request_id: self.request_id.clone(),
            sql,
            params: Vec::new(),
            who: self.who.clone(),
            peer: self.peer,
            origin,
            agent: self.agent.clone(),
            timeout: timeout_ms.map(Duration::from_millis),
            cancel: CancellationToken::new(),
            transaction: None,
            names: Names::default(),
            bounds: Bounds::default(),
        }
    }
}

fn declared(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, Error> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let named = value.to_str().ok().filter(|text| (1..=NAME_CHARS_MAX).contains(&text.len()));
    let named = named.ok_or_else(|| Error::InvalidParams {
        field: name,
        message: format!("{name} is 1 to {NAME_CHARS_MAX} characters of ASCII"),
    })?;
    Ok(Some(named.to_owned()))
}
