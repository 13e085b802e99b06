//! `sluice unload`: the rows of a table or a query into a file of this machine, or into files of a stage.
//!
//! A file of this machine comes whole or not at all, and an interrupt leaves nothing. Those of a stage are written by the
//! platform, by `COPY INTO`.

use std::path::Path;

use clap::ValueEnum;
use contract::wire::{Format, QueryBody};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::file_ending::{ending, unsaid};
use super::output::Columns;
use super::sql::NamedColumn;
use super::stage::got;
use super::waiting::waited;
use super::{Access, Api, Failure, Output, ShownAnswer};

const RUNS: &str = "the rows are unloaded";
const GOT: Columns = "file, bytes";
const UNLOADED: Columns = "rows_unloaded, input_bytes, output_bytes";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A table, as name or schema.name, or a query.
    rows: String,
    /// A file, which is not there yet; `-` is standard output, and @stage/path how the files of a stage begin.
    to: String,
    /// How the rows are written: into a stage as each of these, into a file not as json [default: by the file's ending].
    #[arg(long, value_enum)]
    format: Option<UnloadAs>,
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    access: Access,
}

/// How unloaded rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnloadAs {
    Csv,
    Json,
    Parquet,
}

/// The members that are read of the answer to `COPY INTO` a stage.
#[derive(Deserialize)]
struct Unloaded {
    columns: Vec<NamedColumn>,
    rows: Vec<Vec<Value>>,
}

pub async fn run(args: Args) -> Result<(), Failure> {
    args.output.may_leave()?;
    let api = args.access.api()?.for_files()?;
    let told = tokio::select! {
        told = done(&api, &args) => told?,
        _ = tokio::signal::ctrl_c() => return Err(Failure::Interrupted),
    };
    told.map_or(Ok(()), |told| told.show(args.output))
}

/// What is to be shown; nothing where the rows themselves went to standard output.
async fn done(api: &Api, args: &Args) -> Result<Option<ShownAnswer>, Failure> {
    let (sql, format) = asked(args)?;
    let path = format!("{}/query", api.environment().await?);
    let request = api.request(Method::POST, &path).json(&QueryBody { sql, format, ..QueryBody::default() });
    if args.to.starts_with('@') {
        let unloaded = read(waited(RUNS, api.record(request)).await?)?;
        return Ok(Some(ShownAnswer::record(unloaded, UNLOADED)));
    }
    let bytes = got(api, request, Path::new(&args.to)).await?;
    Ok(bytes.map(|bytes| ShownAnswer::record(json!({"file": args.to, "bytes": bytes}), GOT)))
}

/// The statement, and the form of its answer.
fn asked(args: &Args) -> Result<(String, Format), Failure> {
    let rows = args.rows.trim().trim_end_matches(';');
    let query = if rows.contains(char::is_whitespace) { rows.to_owned() } else { format!("SELECT * FROM {rows}") };
    if !args.to.starts_with('@') {
        return Ok((query, form(args)?));
    }
    if args.to.contains('\'') {
        return Err(Failure::Usage("the path in a stage has no quote: name another".to_owned()));
    }
    let format = match args.format.unwrap_or(UnloadAs::Csv) {
        UnloadAs::Csv => "CSV",
        UnloadAs::Json => "JSON",
        UnloadAs::Parquet => "PARQUET",
    };
    // the query may end with a comment
    let sql = format!("COPY INTO '{}' FROM ({query}\n) FILE_FORMAT = (TYPE = {format}) HEADER = TRUE", args.to);
    Ok((sql, Format::Json))
}

/// How a file of this machine is written.
fn form(args: &Args) -> Result<Format, Failure> {
    let file = Path::new(&args.to);
    match (args.format, ending(file).as_str()) {
        (Some(UnloadAs::Csv), _) | (None, "csv") => Ok(Format::Csv),
        (Some(UnloadAs::Parquet), _) | (None, "parquet") => Ok(Format::Parquet),
        (Some(UnloadAs::Json), _) => {
            Err(Failure::Usage("a file of this machine is csv or parquet: json goes into a stage".to_owned()))
        }
        (None, _) => Err(unsaid(file, "csv or parquet")),
    }
}

/// The one row of the answer, by its columns.
fn read(answer: Value) -> Result<Value, Failure> {
    let broken = |error| Failure::Broken(format!("the answer cannot be read: {error}"));
    let Unloaded { columns, rows } = serde_json::from_value(answer).map_err(broken)?;
    let names = columns.into_iter().map(|column| column.name);
    Ok(Value::Object(names.zip(rows.into_iter().next().unwrap_or_default()).collect::<Map<_, _>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::testing::args_of;

    fn asked_of(line: &[&str]) -> Result<(String, Format), String> {
        asked(&args_of(line)?).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_table_or_a_query_goes_into_a_file_or_a_stage() {
        let stage = "COPY INTO '@s/a' FROM (select 1\n) FILE_FORMAT = (TYPE = PARQUET) HEADER = TRUE";
        for (line, sql, format) in [
            (&["m.t", "a.csv"][..], "SELECT * FROM m.t", Format::Csv),
            (&["select 1;", "a.PARQUET"], "select 1", Format::Parquet),
            (&["t", "-", "--format", "parquet"], "SELECT * FROM t", Format::Parquet),
            (&["select 1", "@s/a", "--format", "parquet"], stage, Format::Json),
        ] {
            assert_eq!(asked_of(line), Ok((sql.to_owned(), format)), "{line:?}");
        }
        for line in [&["t", "a"][..], &["t", "-"], &["t", "a.json"], &["t", "a", "--format", "json"], &["t", "@s/'a"]] {
            assert!(asked_of(line).is_err(), "{line:?}");
        }
    }
}
