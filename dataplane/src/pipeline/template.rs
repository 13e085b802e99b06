//! `CREATE [EXTERNAL] TABLE t USING TEMPLATE (query)`: a table whose columns a query answers.
//!
//! The query is a statement like any other and walks all stages as its caller's. The table is made by a second one,
//! written of the names and types that came. What must not leave by a file must not become a name either.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use contract::QueryId;
use contract::wire::Numbers;
use futures::StreamExt;
use serde_json::{Map, Value};
use sql::ast::quote;
use sql::{StatementKind, TableTemplate};

use super::{Once, Pipeline, Result};
use crate::encode::json;
use crate::request::ask::Outlet;
use crate::{Answer, Ask, Command, Description, Error};

/// Bytes that the columns may be told in.
const COLUMNS_BYTES_MAX: usize = 4 << 20;

/// What a statement makes a table by, if it does.
pub(super) fn asked(ask: &Ask) -> Option<TableTemplate> {
    // other statements are read once
    if !ask.sql.as_bytes().windows(8).any(|word| word.eq_ignore_ascii_case(b"template")) {
        return None;
    }
    match sql::parse_with(&ask.sql, &ask.names.variables).ok()?.kind() {
        StatementKind::Template(template) => Some(template.clone()),
        _ => None,
    }
}

/// What it answers, known without its running; nothing of any other statement.
pub(super) fn described(ask: &Ask) -> Option<Description> {
    let tag = if asked(ask)?.is_external() { "CREATE EXTERNAL TABLE" } else { "CREATE TABLE" };
    let (schema, command) = (Some(SchemaRef::new(Schema::empty())), Command::Other(tag));
    Some(Description { parameters: Vec::new(), columns: Vec::new(), schema, command })
}

pub(super) async fn run(
    pipeline: &Arc<Pipeline>,
    ask: Ask,
    template: TableTemplate,
    once: Option<Once>,
) -> Result<Answer> {
    if !ask.params.is_empty() {
        return Err(Error::Unsupported { what: "a parameter of CREATE TABLE USING TEMPLATE".to_owned() });
    }
    if *sql::parse_with(&template.query, &ask.names.variables)?.kind() != StatementKind::Select {
        return Err(Error::Unsupported { what: "USING TEMPLATE of something other than a query".to_owned() });
    }
    let query_id = QueryId::fresh(pipeline.clock.now(), &pipeline.entropy);
    let mut asked = Ask { query_id, sql: template.query.clone(), ..ask.clone() };
    asked.bounds.rows = None;
    asked.bounds.outlet = Some(Outlet::Columns);
    let mut answer = Box::pin(pipeline.run_plain(asked, None)).await?;
    let told = told(&mut answer).await?;
    drop(answer); // which holds the transaction of its caller
    let columns = told.iter().map(column).collect::<Result<Vec<_>>>()?;
    if template.is_external() {
        columns.iter().try_for_each(TemplateColumn::is_member)?;
    }
    let each = columns.iter().map(|column| (column.name, column.type_name, column.nullable));
    let sql = template.statement(each)?;
    Box::pin(pipeline.run_plain(Ask { sql, ..ask }, once)).await
}

/// The one value of the answer: an object for each column.
async fn told(answer: &mut Answer) -> Result<Vec<Map<String, Value>>> {
    let (mut text, mut is_first) = (String::from("["), true);
    while let Some(batch) = answer.rows.next().await {
        json::rows(&mut text, &answer.columns, &batch?, Numbers::Json, &mut is_first);
        if text.len() > COLUMNS_BYTES_MAX {
            return Err(malformed("is too long: a table may have fewer columns"));
        }
    }
    text.push(']');
    let rows: Vec<Vec<Value>> = serde_json::from_str(&text).map_err(|_| malformed("is no JSON"))?;
    let row = <[Vec<Value>; 1]>::try_from(rows).ok().map(|[row]| row);
    let value = row.and_then(|row| <[Value; 1]>::try_from(row).ok()).map(|[value]| value);
    let value = value.ok_or_else(|| malformed("is other than one row of one column"))?;
    let Value::Array(columns) = value else { return Err(malformed("is no array")) };
    if columns.is_empty() {
        return Err(malformed("has no column"));
    }
    let object = |column: Value| match column {
        Value::Object(members) => Ok(members),
        _ => Err(malformed("has a column that is no object")),
    };
    columns.into_iter().map(object).collect()
}

/// A column of the table.
struct TemplateColumn<'v> {
    name: &'v str,
    type_name: &'v str,
    nullable: bool,
    /// How a query of the stage reads it.
    expression: Option<&'v str>,
}

impl TemplateColumn<'_> {
    /// Refuses one that is read otherwise than as the member of its name.
    fn is_member(&self) -> Result<()> {
        let name = if quote::is_plain(self.name) { self.name.to_owned() } else { quote::name(self.name) };
        if self.expression == Some(format!("$1:{name}::{}", self.type_name).as_str()) {
            return Ok(());
        }
        Err(malformed("has a column whose EXPRESSION is other than that of INFER_SCHEMA without IGNORE_CASE"))
    }
}

fn column(members: &Map<String, Value>) -> Result<TemplateColumn<'_>> {
    let text = |key: &str| match members.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.as_str()),
        _ => Err(malformed(&format!("has a column without {key}"))),
    };
    let nullable = match members.get("NULLABLE") {
        None | Some(Value::Null) => true,
        Some(Value::Bool(nullable)) => *nullable,
        Some(_) => return Err(malformed("has a column whose NULLABLE is neither true nor false")),
    };
    let expression = members.get("EXPRESSION").and_then(Value::as_str);
    Ok(TemplateColumn { name: text("COLUMN_NAME")?, type_name: text("TYPE")?, nullable, expression })
}

fn malformed(what: &str) -> Error {
    let form = "ARRAY_AGG(OBJECT_CONSTRUCT(*)) of rows with COLUMN_NAME, TYPE, NULLABLE and EXPRESSION";
    let message = format!("the answer of the query in USING TEMPLATE {what}: let it be {form}");
    Error::InvalidParams { field: "sql", message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, String, bool)> {
        let members: Map<String, Value> = serde_json::from_str(text).unwrap();
        column(&members).map(|column| (column.name.to_owned(), column.type_name.to_owned(), column.nullable))
    }

    #[test]
    fn a_column_is_an_object_with_its_name_and_type() {
        let told = read(r#"{"COLUMN_NAME": "a", "TYPE": "TEXT", "NULLABLE": false, "ORDER_ID": 1}"#).unwrap();
        assert_eq!(told, ("a".to_owned(), "TEXT".to_owned(), false));
        assert!(read(r#"{"COLUMN_NAME": "a", "TYPE": "TEXT"}"#).unwrap().2);
        for (text, words) in [
            (r#"{"TYPE": "TEXT"}"#, "without COLUMN_NAME"),
            (r#"{"COLUMN_NAME": "a", "TYPE": 1}"#, "without TYPE"),
            (r#"{"COLUMN_NAME": "", "TYPE": "TEXT"}"#, "without COLUMN_NAME"),
            (r#"{"COLUMN_NAME": "a", "TYPE": "TEXT", "NULLABLE": "x"}"#, "NULLABLE"),
        ] {
            let told = read(text).unwrap_err().to_string();
            assert!(told.contains(words), "{text}: {told}");
        }
    }
}
