//! Stage 15. "Audit: immutable log entry with personal data redacted."
//!
//! Two entries a query. `started` is in the local log before the first byte leaves, or nothing
//! leaves; `finished` follows when the rows end, fail, are refused or are given up. [`Closing`] is
//! made before the first stage and writes what is due when it goes away, however it goes away.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use contract::policy::abac::Operation;
use contract::report::{Agent, Finished, MicroCredits, Outcome, Started};
use contract::wire::Who;
use contract::{Governance, Role, Timestamp};
use telemetry::{Kind, Place, Span};

use super::mask::Masked;
use super::meter;
use super::quota::Reservation;
use crate::governance::sessions::{refusal_in, standing_in};
use crate::pipeline::delivery::RowDelivery;
use crate::pipeline::observer::AgentStatement;
use crate::pipeline::{Pipeline, Query, Result, spans};
use crate::request::answer::WrittenFiles;
use crate::request::ask::Outlet;
use crate::request::trail::{Stage, Trail, millis};
use crate::{Answer, Error, Rows, metrics};

/// The duties at the end of a query.
pub(in crate::pipeline) struct Closing {
    pipeline: Arc<Pipeline>,
    query: Query,
    trail: Trail,
    span: Span,
    closed: bool,
}

impl Closing {
    pub fn open(pipeline: &Arc<Pipeline>, query: Query) -> Self {
        let span = pipeline.tracer.begin("query", Kind::Server, &query.ask.asked_at());
        Self { pipeline: Arc::clone(pipeline), query, trail: Trail::default(), span, closed: false }
    }

    pub fn query(&self) -> &Query {
        &self.query
    }

    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Whether who asked may still ask, by the rules of now.
    pub fn stands(&self) -> Result<()> {
        let rules = self.pipeline.rules()?;
        let Query { ask, .. } = &self.query;
        refusal_in(&rules, &ask.who, ask.peer, self.pipeline.clock.now()).map_or(Ok(()), Err)
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
        // of rows that go into files it is written down when they are whole, before the first is there
        if self.query.ask.bounds.outlet != Some(Outlet::Files)
            && let Err(error) = started(&self.pipeline, &self.query, &self.trail)
        {
            return Err(self.refused(error));
        }
        let Masked { mut rows, slot, columns, base_columns: columns_masked, rows_max } = masked;
        let account = Arc::default();
        let query_id = self.query.ask.query_id.clone();
        let cache_hit = self.trail.facts().cache_hit;
        let as_of = self.trail.facts().as_of.take();
        let transpilation_ms = self.trail.spent_ms(Stage::Transpile);
        let healed = self.trail.facts().healed.clone();
        let schema = healed.as_ref().map_or_else(|| Arc::clone(&rows.schema), |healed| healed.marked(&rows.schema));
        let (command, changed) = (rows.about.command, rows.changed);
        let warnings = self.query.ask.bounds.told(std::mem::take(&mut rows.warnings));
        Ok(Answer {
            query_id,
            columns,
            schema,
            command,
            changed,
            columns_masked,
            warnings,
            healed,
            cache_hit,
            as_of,
            replayed: rows.replayed,
            transpilation_ms,
            rows: Rows::new(RowDelivery::begin(self, rows, rows_max, slot, Arc::clone(&account)), account),
        })
    }

    /// Writes down what files the rows go into, before these are there, with the text that asked for it.
    pub fn wrote(&self, written: &WrittenFiles) -> Result<()> {
        let WrittenFiles { sql, stage, files } = written;
        let mut facts = self.trail.facts();
        let query = facts.redacted.take().unwrap_or_default();
        facts.redacted = Some(format!("COPY INTO {stage} FROM ({query}) ?"));
        facts.original = Some(sql.clone());
        facts.operation = Some(Operation::Insert);
        for table in sql::with_tables_of_stages(vec![stage.clone()]) {
            if !facts.tables.contains(&table) {
                facts.tables.push(table);
            }
        }
        let text = facts.transpiled.get_or_insert_default();
        for (path, bytes) in files {
            let _ = write!(text, "\n-- wrote {stage}/{path}, {bytes} bytes");
        }
        drop(facts);
        started(&self.pipeline, &self.query, &self.trail)
    }

    /// What it costs, with the rows that were delivered.
    pub fn due(&self, rows: u64) -> MicroCredits {
        let facts = self.trail.facts();
        let is_free = facts.cache_hit || self.query.ask.by_dashboard;
        if is_free { 0 } else { meter::cost(facts.base, rows) }
    }

    /// Meters and writes down what was done for the caller, and how many records it concerned.
    pub fn done(mut self, reservation: Reservation, rows: u64, took: Duration) {
        let cost = self.due(0);
        let charged = self.trail.now(Stage::Meter, || reservation.settle(cost));
        self.close(Outcome::Completed, None, rows, charged, took);
    }

    /// What an agent has asked is told to the observer.
    pub fn noticed(&self) {
        let facts = self.trail.facts();
        let agent_id = facts.agent.as_ref().and_then(|agent| agent.agent_id.clone());
        let (Some(agent_id), Some(sql)) = (agent_id, facts.redacted.as_deref()) else { return };
        let (query_id, at) = (self.query.ask.query_id.clone(), self.pipeline.clock.now());
        let sql = capped(sql, SQL_KEPT_BYTES_MAX);
        self.pipeline.observer.ended(AgentStatement { query_id, agent_id, sql, at });
    }

    /// Writes down that it was refused or failed before anything was sent.
    pub fn refused(mut self, error: Error) -> Error {
        self.trail.now(Stage::Meter, || ()); // refused: nothing is charged
        self.close(error.outcome(), Some(&error), 0, 0, Duration::ZERO);
        error
    }

    pub fn close(&mut self, outcome: Outcome, error: Option<&Error>, rows: u64, cost: MicroCredits, took: Duration) {
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
        spans::ended(&mut self.span, &self.query, &self.trail, rows, error);
        pipeline.metrics.ended(metrics::EndedQuery {
            origin: self.query.ask.origin.as_str(),
            code: error.map(|error| error.code().stable()),
            rows,
            charged: cost,
            execution: took,
            trail: &self.trail,
        });
        let written = if self.query.started.load(Ordering::Acquire) {
            self.query.ledger.log.finished(finished)
        } else {
            match pipeline.rules() {
                Ok(rules) => self
                    .query
                    .ledger
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
pub(in crate::pipeline) fn started(pipeline: &Pipeline, query: &Query, t: &Trail) -> Result<()> {
    if query.started.load(Ordering::Acquire) {
        return Ok(());
    }
    let rules = pipeline.rules()?;
    let entry = entry(pipeline, query, t, &rules, pipeline.clock.now());
    query.ledger.log.started(entry).map_err(|error| {
        tracing::error!(query_id = %query.ask.query_id, %error, "a query could not be recorded");
        Error::Unrecorded
    })?;
    query.started.store(true, Ordering::Release);
    Ok(())
}

fn entry(_: &Pipeline, query: &Query, t: &Trail, rules: &Governance, at: Timestamp) -> Started {
    let facts = t.facts();
    let ask = &query.ask;
    let original = capped(&sql::without_credentials(facts.original.as_deref().unwrap_or(&ask.sql)), SQL_KEPT_BYTES_MAX);
    // A statement that does not parse has come to no stage that asks who wants it.
    let looked_up = if facts.caller.is_none() { standing_in(rules, &ask.who, ask.peer, at).ok() } else { None };
    let caller = facts.caller.as_ref().or(looked_up.as_ref());
    let (user_id, key_id) = match &ask.who {
        Who::Session { user_id, .. } => (Some(user_id.clone()), None),
        Who::Key { key_id } => (None, Some(key_id.clone())),
    };
    let declared = (ask.agent.agent_id.is_some() || ask.agent.framework.is_some()).then(|| Agent {
        agent_id: ask.agent.agent_id.clone().map(String::from),
        framework: ask.agent.framework.clone().map(String::from),
    });
    Started {
        query_id: ask.query_id.clone(),
        request_id: ask.request_id.clone(),
        org_id: rules.organization.org_id.clone(),
        user_id: caller.and_then(|caller| caller.user_id.clone()).or(user_id),
        key_id,
        // Who does not stand any more has no role; the entry names the least there is.
        role: caller.map_or(Role::ServiceAccount, |caller| caller.role),
        source_ip: ask.peer,
        origin: ask.origin,
        by_dashboard: ask.by_dashboard,
        agent: facts.agent.clone().or(declared),
        grant_id: facts.grant_id.clone(),
        sql: facts.redacted.clone().unwrap_or_else(|| sql::digest(&ask.sql)),
        sql_original: original,
        sql_healed: facts.healed.as_ref().map(|healed| capped(&healed.sql, SQL_KEPT_BYTES_MAX)),
        sql_transpiled: facts.transpiled.clone(),
        sql_with_rls: facts.with_rls.clone(),
        operation: facts.operation,
        tables_accessed: facts.tables.clone(),
        columns_masked: facts.columns_masked.clone(),
        policy_verdicts: facts.verdicts.clone(),
        abac_evaluation: facts.abac.clone(),
        governance_version: facts.governance_version,
        snapshot: facts.snapshot.clone(),
        estimated_micro_credits: facts.estimate,
        at,
    }
}

/// What one entry may keep of a statement.
const SQL_KEPT_BYTES_MAX: usize = 64 * 1024;

/// No more of a text than these bytes.
pub(in crate::pipeline) fn capped(text: &str, bytes_max: usize) -> String {
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
