//! The observer of an agent's statement, called when its answer has ended.

use std::fmt::Debug;

use contract::{QueryId, Timestamp};

/// A statement of an agent that has ended well.
#[derive(Debug)]
pub struct AgentStatement {
    pub query_id: QueryId,
    pub agent_id: String,
    /// Without literals.
    pub sql: String,
    pub at: Timestamp,
}

/// Takes statements of agents that have ended. The answer waits for it: it may not wait for anything.
pub trait StatementObserver: Debug + Send + Sync {
    fn ended(&self, statement: AgentStatement);
}
