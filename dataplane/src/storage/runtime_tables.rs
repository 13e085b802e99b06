//! The runtime's tables, brought here for one statement.
//!
//! Each statement over them has a database of its own, in memory, in a process beside the engine's that has no file
//! open: it holds the rows that the control plane gave for this organization, and nothing else is there to be found.
//! It ends with the statement. What is asked of it is governed and generated like everything that an engine runs.

use std::fmt::Write;
use std::time::{Duration, Instant};

use contract::governance::HexKey;
use contract::runtime_tables::{Column, Kind, SCHEMA, Table};
use engine::{Engine, Session, Statement, Value};
use sql::ast::quote;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::Error;
use crate::governance::link::Link;

/// Statements whose rows are fetched at one time; the next ones wait.
const FETCHES_MAX: usize = 4;
const SESSIONS_MAX: u16 = 64;
/// What all databases may hold, with what statements make of it.
const MEMORY_BYTES: u64 = 512 << 20;
const ADDRESS_SPACE_BYTES: u64 = 16 << 30;
const RAW: &str = "raw";

/// Which rows a database is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSelection {
    All,
    /// To describe a statement, no row is needed.
    None,
}

/// Where the rows come from, and the process that holds them. It starts with the first statement.
pub struct RuntimeTables {
    config: engine::Config,
    /// None: nobody is there to give rows.
    link: Option<Link>,
    /// With the key of its masks.
    engine: Mutex<Option<(HexKey, Engine)>>,
    fetches: Semaphore,
}

impl RuntimeTables {
    /// `like` is how the environment's own engine is started.
    pub fn new(like: engine::Config, link: Option<Link>) -> Self {
        let config = engine::Config {
            data: None,
            run: like.run.join("runtime"),
            memory_limit_bytes: MEMORY_BYTES.min(like.memory_limit_bytes),
            temp_limit_bytes: 0,
            threads: 1,
            address_space_bytes: ADDRESS_SPACE_BYTES,
            sessions_max: SESSIONS_MAX,
            ..like
        };
        Self { config, link, engine: Mutex::new(None), fetches: Semaphore::new(FETCHES_MAX) }
    }

    /// A database with these tables, under the names that generated SQL has for them.
    pub async fn session(
        &self,
        tables: &[Table],
        rows: RowSelection,
        mask_key: HexKey,
        deadline: Instant,
    ) -> Result<Session, Error> {
        let mut database = Database { session: self.engine(mask_key).await?.session().await?, deadline };
        database.run(format!("create schema {RAW}.{}", quote::name(SCHEMA)), Vec::new()).await?;
        for table in tables {
            database.run(created(*table), Vec::new()).await?;
        }
        if rows == RowSelection::All {
            let _place = self.fetches.acquire().await.map_err(|_| Error::ShuttingDown)?;
            self.fetch(tables, &mut database).await?;
        }
        Ok(database.session)
    }

    async fn fetch(&self, tables: &[Table], database: &mut Database) -> Result<(), Error> {
        let link = self.link.as_ref().ok_or(Error::ControlPlaneAway)?;
        let within = database.deadline.saturating_duration_since(Instant::now());
        let mut pages = link.runtime_rows(tables, within).await.map_err(|status| unread(&status, within))?;
        while let Some(page) = pages.message().await.map_err(|status| unread(&status, within))? {
            let table = page.table.parse().map_err(|_| Error::ControlPlaneAway)?;
            database.run(filled(table), vec![Value::Text(page.rows)]).await?;
        }
        Ok(())
    }

    async fn engine(&self, mask_key: HexKey) -> Result<Engine, Error> {
        let mut held = self.engine.lock().await;
        if let Some((key, engine)) = held.as_ref()
            && *key == mask_key
        {
            return Ok(engine.clone());
        }
        let config = engine::Config { mask_key: mask_key.0, ..self.config.clone() };
        let started = Engine::start(config).await?;
        if let Some((_, before)) = held.replace((mask_key, started.clone())) {
            before.stop().await;
        }
        Ok(started)
    }

    pub async fn stop(&self) {
        if let Some((_, engine)) = self.engine.lock().await.take() {
            engine.stop().await;
        }
    }
}

struct Database {
    session: Session,
    deadline: Instant,
}

impl Database {
    async fn run(&mut self, sql: String, params: Vec<Value>) -> Result<(), Error> {
        let statement = Statement { sql, params, writes: true };
        self.session.run(statement, self.deadline, &CancellationToken::new()).await?;
        Ok(())
    }
}

/// What the control plane said instead of rows.
fn unread(status: &Status, within: Duration) -> Error {
    tracing::warn!(code = ?status.code(), message = status.message(), "the runtime's tables were not read");
    match status.code() {
        tonic::Code::ResourceExhausted => Error::RuntimeTooLarge { message: status.message().to_owned() },
        tonic::Code::DeadlineExceeded => Error::Timeout(within),
        _ => Error::ControlPlaneAway,
    }
}

fn path(table: Table) -> String {
    format!("{RAW}.{}.{}", quote::name(SCHEMA), quote::name(table.as_str()))
}

fn created(table: Table) -> String {
    let columns: Vec<_> =
        table.columns().iter().map(|(name, kind)| format!("{} {}", quote::name(name), kind.engine())).collect();
    format!("create table {} ({})", path(table), columns.join(", "))
}

/// Takes a page of rows, a JSON array of objects, as its one parameter.
fn filled(table: Table) -> String {
    let mut shape = String::new();
    let mut values = Vec::new();
    for (place, (name, kind)) in table.columns().iter().enumerate() {
        let between = if place == 0 { "" } else { "," };
        // Text is what every value has; JSON stays as it is.
        let read = if *kind == Kind::Json { "JSON" } else { "VARCHAR" };
        // Writing to a String cannot fail.
        let _ = write!(shape, "{between}\"{name}\":\"{read}\"");
        values.push(value(&(*name, *kind)));
    }
    format!(
        "insert into {} select {} from (select unnest(from_json($1::json, '[{{{shape}}}]')) as r)",
        path(table),
        values.join(", ")
    )
}

fn value((name, kind): &Column) -> String {
    format!("cast(r.{} as {})", quote::name(name), kind.engine())
}

contract::opaque!(RuntimeTables);
