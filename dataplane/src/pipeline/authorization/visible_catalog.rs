//! Which columns a caller is shown as text, which are those that are masked for them: the catalogue must not tell what
//! kind of value stands behind a mask. And which it does not list: those that are denied to the agent behind them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use contract::policy::{TableRef, filters_on, masks_on};
use contract::{Caller, Governance, Role};
use sql::catalog::definition::DefinitionKind;

use super::capability::AgentGrants;
use super::policy_request::PolicyRequest;
use crate::Ask;
use crate::governance::table_path::table_ref;
use crate::pipeline::authorization::asker::Asker;
use crate::pipeline::{Pipeline, Result, runtime};
use crate::storage::branches::origin;

/// Schema, table and column, in lower case.
type ColumnPaths = BTreeSet<(String, String, String)>;

/// Views that stand in views, at most so deep.
const DEEP_MAX: usize = 16;

impl Pipeline {
    /// The columns of a table that are denied to the agent behind an ask, in lower case.
    pub(crate) fn denied_columns(&self, ask: &Ask, path: &str) -> Result<Vec<String>> {
        let (rules, now) = (self.rules()?, self.clock.now());
        let who = Asker::of(&rules, ask, now)?;
        Ok(AgentGrants { rules: &rules, agent: &who.agent, now }.denied_columns(path))
    }

    /// The tables that the caller of an ask may see, as `schema.table`.
    pub(crate) async fn visible_tables(&self, ask: &Ask) -> Result<Vec<String>> {
        let rules = self.rules()?;
        let who = Asker::of(&rules, ask, self.clock.now())?;
        let asked = who.asks(&rules, ask.into(), false);
        let read = self.catalog().await?;
        let theirs = read.tables.iter().filter(|table| table.schema != sql::ast::names::TEMPORARY_SCHEMA);
        let theirs = theirs.filter(|table| !(rules.runtime && runtime::is_its_schema(&table.schema)));
        let seen = theirs.filter_map(|table| {
            let path = format!("{}.{}", table.schema, table.name);
            asked.may_see_copy(&path, origin(table.comment.as_deref()).as_deref()).then_some(path)
        });
        Ok(seen.collect())
    }
}

/// Has names tell of columns what the one who asks may know.
pub(in crate::pipeline) fn narrow(names: &mut sql::SessionNames, asked: &PolicyRequest<'_>, known: &sql::Catalog) {
    names.masked = Arc::new(masked(asked.rules, asked.caller, known));
    names.denied = Arc::new(denied(&asked.own(), known));
}

/// About how many rows a table has; none where a filter stands between the role and the rows.
pub(crate) fn row_estimate(
    (rules, role): (&Governance, Role),
    read: &engine::Catalog,
    (schema, name): (&str, &str),
) -> Option<u64> {
    let is_filtered = !filters_on(&rules.policies, TableRef { schema, name }, role).is_empty();
    read.table(schema, name).filter(|_| !is_filtered).map(|table| table.estimated_rows)
}

/// The same of every table there is, by its names in lower case.
pub(in crate::pipeline) fn row_estimates(
    rules: &Governance,
    role: Role,
    read: &engine::Catalog,
) -> BTreeMap<Path, u64> {
    let estimates = read.tables.iter().filter_map(|table| {
        let rows = row_estimate((rules, role), read, (&table.schema, &table.name))?;
        Some(((table.schema.to_ascii_lowercase(), table.name.to_ascii_lowercase()), rows))
    });
    estimates.collect()
}

/// What there is for the one who asks: nothing that they may not read, and no view over that, whose columns would tell
/// of its columns.
pub(in crate::pipeline) fn seen(asked: &PolicyRequest<'_>, known: &sql::Catalog) -> sql::Catalog {
    let lower = |path: &str| {
        let TableRef { schema, name } = table_ref(path);
        (schema.to_ascii_lowercase(), name.to_ascii_lowercase())
    };
    let paths = known.tables().map(|table| table.path());
    let paths = paths.chain(known.definitions().into_iter().map(|one| one.path()));
    let unseen = paths.filter(|path| !asked.may_see(known, path)).map(|path| lower(&path)).collect();
    let unseen = with_views_over(unseen, known);
    known.seen(|path| !unseen.contains(&lower(path)))
}

/// Every column that is masked for the caller. What a view makes of a masked column is not known without running
/// it, so all columns of a view over such a table count.
fn masked(rules: &Governance, caller: &Caller, known: &sql::Catalog) -> ColumnPaths {
    let mut masked = ColumnPaths::new();
    let mut touched = BTreeSet::new();
    for table in known.tables() {
        let (schema, name) = (table.schema.to_ascii_lowercase(), table.name.to_ascii_lowercase());
        let columns = masks_on(&rules.policies, TableRef { schema: &schema, name: &name }, caller.role);
        if !columns.is_empty() {
            touched.insert((schema.clone(), name.clone()));
            masked.extend(record_of(table));
        }
        masked.extend(columns.into_keys().map(|column| (schema.clone(), name.clone(), column)));
    }
    let touched = with_views_over(touched, known);
    for view in known.definitions().into_iter().filter(|one| one.kind == DefinitionKind::View) {
        let path = (view.schema.to_ascii_lowercase(), view.name.to_ascii_lowercase());
        if touched.contains(&path) {
            let columns = view.columns.iter().map(|column| column.name.to_ascii_lowercase());
            masked.extend(columns.map(|column| (path.0.clone(), path.1.clone(), column)));
        }
    }
    masked
}

/// The column of an external table's whole records, which hides what another column hides.
fn record_of(table: &sql::Table) -> Option<(String, String, String)> {
    let path = [table.schema.as_str(), table.name.as_str(), sql::RECORD_COLUMN];
    let [schema, name, column] = path.map(str::to_ascii_lowercase);
    table.is_external().then_some((schema, name, column))
}

/// Every column that a grant of the agent denies. A view over such a table has no columns of these names to show.
fn denied(own: &AgentGrants<'_>, known: &sql::Catalog) -> ColumnPaths {
    let mut denied = ColumnPaths::new();
    let (mut touched, mut names) = (BTreeSet::new(), BTreeSet::new());
    for table in known.tables() {
        let columns = own.denied_columns(&table.path());
        if columns.is_empty() {
            continue;
        }
        let (schema, name) = (table.schema.to_ascii_lowercase(), table.name.to_ascii_lowercase());
        touched.insert((schema.clone(), name.clone()));
        names.extend(columns.iter().cloned());
        denied.extend(record_of(table));
        denied.extend(columns.into_iter().map(|column| (schema.clone(), name.clone(), column)));
    }
    for (schema, name) in with_views_over(touched.clone(), known).difference(&touched) {
        denied.extend(names.iter().map(|column| (schema.clone(), name.clone(), column.clone())));
    }
    denied
}

/// These tables, and the views that are made of them.
fn with_views_over(mut touched: BTreeSet<Path>, known: &sql::Catalog) -> BTreeSet<Path> {
    if touched.is_empty() {
        return touched;
    }
    let views = views(known);
    for _ in 0..DEEP_MAX {
        let over = |named: &Option<Vec<(String, String)>>| {
            // One that cannot be read could be over anything.
            named.as_ref().is_none_or(|named| named.iter().any(|table| touched.contains(table)))
        };
        let more: Vec<_> = views.iter().filter(|(path, named)| !touched.contains(*path) && over(named)).collect();
        if more.is_empty() {
            break;
        }
        let paths: Vec<_> = more.into_iter().map(|(path, _)| path.clone()).collect();
        touched.extend(paths);
    }
    touched
}

pub(in crate::pipeline) type Path = (String, String);

/// Views with the tables that their statements name; none where one cannot be read.
fn views(known: &sql::Catalog) -> BTreeMap<Path, Option<Vec<Path>>> {
    let named = |view: &sql::Definition| {
        let statement = sql::parse(&view.text).ok()?;
        // wherever it may have been found
        let paths = |table: &sql::TableUse| {
            let written = table.schema.as_deref();
            let schemas = written.into_iter().chain(view.homes().filter(|_| written.is_none()));
            let path = |schema: &str| (schema.to_ascii_lowercase(), table.name.to_ascii_lowercase());
            schemas.map(path).collect::<Vec<_>>()
        };
        Some(statement.tables().iter().flat_map(paths).collect())
    };
    let views = known.definitions().into_iter().filter(|one| one.kind == DefinitionKind::View);
    views.map(|view| ((view.schema.to_ascii_lowercase(), view.name.to_ascii_lowercase()), named(view))).collect()
}
