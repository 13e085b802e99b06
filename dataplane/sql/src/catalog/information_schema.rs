//! Names of the catalogue's own tables.

use crate::ast::names::TableName;

/// The schema of the catalogue.
pub(crate) const SCHEMA: &str = "information_schema";

/// The tables with their sizes, as the engine's own function of this name lists them.
pub(crate) const SIZES: &str = "duckdb_tables";

/// Whether the name is one of the catalogue's tables.
pub(crate) fn is_relation(name: &TableName) -> bool {
    name.schema.as_ref().is_some_and(|schema| schema.eq_ignore_ascii_case(SCHEMA))
}
