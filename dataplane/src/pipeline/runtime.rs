//! Statements that read the governed runtime: "Runtime tables in schema `svc_runtime` … are queryable through the SQL
//! proxy and such queries bypass the analytical engine and run directly against the control plane database."
//!
//! They walk the same stages, so that policies, grants, masks and filters mean these tables like any other; only where
//! they run differs. A statement names tables of this schema alone, and reads: no rows of an environment meet them in
//! one engine. Where the runtime is off, the schema is not there.

use contract::Governance;
use contract::runtime_tables::{SCHEMA, Table};
use engine::Session;

use super::{Pipeline, Query, Result};
use crate::Error;
use crate::governance::table_path::table_ref;

pub(super) use crate::storage::runtime_tables::RowSelection;

/// Is it the schema of the runtime's tables?
pub(super) fn is_its_schema(schema: &str) -> bool {
    schema.eq_ignore_ascii_case(SCHEMA)
}

/// Does the path mean something of the runtime's?
pub(super) fn is_named(rules: &Governance, path: &str) -> bool {
    rules.runtime && is_its_schema(table_ref(path).schema)
}

/// Does the generated text, whose tables these are by their full names, read the schema?
pub(super) fn is_read(emitted: &[String]) -> bool {
    let path = |name: &String| name.split_once('.').is_some_and(|(_, path)| is_its_schema(table_ref(path).schema));
    emitted.iter().any(path)
}

/// The tables, as any statement may come to know of them.
pub(super) fn tables() -> impl Iterator<Item = sql::Table> {
    Table::ALL.iter().map(|table| {
        let columns = table.columns().iter().map(|(name, kind)| sql::Column::new(*name, kind.engine()));
        sql::Table::new(SCHEMA, table.as_str(), columns.collect())
    })
}

/// Single-schema statements only, and none that writes.
pub(super) fn permitted(rules: &Governance, bound: &[String], writes: bool) -> Result<()> {
    let unsupported = |what: &str| Err(Error::Unsupported { what: what.to_owned() });
    let own = bound.iter().filter(|path| is_named(rules, path)).count();
    if own > 0 && writes {
        return unsupported("a statement that writes and names svc_runtime");
    }
    if own > 0 && own < bound.len() {
        return unsupported("a statement over svc_runtime and another schema");
    }
    Ok(())
}

/// A session that holds the runtime's tables, for a statement over these, by their full names in the generated text;
/// none for any other statement. What a filter reads counts as well.
pub(super) async fn session(
    pipeline: &Pipeline,
    query: &Query,
    rules: &Governance,
    emitted: &[String],
    rows: RowSelection,
) -> Result<Option<Session>> {
    let paths: Vec<_> =
        emitted.iter().filter_map(|name| name.split_once('.').map(|(_, path)| path.to_owned())).collect();
    permitted(rules, &paths, false)?;
    let tables = paths.iter().filter(|path| is_named(rules, path)).map(|path| {
        let name = table_ref(path).name.to_ascii_lowercase();
        name.parse::<Table>().map_err(|_| Error::Unverified { why: format!("{path} is no table of the runtime") })
    });
    let mut tables = tables.collect::<Result<Vec<_>>>()?;
    tables.sort_unstable();
    tables.dedup();
    if tables.is_empty() {
        return Ok(None);
    }
    let within = query.left();
    let session = Box::pin(pipeline.runtime.session(&tables, rows, rules.mask_key, query.deadline));
    let made = tokio::select! {
        () = query.ask.cancel.cancelled() => Err(Error::Cancelled),
        made = tokio::time::timeout(within, session) => made.unwrap_or(Err(Error::Timeout(query.timeout))),
    };
    made.map(Some).map_err(|error| match error {
        Error::Engine(error) => query.fault(error),
        Error::Timeout(_) => Error::Timeout(query.timeout),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::governance;

    #[test]
    fn the_runtime_is_read_alone_and_never_written() {
        let rules = Governance { runtime: true, ..governance() };
        let cases: [(&[&str], bool, bool); 7] = [
            (&[], true, true),
            (&["main.customer"], true, true),
            (&["svc_runtime.tasks", "svc_runtime.task_attempts"], false, true),
            (&["SVC_RUNTIME.tasks"], true, false),
            (&["svc_runtime.tasks", "main.customer"], false, false),
            (&["main.customer", "Svc_Runtime.Tasks"], false, false),
            (&["main.customer", "svc_runtime.tasks"], true, false),
        ];
        for (paths, writes, is_permitted) in cases {
            let bound: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(permitted(&rules, &bound, writes).is_ok(), is_permitted, "{paths:?}");
            assert!(permitted(&governance(), &bound, writes).is_ok(), "without a runtime, a schema like any other");
        }
    }
}
