//! `sluice load`: a file of this machine into a table, sent as a stream.
//!
//! Its format and the table's name follow from the file's name, unless they are said. The load is an operation: the bar
//! shows its rows beside the bytes, and an interrupt cancels it. What is loaded all the same is shown as loaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use contract::load::{LoadFormat, LoadMode, Loaded, LoadedColumn};
use contract::wire::header;
use contract::{Entropy, ids};
use futures::StreamExt;
use indicatif::{ProgressBar, ProgressStyle};
use reqwest::{Body, Method};
use serde_json::{Value, json};
use tokio::io::AsyncRead;
use tokio_util::io::ReaderStream;

use super::file_ending::{ending, unsaid};
use super::output::{self, Columns};
use super::{Access, Api, Failure, Output, ShownAnswer};

const PIECE_BYTES: usize = 256 << 10;
const COLUMNS: Columns = "table, rows_loaded, bytes";
/// How often the rows that have come are asked for.
const LOOK: Duration = Duration::from_secs(3);
/// How long an interrupt waits for the answer to the load.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file; `-` is standard input.
    file: PathBuf,
    /// The table, as name or schema.name [default: the file's name without its ending].
    #[arg(long)]
    table: Option<String>,
    /// What becomes of the table: create, append or replace.
    #[arg(long, default_value_t = LoadMode::Create)]
    mode: LoadMode,
    /// How the file is written: csv, jsonl, parquet or arrow [default: by the file's ending].
    #[arg(long)]
    format: Option<LoadFormat>,
    /// The type of a column, as zip=VARCHAR; may be given several times [default: what its values tell].
    #[arg(long = "type", value_name = "COLUMN=TYPE")]
    types: Vec<String>,
    /// Load nothing: show the first rows with the types that the columns would have.
    #[arg(long)]
    dry_run: bool,
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    access: Access,
}

pub async fn run(args: Args) -> Result<(), Failure> {
    args.output.may_leave()?;
    let api = args.access.api()?.for_files()?;
    let entropy = Entropy::system().map_err(|error| Failure::Broken(error.to_string()))?;
    let operation = ids::unguessable(&entropy);
    let mut sending = pin!(sent(&api, &args, &operation));
    let told = tokio::select! {
        told = &mut sending => told?,
        _ = tokio::signal::ctrl_c() => {
            api.post(&format!("/v1/operations/{operation}/cancel"), &json!({})).await.map_err(|_| Failure::Interrupted)?;
            tokio::select! {
                told = &mut sending => told.map_err(|_| Failure::Interrupted)?,
                _ = tokio::signal::ctrl_c() => return Err(Failure::Interrupted),
                () = tokio::time::sleep(ENDS_WITHIN) => return Err(Failure::Interrupted),
            }
        }
    };
    if args.dry_run && args.output != Output::Json {
        return shown(told)?.show(args.output);
    }
    ShownAnswer::record(told, COLUMNS).show(args.output)
}

async fn sent(api: &Api, args: &Args, operation: &str) -> Result<Value, Failure> {
    let path = format!("{}{}", api.environment().await?, target(args)?);
    let FileBody { body, length, bar } = body(&args.file).await?;
    let mut request = api.request(Method::POST, &path).header(http::header::CONTENT_TYPE, "application/octet-stream");
    request = request.header(header::OPERATION, operation);
    if let Some(length) = length {
        request = request.header(http::header::CONTENT_LENGTH, length);
    }
    let mut sending = pin!(api.record(request.body(body)));
    loop {
        tokio::select! {
            told = &mut sending => return told,
            () = look(api, operation, &bar) => {}
        }
    }
}

/// Shows after a while the rows that have come, where somebody sees the bar. A platform that does not say it changes
/// nothing.
async fn look(api: &Api, operation: &str, bar: &ProgressBar) {
    tokio::time::sleep(LOOK).await;
    if bar.is_hidden() {
        return;
    }
    let told = api.get(&format!("/v1/operations/{operation}")).await.ok();
    if let Some(rows) = told.and_then(|told| told.pointer("/progress/rows")?.as_u64()) {
        bar.set_message(format!("{rows} rows"));
    }
}

/// Path and query behind the environment's.
fn target(args: &Args) -> Result<String, Failure> {
    let name = args.file.file_name().and_then(|name| name.to_str()).filter(|name| *name != "-");
    let format = match args.format {
        Some(format) => format,
        None => by_ending(&args.file)?,
    };
    let table = match (&args.table, args.file.file_stem().and_then(|stem| stem.to_str())) {
        (Some(table), _) => table.clone(),
        (None, Some(stem)) if stem != "-" => stem.replace('.', "_"),
        (None, _) => return Err(Failure::Usage("name the table with --table".to_owned())),
    };
    if table.chars().all(|c| c == '.') {
        return Err(Failure::Usage(format!("{table:?} is no table: it is written as name or schema.name")));
    }
    let broken = || Failure::Broken("a path cannot be written".to_owned());
    let mut url = reqwest::Url::parse("http://localhost/").map_err(|_| broken())?;
    url.path_segments_mut().map_err(|()| broken())?.pop_if_empty().extend(["tables", table.as_str(), "load"]);
    let mut query = url.query_pairs_mut();
    query.append_pair("mode", args.mode.as_str()).append_pair("format", format.as_str());
    if args.dry_run {
        query.append_pair("dry_run", "true");
    }
    if !args.types.is_empty() {
        query.append_pair("types", &types(&args.types)?);
    }
    if let Some(name) = name {
        query.append_pair("file", name);
    }
    drop(query);
    Ok(format!("{}?{}", url.path(), url.query().unwrap_or_default()))
}

/// The types of columns as the query has them; a column's name may have an equals sign, a type has none.
fn types(written: &[String]) -> Result<String, Failure> {
    let pair = |written: &String| match written.rsplit_once('=') {
        Some((column, type_name)) => Ok((column.to_owned(), type_name.to_owned())),
        None => Err(Failure::Usage(format!("a type is written COLUMN=TYPE, not {written}"))),
    };
    let types = written.iter().map(pair).collect::<Result<BTreeMap<_, _>, _>>()?;
    serde_json::to_string(&types).map_err(|_| Failure::Broken("the types cannot be written".to_owned()))
}

fn by_ending(file: &Path) -> Result<LoadFormat, Failure> {
    match ending(file).as_str() {
        "csv" => Ok(LoadFormat::Csv),
        "jsonl" | "ndjson" => Ok(LoadFormat::Jsonl),
        "parquet" => Ok(LoadFormat::Parquet),
        "arrow" | "arrows" => Ok(LoadFormat::Arrow),
        _ => Err(unsaid(file, "csv, jsonl, parquet or arrow")),
    }
}

/// The bytes of a file as they are read.
pub(super) struct FileBody {
    pub(super) body: Body,
    /// How many they will be.
    pub(super) length: Option<u64>,
    pub(super) bar: ProgressBar,
}

pub(super) async fn body(file: &Path) -> Result<FileBody, Failure> {
    if file == Path::new("-") {
        return Ok(streamed(tokio::io::stdin(), None));
    }
    let unread = |error: std::io::Error| Failure::Usage(format!("{}: {error}", file.display()));
    let open = tokio::fs::File::open(file).await.map_err(unread)?;
    let facts = open.metadata().await.map_err(unread)?;
    let length = facts.is_file().then_some(facts.len());
    Ok(streamed(open, length))
}

fn streamed(from: impl AsyncRead + Send + 'static, length: Option<u64>) -> FileBody {
    let bar = bar(length);
    let moved = bar.clone();
    let pieces = ReaderStream::with_capacity(from, PIECE_BYTES).inspect(move |piece| {
        if let Ok(piece) = piece {
            moved.inc(u64::try_from(piece.len()).unwrap_or_default());
        }
    });
    FileBody { body: Body::wrap_stream(pieces), length, bar }
}

/// How much has gone; hidden where standard error is no terminal.
pub(super) fn bar(length: Option<u64>) -> ProgressBar {
    let (bar, template) = match length {
        Some(length) => (ProgressBar::new(length), "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {msg}"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} {bytes_per_sec} {msg}"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// The rows of a dry run, under the names of their columns and the types.
fn shown(told: Value) -> Result<ShownAnswer, Failure> {
    let broken = |error| Failure::Broken(format!("the answer cannot be read: {error}"));
    let Loaded { columns, rows, .. } = serde_json::from_value(told).map_err(broken)?;
    let names = columns.into_iter().map(|LoadedColumn { name, type_name }| format!("{name} {type_name}")).collect();
    let rows = rows.unwrap_or_default();
    output::notice(&format!("a dry run: {} rows shown, nothing loaded", rows.len()));
    Ok(ShownAnswer::rows(names, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::testing::args_of;

    fn target_of(line: &[&str]) -> Result<String, String> {
        target(&args_of(line)?).map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_files_name_says_table_and_format_unless_they_are_said() {
        for (line, path) in [
            (&["a/people.csv"][..], "/tables/people/load?mode=create&format=csv&file=people.csv"),
            (
                &["x.NDJSON", "--table", "s.t u", "--mode", "append"],
                "/tables/s.t%20u/load?mode=append&format=jsonl&file=x.NDJSON",
            ),
            (
                &["a.b.parquet", "--dry-run"],
                "/tables/a_b/load?mode=create&format=parquet&dry_run=true&file=a.b.parquet",
            ),
            (&["t.arrow"], "/tables/t/load?mode=create&format=arrow&file=t.arrow"),
            (&["-", "--table", "t", "--format", "csv"], "/tables/t/load?mode=create&format=csv"),
            (
                &["t.csv", "--type", "a=b=DATE", "--type", "zip=VARCHAR"],
                "/tables/t/load?mode=create&format=csv&types=%7B%22a%3Db%22%3A%22DATE%22%2C%22zip%22%3A%22VARCHAR%22%7D&file=t.csv",
            ),
        ] {
            assert_eq!(target_of(line).as_deref(), Ok(path), "{line:?}");
        }
        for line in [
            &["people.xls"][..],
            &["people.feather"],
            &["people"],
            &["-", "--format", "csv"],
            &["a.csv", "--table", ".."],
            &["a.csv", "--type", "a"],
        ] {
            assert!(target_of(line).is_err(), "{line:?}");
        }
        assert!(target_of(&["a.csv", "--mode", "upsert"]).unwrap_err().contains("create, append, replace"));
    }
}
