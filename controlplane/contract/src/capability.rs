//! Capability grants of agents: tables, operations, how much of both, and columns denied to them.
//!
//! "`capabilities`: `allowed_tables` string[] (schema-qualified names), `allowed_operations`
//! string[], `max_queries_per_hour` integer, `max_rows_per_query` integer, `column_restrictions`
//! object keyed by table with `denied_columns` string[]."
//!
//! An agent that was ever granted anything in an environment is confined to the grants that stand,
//! so that revoking one never widens what it may do: with none left it may do nothing. An agent that
//! never was is ruled by its caller's role and the policies alone. A statement runs under one grant,
//! which allows it whole; a column that any unexpired grant denies is denied under all of them.

use std::collections::BTreeMap;

use chrono::{DurationRound, TimeDelta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::TableRef;
use crate::policy::abac::Operation;
use crate::{GrantId, Timestamp};

/// The agents that are confined, each with its grants, oldest first.
pub type Confined = BTreeMap<String, Vec<Grant>>;

/// A grant that is not revoked. Its end is data: it ends by the data plane's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub grant_id: GrantId,
    pub capabilities: Capabilities,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// `table` or `schema.table`; `schema.*` is every table of a schema, also those that come later.
    pub allowed_tables: Vec<String>,
    /// Words of [`Operation`], in any case.
    pub allowed_operations: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_queries_per_hour: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows_per_query: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub column_restrictions: BTreeMap<String, ColumnRestriction>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnRestriction {
    pub denied_columns: Vec<String>,
}

/// Why no grant allows a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// None of the agent's grants stands.
    Everything,
    /// No grant reaches the table at this place.
    Table(usize),
    Operation(Operation),
    /// Each part is allowed by some grant, the whole by none.
    Together,
}

impl Capabilities {
    pub fn reaches(&self, table: TableRef<'_>) -> bool {
        let is_meant = |allowed: &String| match whole_schema(allowed) {
            Some(schema) => schema.eq_ignore_ascii_case(table.schema),
            None => table.is_named_by(allowed),
        };
        self.allowed_tables.iter().any(is_meant)
    }

    pub fn allows(&self, operation: Operation) -> bool {
        self.allowed_operations.iter().any(|allowed| allowed.eq_ignore_ascii_case(operation.as_str()))
    }

    fn denied_columns(&self, table: TableRef<'_>) -> impl Iterator<Item = &str> {
        let restrictions = self.column_restrictions.iter().filter(move |(named, _)| table.is_named_by(named));
        restrictions.flat_map(|(_, restriction)| restriction.denied_columns.iter().map(String::as_str))
    }
}

/// The schema all of whose tables are meant: of `hr.*` it is `hr`.
pub fn whole_schema(allowed: &str) -> Option<&str> {
    allowed.strip_suffix(".*")
}

/// Grants that have not expired.
pub fn unexpired(grants: &[Grant], now: Timestamp) -> impl Iterator<Item = &Grant> {
    grants.iter().filter(move |grant| now < grant.expires_at)
}

/// Is there an unexpired grant that reaches the table?
pub fn reach(grants: &[Grant], table: TableRef<'_>, now: Timestamp) -> bool {
    unexpired(grants, now).any(|grant| grant.capabilities.reaches(table))
}

/// The grants that allow the whole statement, oldest first; or what is in the way.
pub fn covering<'a>(
    grants: &'a [Grant],
    tables: &[TableRef<'_>],
    operations: &[Operation],
    now: Timestamp,
) -> Result<Vec<&'a Grant>, Denied> {
    let unexpired: Vec<_> = unexpired(grants, now).collect();
    if unexpired.is_empty() {
        return Err(Denied::Everything);
    }
    let covers = |grant: &&&Grant| {
        tables.iter().all(|table| grant.capabilities.reaches(*table))
            && operations.iter().all(|operation| grant.capabilities.allows(*operation))
    };
    let covering: Vec<_> = unexpired.iter().filter(covers).copied().collect();
    if !covering.is_empty() {
        return Ok(covering);
    }
    let unreached = |table: &TableRef<'_>| !unexpired.iter().any(|grant| grant.capabilities.reaches(*table));
    if let Some(place) = tables.iter().position(unreached) {
        return Err(Denied::Table(place));
    }
    let never = |operation: &&Operation| !unexpired.iter().any(|grant| grant.capabilities.allows(**operation));
    Err(operations.iter().find(never).map_or(Denied::Together, |operation| Denied::Operation(*operation)))
}

/// The columns of the table that an unexpired grant denies, in lower case.
pub fn denied_columns(grants: &[Grant], table: TableRef<'_>, now: Timestamp) -> Vec<String> {
    let mut denied: Vec<String> = unexpired(grants, now)
        .flat_map(|grant| grant.capabilities.denied_columns(table))
        .map(str::to_ascii_lowercase)
        .collect();
    denied.sort();
    denied.dedup();
    denied
}

/// The hour that queries are counted and billed in: its first moment, UTC.
pub fn hour_of(at: Timestamp) -> Timestamp {
    at.duration_trunc(TimeDelta::hours(1)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Operation::{Delete, Insert, Select};

    fn at(seconds: i64) -> Timestamp {
        chrono::DateTime::from_timestamp(seconds, 0).unwrap()
    }

    fn grant(tables: &[&str], operations: &[&str], denied: &[(&str, &str)], ends: i64) -> Grant {
        let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let restriction = |(table, column): &(&str, &str)| {
            ((*table).to_owned(), ColumnRestriction { denied_columns: text(&[*column]) })
        };
        Grant {
            grant_id: tables.join(" ").into(),
            capabilities: Capabilities {
                allowed_tables: text(tables),
                allowed_operations: text(operations),
                max_queries_per_hour: None,
                max_rows_per_query: None,
                column_restrictions: denied.iter().map(restriction).collect(),
            },
            expires_at: at(ends),
        }
    }

    const ORDERS: TableRef<'_> = TableRef { schema: "main", name: "orders" };
    const PEOPLE: TableRef<'_> = TableRef { schema: "hr", name: "people" };

    #[test]
    fn one_grant_has_to_allow_it_whole() {
        let grants =
            [grant(&["main.Orders"], &["SELECT", "insert"], &[], 100), grant(&["hr.people"], &["select"], &[], 100)];
        let judged = |tables: &[TableRef<'_>], operations: &[Operation], now| {
            covering(&grants, tables, operations, at(now)).map(|found| found.len())
        };
        assert_eq!(judged(&[ORDERS], &[Select, Insert], 1), Ok(1));
        assert_eq!(judged(&[], &[Select], 1), Ok(2));
        assert_eq!(judged(&[ORDERS, PEOPLE], &[Select], 1), Err(Denied::Together));
        assert_eq!(judged(&[PEOPLE], &[Select, Insert], 1), Err(Denied::Together));
        assert_eq!(judged(&[ORDERS], &[Delete], 1), Err(Denied::Operation(Delete)));
        let payroll = TableRef { schema: "main", name: "payroll" };
        assert_eq!(judged(&[ORDERS, payroll], &[Delete], 1), Err(Denied::Table(1)));
        assert_eq!(judged(&[ORDERS], &[Select], 100), Err(Denied::Everything));
        assert_eq!(covering(&[], &[], &[], at(1)), Err(Denied::Everything));
    }

    #[test]
    fn a_whole_schema_is_its_tables_and_no_others() {
        let grants = [grant(&["HR.*"], &["select"], &[], 100)];
        assert!(reach(&grants, PEOPLE, at(1)) && !reach(&grants, ORDERS, at(1)) && !reach(&grants, PEOPLE, at(100)));
        for schema in ["hr2", "h", "hr.people"] {
            assert!(!reach(&grants, TableRef { schema, name: "people" }, at(1)), "{schema}");
        }
    }

    #[test]
    fn a_column_denied_by_one_grant_is_denied_under_all() {
        let grants = [
            grant(&["orders"], &["select"], &[], 100),
            grant(&["orders"], &["select"], &[("main.orders", "Note"), ("hr.people", "ssn")], 50),
        ];
        assert_eq!(denied_columns(&grants, ORDERS, at(1)), ["note"]);
        assert_eq!(denied_columns(&grants, PEOPLE, at(1)), ["ssn"]);
        assert!(denied_columns(&grants, ORDERS, at(50)).is_empty());
    }

    #[test]
    fn an_hour_is_the_clocks() {
        assert_eq!(hour_of(at(7_199)), at(3_600));
        assert_eq!(hour_of(at(7_200)), at(7_200));
    }
}
