//! The engine's lists of what there is, and the catalog made of them.
//!
//! Each kind is listed by itself: to find what belongs together, the engine takes several times as long.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;

use super::{Catalog, ColumnComment, ColumnDefault, Counter, Definition, DefinitionKind, Table};
use crate::error::Error;
use crate::ffi::Connection;
use crate::message::Column;
use crate::store::OURS;

/// The schema of what the session has of its own.
const TEMPORARY: &str = "pg_temp";

/// The lists, by one statement, so that all of them are of one moment.
///
/// Of the columns of what is ours those are listed that have a default: they may count by the sequence of another table.
const LISTED: &str = r#"
select to_json({
  schemas: (
    select coalesce(list(schema_name order by schema_name), [])
    from duckdb_schemas()
    where database_name = 'raw' and (not internal or schema_name = 'main') and not starts_with(schema_name, $1)
  ),
  tables: (
    select coalesce(list({
      "place": { "database": database_name, "schema": schema_name, "name": table_name },
      "temporary": temporary, "estimated_rows": estimated_size, "comment": comment
    } order by schema_name, table_name), [])
    from duckdb_tables()
    where (database_name = 'raw' or temporary) and not internal and not starts_with(schema_name, $1)
  ),
  views: (
    select coalesce(list({
      "place": { "database": database_name, "schema": schema_name, "name": view_name },
      "temporary": temporary, "comment": comment
    } order by schema_name, view_name), [])
    from duckdb_views()
    where not internal and (temporary or database_name = 'raw' and not starts_with(schema_name, $1))
  ),
  columns: (
    select coalesce(list({
      "place": { "database": database_name, "schema": schema_name, "name": table_name },
      "name": column_name, "type_name": data_type, "nullable": is_nullable,
      "comment": comment, "default_text": column_default
    } order by column_index), [])
    from duckdb_columns()
    where not internal and (not starts_with(schema_name, $1) or column_default is not null)
  ),
  constraints: (
    select coalesce(list({
      "place": { "database": database_name, "schema": schema_name, "name": table_name },
      "kind": constraint_type, "columns": constraint_column_names
    } order by constraint_index), [])
    from duckdb_constraints()
    where constraint_type in ('PRIMARY KEY', 'UNIQUE', 'CHECK') and not starts_with(schema_name, $1)
  ),
  sequences: (
    select coalesce(list({ "schema": schema_name, "name": sequence_name, "comment": comment }
      order by schema_name, sequence_name), [])
    from duckdb_sequences()
    where database_name = 'raw'
  )"#;

/// The list of functions that were made here. For it the engine describes its own, three thousand.
const FUNCTIONS: &str = r#",
  functions: (
    select coalesce(list({ "schema": schema_name, "name": function_name, "comment": comment }
      order by schema_name, function_name), [])
    from duckdb_functions()
    where database_name = 'raw' and not internal and function_type = 'macro' and not starts_with(schema_name, $1)
  )"#;

const END: &str = "\n})::varchar";

/// Whether this process has looked for functions that were made here, and found none.
static FOUND_NONE: AtomicBool = AtomicBool::new(false);
/// Whether this process may have made or dropped one. It stays so: who looks may not see yet what another transaction
/// makes, nor any longer what its own drops and then keeps.
static MAY_CHANGE: AtomicBool = AtomicBool::new(false);

/// Heeds that a statement may make or drop a function, before it is run: its words say so.
pub(crate) fn heed(sql: &str) {
    let begins_with = |word: &str| sql.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    if ["select", "with", "values", "insert", "update", "delete", "merge"].into_iter().any(begins_with) {
        return;
    }
    let says = |word: &[u8]| sql.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    if says(b"macro") || says(b"function") || begins_with("drop") && says(b"schema") {
        MAY_CHANGE.store(true, Ordering::SeqCst);
    }
}

pub(crate) fn load(connection: &Connection) -> Result<Catalog, Error> {
    let looks = MAY_CHANGE.load(Ordering::SeqCst) || !FOUND_NONE.load(Ordering::SeqCst);
    let functions = if looks { FUNCTIONS } else { "" };
    let prepared = connection.prepare(&format!("{LISTED}{functions}{END}"))?;
    prepared.bind(1, &crate::Value::Text(OURS.to_owned()))?;
    let text = crate::child::text(&mut prepared.run(false)?)?;
    let listed: Listed = serde_json::from_str(&text).map_err(Error::internal)?;
    if looks && listed.functions.is_empty() {
        FOUND_NONE.store(true, Ordering::SeqCst);
    }
    Ok(listed.put_together())
}

#[derive(Deserialize)]
struct Listed {
    schemas: Vec<String>,
    tables: Vec<ListedRelation>,
    views: Vec<ListedRelation>,
    columns: Vec<ListedColumn>,
    constraints: Vec<Constraint>,
    sequences: Vec<ListedName>,
    #[serde(default)]
    functions: Vec<ListedName>,
}

/// Which table or view.
#[derive(Clone, PartialEq, Eq, Hash, Deserialize)]
struct Place {
    database: String,
    schema: String,
    name: String,
}

/// A table or view. A temporary view is the rows of a file that the session has open: only we make any.
#[derive(Deserialize)]
struct ListedRelation {
    place: Place,
    temporary: bool,
    #[serde(default)]
    estimated_rows: u64,
    comment: Option<String>,
}

#[derive(Deserialize)]
struct ListedColumn {
    place: Place,
    name: String,
    type_name: String,
    nullable: bool,
    comment: Option<String>,
    default_text: Option<String>,
}

#[derive(Deserialize)]
struct Constraint {
    place: Place,
    kind: String,
    columns: Vec<String>,
}

/// A sequence or function.
#[derive(Deserialize)]
struct ListedName {
    schema: String,
    name: String,
    comment: Option<String>,
}

/// What is of one table or view.
#[derive(Default)]
struct Parts {
    columns: Vec<ListedColumn>,
    constraints: Vec<Constraint>,
    counters: Vec<Counter>,
}

impl Listed {
    fn put_together(self) -> Catalog {
        let mut parts: HashMap<Place, Parts> = HashMap::new();
        for (place, counter) in self.counters() {
            parts.entry(place).or_default().counters.push(counter);
        }
        for column in self.columns {
            parts.entry(column.place.clone()).or_default().columns.push(column);
        }
        for constraint in self.constraints {
            parts.entry(constraint.place.clone()).or_default().constraints.push(constraint);
        }
        let mut parts_of = |place: &Place| parts.remove(place).unwrap_or_default();
        let mut tables = Vec::with_capacity(self.tables.len());
        for table in self.tables {
            let parts = parts_of(&table.place);
            tables.push(table.table(parts));
        }
        let mut definitions = Vec::new();
        for view in self.views {
            let parts = parts_of(&view.place);
            if view.temporary {
                tables.push(view.table(parts));
            } else {
                definitions.push(view.definition(parts));
            }
        }
        definitions.extend(self.functions.into_iter().map(|function| function.defined(DefinitionKind::Function)));
        let sequences = self.sequences.into_iter().filter(|sequence| !sequence.schema.starts_with(OURS));
        definitions.extend(sequences.map(|sequence| sequence.defined(DefinitionKind::Sequence)));
        Catalog { schemas: self.schemas, tables, definitions, as_of: None }
    }

    /// The sequences of ours that one column, and no other, counts by, and where that is.
    fn counters(&self) -> Vec<(Place, Counter)> {
        let mut by_default: HashMap<&str, Vec<&ListedColumn>> = HashMap::new();
        for column in &self.columns {
            if let Some(default) = &column.default_text {
                by_default.entry(default.as_str()).or_default().push(column);
            }
        }
        let mut counters = Vec::new();
        for sequence in self.sequences.iter().filter(|sequence| sequence.name.starts_with(OURS)) {
            let default = sequence.counting();
            if let Some([column]) = by_default.get(default.as_str()).map(Vec::as_slice) {
                let (schema, name) = (sequence.schema.clone(), sequence.name.clone());
                counters.push((column.place.clone(), Counter { column: column.name.clone(), schema, sequence: name }));
            }
        }
        counters
    }
}

impl ListedRelation {
    fn table(self, parts: Parts) -> Table {
        let Parts { columns, constraints, counters } = parts;
        let of_kind = |kind: &str| {
            let those = constraints.iter().filter(|constraint| constraint.kind == kind);
            those.map(|constraint| constraint.columns.clone()).collect::<Vec<_>>()
        };
        let comments = columns.iter().filter_map(|column| {
            let comment = column.comment.clone()?;
            Some(ColumnComment { name: column.name.clone(), comment })
        });
        let defaults = columns.iter().filter_map(|column| {
            let text = column.default_text.clone()?;
            Some(ColumnDefault { name: column.name.clone(), text })
        });
        Table {
            schema: if self.temporary { TEMPORARY.to_owned() } else { self.place.schema },
            name: self.place.name,
            primary_key: of_kind("PRIMARY KEY").into_iter().next().unwrap_or_default(),
            unique: of_kind("UNIQUE"),
            checks: of_kind("CHECK"),
            estimated_rows: self.estimated_rows,
            comment: self.comment,
            column_comments: comments.collect(),
            column_defaults: defaults.collect(),
            counters,
            columns: columns.into_iter().map(ListedColumn::column).collect(),
        }
    }

    fn definition(self, parts: Parts) -> Definition {
        let columns = parts.columns.into_iter().map(ListedColumn::column).collect();
        let Place { schema, name, .. } = self.place;
        Definition { kind: DefinitionKind::View, schema, name, columns, comment: self.comment }
    }
}

impl ListedColumn {
    fn column(self) -> Column {
        Column { name: self.name, type_name: self.type_name, nullable: self.nullable }
    }
}

impl ListedName {
    fn defined(self, kind: DefinitionKind) -> Definition {
        Definition { kind, schema: self.schema, name: self.name, columns: Vec::new(), comment: self.comment }
    }

    /// The default of a column that counts by this sequence, as the engine writes it.
    fn counting(&self) -> String {
        let quoted = |name: &str| name.replace('"', "\"\"");
        let named = format!("\"raw\".\"{}\".\"{}\"", quoted(&self.schema), quoted(&self.name));
        format!("nextval('{}')", named.replace('\'', "''"))
    }
}
