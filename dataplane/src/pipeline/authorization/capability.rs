//! The grants of an agent, checked against its statement.
//!
//! "403 `POLICY_DENIED`: blocked by ABAC policy or agent capability." Tables and operations are
//! judged in stage 3, by the caller's words and again by what they turned out to mean; the hour's
//! queries are counted in stage 5; denied columns are out of the statement's reach from stage 6 on.
//! A table outside of the grants answers alike whether or not there is such a table.

use chrono::TimeDelta;
use contract::capability::{self, Denied, Grant, hour_of};
use contract::policy::abac::Operation;
use contract::{Governance, Timestamp};

use crate::Error;
use crate::governance::table_path::table_ref;
use crate::pipeline::authorization::agent::Agent;
use crate::pipeline::stages::tables::StatementInfo;
use crate::pipeline::{Query, Result};
use crate::request::trail::Trail;

/// The grants of a confined agent's statement.
#[derive(Debug)]
pub(in crate::pipeline) struct Confinement {
    /// Those that allow the whole statement, oldest first.
    pub grants: Vec<Grant>,
    /// Schema, table and column.
    pub denied_columns: Vec<(String, String, String)>,
}

/// The grants of the agent behind a query.
pub(in crate::pipeline) struct AgentGrants<'a> {
    pub rules: &'a Governance,
    pub agent: &'a Agent,
    pub now: Timestamp,
}

impl AgentGrants<'_> {
    /// None if the agent was never granted anything, or there is no agent.
    fn grants(&self) -> Option<&[Grant]> {
        self.rules.agent_capabilities.get(self.agent.id.as_deref()?).map(Vec::as_slice)
    }

    /// May the agent know of the table?
    pub fn reaches(&self, path: &str) -> bool {
        self.grants().is_none_or(|grants| capability::reach(grants, table_ref(path), self.now))
    }

    /// Whether a grant bounds what the agent may have of the table: its columns, or its rows.
    pub fn bounds(&self, path: &str) -> bool {
        let bounds_rows = self.grants().unwrap_or_default().iter().any(|g| g.capabilities.max_rows_per_query.is_some());
        bounds_rows || !self.denied_columns(path).is_empty()
    }

    /// Columns of a table that the agent may not touch, in lower case.
    pub fn denied_columns(&self, path: &str) -> Vec<String> {
        self.grants().map_or_else(Vec::new, |grants| capability::denied_columns(grants, table_ref(path), self.now))
    }

    /// The tables as the session would find them if they are there. Of a search path, each place up to the first that
    /// has one: whether a table is denied or absent there, the answer is the same.
    pub fn meant(&self, query: &Query, statement: &sql::Statement, known: &sql::Catalog) -> Vec<String> {
        let paths = |table: &sql::TableUse| {
            let mut paths = self.paths(query, table.schema.as_deref(), &table.name);
            let there = paths.iter().position(|(schema, name)| known.has_relation(schema, name));
            paths.truncate(there.map_or(paths.len(), |there| there + 1));
            paths.into_iter().map(|(schema, name)| format!("{schema}.{name}"))
        };
        statement.tables().iter().flat_map(paths).collect()
    }

    /// The table that is not there, where that is what is wrong.
    pub fn missing(&self, query: &Query, error: &sql::Error) -> Vec<String> {
        match &error.kind {
            sql::ast::error::ErrorKind::TableNotFound { schema, name, .. } => {
                let paths = self.paths(query, schema.as_deref(), name).into_iter();
                paths.map(|(schema, name)| format!("{schema}.{name}")).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Schema and name of each place where it is looked for.
    fn paths(&self, query: &Query, written: Option<&str>, name: &str) -> Vec<(String, String)> {
        let names = &query.ask.names;
        let database = names.database.as_deref().unwrap_or(&self.rules.environment.slug);
        let schemas = match written.filter(|schema| !schema.eq_ignore_ascii_case(database)) {
            Some(schema) => vec![schema.to_owned()],
            None => names.search_path(),
        };
        schemas.into_iter().map(|schema| (schema, name.to_owned())).collect()
    }

    pub fn confine(&self, tables: &[String], operations: &[Operation]) -> Result<Option<Confinement>> {
        let Some(grants) = self.grants() else { return Ok(None) };
        let named: Vec<_> = tables.iter().map(|path| table_ref(path)).collect();
        let found = capability::covering(grants, &named, operations, self.now);
        let covering = found.map_err(|denied| refusal(denied, tables))?;
        let denied = |path: &String| {
            let table = table_ref(path);
            let columns = capability::denied_columns(grants, table, self.now).into_iter();
            columns.map(|column| (table.schema.to_owned(), table.name.to_owned(), column)).collect::<Vec<_>>()
        };
        Ok(Some(Confinement {
            grants: covering.into_iter().cloned().collect(),
            denied_columns: tables.iter().flat_map(denied).collect(),
        }))
    }
}

fn refusal(denied: Denied, tables: &[String]) -> Error {
    let message = match denied {
        Denied::Table(place) => {
            return Error::TableDenied { table: tables.get(place).cloned().unwrap_or_default() };
        }
        Denied::Everything => "no grant of the agent stands".to_owned(),
        Denied::Operation(operation) => format!("no grant of the agent allows `{operation}`"),
        Denied::Together => "no one grant of the agent allows the whole statement".to_owned(),
    };
    Error::PolicyDenied { message }
}

/// Counts the query for the first grant that has one left in this hour; its rows are the limit.
pub(in crate::pipeline) fn spend(
    query: &Query,
    confinement: Option<&Confinement>,
    about: &mut StatementInfo,
    now: Timestamp,
    t: &Trail,
) -> Result<()> {
    let Some(confinement) = confinement else { return Ok(()) };
    let counted = query.under.get().and_then(|id| confinement.grants.iter().find(|grant| grant.grant_id == *id));
    let grant = match counted {
        Some(grant) => grant,
        None => count(query, &confinement.grants, now)?,
    };
    about.rows_max = grant.capabilities.max_rows_per_query;
    t.facts().grant_id = Some(grant.grant_id.clone());
    Ok(())
}

fn count<'a>(query: &Query, grants: &'a [Grant], now: Timestamp) -> Result<&'a Grant> {
    let mut used_up = 0;
    for grant in grants {
        let max = grant.capabilities.max_queries_per_hour;
        if query.ledger.query_counter.count(&grant.grant_id, max, now)? {
            let _ = query.under.set(grant.grant_id.clone());
            return Ok(grant);
        }
        used_up = used_up.max(max.unwrap_or_default());
    }
    Err(Error::HourlyLimit { limit: used_up, until: hour_of(now) + TimeDelta::hours(1) })
}
