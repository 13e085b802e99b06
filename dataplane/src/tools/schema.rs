//! `list_tables`, `describe_table`: what there is, as far as the caller may see it.
//!
//! Both are statements like any other. What the engine knows besides (keys, how many rows) is added
//! only for what the statement has shown to be visible; a number of rows only where none is hidden.

use std::collections::BTreeMap;

use contract::Heal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::sql::{columns, objects};
use super::{Call, Telling};
use crate::limits::invalid;
use crate::pipeline::row_estimate;
use crate::sessions::standing_in;
use crate::{Ask, Bounds, Error};

const SAMPLE_MAX: u64 = 5;
/// More tables than anybody reads; the list says when it is cut.
const TABLES_MAX: u64 = 10_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    /// Only tables of this schema.
    schema: Option<String>,
    /// List the columns too.
    #[serde(default)]
    include_columns: bool,
    /// A pattern of names, with `%` and `_`; case does not matter.
    like: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TableList {
    schemas: Vec<String>,
    tables: Vec<Listed>,
    truncated: bool,
}

impl Telling for TableList {
    const LIST: Option<&'static str> = Some("tables");
    const BARE: bool = true;
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    table_schema: String,
    table_name: String,
    /// `BASE TABLE` or `VIEW`.
    table_type: String,
    /// About how many rows; null where some may be hidden from you, and for views.
    row_estimate: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<ListedColumn>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedColumn {
    column_name: String,
    data_type: String,
    is_nullable: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// `table` or `schema.table`.
    table_name: String,
    /// Rows to show, 0 to 5.
    #[serde(default)]
    sample_rows: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Described {
    table_schema: String,
    table_name: String,
    columns: Vec<DescribedColumn>,
    primary_key: Vec<String>,
    /// About how many rows; null where some may be hidden from you, and for views.
    row_estimate: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<Vec<Map<String, Value>>>,
}

impl Telling for Described {
    const LIST: Option<&'static str> = Some("columns");
    const BARE: bool = true;
}

#[derive(Debug, Serialize, JsonSchema)]
struct DescribedColumn {
    column_name: String,
    data_type: String,
    is_nullable: bool,
    /// You see masked values, as text.
    masked: bool,
}

pub async fn list_tables(call: Call, wanted: Listing) -> Result<TableList, Error> {
    let sql = "select table_schema, table_name, table_type from information_schema.tables \
        where ($1 is null or table_schema = $1) and ($2 is null or table_name ilike $2) order by 1, 2";
    let (listed, truncated) = rows(&call, sql, &wanted, TABLES_MAX).await?;
    let mut columns = if wanted.include_columns { Some(columns_of(&call, &wanted).await?) } else { None };
    let estimates = Estimates::of(&call).await?;
    let tables: Vec<_> = listed
        .iter()
        .map(|row| {
            let (table_schema, table_name) = (text(row, "table_schema"), text(row, "table_name"));
            let path = (table_schema.clone(), table_name.clone());
            Listed {
                row_estimate: estimates.rows(&table_schema, &table_name),
                columns: columns.as_mut().map(|columns| columns.remove(&path).unwrap_or_default()),
                table_type: text(row, "table_type"),
                table_schema,
                table_name,
            }
        })
        .collect();
    let mut schemas: Vec<_> = tables.iter().map(|table| table.table_schema.clone()).collect();
    schemas.dedup();
    Ok(TableList { schemas, tables, truncated })
}

async fn columns_of(call: &Call, wanted: &Listing) -> Result<BTreeMap<(String, String), Vec<ListedColumn>>, Error> {
    let sql = "select table_schema, table_name, column_name, data_type, is_nullable from information_schema.columns \
        where ($1 is null or table_schema = $1) and ($2 is null or table_name ilike $2) \
        order by table_schema, table_name, ordinal_position";
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for row in rows(call, sql, wanted, TABLES_MAX * 10).await?.0 {
        let column = ListedColumn {
            column_name: text(&row, "column_name"),
            data_type: text(&row, "data_type"),
            is_nullable: text(&row, "is_nullable") == "YES",
        };
        found.entry((text(&row, "table_schema"), text(&row, "table_name"))).or_default().push(column);
    }
    Ok(found)
}

/// What is listed or described is what was named: no such statement is ever healed.
fn as_written(call: &Call, sql: &str) -> Result<Ask, Error> {
    let ask = call.ask(sql, None)?;
    Ok(Ask { bounds: Bounds { heal: Some(Heal::Off), ..ask.bounds }, ..ask })
}

async fn rows(call: &Call, sql: &str, wanted: &Listing, most: u64) -> Result<(Vec<Map<String, Value>>, bool), Error> {
    let given = |text: &Option<String>| text.clone().map_or(engine::Value::Null, engine::Value::Text);
    let mut ask = as_written(call, sql)?;
    ask.params = vec![given(&wanted.schema), given(&wanted.like)];
    ask.bounds.rows = Some(most);
    ask.bounds.reads_only = true;
    let mut answer = call.pipeline.run(ask).await?;
    let named = columns(&answer);
    let (rows, cut) = objects(&mut answer, &named).await?;
    Ok((rows, cut || answer.rows.totals().truncated))
}

fn text(row: &Map<String, Value>, name: &str) -> String {
    row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub async fn describe_table(call: Call, wanted: Description) -> Result<Described, Error> {
    if wanted.sample_rows > SAMPLE_MAX {
        return Err(invalid("sample_rows", format!("sample_rows is from 0 to {SAMPLE_MAX}")));
    }
    let (schema, name) = path(&wanted.table_name)?;
    let mut ask = as_written(&call, "")?;
    let denied = denied(&call, &ask, &schema, &name).await?;
    let quoted = |part: &String| format!("\"{}\"", part.replace('"', "\"\""));
    let except = denied.iter().map(quoted).collect::<Vec<_>>().join(", ");
    let except = if except.is_empty() { except } else { format!(" exclude ({except})") };
    ask.sql = format!("select *{except} from {}.{} limit {}", quoted(&schema), quoted(&name), wanted.sample_rows);
    ask.bounds.reads_only = true;
    let mut answer = call.pipeline.run(ask).await?;
    let named = columns(&answer);
    let (sample, _) = objects(&mut answer, &named).await?;
    let estimates = Estimates::of(&call).await?;
    let table = estimates.catalog.table(&schema, &name);
    let nullable = |column: &str| {
        let known = table.and_then(|table| table.columns.iter().find(|known| known.name.eq_ignore_ascii_case(column)));
        known.is_none_or(|known| known.nullable)
    };
    let columns = answer.columns.iter().map(|column| DescribedColumn {
        column_name: column.name.clone(),
        data_type: column.type_name.clone(),
        is_nullable: nullable(&column.name),
        masked: column.masked,
    });
    Ok(Described {
        row_estimate: estimates.rows(&schema, &name),
        columns: columns.collect(),
        primary_key: table.map(|table| told(&table.primary_key, &denied)).unwrap_or_default(),
        sample: (wanted.sample_rows > 0).then_some(sample),
        table_schema: schema,
        table_name: name,
    })
}

/// The columns of a table that are denied to the agent behind the call: it is not told that they are there. Of who may
/// not ask at all nothing is known here; their statement is refused.
async fn denied(call: &Call, ask: &Ask, schema: &str, name: &str) -> Result<Vec<String>, Error> {
    let denied = call.pipeline.denied_columns(ask, &format!("{schema}.{name}")).unwrap_or_default();
    if denied.is_empty() {
        return Ok(Vec::new());
    }
    let catalog = call.pipeline.catalog().await?;
    let columns = catalog.table(schema, name).map_or(&[][..], |table| &table.columns);
    let names = columns.iter().map(|column| &column.name);
    Ok(names.filter(|name| denied.contains(&name.to_ascii_lowercase())).cloned().collect())
}

/// Those that are not denied.
fn told(columns: &[String], denied: &[String]) -> Vec<String> {
    let is_denied = |column: &&String| denied.iter().any(|denied| denied.eq_ignore_ascii_case(column));
    columns.iter().filter(|column| !is_denied(column)).cloned().collect()
}

/// A name and its schema, as a policy writes them.
fn path(name: &str) -> Result<(String, String), Error> {
    let parts: Vec<_> = name.split('.').map(|part| part.trim_matches('"')).collect();
    match parts.as_slice() {
        [name] if !name.is_empty() => Ok(("main".to_owned(), (*name).to_owned())),
        [schema, name] if !schema.is_empty() && !name.is_empty() => Ok(((*schema).to_owned(), (*name).to_owned())),
        _ => Err(invalid("table_name", "table_name is `table` or `schema.table`")),
    }
}

/// What the engine believes of its tables, for a caller from whom rows may be hidden.
struct Estimates {
    catalog: std::sync::Arc<engine::Catalog>,
    rules: std::sync::Arc<contract::Governance>,
    role: contract::Role,
}

impl Estimates {
    async fn of(call: &Call) -> Result<Self, Error> {
        let rules = call.pipeline.rules()?;
        let caller = standing_in(&rules, &call.guest.who, call.guest.peer, call.pipeline.clock.now())?;
        let catalog = call.pipeline.catalog().await?;
        Ok(Self { catalog, rules, role: caller.role })
    }

    /// None where a filter stands between the caller and the rows.
    fn rows(&self, schema: &str, name: &str) -> Option<u64> {
        row_estimate((&self.rules, self.role), &self.catalog, (schema, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_with_or_without_its_schema() {
        let parts = |schema: &str, name: &str| Some((schema.to_owned(), name.to_owned()));
        let cases = [
            ("orders", parts("main", "orders")),
            ("sales.orders", parts("sales", "orders")),
            (r#""Sales"."Orders""#, parts("Sales", "Orders")),
            ("a.b.c", None),
            ("", None),
            (".x", None),
        ];
        for (name, expected) in cases {
            assert_eq!(path(name).ok(), expected, "{name}");
        }
    }
}
