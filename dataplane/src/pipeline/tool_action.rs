//! Actions of a tool for a caller (remembers, recalls, judges): no statement, but the same gates.
//!
//! It enters by the semaphore, is checked against the policies under the name of its table, costs
//! what a statement of its kind costs, and is metered and audited. The stages of a statement's text
//! are not walked, because there is none; its entry says `CALL` and the name of the tool.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use contract::policy::abac::Operation;
use contract::{Caller, Governance, QueryId, Timestamp};

use super::authorization::policy_request::{PolicyRequest, RequestOrigin};
use super::authorization::provenance;
use super::stages::audit::{self, Closing};
use super::stages::govern::Granted;
use super::stages::mask::RowsMax;
use super::stages::policy::{Agent, Asker};
use super::stages::quota::Reservation;
use super::stages::tables::StatementInfo;
use super::stages::{Gates, semaphore};
use super::{Pipeline, Query, Result, startup_gate};
use crate::request::trail::{Stage, Trail};
use crate::storage::system_tables::{Author, ReadTarget};
use crate::{Ask, Command, Error};

/// The action of a tool, on whose table.
#[derive(Debug)]
pub struct ToolAction {
    /// Its text is what the log says of it: the name of the tool action, never its content.
    pub ask: Ask,
    /// As policies name them; none for what touches no data.
    pub tables: Vec<String>,
    pub operation: Operation,
    /// Tables that it reads to do so: then all of them are judged as read too, as those of one statement are.
    pub reads: Vec<String>,
}

/// The caller, as far as the work must know.
#[derive(Debug, Clone)]
pub struct CallerContext {
    pub caller: Caller,
    pub agent: Agent,
    pub rules: Arc<Governance>,
    /// Schema, table and column of what the agent's grants deny in these tables.
    pub denied_columns: Vec<(String, String, String)>,
    /// Rows that the agent's grant lets it read or change.
    pub rows_max: Option<u64>,
    pub engine: engine::Engine,
    pub query_id: QueryId,
    pub deadline: Instant,
    pub(super) request_origin: RequestOrigin,
    pub(super) now: Timestamp,
}

impl CallerContext {
    /// May the caller read a copy of a table that was of this origin?
    pub fn admits_copy(&self, path: &str, origin: Option<&str>) -> bool {
        provenance::admits_copy(&self.rules, self.caller.role, path, origin)
    }

    /// May the caller know of it?
    pub fn may_see_copy(&self, path: &str, origin: Option<&str>) -> bool {
        self.asked().may_see_copy(path, origin)
    }

    /// May the caller read this table of our own?
    pub fn may_read(&self, table: &str) -> bool {
        let (tables, operations) = ([table.to_owned()], [Operation::Select]);
        self.asked().judge((&tables, &tables), &operations, &Trail::default()).is_ok()
    }

    /// Asks what they may read.
    fn asked(&self) -> PolicyRequest<'_> {
        let Self { rules, caller, agent, request_origin, now, .. } = self;
        let (request_origin, when) = (*request_origin, (*now).into());
        PolicyRequest { rules, caller, agent, request_origin, writes: false, when, stages: None }
    }
}

impl<'a> From<&'a CallerContext> for Author<'a> {
    fn from(standing: &'a CallerContext) -> Self {
        Self { place: standing.into(), query_id: &standing.query_id }
    }
}

impl<'a> From<&'a CallerContext> for ReadTarget<'a> {
    fn from(standing: &'a CallerContext) -> Self {
        Self { engine: &standing.engine, deadline: standing.deadline }
    }
}

impl Pipeline {
    /// Does the work, if the caller may have it done. The work says how many records it concerned.
    pub async fn act<T, F>(
        self: &Arc<Self>,
        tool_action: ToolAction,
        work: impl FnOnce(CallerContext) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<(T, u64)>>,
    {
        let ToolAction { ask, tables, operation, reads } = tool_action;
        let operations = operations(operation, &reads);
        let about = about(tables, operation, reads);
        let closing = Closing::open(self, startup_gate::enter(self, ask).await?);
        let began = Instant::now();
        let done = Box::pin(self.acted(&closing, (&about, &operations), work)).await;
        match done {
            Ok((value, rows, reservation)) => {
                closing.done(reservation, rows, began.elapsed());
                Ok(value)
            }
            Err(error) => Err(closing.refused(error)),
        }
    }

    async fn acted<T, F>(
        &self,
        closing: &Closing,
        (about, operations): (&StatementInfo, &[Operation]),
        work: impl FnOnce(CallerContext) -> F,
    ) -> Result<(T, u64, Reservation)>
    where
        F: Future<Output = Result<(T, u64)>>,
    {
        let (query, t) = (closing.query(), closing.trail());
        t.facts().redacted = Some(query.ask.sql.clone());
        t.facts().operation = Some(about.operation);
        t.facts().tables.clone_from(&about.tables);
        let slot = t.at(Stage::Semaphore, semaphore::enter(self, query)).await?;
        let rules = self.rules()?;
        let gates = Gates { pipeline: self, query, rules: &rules, t };
        let Granted { who, engine, denied_columns, rows_max, reservation } =
            Box::pin(gates.admit(about, operations)).await?;
        audit::started(self, query, t)?;
        let (query_id, deadline) = (query.ask.query_id.clone(), query.deadline);
        let Asker { caller, agent, .. } = who;
        let (request_origin, now) = ((&query.ask).into(), self.clock.now());
        let standing = CallerContext {
            caller,
            agent,
            rules,
            denied_columns,
            rows_max,
            engine,
            query_id,
            deadline,
            request_origin,
            now,
        };
        let (value, rows) = t.at(Stage::Execute, in_time(self, query, closing.place().around(work(standing)))).await?;
        drop(slot);
        if let Some(limit) = rows_max.filter(|_| !about.tables.is_empty() && about.operation == Operation::Select) {
            RowsMax::Grant(limit).admits(rows)?;
        }
        Ok((value, rows, reservation))
    }
}

/// Until its end, the deadline, or the caller's cancel.
async fn in_time<T>(pipeline: &Pipeline, query: &Query, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::select! {
        done = tokio::time::timeout_at(query.deadline.into(), work) => match done {
            Ok(done) => done.map_err(|error| match error {
                Error::Engine(fault) => query.fault(fault),
                other => other,
            }),
            Err(_) => Err(Error::Timeout(query.timeout)),
        },
        () = query.ask.cancel.cancelled() => Err(Error::Cancelled),
        () = pipeline.closed.cancelled() => Err(Error::ShuttingDown),
    }
}

/// All that is judged of it.
fn operations(operation: Operation, reads: &[String]) -> Vec<Operation> {
    let mut all = match operation {
        // It may be each of them.
        Operation::Merge => vec![Operation::Merge, Operation::Insert, Operation::Update, Operation::Delete],
        other => vec![other],
    };
    if !reads.is_empty() && operation != Operation::Select {
        all.push(Operation::Select);
    }
    all
}

fn about(mut tables: Vec<String>, operation: Operation, reads: Vec<String>) -> StatementInfo {
    let writes = operation != Operation::Select;
    let written = if writes { tables.iter().map(|table| (table.clone(), operation)).collect() } else { Vec::new() };
    let command = Command::Other("CALL");
    for read in reads {
        if !tables.contains(&read) {
            tables.push(read);
        }
    }
    StatementInfo { written, ..StatementInfo::new(command, operation, writes, tables) }
}
