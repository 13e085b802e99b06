//! `sluice sql`: statements of the caller, over REST; typed, piped, or one after the other at a prompt.
//!
//! Rows come as the platform sends them: CSV and Arrow stream through, JSON and a table are read whole.
//! Ctrl-C closes the connection, and with it the query is cancelled in the engine.

mod shell;

use std::io::{self, IsTerminal, Read};

use contract::wire::{Format, QueryBody, TIMEOUT_MS_MAX, header};
use contract::{Code, Heal};
use dataplane::protocols::pgwire::lex;
use http_body_util::BodyExt;
use reqwest::{Method, RequestBuilder, Response};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use super::output::{self, notice};
use super::waiting::waited;
use super::{Access, Api, Failure, Output, ShownAnswer};

/// Of an answer that is read whole.
const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;
const RUNS: &str = "the query runs";
const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Statements, divided by semicolons; without it they are read from standard input, or asked for.
    #[arg(long, short)]
    command: Option<String>,
    /// How long each may take; the environment's own limit unless given.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=TIMEOUT_MS_MAX))]
    timeout_ms: Option<u64>,
    /// How far a statement that fails may be corrected and run: off, safe or auto. The environment's own limit unless less.
    #[arg(long, value_name = "LEVEL")]
    heal: Option<Heal>,
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    access: Access,
}

pub async fn run(args: Args) -> Result<(), Failure> {
    let Args { command, timeout_ms, heal, output, access } = args;
    output.may_leave()?;
    let asking = Asking { api: access.api()?, output, timeout_ms, heal };
    let text = match command {
        Some(text) => text,
        None if io::stdin().is_terminal() => return shell::run(asking).await,
        None => piped()?,
    };
    let statements = lex::split(&text);
    if statements.is_empty() {
        return Err(Failure::Usage("there is no statement: give one with -c, or on standard input".to_owned()));
    }
    if output == Output::Arrow && statements.len() > 1 {
        return Err(Failure::Usage("an Arrow stream holds the rows of one statement, these are more".to_owned()));
    }
    for statement in statements {
        asking.ask(statement.text.trim()).await?;
    }
    Ok(())
}

fn piped() -> Result<String, Failure> {
    let unread = |error: io::Error| Failure::Usage(format!("standard input cannot be read: {error}"));
    let mut text = String::new();
    let read = io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_string(&mut text).map_err(unread)?;
    if u64::try_from(read).is_ok_and(|read| read > INPUT_BYTES_MAX) {
        return Err(Failure::Usage(format!("standard input has more than {INPUT_BYTES_MAX} bytes")));
    }
    Ok(text)
}

/// Whom statements are put to, and how their rows are shown.
#[derive(Debug)]
struct Asking {
    api: Api,
    output: Output,
    timeout_ms: Option<u64>,
    heal: Option<Heal>,
}

/// The answer of REST.
#[derive(Deserialize)]
struct Answer {
    columns: Vec<NamedColumn>,
    rows: Vec<Vec<Value>>,
    columns_masked: Vec<String>,
    warnings: Vec<Value>,
}

/// A column of the answer, of which only the name is read.
#[derive(Deserialize)]
pub(super) struct NamedColumn {
    pub(super) name: String,
}

impl Asking {
    /// Runs a statement and shows its rows; an interrupt cancels it.
    async fn ask(&self, sql: &str) -> Result<(), Failure> {
        tokio::select! {
            done = self.asked(sql) => done,
            _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
        }
    }

    async fn asked(&self, sql: &str) -> Result<(), Failure> {
        let format = match self.output {
            Output::Table | Output::Json => Format::Json,
            Output::Csv => Format::Csv,
            Output::Arrow => Format::Arrow,
        };
        let (sql, timeout_ms, heal) = (sql.to_owned(), self.timeout_ms, self.heal);
        let body = QueryBody { sql, timeout_ms, heal, format, ..QueryBody::default() };
        let path = format!("{}/query", self.api.environment().await?);
        let request = self.api.request(Method::POST, &path).json(&body);
        match self.output {
            Output::Table => shown(&waited(RUNS, self.whole(request)).await?),
            Output::Json => {
                let body = waited(RUNS, self.whole(request)).await?;
                output::write(&[body.as_slice(), b"\n"].concat())
            }
            Output::Csv | Output::Arrow => self.streamed(waited(RUNS, self.api.send(request)).await?).await,
        }
    }

    async fn whole(&self, request: RequestBuilder) -> Result<Vec<u8>, Failure> {
        let answer = self.api.send(request).await?;
        let query_id = query_id(&answer);
        let mut body = http::Response::from(answer).into_body();
        let mut whole = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Failure::incomplete(query_id.as_deref(), &error))?;
            whole.extend_from_slice(&frame.into_data().unwrap_or_default());
            if whole.len() > ANSWER_BYTES_MAX {
                let message = format!("the answer has more than {ANSWER_BYTES_MAX} bytes: --output csv streams it");
                return Err(Failure::Broken(message));
            }
        }
        Ok(whole)
    }

    /// Piece by piece to standard output; that the answer broke off is said at the end. Whoever reads us may be slow:
    /// an interrupt does not wait for them.
    async fn streamed(&self, answer: Response) -> Result<(), Failure> {
        let said = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
        if let Some(how) = said(header::QUERY_HEALED) {
            notice(&format!("warning: {how}"));
        }
        if let Some(names) = said(header::COLUMNS_MASKED).filter(|names| !names.is_empty()) {
            tell_masked(names);
        }
        let query_id = query_id(&answer);
        let (mut body, mut out) = (http::Response::from(answer).into_body(), tokio::io::stdout());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Failure::incomplete(query_id.as_deref(), &error))?;
            if let Ok(piece) = frame.into_data() {
                out.write_all(&piece).await?;
                out.flush().await?;
            }
        }
        Ok(())
    }
}

/// By which its audit entry is found.
fn query_id(answer: &Response) -> Option<String> {
    answer.headers().get(header::QUERY_ID).and_then(|id| id.to_str().ok()).map(str::to_owned)
}

fn read(body: &[u8]) -> Result<Answer, Failure> {
    serde_json::from_slice(body).map_err(|error| Failure::Broken(format!("the answer cannot be read: {error}")))
}

fn shown(body: &[u8]) -> Result<(), Failure> {
    let mut answer = read(body)?;
    let columns: Vec<_> = answer.columns.iter().map(|column| column.name.clone()).collect();
    let rows = std::mem::take(&mut answer.rows);
    let count = rows.len();
    if !columns.is_empty() {
        ShownAnswer::rows(columns, rows).show(Output::Table)?;
    }
    if io::stdout().is_terminal() {
        notice(&if count == 1 { "(1 row)".to_owned() } else { format!("({count} rows)") });
    }
    if !answer.columns_masked.is_empty() {
        tell_masked(&answer.columns_masked.join(", "));
    }
    let warnings = answer.warnings.iter().map(|warning| warning.as_str().unwrap_or_default());
    for warning in warnings.filter(|warning| !warning.starts_with(Code::ColumnMasked.stable())) {
        notice(&format!("warning: {warning}"));
    }
    Ok(())
}

fn tell_masked(names: &str) {
    notice(&format!("masked: {names}"));
}
