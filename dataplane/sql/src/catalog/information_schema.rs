//! Names of the catalogue's own tables.

use crate::ast::names::TableName;

/// The schema of the catalogue.
pub(crate) const SCHEMA: &str = "information_schema";

/// A table of `information_schema` that the warehouse has too: asked in its words it is the pipeline's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InformationTable {
    Tables,
    Columns,
    Schemata,
    Views,
    Sequences,
    Functions,
    Stages,
    FileFormats,
    ExternalTables,
    LoadHistory,
}

impl InformationTable {
    const NAMED: [(&str, Self); 10] = [
        ("tables", Self::Tables),
        ("columns", Self::Columns),
        ("schemata", Self::Schemata),
        ("views", Self::Views),
        ("sequences", Self::Sequences),
        ("functions", Self::Functions),
        ("stages", Self::Stages),
        ("file_formats", Self::FileFormats),
        ("external_tables", Self::ExternalTables),
        ("load_history", Self::LoadHistory),
    ];

    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, table)| table)
    }
}

/// The tables with their sizes, as the engine's own function of this name lists them.
pub(crate) const SIZES: &str = "duckdb_tables";

/// Whether the name is one of the catalogue's tables.
pub(crate) fn is_relation(name: &TableName) -> bool {
    name.schema.as_ref().is_some_and(|schema| schema.eq_ignore_ascii_case(SCHEMA))
}
