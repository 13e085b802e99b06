//! Who calls a tool: whose credential it is, the agent that is declared, the protocol and the address.

use std::net::IpAddr;
use std::time::Duration;

use contract::policy::abac::Origin;
use contract::wire::Who;
use contract::{QueryId, RequestId};
use telemetry::Place;

use crate::{Ask, DeclaredAgent, Pipeline};

/// Somebody whose credential was checked for this request.
#[derive(Debug, Clone)]
pub struct ToolCaller {
    pub who: Who,
    pub peer: Option<IpAddr>,
    pub agent: DeclaredAgent,
    pub origin: Origin,
    /// The dashboard calls it for one of its own pages.
    pub by_dashboard: bool,
    pub request_id: RequestId,
    pub place: Place,
}

impl ToolCaller {
    /// One statement of this caller.
    pub fn ask(&self, pipeline: &Pipeline, sql: String, timeout_ms: Option<u64>) -> Ask {
        let query_id = QueryId::fresh(pipeline.clock.now(), &pipeline.entropy);
        let ask = Ask {
            sql,
            peer: self.peer,
            by_dashboard: self.by_dashboard,
            agent: self.agent.clone(),
            timeout: timeout_ms.map(Duration::from_millis),
            place: self.place.clone(),
            ..Ask::of(query_id, self.request_id.clone(), self.who.clone(), self.origin)
        };
        ask.as_session()
    }
}
