//! A statement that somebody asks to have run: what every protocol makes and the pipeline takes.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use contract::caller::Access;
use contract::policy::abac::Origin;
use contract::wire::Who;
use contract::{Caller, Heal, QueryId, RequestId, Scope, StandardStrings};
use telemetry::Place;
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::limits::named;
use crate::request::last_load::LastLoad;

/// One statement with all that decides about it. The protocol has checked the credential; the
/// pipeline looks the caller up again in the snapshot that the whole query lives by, and says what holds the client's
/// transaction.
#[derive(Debug, Clone)]
pub struct StatementRequest<T> {
    pub query_id: QueryId,
    pub request_id: RequestId,
    pub sql: String,
    /// Values of `$1`, `$2`, …
    pub params: Vec<engine::Value>,
    /// Their types, as far as the protocol was told of them or told them, by the engine's names.
    pub types: Vec<Option<String>>,
    pub who: Who,
    pub peer: Option<IpAddr>,
    pub origin: Origin,
    /// The dashboard asks it for one of its own pages: it is judged and written down as any other, and costs nothing.
    pub by_dashboard: bool,
    pub agent: DeclaredAgent,
    /// Counts from stage 1, waiting included; the environment's setting when absent.
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
    /// Set between BEGIN and COMMIT of a client that keeps a session.
    pub transaction: Option<T>,
    pub names: Names,
    pub bounds: Bounds,
    /// Where in a trace the protocol was told that it is asked; a comment of the statement may tell it else.
    pub place: Place,
}

impl<T> StatementRequest<T> {
    /// No statement yet, of somebody who set nothing for it.
    pub fn of(query_id: QueryId, request_id: RequestId, who: Who, origin: Origin) -> Self {
        Self {
            query_id,
            request_id,
            sql: String::new(),
            params: Vec::new(),
            types: Vec::new(),
            who,
            peer: None,
            origin,
            by_dashboard: false,
            agent: DeclaredAgent::default(),
            timeout: None,
            cancel: CancellationToken::new(),
            transaction: None,
            names: Names::default(),
            bounds: Bounds::default(),
            place: Place::default(),
        }
    }

    /// Where in a trace it is asked.
    pub(crate) fn asked_at(&self) -> Place {
        self.place.clone().or_else(|| Place::of_sql(&self.sql))
    }

    /// Over a protocol that keeps no session each request is one: the SETs that its text begins with are its variables.
    #[must_use]
    pub fn as_session(mut self) -> Self {
        if let Some((variables, sql)) = sql::request(&self.sql) {
            self.names.variables = Arc::new(variables);
            self.sql = sql;
        }
        self
    }
}

/// Bounds that a caller sets for a statement, beyond those of the rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// A scope that the key must have besides those of its statement.
    pub scope: Option<Scope>,
    /// What would write is refused.
    pub reads_only: bool,
    /// Set where its rows go to where no origin is kept of them.
    pub outlet: Option<Outlet>,
    /// Rows after which the answer ends; [`crate::Totals`] tells whether there were more.
    pub rows: Option<u64>,
    /// Its rows are taken a part at a time, so that which come first is told.
    pub parts: bool,
    /// It may be healed no further than this; as far as the environment permits if absent.
    pub heal: Option<Heal>,
    /// How the strings of its text were read before it came here; as the standard has them if absent.
    pub strings: Option<StandardStrings>,
}

/// A client's text with standard strings, as everything behind the protocols reads it.
pub fn with_standard_strings(sql: String, strings: Option<StandardStrings>) -> Result<String, Error> {
    match strings {
        Some(StandardStrings::Off) => Ok(sql::standard_strings(&sql)?),
        Some(StandardStrings::On) | None => Ok(sql),
    }
}

/// Where the rows of a query go that keeps no origin of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlet {
    /// Into files, with which its entries are written down.
    Files,
    /// Into the names and types of a table's columns.
    Columns,
}

impl Bounds {
    /// The warnings that its client is told: that a backslash is no escape is nothing to one who wrote escapes.
    pub(crate) fn told(&self, mut warnings: Vec<String>) -> Vec<String> {
        warnings.retain(|said| self.strings != Some(StandardStrings::Off) || said != sql::dialect::BACKSLASH);
        warnings
    }

    /// Whether some of its rows are told before others, or without them.
    pub(crate) fn tells_parts(&self) -> bool {
        self.parts || self.rows.is_some()
    }

    /// May this caller run such a statement within these bounds?
    pub(crate) fn permit(&self, caller: &Caller, writes: bool) -> Result<(), Error> {
        if let Some(scope) = self.scope {
            caller.may(Access::Member, Some(scope)).map_err(Error::Lacks)?;
        }
        if self.reads_only && writes { Err(Error::ReadsOnly) } else { Ok(()) }
    }
}

/// The agent that a caller declares to run for. Declared, not verified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DeclaredAgent {
    pub agent_id: Option<AgentName>,
    pub framework: Option<AgentName>,
}

/// The name of an agent or of its framework, in the bounds of every protocol.
///
/// Audit entries and traces of the query carry it, and it is a key of the control plane's tables.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentName(String);

impl AgentName {
    /// From 1 to 256 characters, none of them for control; what is wrong names the field of the protocol.
    pub fn of(field: &str, text: impl Into<String>) -> Result<Self, Error> {
        let text = text.into();
        named(field, &text)?;
        Ok(Self(text))
    }
}

impl Deref for AgentName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> Self {
        name.0
    }
}

impl DeclaredAgent {
    /// Both as a protocol was told of them, each under the name that it has there.
    pub fn told(
        (id_field, agent_id): (&str, Option<String>),
        (framework_field, framework): (&str, Option<String>),
    ) -> Result<Self, Error> {
        Ok(Self {
            agent_id: agent_id.map(|text| AgentName::of(id_field, text)).transpose()?,
            framework: framework.map(|text| AgentName::of(framework_field, text)).transpose()?,
        })
    }
}

/// How names without a path are understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The one database the session sees; `None`: the environment's slug.
    pub database: Option<String>,
    /// Where a table that is named without a schema is looked for first, and a new one goes.
    pub schema: String,
    /// Schemas that are searched behind it, in order.
    pub searched: Vec<String>,
    /// What `$name` stands for.
    pub variables: Arc<sql::Variables>,
    pub last_load: LastLoad,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            database: None,
            schema: "main".to_owned(),
            searched: Vec::new(),
            variables: Arc::default(),
            last_load: LastLoad::default(),
        }
    }
}

impl Names {
    /// All schemas that a name without one is looked for in.
    pub fn search_path(&self) -> Vec<String> {
        std::iter::once(&self.schema).chain(&self.searched).cloned().collect()
    }
}
