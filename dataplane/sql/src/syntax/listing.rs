//! A small table that a statement answers of itself, as a query over VALUES.

use sqlparser::ast::{
    DataType, Expr, Ident, ObjectName, Parens, Query, SetExpr, TableAliasColumnDef, TableFactor, Value,
};

use crate::ast::error::Error;
use crate::ast::expression::cast;
use crate::ast::names;
use crate::ast::names::ours::LISTING;
use crate::syntax::parse;

/// The value of a cell; nothing is NULL.
pub(crate) type Cell = Option<String>;

/// A small table: names of columns, and rows of texts.
pub(crate) struct Listing {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// Columns that hold numbers.
const NUMBERS: [&str; 11] = [
    "ordinal_position",
    "numeric_precision",
    "numeric_precision_radix",
    "numeric_scale",
    "character_maximum_length",
    "character_octet_length",
    "key_sequence",
    "estimated_size",
    "column_count",
    "size",
    "skip_header",
];
/// Columns that hold names, which are found whatever their case: `table_name = 'ORDERS'` as well as `'orders'`.
const NAMES: [&str; 12] = [
    "table_schema",
    "table_name",
    "column_name",
    "schema_name",
    "sequence_schema",
    "sequence_name",
    "function_schema",
    "function_name",
    "stage_schema",
    "stage_name",
    "file_format_schema",
    "file_format_name",
];

impl Listing {
    /// Without rows; its columns are separated by commas.
    pub(crate) fn new(columns: &'static str) -> Self {
        Self { columns: columns.split(", ").collect(), rows: Vec::new() }
    }

    /// One row that says so.
    pub(crate) fn said(text: &str) -> Self {
        Self { rows: vec![vec![Some(text.to_owned())]], ..Self::new("status") }
    }

    /// Keeps the rows whose cell in this column is this text, whatever its case.
    pub(crate) fn retain(&mut self, column: &str, keep: impl Fn(&str) -> bool) {
        let Some(place) = self.columns.iter().position(|known| *known == column) else {
            return;
        };
        self.rows.retain(|row| row.get(place).and_then(Option::as_deref).is_some_and(&keep));
    }

    pub(crate) fn add(&mut self, row: Vec<Option<String>>) {
        self.rows.push(row);
    }

    /// `SELECT * FROM (VALUES …) AS listing(…)`; without rows one that is filtered out, for its types.
    pub(crate) fn query(self) -> Result<Query, Error> {
        let condition = if self.rows.is_empty() { " WHERE FALSE" } else { "" };
        let mut query = *parse::query(&format!("SELECT * FROM (VALUES (1)) AS \"{LISTING}\"{condition}"))?;
        let unexpected = || Error::unsupported("this part of the catalogue");
        let SetExpr::Select(select) = query.body.as_mut() else {
            return Err(unexpected());
        };
        let from = select.from.first_mut().map(|from| &mut from.relation);
        let Some(TableFactor::Derived { subquery, alias: Some(alias), .. }) = from else {
            return Err(unexpected());
        };
        let name = |name: &&str| TableAliasColumnDef { name: Ident::with_quote('"', *name), data_type: None };
        alias.columns = self.columns.iter().map(name).collect();
        let SetExpr::Values(values) = subquery.body.as_mut() else {
            return Err(unexpected());
        };
        let row = values.rows.pop().ok_or_else(unexpected)?;
        let filled = |cells: &[Option<String>], of: fn(&str, Option<&str>) -> Expr| {
            let cells = self.columns.iter().zip(cells).map(|(column, cell)| of(column, cell.as_deref()));
            Parens { content: cells.collect(), ..row.clone() }
        };
        // the types of the first row are those of all
        values.rows = self.rows.iter().take(1).map(|cells| filled(cells, typed)).collect();
        values.rows.extend(self.rows.iter().skip(1).map(|cells| filled(cells, value)));
        if values.rows.is_empty() {
            values.rows.push(filled(&vec![None; self.columns.len()], typed));
        }
        Ok(query)
    }
}

/// A cell with this text.
#[expect(clippy::unnecessary_wraps, reason = "the other kind of cell is None")]
pub(crate) fn cell(text: impl Into<String>) -> Cell {
    Some(text.into())
}

fn typed(column: &str, cell: Option<&str>) -> Expr {
    let data_type = if NUMBERS.contains(&column) { DataType::BigInt(None) } else { DataType::Varchar(None) };
    let typed = cast(value(column, cell), data_type);
    if !NAMES.contains(&column) {
        return typed;
    }
    Expr::Collate { expr: Box::new(typed), collation: ObjectName::from(vec![names::quoted("nocase")]) }
}

fn value(column: &str, cell: Option<&str>) -> Expr {
    Expr::value(match cell {
        None => Value::Null,
        Some(digits) if NUMBERS.contains(&column) => Value::Number(digits.to_owned(), false),
        Some(text) => Value::SingleQuotedString(text.to_owned()),
    })
}
