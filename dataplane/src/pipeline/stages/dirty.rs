//! Stage 11. "Dirty tracking and write-ahead log."
//!
//! A write leaves a row for each table it changed, in the same transaction; then it is committed,
//! and only then is anybody told; answers that were kept from these tables are stale from then on. Inside a client's own transaction the commit is the client's.
//! Where the rows that it put there are from is written down with the table, in this transaction too (`origin`).

use std::sync::atomic::Ordering;

use super::execute::{Ran, UnmaskedRows};
use super::snapshot::Lease;
use super::tables;
use super::tables::StatementInfo;
use crate::pipeline::journal::Done;
use crate::pipeline::{Pipeline, Query, Result, once};

pub(in crate::pipeline) async fn track(pipeline: &Pipeline, query: &Query, ran: Ran) -> Result<UnmaskedRows> {
    let Ran { rows, lease, snapshot, done } = ran;
    if !rows.about.writes {
        return Ok(rows); // its session ends with its rows
    }
    let mut lease = lease;
    let written = match marked(query, &mut lease, &rows.about).await {
        Ok(()) => once::keep(query, lease.session()?, &rows, pipeline.clock.now()).await,
        failed => failed,
    };
    if let Err(error) = written {
        lease.failed();
        return Err(error.of_load());
    }
    if let Some(away) = rows.about.away.clone()
        && let Err(error) = lease.renamed_away(away)
    {
        lease.failed();
        return Err(error);
    }
    query.committing.store(true, Ordering::Release);
    let at_micros = pipeline.clock.now().timestamp_micros();
    let changes: Vec<_> = rows
        .about
        .written
        .iter()
        .filter(|(table, _)| !tables::is_temporary(table)) // nobody else ever reads it
        .map(|(table, operation)| engine::Change {
            query_id: query.ask.query_id.to_string(),
            table: rows.about.branch.as_ref().map_or_else(|| table.clone(), |branch| branch.names(table)),
            operation: operation.as_str().to_owned(),
            rows: rows.changed.unwrap_or(0),
            snapshot: snapshot.to_string(),
            at_micros,
        })
        .collect();
    let touched: Vec<_> =
        rows.about.written.iter().map(|(table, _)| table).chain(&rows.about.tables).cloned().collect();
    let (answers, of_own) = (pipeline.remembered.answers.clone(), touched.clone());
    // told at its end, if the caller has left by then too
    let tracked = lease.commit_own(&changes, move || answers.wrote(&of_own)).await;
    if let (Ok(()), Some(sql)) = (&tracked, &done) {
        lease.did(Done::new(sql, query, &rows, &changes));
    }
    // Also when it failed: nobody may know whether it was committed.
    lease.wrote(&pipeline.remembered.answers, touched);
    match tracked {
        Ok(()) => Ok(rows),
        Err(error) => {
            lease.failed();
            Err(error.of_load())
        }
    }
}

/// The tables are closed before anybody can see what is in them now.
async fn marked(query: &Query, lease: &mut Lease, about: &StatementInfo) -> Result<()> {
    for mark in &about.marks {
        let statement = engine::Statement { sql: mark.sql.clone(), params: Vec::new(), writes: true };
        let ran = lease.session()?.run(statement, query.deadline, &query.ask.cancel).await;
        ran.map_err(|error| query.fault(error))?;
        lease.defined();
    }
    for sql in &about.history {
        let statement = engine::Statement { sql: sql.clone(), params: Vec::new(), writes: true };
        let ran = lease.session()?.run(statement, query.deadline, &query.ask.cancel).await;
        ran.map_err(|error| query.fault(error))?;
    }
    Ok(())
}
