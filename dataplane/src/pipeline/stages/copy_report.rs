//! The columns that COPY INTO answers with, a row for each file or failed record: the warehouse's documented ones.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::tables::StatementInfo;
use crate::Column;
use crate::request::answer::Description;

pub(super) const TEXT: &str = "VARCHAR";
const NUMBER: &str = "BIGINT";

/// Name and type.
pub(super) type ReportColumn = (&'static str, &'static str);

pub(super) const COLUMNS: [ReportColumn; 10] = [
    ("file", TEXT),
    ("status", TEXT),
    ("rows_parsed", NUMBER),
    ("rows_loaded", NUMBER),
    ("error_limit", NUMBER),
    ("errors_seen", NUMBER),
    ("first_error", TEXT),
    ("first_error_line", NUMBER),
    ("first_error_character", NUMBER),
    ("first_error_column_name", TEXT),
];

/// The columns of a statement that loads files; none of any other, nor where it shows their rows.
pub(super) fn columns(about: &StatementInfo) -> Option<&'static [ReportColumn]> {
    let load = about.staged.iter().find_map(|rows| rows.load).filter(|load| load.shows().is_none())?;
    let columns: &'static [ReportColumn] = if load.tells_faults() { &sql::FAULT_COLUMNS } else { &COLUMNS };
    Some(columns)
}

pub(super) fn schema(columns: &[ReportColumn]) -> SchemaRef {
    let field = |(name, type_name): &ReportColumn| {
        let data_type = if *type_name == NUMBER { DataType::Int64 } else { DataType::Utf8 };
        Field::new(*name, data_type, true)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// What a statement that loads files is described by; nothing for any other.
pub(super) fn described(about: &StatementInfo) -> Option<Description> {
    let columns = columns(about)?;
    let column = |(name, type_name): &ReportColumn| Column {
        name: (*name).to_owned(),
        type_name: (*type_name).to_owned(),
        masked: false,
    };
    Some(Description {
        parameters: Vec::new(),
        columns: columns.iter().map(column).collect(),
        schema: Some(schema(columns)),
        command: about.command,
    })
}
