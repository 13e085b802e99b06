//! `POST …/tables/{name}/load`: a file that comes as the body, and the table that is made or added to from it.
//!
//! The bytes go to a file of the engine's, and one statement reads its rows: it walks the whole pipeline, so a load
//! writes nothing that an INSERT might not. All of it is written, or nothing.

mod arrow_rows;
mod columns;
pub(super) mod incoming;
mod lines;
mod target;

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::response::Response;
use contract::load::{LoadFormat, LoadMode, LoadQuery, Loaded, ROWS_SHOWN, WITHIN_SECS};
use contract::policy::abac::Origin;
use contract::wire::{Forwarded, TIMEOUT_MS_MAX};
use contract::{EnvId, Heal, QueryId, RequestId};
use engine::{FileFormat, SpoolFile};
use futures::StreamExt;
use telemetry::Place;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::operations::{self, RunningLoad, RunningLoads};
use super::{RestContext, forwarded};
use crate::pipeline::OPEN_FILE;
use crate::pipeline::transaction::ClientTransaction;
use crate::protocols::request_id;
use crate::{Ask, Bounds, Error, Pipeline};
use columns::{DeclaredTypes, WrittenColumns};
use incoming::FileFacts;
use target::LoadTarget;

pub(super) async fn load(
    State(context): State<RestContext>,
    Extension(running): Extension<RunningLoads>,
    Path((env_id, name)): Path<(EnvId, String)>,
    request: Request,
) -> Response {
    let _serving = context.ending.serving(); // until it is answered
    let (parts, body) = request.into_parts();
    let request_id = request_id::of(&context.pipeline, &parts.headers);
    let late = || Error::InvalidParams { field: "body", message: "a load takes at most an hour".to_owned() };
    let loaded = async {
        let load = FileLoad::of(&context, (&env_id, &name), &parts, &request_id).await?;
        let _give_up = load.cancel.clone().drop_guard();
        let named = operations::named(&parts.headers)?;
        let _shown = named.map(|operation_id| running.entered((load.caller.who.clone(), operation_id), &load.running));
        let done = tokio::time::timeout(Duration::from_secs(WITHIN_SECS), Box::pin(load.run(&parts, body))).await;
        done.unwrap_or_else(|_| Err(late()))
    };
    let loaded = loaded.await;
    super::json_response(&context, &request_id, loaded)
}

/// One load, of whom the control plane names.
struct FileLoad {
    pipeline: Arc<Pipeline>,
    caller: Forwarded,
    request_id: RequestId,
    place: Place,
    cancel: CancellationToken,
    running: Arc<RunningLoad>,
    target: LoadTarget,
    query: LoadQuery,
    types: DeclaredTypes,
}

impl FileLoad {
    async fn of(
        context: &RestContext,
        (env_id, name): (&EnvId, &str),
        parts: &Parts,
        request_id: &RequestId,
    ) -> Result<Self, Error> {
        context.serves(env_id)?;
        let caller = forwarded(&parts.headers)?;
        let (query, target) = (options(&parts.uri)?, LoadTarget::of(name)?);
        let types = DeclaredTypes::of(query.types.as_deref(), query.mode)?;
        context.announced(&caller.who).await;
        let cancel = context.ending.closed.child_token();
        Ok(Self {
            pipeline: Arc::clone(&context.pipeline),
            caller,
            request_id: request_id.clone(),
            place: Place::of_headers(&parts.headers),
            running: Arc::new(RunningLoad::of(query.format, cancel.clone())),
            cancel,
            target,
            query,
            types,
        })
    }

    fn ask(&self, sql: String, transaction: Option<&Arc<Mutex<ClientTransaction>>>) -> Ask {
        let about = (&self.request_id, &self.place, &self.cancel);
        Ask { sql, transaction: transaction.cloned(), ..of_a_file(&self.pipeline, &self.caller, about) }
    }

    /// Who may not load is told so before the file comes, and so is who adds to a table that is not there.
    async fn run(&self, parts: &Parts, body: Body) -> Result<Loaded, Error> {
        let mut file = self.pipeline.file(&self.ask(String::new(), None)).await?;
        let there = match self.query.mode {
            LoadMode::Append => Some(self.there().await?),
            LoadMode::Create | LoadMode::Replace => None,
        };
        let facts = incoming::taken_in(&mut file, parts, body, (self.query.format, &self.running)).await?;
        let columns = Box::pin(self.columns(&file, &facts, there.as_deref())).await?;
        let rows = file.query(self.format(), columns.read())?;
        let mut loaded = Loaded {
            table: self.target.path(),
            columns: columns.written(),
            bytes: facts.bytes,
            rows_loaded: None,
            rows: None,
        };
        if self.query.dry_run {
            let ask = self.ask(String::new(), None);
            loaded.rows = Some(Box::pin(self.pipeline.first_rows(&ask, &rows, ROWS_SHOWN)).await?);
        } else {
            let statement = self.statement(&columns, facts.bytes);
            loaded.rows_loaded = Some(Box::pin(self.write(&rows, statement, &facts)).await?);
        }
        Ok(loaded)
    }

    fn format(&self) -> FileFormat {
        match self.query.format {
            LoadFormat::Csv => FileFormat::Csv,
            LoadFormat::Jsonl => FileFormat::JsonLines,
            // Arrow is written again as Parquet on its way in.
            LoadFormat::Parquet | LoadFormat::Arrow => FileFormat::Parquet,
        }
    }

    /// The columns of the table, as the pipeline shows them to the caller.
    async fn there(&self) -> Result<Vec<crate::Column>, Error> {
        let ask = self.ask(format!("select * from {}", self.target.quoted()), None);
        Ok(Box::pin(self.pipeline.describe(&ask)).await?.columns)
    }

    async fn columns(
        &self,
        file: &SpoolFile,
        facts: &FileFacts,
        there: Option<&[crate::Column]>,
    ) -> Result<WrittenColumns, Error> {
        let header = facts.header.as_deref().unwrap_or_default();
        let texts = facts.header.as_deref().map(WrittenColumns::texts).transpose()?;
        // Of what is added the table says the types.
        let told = if let Some(texts) = texts.filter(|_| there.is_some()) {
            texts
        } else {
            let ask = self.ask(String::new(), None);
            Box::pin(self.pipeline.file_columns(&ask, file, self.format(), header)).await?
        };
        match there {
            Some(there) => WrittenColumns::added(told, there, &self.target.path()),
            None => WrittenColumns::made(told, &self.types),
        }
    }

    /// What writes the table. Its first words name the file, for the audit log.
    fn statement(&self, columns: &WrittenColumns, bytes: u64) -> String {
        let (table, from) = (self.target.quoted(), columns.names_in_file());
        let file = target::file_name(self.query.file.as_deref());
        let statement = match self.query.mode {
            LoadMode::Create => format!("create table {table} as select {from} from {OPEN_FILE}"),
            LoadMode::Replace => format!("create or replace table {table} as select {from} from {OPEN_FILE}"),
            LoadMode::Append => {
                format!("insert into {table} ({}) select {from} from {OPEN_FILE}", columns.names_in_table())
            }
        };
        format!("/* load of {file}, {bytes} bytes */ {statement}")
    }

    /// Writes all of it, or nothing; how many rows.
    async fn write(&self, rows: &str, statement: String, facts: &FileFacts) -> Result<u64, Error> {
        let transaction = self.pipeline.begin(self.caller.who.clone());
        let written = async {
            Box::pin(self.pipeline.open_file(&self.ask(String::new(), Some(&transaction)), rows)).await?;
            let mut answer = Box::pin(self.pipeline.run(self.ask(statement, Some(&transaction)))).await?;
            while let Some(batch) = answer.rows.next().await {
                batch?;
            }
            let written = answer.changed.unwrap_or_default();
            drop(answer);
            facts.holds(written)?;
            Ok::<u64, Error>(written)
        };
        let written = written.await.map_err(Error::of_file);
        let mut transaction = transaction.lock().await;
        match written {
            Ok(written) => {
                transaction.commit().await?;
                Ok(written)
            }
            Err(error) => {
                // The engine's side ends now, and with it what it holds.
                let _ = transaction.rollback().await;
                Err(error)
            }
        }
    }
}

/// What is asked about a file in the name of whoever sends or fetches it.
pub(super) fn of_a_file(
    pipeline: &Pipeline,
    caller: &Forwarded,
    (request_id, place, cancel): (&RequestId, &Place, &CancellationToken),
) -> Ask {
    let query_id = QueryId::fresh(pipeline.clock.now(), &pipeline.entropy);
    Ask {
        peer: caller.peer,
        by_dashboard: false, // it is paid for
        timeout: Some(Duration::from_millis(TIMEOUT_MS_MAX)),
        cancel: cancel.clone(),
        // It runs as it is written here, or fails.
        bounds: Bounds { heal: Some(Heal::Off), ..Bounds::default() },
        place: place.clone(),
        ..Ask::of(query_id, request_id.clone(), caller.who.clone(), caller.origin.unwrap_or(Origin::Rest))
    }
}

fn options(uri: &Uri) -> Result<LoadQuery, Error> {
    let read = Query::<LoadQuery>::try_from_uri(uri);
    read.map(|Query(query)| query).map_err(|rejection| Error::InvalidParams {
        field: "query",
        message: format!(
            "{}: mode is create, append or replace, format is csv, jsonl, parquet or arrow",
            rejection.body_text()
        ),
    })
}
