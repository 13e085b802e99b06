//! A ruled table or column that is renamed away, so that another takes its name: dbt puts a new table in place of an
//! old one so.
//!
//! Rules hold by name, so what was renamed would be ruled by none. Nobody from whom a rule hides something of the table
//! may do it, and a table is open to nobody else under its new name (`origin`). The transaction is committed only if a
//! table of the old name has the ruled columns by then, and in it no ruled column stands under another name.

use std::collections::BTreeSet;

use contract::policy::{Policies, Rules, TableRef};
use contract::{Caller, Governance};

use super::authorization::capability::AgentGrants;
use super::authorization::provenance;
use super::renamed_away::Away;
use super::stages::row_filter::Templates;
use super::stages::tables::StatementInfo;
use super::{Query, Result};
use crate::governance::table_path::table_ref;

/// A statement that may give a table, or a column of it, another name.
pub(super) struct Renaming<'a> {
    pub query: &'a Query,
    pub rules: &'a Governance,
    pub caller: &'a Caller,
    pub own: &'a AgentGrants<'a>,
    pub templates: &'a Templates,
    pub resolved: &'a sql::Resolved,
}

impl Renaming<'_> {
    /// May the caller do so with this table, as far as its rules go?
    pub fn permits(&self, path: &str) -> Result<bool> {
        let Self { query, rules, caller, own, .. } = self;
        let by_name = Policies { standard: &rules.policies, abac: &[] };
        let by_attribute = Policies { standard: &[], abac: &rules.abac_policies };
        let table = table_ref(path);
        let may_change = query.ask.transaction.is_some()
            && !by_name.bind(table, caller.role)
            && !by_attribute.name(table)
            && own.denied_columns(path).is_empty();
        if !may_change {
            return Ok(false);
        }
        if let Some(new) = self.resolved.renamed_to() {
            return Ok(!by_attribute.lose(table, table_ref(&new)));
        }
        let Some((old, new)) = self.resolved.renamed_column() else { return Ok(false) };
        let ruled = ruled(self.templates, rules, table)?;
        Ok([old, new].iter().any(|name| ruled.contains(&name.to_ascii_lowercase())))
    }

    /// Notes what COMMIT must find in place of what it renames away, and what is to be written down with a table.
    pub fn note(&self, about: &mut StatementInfo, there: &sql::Catalog) -> Result<()> {
        let policies = Policies { standard: &self.rules.policies, abac: &[] };
        let first = about.written.first().map(|(path, _)| table_ref(path)).filter(|table| policies.name(*table));
        let Some(table) = first.and_then(|table| there.get(table.schema, table.name)) else { return Ok(()) };
        let (to, column) = (self.resolved.renamed_to(), self.resolved.renamed_column());
        if to.is_none() && column.is_none() {
            return Ok(());
        }
        let named = ruled(self.templates, self.rules, TableRef { schema: &table.schema, name: &table.name })?;
        let renamed = column.and_then(|(old, new)| {
            let (old, new) = (old.to_ascii_lowercase(), new.to_ascii_lowercase());
            (named.contains(&old) && !named.contains(&new)).then_some(new)
        });
        let its = table.columns.iter().map(|column| column.name.to_ascii_lowercase());
        let columns = its.filter(|name| named.contains(name)).collect();
        if let Some(new) = to {
            about.marks.push(provenance::mark_of_renamed(self.caller.role, table, &new)?);
        }
        about.away = Some(Away { table: table.path(), columns, renamed });
        Ok(())
    }
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
