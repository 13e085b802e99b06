//! The catalog commands: what there is, as its caller sees it.
//!
//! They ask PostgreSQL's catalogue (`crate::storage::catalogue`) in SQL, like any client: a denied table is in no list, and the
//! columns of a table are those that `select *` would answer with, masks included.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::error::FlightError;
use arrow_flight::sql::{Command, CommandGetPrimaryKeys, CommandGetTables};
use futures::StreamExt;

use super::handles::FlightStatement;
use super::{Visit, sql_info};
use crate::Error;

const CATALOGS: &str = "select datname from pg_catalog.pg_database";
const SCHEMAS: &str = "select catalog_name, schema_name from information_schema.schemata \
    where schema_name not in ('pg_catalog', 'information_schema')";
const TABLES: &str = "select table_catalog, table_schema, table_name, \
    case table_type when 'BASE TABLE' then 'TABLE' else table_type end from information_schema.tables \
    where table_schema not in ('pg_catalog', 'information_schema')";
const KEYS: &str = "select table_catalog, table_schema, table_name, column_name, constraint_name, \
    cast(ordinal_position as varchar) from information_schema.key_column_usage where table_name = $1";

const KINDS: [&str; 2] = ["TABLE", "VIEW"];
/// Tables whose columns are told in one answer: each is described by the engine.
const DESCRIBED_MAX: usize = 1_000;

static PRIMARY_KEYS: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(vec![
        text("catalog_name", true),
        text("db_schema_name", true),
        text("table_name", false),
        text("column_name", false),
        text("key_name", true),
        Field::new("key_sequence", DataType::Int32, false),
    ]))
});

static FOREIGN_KEYS: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(vec![
        text("pk_catalog_name", true),
        text("pk_db_schema_name", true),
        text("pk_table_name", false),
        text("pk_column_name", false),
        text("fk_catalog_name", true),
        text("fk_db_schema_name", true),
        text("fk_table_name", false),
        text("fk_column_name", false),
        Field::new("key_sequence", DataType::Int32, false),
        text("fk_key_name", true),
        text("pk_key_name", true),
        Field::new("update_rule", DataType::UInt8, false),
        Field::new("delete_rule", DataType::UInt8, false),
    ]))
});

fn text(name: &str, nullable: bool) -> Field {
    Field::new(name, DataType::Utf8, nullable)
}

fn unmade(error: impl std::fmt::Display) -> Error {
    Error::Unverified { why: format!("a list cannot be made: {error}") }
}

/// The columns of a command's answer.
pub fn schema(command: &Command) -> Result<SchemaRef, Error> {
    Ok(match command {
        Command::CommandGetCatalogs(command) => command.into_builder().schema(),
        Command::CommandGetDbSchemas(command) => command.clone().into_builder().schema(),
        Command::CommandGetTables(command) => command.clone().into_builder().schema(),
        Command::CommandGetTableTypes(command) => command.into_builder().schema(),
        Command::CommandGetSqlInfo(_) => sql_info::server()?.schema(),
        Command::CommandGetXdbcTypeInfo(_) => sql_info::types()?.schema(),
        Command::CommandGetPrimaryKeys(_) => Arc::clone(&PRIMARY_KEYS),
        Command::CommandGetExportedKeys(_)
        | Command::CommandGetImportedKeys(_)
        | Command::CommandGetCrossReference(_) => Arc::clone(&FOREIGN_KEYS),
        other => return Err(unknown(other)),
    })
}

fn unknown(command: &Command) -> Error {
    let name = command.type_url().rsplit('.').next().unwrap_or_default();
    Error::Unsupported { what: format!("command {name}") }
}

/// The whole answer of a command.
pub async fn rows(visit: &Visit, command: Command) -> Result<RecordBatch, Error> {
    match command {
        Command::CommandGetCatalogs(command) => {
            let mut builder = command.into_builder();
            for [catalog] in asked(visit, CATALOGS, None).await? {
                builder.append(catalog);
            }
            builder.build().map_err(unmade)
        }
        Command::CommandGetDbSchemas(command) => {
            let mut builder = command.into_builder();
            for [catalog, schema] in asked(visit, SCHEMAS, None).await? {
                builder.append(catalog, schema);
            }
            builder.build().map_err(unmade)
        }
        Command::CommandGetTables(command) => tables(visit, command).await,
        Command::CommandGetTableTypes(command) => {
            let mut builder = command.into_builder();
            for kind in KINDS {
                builder.append(kind);
            }
            builder.build().map_err(unmade)
        }
        Command::CommandGetSqlInfo(command) => command.into_builder(&sql_info::server()?).build().map_err(unmade),
        Command::CommandGetXdbcTypeInfo(command) => command.into_builder(&sql_info::types()?).build().map_err(unmade),
        Command::CommandGetPrimaryKeys(command) => primary_keys(visit, command).await,
        // The catalogue tells of none.
        Command::CommandGetExportedKeys(_)
        | Command::CommandGetImportedKeys(_)
        | Command::CommandGetCrossReference(_) => Ok(RecordBatch::new_empty(Arc::clone(&FOREIGN_KEYS))),
        other => Err(unknown(&other)),
    }
}

async fn tables(visit: &Visit, command: CommandGetTables) -> Result<RecordBatch, Error> {
    let described = command.include_schema;
    let mut builder = CommandGetTables { include_schema: false, ..command }.into_builder();
    let nothing = Schema::empty();
    for [catalog, schema, table, kind] in asked(visit, TABLES, None).await? {
        builder.append(catalog, schema, table, kind, &nothing).map_err(unmade)?;
    }
    let listed = builder.build().map_err(unmade)?;
    if !described {
        return Ok(listed);
    }
    if listed.num_rows() > DESCRIBED_MAX {
        let message =
            format!("the columns of more than {DESCRIBED_MAX} tables are too many at once: narrow the pattern");
        return Err(Error::InvalidParams { field: "table_name_filter_pattern", message });
    }
    let mut builder = CommandGetTables { include_schema: true, ..CommandGetTables::default() }.into_builder();
    for [catalog, schema, table, kind] in texts(&listed)? {
        let columns = columns(visit, &schema, &table).await;
        builder.append(catalog, schema, table, kind, &columns).map_err(unmade)?;
    }
    builder.build().map_err(unmade)
}

/// What `select *` answers with; nothing where it would be refused.
async fn columns(visit: &Visit, schema: &str, table: &str) -> SchemaRef {
    let sql = format!("select * from {}.{}", sql::ast::quote::name(schema), sql::ast::quote::name(table));
    let ask = visit.ask(&FlightStatement { sql, params: Vec::new(), transaction: None });
    let description = Box::pin(visit.context.pipeline.describe(&ask)).await.ok();
    description.and_then(|description| description.schema).unwrap_or_else(|| SchemaRef::new(Schema::empty()))
}

async fn primary_keys(visit: &Visit, command: CommandGetPrimaryKeys) -> Result<RecordBatch, Error> {
    let CommandGetPrimaryKeys { catalog, db_schema, table } = command;
    let wanted = |filter: &Option<String>, value: &String| filter.as_ref().is_none_or(|filter| filter == value);
    let mut keys = asked::<6>(visit, KEYS, Some(table)).await?;
    keys.retain(|[in_catalog, in_schema, ..]| wanted(&catalog, in_catalog) && wanted(&db_schema, in_schema));
    keys.sort_by_key(|[_, schema, .., place]| (schema.clone(), place.parse::<i32>().unwrap_or(0)));
    let column = |place: usize| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(keys.iter().filter_map(|key| key.get(place))))
    };
    let places = keys.iter().map(|[.., place]| place.parse::<i32>().unwrap_or(0));
    let mut columns: Vec<_> = (0..5).map(column).collect();
    columns.push(Arc::new(Int32Array::from_iter_values(places)));
    RecordBatch::try_new(Arc::clone(&PRIMARY_KEYS), columns).map_err(unmade)
}

/// Rows of the catalogue, every column of which is text.
async fn asked<const N: usize>(visit: &Visit, sql: &str, value: Option<String>) -> Result<Vec<[String; N]>, Error> {
    let params = value.map(engine::Value::Text).into_iter().collect();
    let ask = visit.ask(&FlightStatement { sql: sql.to_owned(), params, transaction: None });
    let mut answer = Box::pin(visit.context.pipeline.run(ask)).await?;
    let mut rows = Vec::new();
    while let Some(batch) = answer.rows.next().await {
        rows.extend(texts(&batch?)?);
    }
    Ok(rows)
}

fn texts<const N: usize>(batch: &RecordBatch) -> Result<Vec<[String; N]>, Error> {
    let columns: Option<Vec<_>> = batch.columns().iter().map(|column| column.as_string_opt::<i32>()).collect();
    let columns: [&StringArray; N] = columns
        .and_then(|columns| columns.try_into().ok())
        .ok_or_else(|| unmade(FlightError::protocol("the catalogue answers with other columns")))?;
    let cell =
        |column: &StringArray, row| if column.is_null(row) { String::new() } else { column.value(row).to_owned() };
    Ok((0..batch.num_rows()).map(|row| columns.map(|column| cell(column, row))).collect())
}
