//! Suggestions of an error: the name that was meant, the columns that there are, and a corrected text.
//!
//! A text is suggested only if all of it passes every check for this caller. Nothing of it is run.
//!
//! Every name comes from what the caller is shown of the catalogue (`visible_relations`), so none tells of anything
//! that is hidden from them; and a refusal gets no hint at all.

use std::time::Duration;

use contract::Governance;
use contract::body::TEXT_CHARACTERS_MAX;
use sql::ast::error::ErrorKind;

use super::intent;
use super::likeness::{function, nearest, ranked};
use super::visible_relations::VisibleRelations;
use crate::Error;
use crate::error::Hint;
use crate::pipeline::{Pipeline, Query};
use crate::request::trail::Trail;

/// Columns that an error names.
const COLUMNS_MAX: usize = 5;
/// The statement has failed: whether another would do is not worth more of its caller's time.
const WITHIN: Duration = Duration::from_secs(2);

/// The error with what there is to say of it, if there is anything.
pub(in crate::pipeline) async fn suggested(pipeline: &Pipeline, query: &Query, error: Error) -> Error {
    match Box::pin(hint(pipeline, query, &error)).await {
        Some(hint) => Error::Hinted { error: Box::new(error), hint: Box::new(hint) },
        None => error,
    }
}

async fn hint(pipeline: &Pipeline, query: &Query, error: &Error) -> Option<Hint> {
    let rules = pipeline.rules().ok()?;
    let (mut hint, corrected) = match error {
        Error::ColumnMissing { name } => of_column(pipeline, query, &rules, name).await?,
        Error::Sql(error) => match &error.kind {
            ErrorKind::ColumnNotFound { table, column } => of_target(pipeline, query, &rules, table, column).await?,
            ErrorKind::TableNotFound { schema, name, did_you_mean } => {
                (Hint::default(), of_table(query, schema.as_deref(), name, did_you_mean.as_deref()?))
            }
            ErrorKind::UnsupportedFunction { name } => of_function(query, name)?,
            ErrorKind::Syntax => (Hint::default(), of_text(query)),
            _ => return None,
        },
        _ => return None,
    };
    if let Some(text) = corrected
        && passes(pipeline, query, &rules, &text).await
    {
        hint.statement = Some(text);
    }
    (!hint.is_empty()).then_some(hint)
}

type Suggestion = (Hint, Option<String>);

/// Of the columns that the tables of the statement have for this caller.
async fn of_column(pipeline: &Pipeline, query: &Query, rules: &Governance, name: &str) -> Option<Suggestion> {
    let (text, variables) = (&query.ask.sql, &query.ask.names.variables);
    let statement = sql::parse_with(text, variables).ok()?;
    let columns = VisibleRelations::of(pipeline, query, rules).await.ok()?.columns(statement.tables());
    let hint = among(name, columns);
    let corrected = hint.near.as_deref().and_then(|near| sql::compile::heal::renamed(text, name, near));
    Some((hint, corrected))
}

/// Of the columns of a table that is written to.
async fn of_target(
    pipeline: &Pipeline,
    query: &Query,
    rules: &Governance,
    table: &str,
    column: &str,
) -> Option<Suggestion> {
    let (schema, name) = table.split_once('.').unwrap_or((&query.ask.names.schema, table));
    let columns = VisibleRelations::of(pipeline, query, rules).await.ok()?.columns_of(schema, name);
    Some((among(column, columns), None))
}

fn among(name: &str, columns: Vec<String>) -> Hint {
    let mut columns = ranked(name, columns);
    let near = nearest(name, &columns);
    columns.truncate(COLUMNS_MAX);
    Hint { near, columns, statement: None }
}

/// Only the name is replaced, so only a table of the same schema fits.
fn of_table(query: &Query, schema: Option<&str>, name: &str, near: &str) -> Option<String> {
    let (near_schema, near) = near.split_once('.')?;
    let is_same = schema.unwrap_or(&query.ask.names.schema).eq_ignore_ascii_case(near_schema);
    is_same.then(|| sql::compile::heal::renamed(&query.ask.sql, name, near)).flatten()
}

fn of_function(query: &Query, name: &str) -> Option<Suggestion> {
    let near = function(name)?;
    let corrected = sql::compile::heal::renamed(&query.ask.sql, name, &near);
    Some((Hint { near: Some(near), ..Hint::default() }, corrected))
}

fn of_text(query: &Query) -> Option<String> {
    sql::compile::heal::respelt(&query.ask.sql, &query.ask.names.variables).map(|respelt| respelt.sql)
}

/// Whether the whole text could be asked as it is: a query that every gate lets through, and that the engine can
/// prepare.
async fn passes(pipeline: &Pipeline, query: &Query, rules: &Governance, text: &str) -> bool {
    let t = Trail::default();
    let reads = sql::parse_with(text, &query.ask.names.variables).is_ok_and(|statement| intent::is_query(&statement));
    // what an error holds of a text is cut; half a statement is none
    let is_told = text.chars().count() <= TEXT_CHARACTERS_MAX;
    let described = Box::pin(pipeline.described_as(query, text, rules, &t));
    reads && is_told && matches!(tokio::time::timeout(WITHIN.min(query.left()), described).await, Ok(Ok(_)))
}
