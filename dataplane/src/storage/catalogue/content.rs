//! The content of a database of the catalogue: the names one caller may see, as rows of PostgreSQL's tables.

mod cell;
mod ids;
mod rows;
mod types;

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Instant;

use engine::{Session, Statement};
use sql::ast::quote;
use tokio_util::sync::CancellationToken;

use crate::Error;
use cell::CatalogueCell;
use rows::{CatalogueRows, CatalogueTable};

pub use types::type_id;

/// Everything that decides what the catalogue says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueContent {
    pub database: String,
    pub user: String,
    /// Where names without a schema are looked for, in order.
    pub search_path: Vec<String>,
    pub schemas: Vec<String>,
    pub listed: Vec<CatalogueEntry>,
    /// Settings that `current_setting` tells, by name in lower case.
    pub settings: Vec<(String, String)>,
}

/// Something with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueEntry {
    pub sort: Sort,
    pub schema: String,
    pub name: String,
    /// As they are shown: a masked one is text.
    pub columns: Vec<sql::Column>,
    pub primary_key: Vec<String>,
    pub comment: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Table,
    View,
    Sequence,
    Function,
}

const FUNCTIONS: &str = include_str!("functions.sql");
const DERIVED: &str = include_str!("derived.sql");
/// Rows of one INSERT.
const ROWS_MAX: usize = 500;

static TABLES: LazyLock<HashSet<String>> =
    LazyLock::new(|| sql::compile::postgres::relations().map(|relation| relation.stored()).collect());

static DEFINED: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let names = FUNCTIONS.lines().filter_map(|line| line.strip_prefix("create macro "));
    names.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name.replace('"', "")).collect()
});

/// Is it a table of the catalogue? `main.pg_class` and `pg_class` are one.
pub fn holds(name: &str) -> bool {
    let plain = name.replace('"', "").to_ascii_lowercase();
    TABLES.contains(plain.strip_prefix("main.").unwrap_or(&plain))
}

/// Is it a function of the catalogue?
pub fn defines(name: &str) -> bool {
    DEFINED.contains(name)
}

/// Writes it all into an empty database.
pub async fn fill(session: &mut Session, seen: &CatalogueContent, deadline: Instant) -> Result<(), Error> {
    let cancel = CancellationToken::new();
    for sql in statements(seen) {
        let statement = Statement { sql, params: Vec::new(), writes: true };
        session.run(statement, deadline, &cancel).await?;
    }
    Ok(())
}

fn statements(seen: &CatalogueContent) -> Vec<String> {
    let rows = CatalogueRows::of(seen);
    let mut all: Vec<String> = sql::compile::postgres::relations().map(|relation| created(&relation)).collect();
    all.extend(rows.variables().into_iter().map(|(name, value)| format!("set variable {name} = {value}")));
    all.extend(split(FUNCTIONS));
    all.extend(rows.tables().iter().flat_map(inserted));
    all.extend(split(DERIVED));
    all
}

/// The statements of a file of ours: each ends at a semicolon at a line's end.
fn split(text: &str) -> impl Iterator<Item = String> {
    text.split(";\n").filter_map(|piece| {
        let lines = piece.lines().filter(|line| !line.starts_with("--"));
        let piece = lines.collect::<Vec<_>>().join("\n");
        (!piece.trim().is_empty()).then_some(piece)
    })
}

/// A table of PostgreSQL: what is not said is 0 or false, as there.
fn created(relation: &sql::compile::postgres::CatalogRelation) -> String {
    use sql::compile::postgres::Sort;
    let is_pg = relation.schema == "pg_catalog";
    let column = |(name, sort): (&str, Sort)| {
        let (kind, default) = match sort {
            Sort::Oid | Sort::Proc => ("bigint", " default 0"),
            Sort::Int if is_pg => ("integer", " default 0"),
            Sort::Int => ("integer", ""),
            Sort::Float => ("double", " default 0"),
            Sort::Bool => ("boolean", " default false"),
            Sort::Text | Sort::Name => ("varchar", ""),
            Sort::Time => ("timestamp with time zone", ""),
            Sort::Ints => ("bigint[]", ""),
            Sort::Texts => ("varchar[]", ""),
        };
        format!("{} {kind}{default}", quote::name(name))
    };
    let columns: Vec<_> = relation.columns().map(column).collect();
    format!("create table {} ({})", quote::name(&relation.stored()), columns.join(", "))
}

fn inserted(table: &CatalogueTable) -> Vec<String> {
    let columns: Vec<_> = table.columns.split(", ").map(quote::name).collect();
    let head = format!("insert into {} ({}) values ", quote::name(table.name), columns.join(", "));
    let row = |cells: &Vec<CatalogueCell>| {
        format!("({})", cells.iter().map(CatalogueCell::sql).collect::<Vec<_>>().join(", "))
    };
    let chunk = |rows: &[Vec<CatalogueCell>]| format!("{head}{}", rows.iter().map(row).collect::<Vec<_>>().join(", "));
    table.rows.chunks(ROWS_MAX).map(chunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_file_is_known_by_name() {
        let made = split(FUNCTIONS).count();
        assert_eq!(DEFINED.len(), made, "{DEFINED:?}");
        assert!(defines("format_type") && defines("user") && !defines("read_csv"));
    }

    #[test]
    fn only_tables_of_the_catalogue_are_its_own() {
        for (name, is_held) in [
            ("pg_class", true),
            ("main.\"pg_class\"", true),
            ("system.pg_catalog.pg_class", false),
            ("customer", false),
        ] {
            assert_eq!(holds(name), is_held, "{name}");
        }
    }
}
