//! Stage 10. "Execution: runs with a timeout."
//!
//! In the engine's own process, until its end, the deadline or the caller's cancel. Rows stream; the
//! first batch is awaited here, so that a statement that fails at once fails with a code and not in
//! the middle of an answer. One whose process ends under it, because of somebody else's statement, runs once more:
//! none of it has left, and what it wrote is not committed. In a client's transaction, which is lost, it does not.
//!
//! An error about a row that a filter hides would tell what is in it. So a statement over a filtered
//! table that could raise one is held back: when it fails while nothing has left, it runs again over
//! the visible rows alone, kept for it before, and that outcome counts. Where the engine's plan decides
//! whether it fails, it runs so from the start: the plan follows the sizes of tables, hidden rows too. And where it
//! can fail in several ways, of which one of the engine's threads meets the first, all of them are one error.

mod last_step;

use std::collections::VecDeque;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use contract::policy::abac::Operation;
use engine::{Kind, Outcome, Snapshot};
use sql::ExecutionMode;

use super::audit;
use super::quota::Reservation;
use super::snapshot::{Lease, Pinned, step_agrees};
use super::tables::StatementInfo;
use super::transpile::{Native, bound};
use crate::Error;
use crate::encode::batch_bytes::batch_bytes;
use crate::pipeline::catalog_snapshot::paths;
use crate::pipeline::result_cache::{CachedAnswer, Ticket};
use crate::pipeline::{Pipeline, Query, Result, runtime};
use crate::request::answer::Replayed;
use crate::request::trail::Trail;

/// What a held-back answer may keep in memory.
const HELD_BYTES_MAX: usize = 1024 * 1024;

/// The statement has run, or runs; nothing of it has left.
pub(in crate::pipeline) struct Ran {
    pub rows: UnmaskedRows,
    pub lease: Lease,
    pub snapshot: Snapshot,
    /// What changed something in a client's transaction, which may have to do it again.
    pub done: Option<sql::EngineSql>,
}

/// Rows on their way, not yet asserted to be masked.
pub(in crate::pipeline) struct UnmaskedRows {
    pub schema: SchemaRef,
    pub columns: Vec<engine::Column>,
    /// Read already, not sent.
    pub first: VecDeque<RecordBatch>,
    /// What the engine still makes.
    pub rest: Option<engine::Rows>,
    /// Whether a filter may hide rows of the tables that these are made of.
    pub hides_rows: bool,
    /// Whether an error among them must not say by which expression.
    pub fails_anyhow: bool,
    /// Rows a write changed.
    pub changed: Option<u64>,
    pub about: StatementInfo,
    pub reservation: Reservation,
    pub masked_outputs: Vec<usize>,
    /// Places of the columns that are declared as JSONB.
    pub jsonb_outputs: Vec<usize>,
    pub masked_columns: Vec<String>,
    pub warnings: Vec<String>,
    pub began: Instant,
    /// Where they are kept once they are delivered.
    pub place: Option<Ticket>,
    /// Of a statement that was run before.
    pub replayed: Option<Replayed>,
}

impl UnmaskedRows {
    fn of(native: Native, head: AnswerHead) -> Self {
        let Native { sql, care, about, reservation, fails_anyhow, masked_columns, .. } = native;
        let AnswerHead { schema, columns, first, rest } = head;
        Self {
            schema,
            columns,
            first,
            rest,
            hides_rows: care != ExecutionMode::Direct,
            fails_anyhow,
            changed: None,
            about,
            reservation,
            masked_outputs: sql.masked_outputs,
            jsonb_outputs: sql.jsonb_outputs,
            masked_columns,
            warnings: sql.warnings,
            began: Instant::now(),
            place: None,
            replayed: None,
        }
    }

    pub fn kept_at(mut self, place: Option<Ticket>) -> Self {
        self.place = place;
        if let Some(place) = &mut self.place {
            place.headed(&self.schema, &self.columns);
        }
        self
    }

    pub fn warned(mut self, warning: String) -> Self {
        self.warnings.insert(0, warning);
        self
    }
}

impl std::fmt::Debug for UnmaskedRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("columns", &self.columns.len()).finish_non_exhaustive()
    }
}

pub(in crate::pipeline) async fn run(pipeline: &Pipeline, query: &Query, pinned: Pinned, t: &Trail) -> Result<Ran> {
    let began = Instant::now();
    let Pinned { native, mut lease, snapshot } = pinned;
    if native.about.writes {
        audit::started(pipeline, query, t)?; // in the log before it is in the database
    }
    let done = match native.care {
        _ if !native.about.writes || !lease.has_savepoints() => None,
        ExecutionMode::Direct => Some(native.sql.clone()),
        ExecutionMode::Leakproof | ExecutionMode::Speculative | ExecutionMode::Materialized => {
            Some(native.sql.over_visible()?)
        }
    };
    let mut execution = Execution { pipeline, query, native: &native, lease: &mut lease, t };
    let ran = match execution.with_care().await {
        Err(error) if is_lost(&error) && !execution.lease.is_client() && !native.about.takes_in() => {
            // Another caller's statement took the process down; this one had sent nothing, and committed nothing.
            execution.start_again().await?;
            execution.with_care().await
        }
        other => other,
    };
    let (head, changed) = match ran {
        Ok(ran) => ran,
        Err(error) => {
            lease.failed();
            let is_any = native.fails_anyhow && !lease.has_refused();
            return Err(if is_any { error.of_any_expression() } else { error });
        }
    };
    if let (Some(changed), Some(limit)) = (changed, native.about.rows_max)
        && changed > limit
    {
        // Nothing is committed yet.
        lease.failed();
        return Err(Error::GrantedRows { limit });
    }
    if matches!(native.about.operation, Operation::Create | Operation::Alter | Operation::Drop) {
        lease.defined();
    }
    let rows = UnmaskedRows { changed, began, ..UnmaskedRows::of(native, head) };
    Ok(Ran { rows, lease, snapshot, done })
}

/// An answer that was kept, as if it had just been made. It costs nothing.
pub(in crate::pipeline) fn kept(native: Native, kept: &CachedAnswer, t: &Trail) -> UnmaskedRows {
    let mut facts = t.facts();
    facts.cache_hit = true;
    facts.base = 0;
    drop(facts);
    let head = AnswerHead {
        schema: SchemaRef::clone(&kept.schema),
        columns: kept.columns.clone(),
        first: kept.batches.iter().cloned().collect(),
        rest: None,
    };
    UnmaskedRows { hides_rows: false, fails_anyhow: false, ..UnmaskedRows::of(native, head) }
}

fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Engine(error) if error.is_lost())
}

/// A statement that is run, in the transaction that it is run in.
struct Execution<'a> {
    pipeline: &'a Pipeline,
    query: &'a Query,
    native: &'a Native,
    lease: &'a mut Lease,
    t: &'a Trail,
}

impl Execution<'_> {
    /// Rows from elsewhere are in its transaction.
    fn may_repeat(&self) -> bool {
        !self.native.about.writes && !self.lease.is_client() && !self.native.about.takes_in()
    }

    /// A new transaction on the same session, after its statement failed.
    async fn start_again(&mut self) -> Result<()> {
        let native = self.native;
        let session = self.lease.session()?;
        session.rollback().await?;
        let snapshot = if runtime::is_read(&native.sql.tables) {
            session.begin().await? // nobody defines anything there
        } else {
            native.about.judged_by()?.begin(session, paths(&native.about, &native.sql)).await?
        };
        self.lease.begins();
        self.t.facts().snapshot = Some(snapshot.to_string());
        Ok(())
    }

    /// Runs it so that no error tells of a hidden row.
    async fn with_care(&mut self) -> Result<(AnswerHead, Option<u64>)> {
        let (query, native) = (self.query, self.native);
        match native.care {
            ExecutionMode::Direct => return self.once(&native.sql).await,
            ExecutionMode::Leakproof if self.may_repeat() => match self.once(&native.sql).await {
                Err(Error::Engine(error)) if tells_of_data(query, error.kind) && !self.lease.has_refused() => {
                    self.start_again().await?;
                    return self.once(&native.sql.over_visible()?).await;
                }
                done => return done,
            },
            ExecutionMode::Speculative if self.may_repeat() => {}
            ExecutionMode::Leakproof | ExecutionMode::Speculative | ExecutionMode::Materialized => {
                return self.once(&native.sql.over_visible()?).await;
            }
        }
        let held = match self.once(&native.sql).await {
            Ok((head, changed)) => hold(query, head).await.map(|head| head.map(|head| (head, changed))),
            Err(error) => Err(error),
        };
        match held {
            Ok(Some(ran)) => return Ok(ran),
            Ok(None) => {} // more than may be held: from the start, over the visible rows
            Err(Error::Engine(error)) if tells_of_data(query, error.kind) && !self.lease.has_refused() => {}
            Err(error) => return Err(error),
        }
        self.start_again().await?;
        self.once(&native.sql.over_visible()?).await
    }

    async fn once(&mut self, sql: &sql::EngineSql) -> Result<(AnswerHead, Option<u64>)> {
        let (query, native) = (self.query, self.native);
        let mut prepared = 0;
        if !sql.before.is_empty() && self.lease.is_unbegun() {
            Box::pin(self.start_again()).await?; // its steps see one state
        }
        for step in &sql.before {
            step_agrees(query, self.lease.session()?, &step.sql, &step.tables).await?;
            if step.keeps {
                keep(query, self.lease.session()?, step).await?;
                continue;
            }
            let params = bound(&step.binds, &query.ask.params)?;
            let statement = engine::Statement { sql: step.sql.clone(), params, writes: true };
            let outcome = self.lease.session()?.run(statement, query.deadline, &query.ask.cancel).await;
            if let Outcome::Changed { rows, .. } = outcome.map_err(|error| query.fault(error))? {
                // those that INSERT OVERWRITE takes away are counted for nobody, but they are changed
                if let Some(limit) = native.about.rows_max.filter(|limit| rows > *limit) {
                    return Err(Error::GrantedRows { limit });
                }
                prepared += if step.counts { rows } else { 0 };
            }
        }
        if !sql.before.is_empty() {
            step_agrees(query, self.lease.session()?, &sql.sql, &sql.tables).await?;
        }
        match Box::pin(self.last_step(sql)).await? {
            Outcome::Rows(mut rows) => {
                self.t.facts().engine_plan = rows.plan;
                let first = rows.next().await.transpose().map_err(|error| query.fault(error))?;
                let (schema, columns) = (rows.schema.clone(), std::mem::take(&mut rows.columns));
                Ok((AnswerHead { schema, columns, first: first.into_iter().collect(), rest: Some(rows) }, None))
            }
            Outcome::Changed { rows, returning: Some(held), plan } => {
                self.t.facts().engine_plan = plan;
                let engine::Held { schema, columns, batches } = held;
                Ok((AnswerHead { schema, columns, first: batches.into(), rest: None }, Some(rows + prepared)))
            }
            Outcome::Changed { rows, returning: None, plan } => {
                self.t.facts().engine_plan = plan;
                let schema = SchemaRef::new(Schema::empty());
                Ok((
                    AnswerHead { schema, columns: Vec::new(), first: VecDeque::new(), rest: None },
                    Some(rows + prepared),
                ))
            }
        }
    }
}

/// Whether a row may have caused it, which may be a hidden one: whatever the engine has words for can be.
fn tells_of_data(query: &Query, kind: Kind) -> bool {
    use Kind as K;
    match kind {
        // Of the engine's threads the one that was stopped, because another failed, may speak first.
        K::Interrupted => !query.ask.cancel.is_cancelled(),
        K::Timeout | K::Crashed | K::Starved | K::Fatal | K::Unavailable | K::TransactionAborted | K::WriteConflict => {
            false
        }
        _ => true,
    }
}

/// The beginning of an answer.
struct AnswerHead {
    schema: SchemaRef,
    columns: Vec<engine::Column>,
    first: VecDeque<RecordBatch>,
    rest: Option<engine::Rows>,
}

/// Keeps rows for the steps behind.
pub(in crate::pipeline) async fn keep(query: &Query, session: &mut engine::Session, step: &sql::Before) -> Result<()> {
    let params = bound(&step.binds, &query.ask.params)?;
    let statement = engine::Statement { sql: step.sql.clone(), params, writes: false };
    session.keep(statement, query.deadline, &query.ask.cancel).await.map_err(|error| query.fault(error))
}

/// Reads on until the end, or until it is more than may be held: then nothing.
async fn hold(query: &Query, mut head: AnswerHead) -> Result<Option<AnswerHead>> {
    let Some(mut rest) = head.rest.take() else { return Ok(Some(head)) };
    let mut bytes: usize = head.first.iter().map(batch_bytes).sum();
    while bytes <= HELD_BYTES_MAX {
        match rest.next().await {
            None => return Ok(Some(head)),
            Some(Ok(batch)) => {
                bytes = bytes.saturating_add(batch_bytes(&batch));
                head.first.push_back(batch);
            }
            Some(Err(error)) => return Err(query.fault(error)),
        }
    }
    rest.finish().await;
    Ok(None)
}
