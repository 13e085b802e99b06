//! Rows on their way into a table: gathered by column, written by one INSERT of many rows.

use contract::Code;
use engine::Value;

use super::super::failure::ErrorResponse;
use super::super::parameters::{self, SessionClock};
use super::records::Record;
use crate::encode::pg_rows::{Format, PgType};

/// Gathered for one INSERT.
const ROWS_MAX: usize = 20_000;
const BYTES_MAX: usize = 4 << 20;

/// A column that is written.
#[derive(Debug)]
pub struct CopyColumn {
    pub name: String,
    pub kind: PgType,
}

impl CopyColumn {
    /// The values of the column, which are parameter `number`. Decimals go as text, and are numbers to what compares
    /// them on their way.
    fn list(&self, number: usize) -> String {
        match self.kind {
            PgType::Numeric(Some((digits, scale))) => {
                format!("unnest(cast(${number} as decimal({digits}, {scale})[]))")
            }
            _ => format!("unnest(${number})"),
        }
    }
}

#[derive(Debug)]
pub struct Upload {
    insert: String,
    columns: Vec<CopyColumn>,
    values: Vec<Vec<Value>>,
    bytes: usize,
    is_binary: bool,
    pub written: u64,
}

impl Upload {
    /// `table` and `columns` as the client wrote them.
    pub fn new(table: &str, columns: Option<&str>, into: Vec<CopyColumn>) -> Self {
        let written = columns.map_or_else(
            || into.iter().map(|column| sql::ast::quote::name(&column.name)).collect::<Vec<_>>().join(", "),
            str::to_owned,
        );
        let lists: Vec<_> = into.iter().zip(1..).map(|(column, number)| column.list(number)).collect();
        let insert = format!("insert into {table} ({written}) select {}", lists.join(", "));
        let values = into.iter().map(|_| Vec::new()).collect();
        Self { insert, columns: into, values, bytes: 0, is_binary: false, written: 0 }
    }

    pub fn binary(mut self, is_binary: bool) -> Self {
        self.is_binary = is_binary;
        self
    }

    pub fn width(&self) -> usize {
        self.columns.len()
    }

    pub fn is_full(&self) -> bool {
        self.bytes >= BYTES_MAX || self.values.first().is_some_and(|column| column.len() >= ROWS_MAX)
    }

    /// Takes a row; `number` is its place in the copy.
    pub fn add(&mut self, record: Record, number: u64, clock: &SessionClock) -> Result<(), ErrorResponse> {
        if record.len() != self.columns.len() {
            let message = format!("line {number} has {} values for {} columns", record.len(), self.columns.len());
            return Err(ErrorResponse::new(Code::ConversionFailed, message).with_state("22P04"));
        }
        for ((column, list), value) in self.columns.iter().zip(&mut self.values).zip(record) {
            self.bytes += value.as_ref().map_or(1, bytes::Bytes::len);
            list.push(read(column, value, self.is_binary, clock).map_err(|failure| {
                let message = format!("line {number}, column {}: {}", column.name, failure.message);
                ErrorResponse { message, ..failure }
            })?);
        }
        Ok(())
    }

    /// The INSERT of what has been gathered, and its values.
    pub fn take(&mut self) -> Option<(String, Vec<Value>)> {
        if self.values.first().is_none_or(Vec::is_empty) {
            return None;
        }
        self.bytes = 0;
        let lists = self.values.iter_mut().map(|list| Value::List(std::mem::take(list))).collect();
        Some((self.insert.clone(), lists))
    }
}

/// A value by its column's type. What the engine reads from text itself, and what has as many types as values, goes
/// as text; INSERT makes it the column's.
fn read(
    column: &CopyColumn,
    value: Option<bytes::Bytes>,
    is_binary: bool,
    clock: &SessionClock,
) -> Result<Value, ErrorResponse> {
    if matches!(column.kind, PgType::Array(_)) {
        return Err(ErrorResponse::unsupported("COPY into a column of arrays"));
    }
    let format = if is_binary { Format::Binary } else { Format::Text };
    let failed =
        |failure: ErrorResponse| ErrorResponse { message: "this is no value of its type".to_owned(), ..failure };
    match parameters::value(1, column.kind.oid(), format, value, clock).map_err(failed)? {
        Value::Decimal(digits) => match column.kind {
            PgType::Numeric(Some((precision, scale))) if !column.kind.holds(&digits) => {
                let message = format!("{digits} has more decimals than NUMBER({precision},{scale}) holds");
                let failure = ErrorResponse::new(Code::ConversionFailed, message).with_state("22003");
                Err(failure.with_hint("declare the column NUMERIC(p, s)"))
            }
            // A list has one type; decimals of several widths are made one by the column.
            _ => Ok(Value::Text(digits)),
        },
        other => Ok(other),
    }
}
