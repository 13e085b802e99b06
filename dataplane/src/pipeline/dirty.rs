//! Stage 11. "Dirty tracking and write-ahead log."
//!
//! A write leaves a row for each table it changed, in the same transaction; then it is committed,
//! and only then is anybody told; answers that were kept from these tables are stale from then on. Inside a client's own transaction the commit is the client's.

use std::sync::atomic::Ordering;

use super::execute::{Ran, Rows};
use super::{Pipeline, Query, Result, tables};

pub(super) async fn track(pipeline: &Pipeline, query: &Query, ran: Ran) -> Result<Rows> {
    let Ran { rows, lease, snapshot } = ran;
    if !rows.about.writes {
        return Ok(rows); // its session ends with its rows
    }
    query.committing.store(true, Ordering::Release);
    let mut lease = lease;
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
    let tracked = match lease.session()?.track(&changes).await {
        // told at its end, if the caller has left by then too
        Ok(()) => lease.commit_own(move || answers.wrote(&of_own)).await,
        Err(error) => Err(error.into()),
    };
    // Also when it failed: nobody may know whether it was committed.
    lease.wrote(&pipeline.remembered.answers, touched);
    match tracked {
        Ok(()) => Ok(rows),
        Err(error) => {
            lease.failed();
            Err(error)
        }
    }
}
