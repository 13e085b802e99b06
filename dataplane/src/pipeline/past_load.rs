//! The earlier COPY INTO that VALIDATE asks for: looked for before names are bound, among the loads of whoever asks.

use std::sync::Arc;

use contract::{Caller, Role};
use futures::future::BoxFuture;
use sql::{LoadJob, PastLoad};

use super::{Pipeline, Query, Result};
use crate::Error;
use crate::storage::load_history::KeptLoad;
use crate::storage::stage_files::user_stage;

/// The names of a session, and the earlier load that its statement asks for.
pub(super) fn found<'a>(
    (pipeline, query): (&'a Pipeline, &'a Query),
    caller: &'a Caller,
    statement: &'a sql::Statement,
    mut names: sql::SessionNames,
) -> BoxFuture<'a, Result<sql::SessionNames>> {
    Box::pin(async move {
        let Some(job) = statement.load_job() else { return Ok(names) };
        if query.branch.is_some() {
            return Err(Error::Unsupported { what: "VALIDATE on a branch, which has no loads,".to_owned() });
        }
        let found = query.in_time(Box::pin(looked_for(pipeline, query, job))).await?;
        let is_own = |kept: &KeptLoad| names.user_stage.as_ref() == Some(&kept.asked_by);
        let may_see = |kept: &KeptLoad| is_own(kept) || matches!(caller.role, Role::Owner | Role::Admin);
        let kept = found.filter(may_see).ok_or_else(unknown)?;
        names.past_load = Some(Arc::new(kept.load));
        Ok(names)
    })
}

/// The load, whoever asked it; one that has not ended well too, where it is the session's last.
async fn looked_for(pipeline: &Pipeline, query: &Query, job: &LoadJob) -> Result<Option<KeptLoad>> {
    let last = match job {
        LoadJob::Query(query_id) => return kept(pipeline, query, query_id).await,
        LoadJob::Last => &query.ask.names.last_load,
    };
    if !last.is_kept() {
        let message = "'_last' is of a session over the PostgreSQL wire: say the query id of the COPY INTO";
        return Err(invalid(message));
    }
    let begun =
        last.get().ok_or_else(|| invalid("this session has loaded nothing: say the query id of a COPY INTO"))?;
    let found = kept(pipeline, query, &begun.kept.query_id).await?;
    // its first fault was its error, and there are no others to tell
    let failed = || Some(begun.kept).filter(|_| begun.aborts);
    Ok(found.or_else(failed))
}

/// The load as it was written down, which the client's transaction may have done.
async fn kept(pipeline: &Pipeline, query: &Query, query_id: &str) -> Result<Option<KeptLoad>> {
    let now = pipeline.clock.now();
    if let Some(mut transaction) = query.transaction().await?
        && let Some(session) = transaction.open_session()
    {
        return KeptLoad::of(session, query.deadline, query_id, now).await;
    }
    let mut session = pipeline.engine()?.session().await?;
    KeptLoad::of(&mut session, query.deadline, query_id, now).await
}

fn unknown() -> Error {
    invalid(
        "no such COPY INTO is kept: it was not yours, ended by an error, or is older than 64 days, or its table was \
         emptied, replaced or dropped since: load the files again, or look at them with VALIDATION_MODE",
    )
}

fn invalid(message: &str) -> Error {
    Error::InvalidParams { field: "JOB_ID", message: message.to_owned() }
}

/// What is kept of a load that was asked so.
pub(super) fn kept_load(query: &Query, caller: Option<&Caller>, rows: &sql::StagedRows, table: &str) -> KeptLoad {
    let asked_by = caller.and_then(user_stage).unwrap_or_default();
    let (table, stage_id, said) = (table.to_lowercase(), rows.stage_id.clone(), rows.said.clone());
    let load = PastLoad { table, stage_id, said, files: Vec::new() };
    KeptLoad { query_id: query.ask.query_id.to_string(), asked_by, load }
}
