//! Stage 15. "Audit: immutable log entry with personal data redacted."
//!
//! Two entries a query. `started` is in the local log before the first byte leaves, or nothing
//! leaves; `finished` follows when the rows end, fail, are refused or are given up. [`Closing`] is
//! made before the first stage and writes what is due when it goes away, however it goes away.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use contract::report::{Agent, Finished, MicroCredits, Outcome, Started};
use contract::wire::Who;
use contract::{Governance, Role, Timestamp};
use futures::{Stream, StreamExt};
use telemetry::{Kind, Place, Span};

use super::answers::Ticket;
use super::mask::{Masked, RowsMax};
use super::quota::Reservation;
use super::semaphore::Slot;
use super::{Pipeline, Query, Result, meter, told};
use crate::answer::Totals;
use crate::trail::{Stage, Trail, millis};
use crate::triggers::Asked;
use crate::{Answer, Error, Rows, metrics};

/// What is due when a query ends.
pub(super) struct Closing {
    pipeline: Arc<Pipeline>,
    query: Query,
    trail: Trail,
    span: Span,
    closed: bool,
}

impl Closing {
    pub fn open(pipeline: &Arc<Pipeline>, query: Query) -> Self {
        let span = pipeline.tracer.begin("query", Kind::Server, &query.ask.asked_at());
        Self { pipeline: Arc::clone(pipeline), query, trail: Trail::new(), span, closed: false }
    }

    pub fn query(&self) -> &Query {
        &self.query
    }

    pub fn trail(&self) -> &Trail {
        &self.trail
    }

    /// Where in a trace its work is done.
    pub fn place(&self) -> Place {
        self.span.place().clone()
    }

    /// Hands the rows out, with the end of the query attached to them.
    pub fn deliver(self, masked: Masked) -> Result<Answer> {
        if let Err(error) = started(&self.pipeline, &self.query, &self.trail) {
            return Err(self.refused(error));
        }
        let Masked { rows, slot, columns, base_columns: columns_masked, rows_max } = masked;
        let totals = Arc::new(OnceLock::new());
        let answer = |stream: Delivery, totals| Answer {
            query_id: stream.query_id(),
            columns,
            schema: rows.schema,
            command: rows.about.command,
            changed: rows.changed,
            columns_masked,
            warnings: rows.warnings,
            cache_hit: stream.cache_hit(),
            transpilation_ms: stream.transpilation_ms(),
            rows: Rows::new(stream, totals),
        };
        let delivery = Delivery {
            first: rows.first,
            rest: rows.rest.map(|rest| rest.into_stream().boxed()),
            changed: rows.changed,
            delivered: 0,
            limit: rows_max.filter(|_| rows.changed.is_none()),
            wanted: self.query.ask.bounds.rows,
            truncated: false,
            began: rows.began,
            place: rows.place,
            end: Some(End { closing: self, reservation: rows.reservation, totals: Arc::clone(&totals), slot }),
        };
        Ok(answer(delivery, totals))
    }

    /// Meters and writes down what was done for the caller, and how many records it concerned.
    pub fn done(mut self, reservation: Reservation, rows: u64, took: Duration) {
        let cost = self.trail.facts().base;
        let charged = self.trail.now(Stage::Meter, || reservation.settle(cost));
        self.close(Outcome::Completed, None, rows, charged, took);
    }

    /// What an agent has asked is there for the triggers to judge.
    fn noticed(&self) {
        let facts = self.trail.facts();
        let agent_id = facts.agent.as_ref().and_then(|agent| agent.agent_id.clone());
        let (Some(agent_id), Some(sql)) = (agent_id, facts.redacted.as_deref()) else { return };
        let (query_id, at) = (self.query.ask.query_id.clone(), self.pipeline.clock.now());
        self.pipeline.triggers.asked.put(Asked { query_id, agent_id, sql: capped(sql, SQL_KEPT_BYTES_MAX), at });
    }

    /// Writes down that it was refused or failed before anything was sent.
    pub fn refused(mut self, error: Error) -> Error {
        self.trail.now(Stage::Meter, || ()); // refused: nothing is charged
        self.close(error.outcome(), Some(&error), 0, 0, Duration::ZERO);
        error
    }

    fn close(&mut self, outcome: Outcome, error: Option<&Error>, rows: u64, cost: MicroCredits, took: Duration) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        if let Some(error) = error {
            log(&self.query, error);
        }
        let pipeline = &self.pipeline;
        let mut finished = self.trail.now(Stage::Audit, || Finished {
            query_id: self.query.ask.query_id.clone(),
            outcome,
            error_code: error.map(|error| error.code().stable().to_owned()),
            rows_returned: rows,
            micro_credits: cost,
            cache_hit: self.trail.facts().cache_hit,
            execution_time_ms: millis(took),
            transpilation_time_ms: self.trail.spent_ms(Stage::Transpile),
            stages: Vec::new(),
            at: pipeline.clock.now(),
        });
        finished.stages = self.trail.stages();
        told::ended(&mut self.span, &self.query, &self.trail, rows, error);
        pipeline.metrics.ended(metrics::Query {
            door: self.query.ask.origin.as_str(),
            code: error.map(|error| error.code().stable()),
            rows,
            charged: cost,
            execution: took,
            trail: &self.trail,
        });
        let written = if self.query.started.load(Ordering::Acquire) {
            self.query.books.log.finished(finished)
        } else {
            match pipeline.rules() {
                Ok(rules) => self
                    .query
                    .books
                    .log
                    .refused(entry(pipeline, &self.query, &self.trail, &rules, pipeline.clock.now()), finished),
                Err(_) => Ok(()), // no rules, no organization to write it down for
            }
        };
        if let Err(error) = written {
            tracing::error!(query_id = %self.query.ask.query_id, %error, "the end of a query could not be recorded");
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        if !self.closed {
            // Whoever asked has gone before there was an answer.
            self.trail.now(Stage::Meter, || ());
            self.close(Outcome::Cancelled, Some(&Error::Cancelled), 0, 0, Duration::ZERO);
        }
    }
}

/// Puts `started` in the log, once a query.
pub(super) fn started(pipeline: &Pipeline, query: &Query, t: &Trail) -> Result<()> {
    if query.started.load(Ordering::Acquire) {
        return Ok(());
    }
    let rules = pipeline.rules()?;
    let entry = entry(pipeline, query, t, &rules, pipeline.clock.now());
    query.books.log.started(entry).map_err(|error| {
        tracing::error!(query_id = %query.ask.query_id, %error, "a query could not be recorded");
        Error::Unrecorded
    })?;
    query.started.store(true, Ordering::Release);
    Ok(())
}

fn entry(_: &Pipeline, query: &Query, t: &Trail, rules: &Governance, at: Timestamp) -> Started {
    let facts = t.facts().clone();
    let ask = &query.ask;
    let (user_id, key_id) = match &ask.who {
        Who::Session { user_id, .. } => (Some(user_id.clone()), None),
        Who::Key { key_id } => (None, Some(key_id.clone())),
    };
    let declared = (ask.agent.agent_id.is_some() || ask.agent.framework.is_some())
        .then(|| Agent { agent_id: ask.agent.agent_id.clone(), framework: ask.agent.framework.clone() });
    Started {
        query_id: ask.query_id.clone(),
        request_id: ask.request_id.clone(),
        org_id: rules.organization.org_id.clone(),
        user_id: facts.caller.as_ref().and_then(|caller| caller.user_id.clone()).or(user_id),
        key_id,
        // Who does not stand any more has no role; the entry names the least there is.
        role: facts.caller.as_ref().map_or(Role::ServiceAccount, |caller| caller.role),
        source_ip: ask.peer,
        origin: ask.origin,
        agent: facts.agent.or(declared),
        grant_id: facts.grant_id,
        sql: facts.redacted.unwrap_or_else(|| sql::digest(&ask.sql)),
        sql_original: capped(&ask.sql, SQL_KEPT_BYTES_MAX),
        sql_transpiled: facts.transpiled,
        sql_with_rls: facts.with_rls,
        operation: facts.operation,
        tables_accessed: facts.tables,
        columns_masked: facts.columns_masked,
        policy_verdicts: facts.verdicts,
        abac_evaluation: facts.abac,
        governance_version: facts.governance_version,
        snapshot: facts.snapshot,
        estimated_micro_credits: facts.estimate,
        at,
    }
}

/// What one entry may keep of a statement.
const SQL_KEPT_BYTES_MAX: usize = 64 * 1024;

/// No more of a text than these bytes.
pub(super) fn capped(text: &str, bytes_max: usize) -> String {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

/// Once, where the answer is made: what is ours to mend as an error, the rest for the curious.
fn log(query: &Query, error: &Error) {
    let (query_id, code) = (&query.ask.query_id, error.code());
    match error {
        Error::Unverified { why } => tracing::error!(%query_id, %code, why, "a statement could not be verified"),
        Error::Engine(fault) if code.http() >= 500 => {
            tracing::error!(%query_id, %code, kind = ?fault.kind, "the engine failed");
        }
        _ => tracing::info!(%query_id, %code, "the query did not run to its end"),
    }
}

/// The last batches of a query and what is due after them.
struct Delivery {
    first: VecDeque<RecordBatch>,
    rest: Option<futures::stream::BoxStream<'static, std::result::Result<RecordBatch, engine::Error>>>,
    changed: Option<u64>,
    delivered: u64,
    /// Rows that the organization's tier allows.
    limit: Option<RowsMax>,
    /// Rows that the caller wants, and whether there were more.
    wanted: Option<u64>,
    truncated: bool,
    began: Instant,
    place: Option<Ticket>,
    end: Option<End>,
}

struct End {
    closing: Closing,
    reservation: Reservation,
    totals: Arc<OnceLock<Totals>>,
    /// Held until the last row has left.
    slot: Slot,
}

impl Delivery {
    fn query_id(&self) -> contract::QueryId {
        self.end.as_ref().map_or_else(|| "".into(), |end| end.closing.query.ask.query_id.clone())
    }

    fn transpilation_ms(&self) -> f64 {
        self.end.as_ref().map_or(0.0, |end| end.closing.trail.spent_ms(Stage::Transpile))
    }

    fn cache_hit(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.closing.trail.facts().cache_hit)
    }

    fn counted(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let batch = self.cut(batch);
        self.delivered += u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
        if let Some(limit) = self.limit {
            limit.admits(self.delivered)?;
        }
        if let Some(place) = &mut self.place {
            place.add(&batch);
        }
        Ok(batch)
    }

    /// What is still wanted of it; the engine is let go where that is not all.
    fn cut(&mut self, batch: RecordBatch) -> RecordBatch {
        let Some(wanted) = self.wanted else { return batch };
        let left = usize::try_from(wanted.saturating_sub(self.delivered)).unwrap_or(usize::MAX);
        if batch.num_rows() <= left {
            return batch;
        }
        self.truncated = true;
        self.place = None;
        self.first.clear();
        self.rest = None;
        batch.slice(0, left)
    }

    /// Meters and audits, once; the engine's side is let go first.
    fn close(&mut self, outcome: Outcome, error: Option<&Error>) {
        let Some(End { mut closing, reservation, totals, slot: _slot }) = self.end.take() else { return };
        self.first.clear();
        self.rest = None;
        let took = self.began.elapsed();
        let rows = self.changed.unwrap_or(self.delivered);
        let charged = closing.trail.now(Stage::Meter, || {
            let base = closing.trail.facts().base;
            let is_kept = closing.trail.facts().cache_hit;
            reservation.settle(if is_kept { 0 } else { meter::cost(base, self.delivered) })
        });
        let _ = totals.set(Totals {
            row_count: rows,
            execution_time_ms: millis(took),
            micro_credits: charged,
            truncated: self.truncated,
        });
        if outcome == Outcome::Completed {
            closing.noticed();
        }
        closing.close(outcome, error, rows, charged, took);
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<RecordBatch>>> {
        self.close(error.outcome(), Some(&error));
        Poll::Ready(Some(Err(error)))
    }
}

impl Stream for Delivery {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.end.is_none() {
            return Poll::Ready(None);
        }
        let next = match (self.first.pop_front(), &mut self.rest) {
            (Some(batch), _) => Some(Ok(batch)),
            (None, Some(rest)) => match rest.poll_next_unpin(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(next) => next,
            },
            (None, None) => None,
        };
        match next {
            Some(Ok(batch)) => match self.counted(batch) {
                Ok(batch) => Poll::Ready(Some(Ok(batch))),
                Err(error) => self.fail(error),
            },
            Some(Err(error)) => {
                let error = match &self.end {
                    Some(end) => end.closing.query.fault(error),
                    None => error.into(),
                };
                self.fail(error)
            }
            None => {
                if let Some(place) = self.place.take() {
                    place.done();
                }
                self.close(Outcome::Completed, None);
                Poll::Ready(None)
            }
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.close(Outcome::Cancelled, None);
    }
}
