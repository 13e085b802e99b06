//! `Idempotency-Key`: a statement that changes something is run once for a key, however often it is sent.
//!
//! The key is written in the statement's own transaction, so it is there if the change is, after a crash too. What is
//! kept, for a day, is how many rows it changed; never a row, nor a text. A key belongs to one caller and one path, and
//! stands for one body. A statement that only reads is run each time.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arrow::datatypes::{Schema, SchemaRef};
use chrono::Duration;
use contract::wire::Who;
use contract::{Governance, Timestamp};
use engine::{Session, Statement, Value};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::stages::execute::UnmaskedRows;
use super::stages::{policy, quota, tables};
use super::{Pipeline, Query, Result};
use crate::request::answer::Replayed;
use crate::request::trail::Trail;
use crate::storage::system_tables::{ReadTarget, SystemTransaction, at, records};
use crate::{Answer, Ask, Error};

const KEPT: Duration = Duration::hours(24);

const EARLIER: &str = "select to_json({request: request, query_id: query_id, rows: rows, returned: returned}) \
                       from raw._svc_once.answers where claim = $1 and \"at\" > $2 order by \"at\" desc limit 1";
const KEEP: &str = "insert into raw._svc_once.answers values ($1, $2, $3, $4, $5, $6)";
const ENDED: &str = "select to_json({ended: count(*)}) from raw._svc_once.answers where \"at\" <= $1";
const FORGET: &str = "delete from raw._svc_once.answers where \"at\" <= $1";

/// The key that a statement was sent with, and what it was sent with it.
#[derive(Debug, Clone)]
pub struct Once {
    path: &'static str,
    key: String,
    request: String,
}

impl Once {
    /// `path` tells requests apart that one key may stand for.
    pub fn new(path: &'static str, key: String, request: &[u8]) -> Self {
        Self { path, key, request: hex::encode(Sha256::digest(request)) }
    }

    /// Whose key it is.
    fn claim(&self, who: &Who) -> String {
        let identity = match who {
            Who::Key { key_id } => ["key", key_id.as_str()],
            Who::Session { user_id, .. } => ["user", user_id.as_str()],
        };
        let mut claim = Sha256::new();
        for part in identity.into_iter().chain([self.path, &self.key]) {
            claim.update(part.len().to_le_bytes());
            claim.update(part);
        }
        hex::encode(claim.finalize())
    }
}

/// Keys whose statements run now: one process has the data.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims(Arc<Mutex<HashSet<String>>>);

/// The right to run the statement of a key, until it is dropped.
#[derive(Debug)]
pub(super) struct Claimed {
    claims: Claims,
    claim: String,
}

impl Claims {
    fn claim(&self, claim: &str) -> Result<Claimed> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.insert(claim.to_owned()) {
            return Err(Error::KeyInProgress);
        }
        Ok(Claimed { claims: self.clone(), claim: claim.to_owned() })
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.claims.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.claim);
    }
}

/// The decision for a statement with an idempotency key.
pub(super) enum KeyedRun {
    /// It is run; nobody else runs it meanwhile.
    Run(Option<Claimed>),
    /// It was run before.
    Told(Box<UnmaskedRows>),
}

#[derive(Deserialize)]
struct Earlier {
    request: String,
    query_id: String,
    rows: u64,
    returned: bool,
}

#[derive(Deserialize)]
struct EndedCount {
    ended: u64,
}

impl Pipeline {
    /// Runs one statement, but for one that changes something and was run with this key before.
    pub async fn run_once(self: &Arc<Self>, ask: Ask, once: Option<Once>) -> Result<Answer> {
        let changes = |ask: &Ask| sql::parse_with(&ask.sql, &ask.names.variables).is_ok_and(|one| one.is_write());
        let once = once.filter(|_| changes(&ask));
        self.run_with(ask, once).await
    }

    /// Forgets the keys of a day ago.
    pub(crate) async fn forget_keys(&self, place: ReadTarget<'_>) -> Result<()> {
        let until = || vec![at(self.clock.now() - KEPT)];
        let ended: Vec<EndedCount> = records(place, (ENDED.to_owned(), until())).await?;
        if ended.iter().all(|one| one.ended == 0) {
            return Ok(());
        }
        let mut transaction = SystemTransaction::begin(place).await?;
        transaction.run((FORGET.to_owned(), until())).await?;
        transaction.commit().await
    }
}

/// Before the gates, which may refuse what was done already: the table that it drops is gone.
pub(super) async fn turn(pipeline: &Pipeline, query: &Query, rules: &Governance, t: &Trail) -> Result<KeyedRun> {
    let Some(once) = &query.once else { return Ok(KeyedRun::Run(None)) };
    let claim = once.claim(&query.ask.who);
    let claimed = pipeline.remembered.claims.claim(&claim)?;
    let place = ReadTarget { engine: &pipeline.engine()?, deadline: query.deadline };
    let since = at(pipeline.clock.now() - KEPT);
    let earlier: Vec<Earlier> = records(place, (EARLIER.to_owned(), vec![Value::Text(claim), since])).await?;
    let Some(earlier) = earlier.into_iter().next() else { return Ok(KeyedRun::Run(Some(claimed))) };
    if earlier.request != once.request {
        return Err(Error::KeyMismatch);
    }
    t.facts().governance_version = rules.version;
    let caller = policy::caller(pipeline, query, rules)?.caller;
    caller.may_query(true).map_err(Error::Lacks)?;
    t.facts().caller = Some(caller);
    let about = tables::about(&query.ask.sql, &query.ask.names.variables, t)?;
    let rows_withheld = if earlier.returned { ", and the rows that it returned are not kept" } else { "" };
    Ok(KeyedRun::Told(Box::new(UnmaskedRows {
        schema: SchemaRef::new(Schema::empty()),
        columns: Vec::new(),
        first: VecDeque::new(),
        rest: None,
        hides_rows: false,
        fails_anyhow: false,
        changed: Some(earlier.rows),
        about,
        reservation: quota::nothing(),
        masked_outputs: Vec::new(),
        jsonb_outputs: Vec::new(),
        masked_columns: Vec::new(),
        warnings: vec![format!(
            "it was run as query {} with this `Idempotency-Key`, and not again{rows_withheld}",
            earlier.query_id
        )],
        began: Instant::now(),
        place: None,
        replayed: Some(Replayed { rows_withheld: earlier.returned }),
    })))
}

/// Writes the key in the statement's transaction.
pub(super) async fn keep(query: &Query, session: &mut Session, rows: &UnmaskedRows, now: Timestamp) -> Result<()> {
    let Some(once) = &query.once else { return Ok(()) };
    let changed = i64::try_from(rows.changed.unwrap_or(0)).unwrap_or(i64::MAX);
    let params = vec![
        Value::Text(once.claim(&query.ask.who)),
        Value::Text(once.request.clone()),
        Value::Text(query.ask.query_id.to_string()),
        Value::BigInt(changed),
        Value::Boolean(!rows.columns.is_empty()),
        at(now),
    ];
    let statement = Statement { sql: KEEP.to_owned(), params, writes: true };
    let kept = session.run(statement, query.deadline, &query.ask.cancel).await;
    kept.map(drop).map_err(|error| query.fault(error))
}
