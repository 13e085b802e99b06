//! The request of a session to the pipeline: a statement, with the session's settings.

use contract::policy::abac::Origin;
use contract::{QueryId, RequestId};
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::parameters::SessionClock;
use crate::{Ask, Bounds, DeclaredAgent, Names};

/// Values of parameters, and their types by the engine's names as far as they are known.
#[derive(Debug, Default)]
pub struct BoundValues {
    pub values: Vec<engine::Value>,
    pub types: Vec<Option<String>>,
}

impl Conversation {
    /// The agent that the session says it is of now.
    pub(super) fn declared(&self) -> DeclaredAgent {
        let identity = self.settings.identity();
        DeclaredAgent { agent_id: identity.agent_id.clone(), framework: identity.framework.clone() }
    }

    /// What its texts of dates and times are read by.
    pub(super) fn clock(&self) -> SessionClock {
        SessionClock { now: self.pipeline.clock.now(), zone: self.settings.zone() }
    }

    pub(super) fn ask(&self, sql: &str, bound: BoundValues, cancel: CancellationToken) -> Ask {
        let (now, entropy) = (self.pipeline.clock.now(), &self.pipeline.entropy);
        let (schema, searched) = self.settings.schemas();
        let query_id = QueryId::fresh(now, entropy);
        let request_id = self.settings.identity().request_id.clone();
        let request_id = request_id.unwrap_or_else(|| RequestId::minted(now, entropy));
        Ask {
            sql: sql.to_owned(),
            params: bound.values,
            types: bound.types,
            peer: self.watch.peer,
            agent: self.declared(),
            timeout: self.settings.timeout(),
            cancel,
            transaction: self.transaction.handle(),
            names: Names {
                database: self.database.clone(),
                schema,
                searched,
                variables: self.settings.variables(),
                last_load: self.last_load.clone(),
            },
            bounds: Bounds { heal: self.settings.heal(), strings: Some(self.settings.strings()), ..Bounds::default() },
            ..Ask::of(query_id, request_id, self.watch.who.clone(), Origin::Pgwire)
        }
    }
}
