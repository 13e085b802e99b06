//! What a statement would answer with, and take: questions about SQL that is not executed.

use super::answer;
use super::parsed::without_parameters;
use crate::error::Error;
use crate::ffi::{Connection, Prepared};
use crate::message::Shape;

/// A prepared statement whose columns are known. While the type of a parameter is open the engine tells none:
/// a text in its place may settle it, and a list where no text fits, as in `= ANY($1)`.
fn settled<'c>(connection: &'c Connection, sql: &str) -> Result<Prepared<'c>, Error> {
    let prepared = connection.prepare(sql)?;
    let is_open = || prepared.columns().iter().any(|(_, kind)| kind.is_open());
    if prepared.parameter_count() > 0 && is_open() {
        let with = |value: &str| connection.prepare(&without_parameters(sql, value));
        return Ok(with("(SELECT CAST(NULL AS VARCHAR))").or_else(|_| with("[NULL]")).unwrap_or(prepared));
    }
    Ok(prepared)
}

/// The columns a statement would answer with, in a form that can be sent.
pub fn describe(connection: &Connection, sql: &str) -> Result<Shape, Error> {
    let mut prepared = settled(connection, sql)?;
    let named = prepared.columns();
    if let Some(readable) = answer::readable(sql, &named) {
        // Of a write there is no such form.
        match connection.prepare(&readable) {
            Ok(sent) => prepared = sent,
            Err(_) => return Ok(Shape { columns: answer::columns(&named), schema: None }),
        }
    }
    let schema = prepared.schema().ok().and_then(|schema| answer::empty(&schema).ok());
    Ok(Shape { columns: answer::columns(&named), schema: schema.map(hex::encode) })
}

/// The types the engine gives a statement's parameters; none where it leaves one open.
pub fn parameters(connection: &Connection, sql: &str) -> Result<Vec<Option<String>>, Error> {
    Ok(connection.prepare(sql)?.parameters())
}
