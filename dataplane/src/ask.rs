//! A statement that somebody asks to have run: what every door makes and the pipeline takes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use contract::caller::Access;
use contract::policy::abac::Origin;
use contract::wire::Who;
use contract::{Caller, QueryId, RequestId, Scope};
use telemetry::Place;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::pipeline::transaction::ClientTransaction;

/// One statement with all that decides about it. The door has checked the credential; the
/// pipeline looks the caller up again in the snapshot that the whole query lives by.
#[derive(Debug, Clone)]
pub struct Ask {
    pub query_id: QueryId,
    pub request_id: RequestId,
    pub sql: String,
    /// Values of `$1`, `$2`, …
    pub params: Vec<engine::Value>,
    pub who: Who,
    pub peer: Option<IpAddr>,
    pub origin: Origin,
    pub agent: Declared,
    /// Counts from stage 1, waiting included; the environment's setting when absent.
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
    /// Set between BEGIN and COMMIT of a client that keeps a session.
    pub transaction: Option<Arc<Mutex<ClientTransaction>>>,
    pub names: Names,
    pub bounds: Bounds,
    /// Where in a trace the door was told that it is asked; a comment of the statement may tell it else.
    pub place: Place,
}

impl Ask {
    /// Where in a trace it is asked.
    pub(crate) fn asked_at(&self) -> Place {
        self.place.clone().or_else(|| Place::of_sql(&self.sql))
    }
}

impl Ask {
    /// At a door that keeps no session each request is one: the SETs that its text begins with are its variables.
    #[must_use]
    pub fn as_session(mut self) -> Self {
        if let Some((variables, sql)) = sql::request(&self.sql) {
            self.names.variables = Arc::new(variables);
            self.sql = sql;
        }
        self
    }
}

/// What the one who asks sets for a statement, beyond what the rules do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// A scope that the key must have besides those of its statement.
    pub scope: Option<Scope>,
    /// What would write is refused.
    pub reads_only: bool,
    /// Rows after which the answer ends; [`crate::Totals`] tells whether there were more.
    pub rows: Option<u64>,
}

impl Bounds {
    /// May this caller run such a statement within these bounds?
    pub(crate) fn permit(&self, caller: &Caller, writes: bool) -> Result<(), Error> {
        if let Some(scope) = self.scope {
            caller.may(Access::Member, Some(scope)).map_err(Error::Caller)?;
        }
        if self.reads_only && writes { Err(Error::ReadsOnly) } else { Ok(()) }
    }
}

/// What a caller says of the agent it runs for. Declared, not verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    pub agent_id: Option<String>,
    pub framework: Option<String>,
}

/// How names without a path are understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The one database the session sees; `None`: the environment's slug.
    pub database: Option<String>,
    /// Schema of a table that is named without one.
    pub schema: String,
    /// What `$name` stands for.
    pub variables: Arc<sql::Variables>,
}

impl Default for Names {
    fn default() -> Self {
        Self { database: None, schema: "main".to_owned(), variables: Arc::default() }
    }
}
