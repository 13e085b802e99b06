//! The last step of a statement, which most have alone: its transaction begins with it then, in one message.
//!
//! Such a transaction may have seen other tables than those the statement was judged by. Then its rows and changes are
//! dropped, and the statement runs in one that has not, or is judged again.

use engine::Outcome;

use super::{is_lost, start_again, tells_of_data};
use crate::Error;
use crate::pipeline::stages::snapshot::Lease;
use crate::pipeline::stages::transpile::{Native, bound};
use crate::pipeline::{Pipeline, Query, Result};
use crate::request::trail::Trail;

/// Runs it, with those before it in one transaction.
pub(super) async fn run(
    pipeline: &Pipeline,
    query: &Query,
    native: &Native,
    sql: &sql::EngineSql,
    lease: &mut Lease,
    t: &Trail,
) -> Result<Outcome> {
    let statement = || {
        let params = bound(&sql.binds, &query.ask.params)?;
        Ok::<_, Error>(engine::Statement { sql: sql.sql.clone(), params, writes: native.about.writes })
    };
    if lease.is_unbegun() {
        let ran = if native.about.writes {
            begun_by(pipeline, query, native, statement()?, lease).await
        } else {
            alone(pipeline, query, native, statement()?, lease).await.map(|rows| rows.map(Outcome::Rows))
        };
        let is_current = native.about.judged_by()?.is_current();
        match ran {
            Ok(Some(outcome)) if is_current => return Ok(outcome),
            Err(error) if is_current || is_lost(&error) => return Err(error),
            Ok(Some(Outcome::Rows(rows))) => rows.finish().await,
            Ok(Some(Outcome::Changed { .. }) | None) | Err(_) => {}
        }
        Box::pin(start_again(native, lease, t)).await?;
    }
    let is_looked_at = !sql.before.is_empty() || native.about.takes_in();
    if !is_looked_at && !lease.is_client() {
        look(pipeline, query, native, lease).await?;
    }
    lease.session()?.run(statement()?, query.deadline, &query.ask.cancel).await.map_err(|error| query.fault(error))
}

/// Runs a write with which its transaction begins; nothing where the engine's parser was not sure of its text.
///
/// The second look at an INSERT is in the same message, where it is due. That at another write was before (stage 9).
async fn begun_by(
    pipeline: &Pipeline,
    query: &Query,
    native: &Native,
    statement: engine::Statement,
    lease: &mut Lease,
) -> Result<Option<Outcome>> {
    let (checked, key) = (&pipeline.remembered.checked, native.checked_key());
    let tables = (!checked.holds(key)).then_some(native.sql.tables.as_slice());
    let ran = lease.session()?.begin_by(statement, tables, query.deadline, &query.ask.cancel).await;
    match ran {
        Ok(None) => Ok(None),
        Ok(Some(outcome)) => {
            if tables.is_some() {
                checked.add(key);
            }
            lease.begins();
            Ok(Some(outcome))
        }
        Err(error) if tables.is_some() && tells_of_data(query, error.kind) => {
            // The look by itself binds the text as well: its error comes first.
            look(pipeline, query, native, lease).await?;
            Err(query.fault(error))
        }
        Err(error) => Err(query.fault(error)),
    }
}

/// Runs a read with its transaction, and the second look where that is due; nothing where it was not sure of the text.
async fn alone(
    pipeline: &Pipeline,
    query: &Query,
    native: &Native,
    statement: engine::Statement,
    lease: &mut Lease,
) -> Result<Option<engine::Rows>> {
    let (checked, key) = (&pipeline.remembered.checked, native.checked_key());
    let tables = (!checked.holds(key)).then_some(native.sql.tables.as_slice());
    let ran = lease.session()?.query(statement, tables, query.deadline, &query.ask.cancel).await;
    match ran {
        Ok(rows) => {
            if tables.is_some() && rows.is_some() {
                checked.add(key);
            }
            Ok(rows)
        }
        Err(error) if tables.is_some() && tells_of_data(query, error.kind) => {
            // The look by itself binds the text as well: its error comes first.
            look(pipeline, query, native, lease).await?;
            Err(query.fault(error))
        }
        Err(error) => Err(query.fault(error)),
    }
}

/// The second look by itself, unless the text has passed it before.
async fn look(pipeline: &Pipeline, query: &Query, native: &Native, lease: &mut Lease) -> Result<()> {
    let looked = pipeline.remembered.checked.agrees(pipeline, query, native, lease).await;
    if looked.is_err() {
        lease.refuses();
    }
    looked
}
