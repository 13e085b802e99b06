//! `list_tables`: what there is, as far as the caller may see it.
//!
//! It is a statement like any other, and so is `describe_table`. What the engine knows besides (keys, how many rows) is
//! added only for what the statement has shown to be visible; a number of rows only where none is hidden. A list that
//! is cut goes on behind the last name that was shown, whatever was made or dropped meanwhile.

use std::collections::BTreeMap;

use contract::Heal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::budget::size;
use super::seal::Seal;
use super::sql::{columns, objects};
use super::{Telling, ToolCall};
use crate::agents::last_shown::LastShown;
use crate::governance::sessions::standing_in;
use crate::pipeline::row_estimate;
use crate::{Ask, Bounds, Error};

/// More tables than one answer has; the list goes on behind them.
const TABLES_MAX: u64 = 10_000;
/// Members of a result beside its lists, its cursor among them.
pub(super) const MEMBERS_BYTES: usize = 1_024;
/// Why a cursor within the columns of a table is refused.
pub(super) const COLUMNS_GONE: &str = "the columns that it has shown last have gone since";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableListing {
    /// Only tables of this schema.
    schema: Option<String>,
    /// List the columns too.
    #[serde(default)]
    include_columns: bool,
    /// A pattern of names, with `%` and `_`; case does not matter.
    like: Option<String>,
    /// `next_cursor` of the same call, for the tables behind those that it has shown.
    cursor: Option<String>,
}

/// Where a list goes on: behind a table, or within one whose columns had no room together.
#[derive(Debug, Serialize, Deserialize)]
struct TableListPosition {
    schema: String,
    name: String,
    /// Its columns that were shown, if there are more.
    within: Option<LastShown>,
}

impl TableListPosition {
    fn is_at(&self, path: (&str, &str)) -> bool {
        self.schema.eq_ignore_ascii_case(path.0) && self.name.eq_ignore_ascii_case(path.1)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TableList {
    /// Of these tables.
    schemas: Vec<String>,
    /// One whose columns have no room together comes again with the rest of them.
    tables: Vec<ListedTable>,
    /// There are more.
    truncated: bool,
    /// With the same call it gives the tables behind these; null behind the last.
    next_cursor: Option<String>,
    /// What is told of tables that are listed as they were before.
    warnings: Vec<String>,
    /// How much of it is shown.
    #[serde(skip)]
    note: Option<String>,
}

impl Telling for TableList {
    const LIST: Option<&'static str> = Some("tables");
    const BARE: bool = true;

    fn notes(&self) -> Vec<String> {
        self.note.iter().chain(&self.warnings).cloned().collect()
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedTable {
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

pub async fn list_tables(call: ToolCall, wanted: TableListing) -> Result<TableList, Error> {
    let asked = ("list_tables", &wanted.schema, wanted.include_columns, &wanted.like);
    let seal = Seal::of(&call, "schema, include_columns and like", &asked);
    let from: Option<TableListPosition> = seal.open_at(wanted.cursor.as_deref())?;
    let FoundTables { tables, more, warnings } = tables(&call, &wanted, from.as_ref()).await?;
    let (all, columns) = (tables.len(), wanted.include_columns);
    let room = call.budget.room(MEMBERS_BYTES + size(&json!(warnings)));
    let TablePage { schemas, tables, next } = page(room, tables, more);
    let next_cursor = next.as_ref().map(|place| seal.close_at(place));
    let behind = if from.is_some() { " behind those that were shown before" } else { "" };
    let within = next.as_ref().filter(|place| columns && place.within.is_some());
    let within = within.map(|place| format!("{}.{} has more columns", place.schema, place.name));
    let count = format!("{} of {all}{} tables{behind} are shown", tables.len(), if more { " and more" } else { "" });
    let count = next.is_some().then(|| format!("{count}: one result has no room for more"));
    let note = count.map(|count| [Some(count), within].into_iter().flatten().collect::<Vec<_>>().join("; "));
    Ok(TableList { schemas, tables, truncated: next_cursor.is_some(), next_cursor, warnings, note })
}

/// The tables that one result has room for.
struct TablePage {
    schemas: Vec<String>,
    tables: Vec<ListedTable>,
    next: Option<TableListPosition>,
}

/// As many as there is room for, at least one: of one that is too wide, the first columns.
fn page(room: Option<usize>, all: Vec<(ListedTable, LastShown)>, more: bool) -> TablePage {
    let (mut schemas, mut tables, mut left) = (Vec::<String>::new(), Vec::new(), room);
    let mut last = None;
    for (mut table, before) in all {
        let schema = if schemas.last() == Some(&table.table_schema) { 0 } else { size(&json!(table.table_schema)) + 1 };
        let whole = table.columns.as_ref().map_or(0, Vec::len);
        if tables.is_empty() {
            table.narrow(left.map(|left| left.saturating_sub(schema)));
        }
        let bytes = size(&json!(table)) + 1 + schema;
        if left.is_some_and(|left| left < bytes) && !tables.is_empty() {
            return TablePage { schemas, tables, next: last };
        }
        left = left.map(|left| left.saturating_sub(bytes));
        if schema > 0 {
            schemas.push(table.table_schema.clone());
        }
        let shown = table.columns.iter().flatten();
        let is_narrowed = table.columns.as_ref().map_or(0, Vec::len) < whole;
        let within = is_narrowed.then(|| shown.fold(before, |last, column| last.and(&column.column_name)));
        let place = TableListPosition { schema: table.table_schema.clone(), name: table.table_name.clone(), within };
        tables.push(table);
        if place.within.is_some() {
            return TablePage { schemas, tables, next: Some(place) };
        }
        last = Some(place);
    }
    TablePage { schemas, tables, next: last.filter(|_| more) }
}

impl ListedTable {
    /// With its first columns alone, as many as there is room for, at least one.
    fn narrow(&mut self, room: Option<usize>) {
        let Some(room) = room.filter(|room| size(&json!(self)) >= *room) else { return };
        let bare = size(&json!(Self { columns: Some(Vec::new()), ..self.without_columns() }));
        let Some(columns) = &mut self.columns else { return };
        let mut left = room.saturating_sub(bare);
        let fits = |column: &&ListedColumn| {
            let bytes = size(&json!(column)) + 1;
            let is_in = bytes < left;
            left = left.saturating_sub(bytes);
            is_in
        };
        let kept = columns.iter().take_while(fits).count();
        columns.truncate(kept.max(1));
    }

    fn without_columns(&self) -> Self {
        Self {
            table_schema: self.table_schema.clone(),
            table_name: self.table_name.clone(),
            table_type: self.table_type.clone(),
            row_estimate: self.row_estimate,
            columns: None,
        }
    }
}

/// The tables behind a place.
struct FoundTables {
    /// Each with what was shown of its columns before.
    tables: Vec<(ListedTable, LastShown)>,
    /// There are more.
    more: bool,
    /// What is told of those that are listed as they were before.
    warnings: Vec<String>,
}

/// Rows of a statement about tables.
struct ListedRows {
    rows: Vec<Map<String, Value>>,
    /// There are more.
    is_cut: bool,
    warnings: Vec<String>,
}

async fn tables(
    call: &ToolCall,
    wanted: &TableListing,
    from: Option<&TableListPosition>,
) -> Result<FoundTables, Error> {
    let sql = "select table_schema, table_name, table_type from information_schema.tables \
        where ($1 is null or table_schema = $1) and ($2 is null or table_name ilike $2) \
        and ($3 is null or table_schema > $3 or (table_schema = $3 and table_name >= $4)) order by 1, 2";
    let ListedRows { mut rows, is_cut: mut more, warnings } = rows(call, sql, wanted, from, TABLES_MAX).await?;
    let begun = from.filter(|place| place.within.is_some());
    // the one that the cursor stands behind comes first, if it is still there
    rows.retain(|row| begun.is_some() || from.is_none_or(|place| !place.is_at(path_of(row))));
    let mut columns = None;
    if wanted.include_columns {
        let (found, cut_in) = columns_of(call, wanted, from).await?;
        if let Some((schema, name)) = cut_in {
            // of this one some columns may be missing
            let place = rows.iter().position(|row| path_of(row) == (schema.as_str(), name.as_str()));
            rows.truncate(place.unwrap_or(rows.len()).max(1));
            more = true;
        }
        columns = Some(found);
    }
    let estimates = Estimates::of(call).await?;
    let mut tables = Vec::new();
    for row in &rows {
        let (table_schema, table_name) = (text(row, "table_schema"), text(row, "table_name"));
        let before = begun.filter(|place| place.is_at((&table_schema, &table_name)));
        let before = before.and_then(|place| place.within.clone()).unwrap_or_default();
        let path = (table_schema.clone(), table_name.clone());
        let mut columns = columns.as_mut().map(|columns| columns.remove(&path).unwrap_or_default());
        if let Some(columns) = &mut columns {
            let names = columns.iter().map(|column| &column.column_name);
            let shown = before.behind(names).ok_or(Error::CursorOver { why: COLUMNS_GONE })?;
            columns.drain(..shown);
            if columns.is_empty() && shown > 0 {
                continue; // those that were left have gone
            }
        }
        let row_estimate = estimates.rows(&table_schema, &table_name);
        let table_type = text(row, "table_type");
        tables.push((ListedTable { table_schema, table_name, table_type, row_estimate, columns }, before));
    }
    Ok(FoundTables { tables, more, warnings })
}

fn path_of(row: &Map<String, Value>) -> (&str, &str) {
    let of = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    (of("table_schema"), of("table_name"))
}

type ColumnsByTable = BTreeMap<(String, String), Vec<ListedColumn>>;

/// The columns of the tables from a place on; if there are too many of them, the table that has the last of these.
async fn columns_of(
    call: &ToolCall,
    wanted: &TableListing,
    from: Option<&TableListPosition>,
) -> Result<(ColumnsByTable, Option<(String, String)>), Error> {
    let sql = "select table_schema, table_name, column_name, data_type, is_nullable from information_schema.columns \
        where ($1 is null or table_schema = $1) and ($2 is null or table_name ilike $2) \
        and ($3 is null or table_schema > $3 or (table_schema = $3 and table_name >= $4)) \
        order by table_schema, table_name, ordinal_position";
    let mut found = ColumnsByTable::new();
    let ListedRows { rows, is_cut, .. } = rows(call, sql, wanted, from, TABLES_MAX * 10).await?;
    let last = rows.last().map(|row| (text(row, "table_schema"), text(row, "table_name")));
    for row in rows {
        let column = ListedColumn {
            column_name: text(&row, "column_name"),
            data_type: text(&row, "data_type"),
            is_nullable: text(&row, "is_nullable") == "YES",
        };
        found.entry((text(&row, "table_schema"), text(&row, "table_name"))).or_default().push(column);
    }
    Ok((found, last.filter(|_| is_cut)))
}

/// What is listed or described is what was named: no such statement is ever healed.
pub(super) fn as_written(call: &ToolCall, sql: &str) -> Result<Ask, Error> {
    let ask = call.ask(sql, None)?;
    Ok(Ask { bounds: Bounds { heal: Some(Heal::Off), ..ask.bounds }, ..ask })
}

async fn rows(
    call: &ToolCall,
    sql: &str,
    wanted: &TableListing,
    from: Option<&TableListPosition>,
    most: u64,
) -> Result<ListedRows, Error> {
    let given = |text: Option<&String>| text.cloned().map_or(engine::Value::Null, engine::Value::Text);
    let (schema, name) = (from.map(|place| &place.schema), from.map(|place| &place.name));
    let mut ask = as_written(call, sql)?;
    ask.params = vec![given(wanted.schema.as_ref()), given(wanted.like.as_ref()), given(schema), given(name)];
    ask.bounds.rows = Some(most);
    ask.bounds.reads_only = true;
    let mut answer = call.pipeline.run(ask).await?;
    let named = columns(&answer);
    let (rows, cut) = objects(&mut answer, &named).await?;
    Ok(ListedRows { rows, is_cut: cut || answer.rows.totals().truncated, warnings: answer.warnings })
}

fn text(row: &Map<String, Value>, name: &str) -> String {
    row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The engine's estimates of its tables, for a caller from whom rows may be hidden.
pub(super) struct Estimates {
    pub catalog: std::sync::Arc<engine::Catalog>,
    rules: std::sync::Arc<contract::Governance>,
    role: contract::Role,
}

impl Estimates {
    pub async fn of(call: &ToolCall) -> Result<Self, Error> {
        let rules = call.pipeline.rules()?;
        let caller = standing_in(&rules, &call.tool_caller.who, call.tool_caller.peer, call.pipeline.clock.now())?;
        let catalog = call.pipeline.catalog().await?;
        Ok(Self { catalog, rules, role: caller.role })
    }

    /// None where a filter stands between the caller and the rows.
    pub fn rows(&self, schema: &str, name: &str) -> Option<u64> {
        row_estimate((&self.rules, self.role), &self.catalog, (schema, name))
    }
}
