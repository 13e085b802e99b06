//! The tables there are: schemas, tables, columns with types, primary keys, rows as estimated.
//!
//! Our own `_svc*` schemas are left out. Temporary tables of the session that asks are in the schema `pg_temp`, and so
//! are the rows of files that it has open. Names are compared as the engine does, without case for ASCII letters.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::ffi::Connection;
use crate::message::Column;
use crate::store::OURS;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    pub schemas: Vec<String>,
    pub tables: Vec<Table>,
    pub definitions: Vec<Definition>,
    /// The commits of definitions that it is as of; none where that is not sure.
    #[serde(skip)]
    pub(crate) as_of: Option<u64>,
}

/// A view, function or sequence, with the comment that was left with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    pub kind: DefinitionKind,
    pub schema: String,
    pub name: String,
    /// Of a view.
    pub columns: Vec<Column>,
    pub comment: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefinitionKind {
    View,
    Function,
    Sequence,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    pub schema: String,
    pub name: String,
    pub columns: Vec<Column>,
    pub primary_key: Vec<String>,
    /// The columns of each UNIQUE of it.
    pub unique: Vec<Vec<String>>,
    /// The columns of each CHECK of it.
    pub checks: Vec<Vec<String>>,
    /// What the engine believes; exact after a checkpoint.
    pub estimated_rows: u64,
    /// What was left with it.
    pub comment: Option<String>,
    /// And with its columns.
    pub column_comments: Vec<ColumnComment>,
    /// What a column has that no value is given for, as the engine writes it.
    pub column_defaults: Vec<ColumnDefault>,
    /// Our sequences that one column of it, and no other of any table, counts by.
    pub counters: Vec<Counter>,
}

/// A column with a sequence of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    pub column: String,
    pub schema: String,
    pub sequence: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnComment {
    pub name: String,
    pub comment: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnDefault {
    pub name: String,
    pub text: String,
}

impl Catalog {
    pub fn table(&self, schema: &str, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.schema.eq_ignore_ascii_case(schema) && t.name.eq_ignore_ascii_case(name))
    }
}

/// The schema of what the session has of its own.
const TEMPORARY: &str = "pg_temp";

/// The catalog as the engine's own JSON, in the shape of [`Catalog`].
const CATALOG: &str = r#"
with counters as (
  select any_value(c.table_oid) as table_oid, any_value(c.database_name) as database_name,
    any_value(c.column_name) as column_name, s.schema_name, s.sequence_name
  from duckdb_sequences() s join duckdb_columns() c
    on c.column_default = format('nextval(''{}'')', replace(format('"raw"."{}"."{}"',
      replace(s.schema_name, '"', '""'), replace(s.sequence_name, '"', '""')), '''', ''''''))
  where s.database_name = 'raw' and starts_with(s.sequence_name, $1)
  group by s.schema_name, s.sequence_name
  having count(*) = 1
)
select to_json({
  schemas: (
    select coalesce(list(schema_name order by schema_name), [])
    from duckdb_schemas()
    where database_name = 'raw' and (not internal or schema_name = 'main') and not starts_with(schema_name, $1)
  ),
  tables: (
    select coalesce(list({
      schema: if(t.temporary, 'pg_temp', t.schema_name),
      name: t.table_name,
      columns: (
        select coalesce(
          list({ name: c.column_name, type_name: c.data_type, nullable: c.is_nullable } order by c.column_index), [])
        from duckdb_columns() c
        where c.table_oid = t.table_oid and c.database_name = t.database_name
      ),
      primary_key: coalesce((
        select any_value(k.constraint_column_names)
        from duckdb_constraints() k
        where k.table_oid = t.table_oid and k.database_name = t.database_name and k.constraint_type = 'PRIMARY KEY'
      ), []),
      "unique": (
        select coalesce(list(k.constraint_column_names order by k.constraint_index), [])
        from duckdb_constraints() k
        where k.table_oid = t.table_oid and k.database_name = t.database_name and k.constraint_type = 'UNIQUE'
      ),
      "checks": (
        select coalesce(list(k.constraint_column_names order by k.constraint_index), [])
        from duckdb_constraints() k
        where k.table_oid = t.table_oid and k.database_name = t.database_name and k.constraint_type = 'CHECK'
      ),
      estimated_rows: t.estimated_size,
      comment: t.comment,
      column_comments: (
        select coalesce(list({ name: c.column_name, comment: c.comment } order by c.column_index), [])
        from duckdb_columns() c
        where c.table_oid = t.table_oid and c.database_name = t.database_name and c.comment is not null
      ),
      column_defaults: (
        select coalesce(list({ name: c.column_name, text: c.column_default } order by c.column_index), [])
        from duckdb_columns() c
        where c.table_oid = t.table_oid and c.database_name = t.database_name and c.column_default is not null
      ),
      counters: (
        select coalesce(list({ "column": n.column_name, schema: n.schema_name, "sequence": n.sequence_name }), [])
        from counters n
        where n.table_oid = t.table_oid and n.database_name = t.database_name
      )
    } order by t.schema_name, t.table_name), [])
    from duckdb_tables() t
    where (t.database_name = 'raw' or t.temporary) and not t.internal and not starts_with(t.schema_name, $1)
  ),
  files: (
    select coalesce(list({
      name: v.view_name,
      columns: (
        select coalesce(
          list({ name: c.column_name, type_name: c.data_type, nullable: c.is_nullable } order by c.column_index), [])
        from duckdb_columns() c
        where c.database_name = v.database_name and c.schema_name = v.schema_name and c.table_name = v.view_name
      )
    } order by v.view_name), [])
    from duckdb_views() v
    where v.temporary and not v.internal
  ),
  definitions: (
    select coalesce(list(d), [])
    from (
      select {
        kind: 'view', schema: v.schema_name, name: v.view_name, comment: v.comment,
        columns: (
          select coalesce(
            list({ name: c.column_name, type_name: c.data_type, nullable: c.is_nullable } order by c.column_index), [])
          from duckdb_columns() c
          where c.database_name = 'raw' and c.schema_name = v.schema_name and c.table_name = v.view_name
        )
      } as d
      from duckdb_views() v
      where v.database_name = 'raw' and not v.internal and not starts_with(v.schema_name, $1)
      union all
      select { kind: 'function', schema: f.schema_name, name: f.function_name, comment: f.comment, columns: [] }
      from duckdb_functions() f
      where f.database_name = 'raw' and not f.internal and f.function_type = 'macro'
        and not starts_with(f.schema_name, $1)
      union all
      select { kind: 'sequence', schema: s.schema_name, name: s.sequence_name, comment: s.comment, columns: [] }
      from duckdb_sequences() s
      where s.database_name = 'raw' and not starts_with(s.schema_name, $1)
    )
  )
})::varchar"#;

pub(crate) fn load(connection: &Connection) -> Result<Catalog, Error> {
    let prepared = connection.prepare(CATALOG)?;
    prepared.bind(1, &crate::Value::Text(OURS.to_owned()))?;
    let text = crate::child::text(&mut prepared.run(false)?)?;
    let Loaded { schemas, mut tables, definitions, files } = serde_json::from_str(&text).map_err(Error::internal)?;
    tables.extend(files.into_iter().map(OpenFile::table));
    Ok(Catalog { schemas, tables, definitions, as_of: None })
}

/// The catalog as the engine tells it.
#[derive(Deserialize)]
struct Loaded {
    schemas: Vec<String>,
    tables: Vec<Table>,
    definitions: Vec<Definition>,
    files: Vec<OpenFile>,
}

/// The rows of a file that the session has open: a temporary view, of which only we make any.
#[derive(Deserialize)]
struct OpenFile {
    name: String,
    columns: Vec<Column>,
}

impl OpenFile {
    fn table(self) -> Table {
        Table {
            schema: TEMPORARY.to_owned(),
            name: self.name,
            columns: self.columns,
            primary_key: Vec::new(),
            unique: Vec::new(),
            checks: Vec::new(),
            estimated_rows: 0,
            comment: None,
            column_comments: Vec::new(),
            column_defaults: Vec::new(),
            counters: Vec::new(),
        }
    }
}
