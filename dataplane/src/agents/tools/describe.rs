//! `describe_table`: the columns of one table, as the caller sees them, and some of its rows.
//!
//! It is a statement like any other (`schema`). Columns that find no room are had by its cursor: it goes on behind the
//! last of those shown that is still there. Each page shows the rows of its own columns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::budget::{halve, shorten, size};
use super::schema::{COLUMNS_GONE, Estimates, MEMBERS_BYTES, as_written};
use super::seal::Seal;
use super::sql::{columns, objects};
use super::{Telling, ToolCall};
use crate::agents::last_shown::LastShown;
use crate::limits::invalid;
use crate::{Ask, Error};

const SAMPLE_MAX: u64 = 5;
/// The part of a result that the values of one column may have, and the least that is left of a value.
const VALUE_PART: usize = 4;
const VALUE_BYTES_MIN: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeArguments {
    /// `table` or `schema.table`.
    table_name: String,
    /// Rows to show, 0 to 5.
    #[serde(default)]
    sample_rows: u64,
    /// `next_cursor` of the same call, for the columns behind those that it has shown.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DescribedTable {
    table_schema: String,
    table_name: String,
    columns: Vec<DescribedColumn>,
    primary_key: Vec<String>,
    /// About how many rows; null where some may be hidden from you, and for views.
    row_estimate: Option<u64>,
    /// Rows, of these columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<Vec<Map<String, Value>>>,
    /// With the same call it gives the columns behind these; null behind the last.
    next_cursor: Option<String>,
    /// How much of it is shown.
    #[serde(skip)]
    notes: Vec<String>,
}

impl Telling for DescribedTable {
    const LIST: Option<&'static str> = Some("columns");
    const BARE: bool = true;

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct DescribedColumn {
    column_name: String,
    data_type: String,
    is_nullable: bool,
    /// You see masked values, as text.
    masked: bool,
}

pub async fn describe_table(call: ToolCall, wanted: DescribeArguments) -> Result<DescribedTable, Error> {
    if wanted.sample_rows > SAMPLE_MAX {
        return Err(invalid("sample_rows", format!("sample_rows is from 0 to {SAMPLE_MAX}")));
    }
    let (schema, name) = path(&wanted.table_name)?;
    let asked = ("describe_table", &schema, &name, wanted.sample_rows);
    let seal = Seal::of(&call, "table_name and sample_rows", &asked);
    let before = seal.open_at(wanted.cursor.as_deref())?;
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
    let primary_key = table.map(|table| told(&table.primary_key, &denied)).unwrap_or_default();
    let beside = [size(&json!(primary_key)), size(&json!(schema)), size(&json!(name))].iter().sum::<usize>();
    let page = DescribedPage::of(columns.collect(), sample, before, call.budget.room(beside + MEMBERS_BYTES))?;
    Ok(DescribedTable {
        row_estimate: estimates.rows(&schema, &name),
        primary_key,
        notes: page.notes(),
        columns: page.columns,
        sample: (wanted.sample_rows > 0).then_some(page.sample),
        next_cursor: page.next.map(|last| seal.close_at(&last)),
        table_schema: schema,
        table_name: name,
    })
}

/// The columns that one result has room for, each with its values in the sample.
struct DescribedPage {
    columns: Vec<DescribedColumn>,
    sample: Vec<Map<String, Value>>,
    /// Columns from here on, these included.
    of: usize,
    /// They are not the first.
    is_later: bool,
    /// What a value of the sample was cut to, if one was.
    cut_to: Option<usize>,
    next: Option<LastShown>,
}

impl DescribedPage {
    /// As many as there is room for, at least one.
    fn of(
        all: Vec<DescribedColumn>,
        mut sample: Vec<Map<String, Value>>,
        before: Option<LastShown>,
        room: Option<usize>,
    ) -> Result<Self, Error> {
        let (is_later, mut last) = (before.is_some(), before.unwrap_or_default());
        let names = all.iter().map(|column| &column.column_name);
        let shown = last.behind(names).ok_or(Error::CursorOver { why: COLUMNS_GONE })?;
        let cut_to = room.filter(|room| *room < size(&json!(all)) + size(&json!(sample)));
        let cut_to = cut_to.map(|room| (room / (VALUE_PART * sample.len().max(1))).max(VALUE_BYTES_MIN));
        let was_cut = cut_to.is_some_and(|most| cut(&mut sample, most));
        let mut page = Self {
            columns: Vec::new(),
            sample: sample.iter().map(|_| Map::new()).collect(),
            of: all.len().saturating_sub(shown),
            is_later,
            cut_to: cut_to.filter(|_| was_cut),
            next: None,
        };
        let rows: Vec<Vec<_>> = sample.into_iter().map(|row| row.into_iter().collect()).collect();
        let mut left = room;
        for (place, column) in all.into_iter().enumerate().skip(shown) {
            let values: Vec<&(String, Value)> = rows.iter().filter_map(|row| row.get(place)).collect();
            let within = values.iter().map(|(name, value)| name.len() + size(value) + 4).sum::<usize>();
            let bytes = size(&json!(column)) + 1 + within;
            if left.is_some_and(|left| left < bytes) && !page.columns.is_empty() {
                page.next = Some(last);
                break;
            }
            left = left.map(|left| left.saturating_sub(bytes));
            for (row, (name, value)) in page.sample.iter_mut().zip(values) {
                row.insert(name.clone(), value.clone());
            }
            last = last.and(&column.column_name);
            page.columns.push(column);
        }
        Ok(page)
    }

    fn notes(&self) -> Vec<String> {
        let (shown, behind) =
            (self.columns.len(), if self.is_later { " behind those that were shown before" } else { "" });
        let count = format!("{shown} of {} columns{behind} are shown: one result has no room for more", self.of);
        let cut = self.cut_to.map(|most| format!("values of the sample of more than {most} bytes are cut"));
        self.next.iter().map(|_| count.clone()).chain(cut).collect()
    }
}

/// Cuts the values that are longer; whether there was one.
fn cut(sample: &mut [Map<String, Value>], most: usize) -> bool {
    let mut was_cut = false;
    for value in sample.iter_mut().flat_map(Map::values_mut) {
        was_cut |= shorten(value, most);
        while size(value) > most + VALUE_BYTES_MIN && halve(value) {
            was_cut = true;
        }
    }
    was_cut
}

/// The columns of a table that are denied to the agent behind the call: it is not told that they are there. Of who may
/// not ask at all nothing is known here; their statement is refused.
async fn denied(call: &ToolCall, ask: &Ask, schema: &str, name: &str) -> Result<Vec<String>, Error> {
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
