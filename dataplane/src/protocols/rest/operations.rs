//! `…/operations/{operation_id}`: loads under way, how many rows of them have come, and their end before time.
//!
//! A load that is cancelled before its commit is undone whole; one that commits at that moment is answered as loaded.
//! Each is found by whoever sends it alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use contract::load::{LoadFormat, LoadProgress};
use contract::wire::{Who, header};
use contract::{EnvId, OperationId};
use tokio_util::sync::CancellationToken;

use super::{RestContext, forwarded};
use crate::Error;
use crate::protocols::request_id;

/// Who sends a load, and how they call it.
type LoadKey = (Who, OperationId);

/// The named loads of this process.
#[derive(Debug, Clone, Default)]
pub struct RunningLoads(Arc<Mutex<HashMap<LoadKey, Arc<RunningLoad>>>>);

/// One load, as others see it and may end it.
#[derive(Debug)]
pub struct RunningLoad {
    /// Of a format whose rows are counted as they come.
    rows: Option<AtomicU64>,
    cancel: CancellationToken,
}

/// A place among the loads, until it is dropped.
#[derive(Debug)]
pub struct RunningLoadEntry {
    loads: RunningLoads,
    key: LoadKey,
}

impl RunningLoad {
    pub fn of(format: LoadFormat, cancel: CancellationToken) -> Self {
        let rows = match format {
            LoadFormat::Csv | LoadFormat::Jsonl | LoadFormat::Arrow => Some(AtomicU64::new(0)),
            LoadFormat::Parquet => None,
        };
        Self { rows, cancel }
    }

    /// So many rows have come.
    pub fn has(&self, rows: u64) {
        if let Some(told) = &self.rows {
            told.store(rows, Ordering::Relaxed);
        }
    }

    fn progress(&self) -> LoadProgress {
        LoadProgress { rows: self.rows.as_ref().map(|rows| rows.load(Ordering::Relaxed)) }
    }
}

impl RunningLoads {
    /// Shows the load until the entry is dropped.
    pub fn entered(&self, key: LoadKey, load: &Arc<RunningLoad>) -> RunningLoadEntry {
        self.locked().insert(key.clone(), Arc::clone(load));
        RunningLoadEntry { loads: self.clone(), key }
    }

    fn found(&self, key: &LoadKey) -> Option<Arc<RunningLoad>> {
        self.locked().get(key).cloned()
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<LoadKey, Arc<RunningLoad>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningLoadEntry {
    fn drop(&mut self) {
        self.loads.locked().remove(&self.key);
    }
}

/// The operation that a request names; the control plane has looked at the id before.
pub fn named(headers: &HeaderMap) -> Result<Option<OperationId>, Error> {
    let Some(given) = headers.get(header::OPERATION) else { return Ok(None) };
    let accepted = given.to_str().ok().and_then(OperationId::accepted);
    let message = "an operation is named by 1 to 64 letters, digits, dots, hyphens and underscores";
    accepted.map(Some).ok_or_else(|| Error::InvalidParams { field: header::OPERATION, message: message.to_owned() })
}

pub(super) async fn progress(
    State(context): State<RestContext>,
    Extension(running): Extension<RunningLoads>,
    Path(of): Path<(EnvId, OperationId)>,
    headers: HeaderMap,
) -> Response {
    let load = asked(&context, &running, of, &headers);
    answered(&context, &headers, load)
}

/// Ends a load before time; the load's own request answers what became of it.
pub(super) async fn cancel(
    State(context): State<RestContext>,
    Extension(running): Extension<RunningLoads>,
    Path(of): Path<(EnvId, OperationId)>,
    headers: HeaderMap,
) -> Response {
    let load = asked(&context, &running, of, &headers).inspect(|load| load.cancel.cancel());
    answered(&context, &headers, load)
}

fn asked(
    context: &RestContext,
    running: &RunningLoads,
    (env_id, operation_id): (EnvId, OperationId),
    headers: &HeaderMap,
) -> Result<Arc<RunningLoad>, Error> {
    context.serves(&env_id)?;
    let caller = forwarded(headers)?;
    running.found(&(caller.who, operation_id)).ok_or(Error::HandleNotFound { what: "operation" })
}

fn answered(context: &RestContext, headers: &HeaderMap, load: Result<Arc<RunningLoad>, Error>) -> Response {
    let told = load.map(|load| load.progress());
    super::json_response(context, &request_id::of(&context.pipeline, headers), told)
}
