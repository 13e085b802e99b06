//! A ruled table that is renamed away, so that another takes its name: dbt puts a new table in place of an old one so.
//!
//! Rules hold by name, so the table of before would be ruled by none. Nobody from whom a rule hides something of it may
//! rename it, and under its new name it is open to nobody else (`origin`). Its transaction is committed only if a table
//! of the old name has the ruled columns by then.

use std::collections::BTreeSet;

use contract::policy::{Policies, Rules, TableRef};
use contract::{Caller, Governance};
use engine::Session;

use super::asked::table_ref;
use super::capability::Own;
use super::row_filter::Templates;
use super::{Query, Result};
use crate::Error;

/// Tables that one transaction renames away.
const AWAY_MAX: usize = 100;

/// A ruled table that has another name now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Away {
    table: String,
    /// The ruled columns that it has, in lower case.
    columns: BTreeSet<String>,
}

/// May the caller rename the table, as far as its rules go?
pub(super) fn permits(
    query: &Query,
    rules: &Governance,
    caller: &Caller,
    own: &Own<'_>,
    path: &str,
    new: &str,
) -> bool {
    let by_name = Policies { standard: &rules.policies, abac: &[] };
    let by_attribute = Policies { standard: &[], abac: &rules.abac_policies };
    let table = table_ref(path);
    query.ask.transaction.is_some()
        && !by_name.bind(table, caller.role)
        && !by_attribute.name(table)
        && !by_attribute.lose(table, table_ref(new))
        && own.denied_columns(path).is_empty()
}

/// What COMMIT must find in its place.
pub(super) fn away(templates: &Templates, rules: &Governance, table: &sql::Table) -> Result<Away> {
    let named = ruled(templates, rules, TableRef { schema: &table.schema, name: &table.name })?;
    let its = table.columns.iter().map(|column| column.name.to_ascii_lowercase());
    Ok(Away { table: table.path(), columns: its.filter(|name| named.contains(name)).collect() })
}

/// The columns that rules name, in lower case.
fn ruled(templates: &Templates, rules: &Governance, table: TableRef<'_>) -> Result<BTreeSet<String>> {
    let mut columns = BTreeSet::new();
    for policy in rules.policies.iter().filter(|policy| policy.enabled) {
        match &policy.rules {
            Rules::ColumnMasking(rules) => {
                let its = rules.iter().filter(|rule| table.is_named_by(&rule.table));
                columns.extend(its.map(|rule| rule.column.to_ascii_lowercase()));
            }
            Rules::RowLevelSecurity(rules) => {
                for rule in rules.iter().filter(|rule| table.is_named_by(&rule.table)) {
                    let template = templates.of(&rule.filter)?;
                    columns.extend(template.facts().columns.iter().map(|name| name.to_ascii_lowercase()));
                }
            }
        }
    }
    Ok(columns)
}

/// The tables that a transaction has renamed away.
#[derive(Debug, Default)]
pub(super) struct Swaps(Vec<Away>);

impl Swaps {
    pub fn add(&mut self, away: Away) -> Result<()> {
        if self.0.len() >= AWAY_MAX {
            let what = format!("a transaction that renames more than {AWAY_MAX} ruled tables");
            return Err(Error::Unsupported { what });
        }
        self.0.push(away);
        Ok(())
    }

    /// Whether each has another in its place, as the transaction sees it.
    pub async fn are_whole(&self, session: &mut Session) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let there = session.catalog().await?;
        for Away { table, columns } in &self.0 {
            let TableRef { schema, name } = table_ref(table);
            let now = there.table(schema, name).map_or(&[][..], |now| now.columns.as_slice());
            let has = |wanted: &&String| now.iter().any(|column| column.name.eq_ignore_ascii_case(wanted));
            if there.table(schema, name).is_none() || !columns.iter().all(|column| has(&column)) {
                return Err(Error::Governed { table: table.clone() });
            }
        }
        Ok(())
    }
}
