//! What the engine's own parser finds in a statement: the tables and functions that it names.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::answer;
use crate::error::Error;
use crate::ffi::{Connection, Prepared};
use crate::message::Parsed;
use crate::value::Value;

/// Queries are serialized by the engine's parser, tables and functions in them read off the tree.
/// For INSERT the engine names the tables alone; for other writes its plan does; for definitions that
/// read nothing it tells neither.
pub fn statement(connection: &Connection, sql: &str) -> Result<Parsed, Error> {
    // A text that does not parse is an error; one that only cannot be told apart is not.
    connection.prepare(sql).map(drop)?;
    if let Some(parsed) = insert(connection, sql) {
        return Ok(parsed);
    }
    if let Some(parsed) = query(&connection.prepare(SERIALIZE)?, sql)? {
        return Ok(parsed);
    }
    let tables = match named(connection, sql) {
        Some(names) => Some(names),
        None => planned(connection, sql)?,
    };
    Ok(Parsed { tables, functions: None })
}

/// The same of an INSERT alone, of which nothing is planned for that; nothing of any other text, or where the engine
/// cannot tell.
pub fn insert(connection: &Connection, sql: &str) -> Option<Parsed> {
    const INSERT: &str = "INSERT ";
    let is_insert = sql.get(..INSERT.len()).is_some_and(|head| head.eq_ignore_ascii_case(INSERT));
    let tables = if is_insert { named(connection, sql) } else { None };
    tables.map(|tables| Parsed { tables: Some(tables), functions: None })
}

/// The tables that the engine names of a statement.
fn named(connection: &Connection, sql: &str) -> Option<Vec<String>> {
    let names = connection.table_names(&without_parameters(sql, "NULL")).ok()?;
    Some(names.iter().map(|name| path(name).to_owned()).collect())
}

/// The tree of a query, as the engine's parser sees it.
pub const SERIALIZE: &str = "select json_serialize_sql($1::varchar)";

/// The same of a query alone, which is neither bound nor planned for that; nothing of any other text. The first is
/// [`SERIALIZE`].
pub fn query(serializing: &Prepared<'_>, sql: &str) -> Result<Option<Parsed>, Error> {
    serializing.bind(1, &Value::Text(sql.to_owned()))?;
    let tree = tree(&answer::text(&mut serializing.run(false)?)?)?;
    if tree.get("error") != Some(&serde_json::Value::Bool(false)) {
        return Ok(None);
    }
    let mut found = Found::default();
    found.walk(&tree);
    Ok(Some(found.parsed()))
}

/// What the engine names no tables of, but plans.
const PLANNED: [&str; 8] = [
    "UPDATE ",
    "DELETE ",
    "MERGE ",
    "TRUNCATE ",
    "CREATE TABLE ",
    "CREATE OR REPLACE TABLE ",
    "CREATE TEMP TABLE ",
    "CREATE OR REPLACE TEMP TABLE ",
];

/// The tables that the engine's plan of a write would read. A parameter is an unknown value there, not NULL:
/// of a condition that can never hold, the engine plans nothing.
fn planned(connection: &Connection, sql: &str) -> Result<Option<Vec<String>>, Error> {
    if !PLANNED.iter().any(|word| sql.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))) {
        return Ok(None);
    }
    let statement = without_parameters(sql, "(SELECT NULL)");
    let explained = |statement: &str| connection.prepare(&format!("EXPLAIN (FORMAT JSON) {statement}"));
    // a query is nothing that the engine tries
    let prepared = explained(&statement).or_else(|_| explained(&without_try(&statement)))?;
    let plan = tree(&answer::text(&mut prepared.run(false)?)?)?;
    let mut tables = BTreeSet::new();
    scanned(&plan, &mut tables);
    Ok(Some(tables.into_iter().collect()))
}

/// What the engine tells in JSON, of whatever depth: a statement's own is bounded, and the stack is made for that.
fn tree(text: &str) -> Result<serde_json::Value, Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    serde_json::Value::deserialize(&mut reader).map_err(Error::internal)
}

/// The operators of the engine's plan of a statement, by their names.
pub fn operators(connection: &Connection, sql: &str) -> Result<BTreeSet<String>, Error> {
    let prepared = connection.prepare(&format!("EXPLAIN (FORMAT JSON) {sql}"))?;
    let plan = tree(&answer::text(&mut prepared.run(false)?)?)?;
    let mut names = BTreeSet::new();
    named_operators(&plan, &mut names)?;
    Ok(names)
}

fn named_operators(nodes: &serde_json::Value, names: &mut BTreeSet<String>) -> Result<(), Error> {
    let untold = || Error::internal("the engine told no plan");
    for node in nodes.as_array().ok_or_else(untold)? {
        let name = node.get("name").and_then(|name| name.as_str()).ok_or_else(untold)?;
        names.insert(name.trim().to_owned());
        named_operators(node.get("children").ok_or_else(untold)?, names)?;
    }
    Ok(())
}

fn scanned(node: &serde_json::Value, tables: &mut BTreeSet<String>) {
    match node {
        serde_json::Value::Object(fields) => {
            if let Some(table) = fields.get("Table").and_then(|table| table.as_str()) {
                tables.insert(table.to_owned());
            }
            fields.values().for_each(|child| scanned(child, tables));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|child| scanned(child, tables)),
        _ => {}
    }
}

/// What a serialized query names. The tree is as deep as the engine's parser allows, which is bounded.
#[derive(Default)]
struct Found {
    tables: BTreeSet<String>,
    functions: BTreeSet<String>,
    /// What `WITH` makes anywhere in the statement.
    with: BTreeSet<String>,
}

impl Found {
    fn walk(&mut self, node: &serde_json::Value) {
        match node {
            serde_json::Value::Object(fields) => {
                let text = |name: &str| fields.get(name).and_then(|value| value.as_str()).unwrap_or_default();
                if text("type") == "BASE_TABLE" {
                    let path = ["catalog_name", "schema_name", "table_name"].map(text);
                    self.tables.insert(path.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("."));
                }
                let operator = fields.get("is_operator") == Some(&serde_json::Value::Bool(true));
                if !operator && fields.contains_key("function_name") {
                    self.functions.insert(text("function_name").to_lowercase());
                }
                if let Some(entries) =
                    fields.get("cte_map").and_then(|map| map.get("map")).and_then(|map| map.as_array())
                {
                    let keys = entries.iter().filter_map(|entry| entry.get("key").and_then(|key| key.as_str()));
                    self.with.extend(keys.map(str::to_owned));
                }
                fields.values().for_each(|child| self.walk(child));
            }
            serde_json::Value::Array(items) => items.iter().for_each(|child| self.walk(child)),
            _ => {}
        }
    }

    /// A name without a path that some `WITH` makes is no table: the texts this is for name every
    /// table by its whole path.
    fn parsed(self) -> Parsed {
        let Self { tables, functions, with } = self;
        let tables = tables.into_iter().filter(|name| !with.contains(name)).collect();
        Parsed { tables: Some(tables), functions: Some(functions.into_iter().collect()) }
    }
}

/// The statement with a value for each `$1`: the engine names no tables of a statement with parameters.
/// What stands in quotes stays; the generated SQL this is for has no other quotes and no comments.
pub fn without_parameters(sql: &str, value: &str) -> String {
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count();
    replaced(sql, value, |_, rest| {
        let count = digits(rest.strip_prefix('$')?);
        (count > 0).then_some(count + 1)
    })
}

/// The text with `x` for every `try(x)`, in brackets.
fn without_try(sql: &str) -> String {
    const TRY: &str = "try(";
    let is_word = |before: char| before.is_alphanumeric() || before == '_';
    replaced(sql, "(", |before, rest| (rest.starts_with(TRY) && !before.is_some_and(is_word)).then_some(TRY.len()))
}

/// The text with `value` in place of as many bytes as `length` finds, of the character before and what follows; not
/// within quotes.
fn replaced(sql: &str, value: &str, length: impl Fn(Option<char>, &str) -> Option<usize>) -> String {
    let mut out = String::with_capacity(sql.len() + 16);
    let (mut within, mut before, mut rest) = (None, None, sql);
    while let Some(character) = rest.chars().next() {
        let found = if within.is_none() { length(before, rest) } else { None };
        let (written, taken) = match found {
            Some(taken) => (value, taken),
            None => (rest.get(..character.len_utf8()).unwrap_or_default(), character.len_utf8()),
        };
        match within {
            None if matches!(character, '\'' | '"') => within = Some(character),
            Some(quote) if quote == character => within = None,
            _ => {}
        }
        out.push_str(written);
        before = Some(character);
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

/// The path at the start of a table reference as the engine prints it: an alias and what else may
/// follow the name are cut off. A quoted part ends at its closing quote; a doubled one stands for itself.
fn path(reference: &str) -> &str {
    let mut quoted = false;
    let end = reference.char_indices().find(|(_, character)| {
        quoted ^= *character == '"';
        !quoted && character.is_whitespace()
    });
    end.and_then(|(at, _)| reference.get(..at)).unwrap_or(reference)
}
