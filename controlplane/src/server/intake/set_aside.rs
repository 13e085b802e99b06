//! Entries that the database refuses for what is in them, though they are within their bounds: the least of such an
//! entry is stored in its place, and marked; it is said in the log and counted, for somebody to look.
//!
//! "A query that was asked is metered and audited": who asked, when, how it ended, its rows and its credits stay. What
//! is set aside are texts and lists. That it was they is proven by the database, which takes the rest. A database that
//! is away or full sets nothing aside: the entry comes again.

use contract::EnvId;
use contract::report::{Body, BranchMerged, Entry, Finished, Started, TriggerError, TriggerFired};
use platform::{App, Error, Result};
use serde_json::json;

use super::store_all;

/// Stands where texts were.
pub const SET_ASIDE: &str = "[set aside]";

/// Classes of SQLSTATE: the data, a constraint that it breaks, a limit of the program that it exceeds.
const OF_CONTENT: [&str; 3] = ["22", "23", "54"];

/// May another entry in the place of this one be stored?
pub fn is_of_content(error: &Error) -> bool {
    match error {
        Error::Invalid { .. } => true, // a text that PostgreSQL cannot hold
        Error::Internal(source) => match source.downcast_ref::<sqlx::Error>() {
            Some(sqlx::Error::Database(refusal)) => {
                refusal.code().is_some_and(|code| OF_CONTENT.iter().any(|class| code.starts_with(class)))
            }
            Some(sqlx::Error::Encode(_)) | None => true, // it has no form to be stored in
            Some(_) => false,
        },
        _ => false,
    }
}

/// Each in a transaction of its own, so that the rest goes on.
pub async fn store_each(app: &App, env_id: &EnvId, log: &str, entries: &[Entry]) -> Result<u64> {
    let mut stored = 0;
    for entry in entries {
        stored = match store_all(app, env_id, log, std::slice::from_ref(entry)).await {
            Err(refused) if is_of_content(&refused) => {
                let least = Entry { sequence: entry.sequence, body: least(&entry.body) };
                let stored = store_all(app, env_id, log, &[least]).await?;
                app.metrics().set_aside();
                let (sequence, error) = (entry.sequence, refused.with_sources());
                tracing::error!(env.id = %env_id, log, sequence, error, "what an audit entry says was set aside: the database does not hold it");
                stored
            }
            stored => stored?,
        };
    }
    Ok(stored)
}

/// What the data plane itself has written of it: no text of a caller, and no list.
fn least(body: &Body) -> Body {
    match body {
        Body::Started(start) => Body::Started(Box::new(least_of_start(start))),
        Body::Finished(finish) => Body::Finished(Box::new(Finished {
            error_code: None,
            execution_time_ms: 0.0,
            transpilation_time_ms: 0.0,
            stages: Vec::new(),
            ..finish.as_ref().clone()
        })),
        Body::BranchMerged(merged) => Body::BranchMerged(Box::new(BranchMerged {
            branch_name: SET_ASIDE.to_owned(),
            agent_id: SET_ASIDE.to_owned(),
            tables_merged: Vec::new(),
            ..merged.as_ref().clone()
        })),
        Body::TriggerFired(fired) => Body::TriggerFired(Box::new(TriggerFired {
            trigger_name: SET_ASIDE.to_owned(),
            content: SET_ASIDE.to_owned(),
            agent_id: SET_ASIDE.to_owned(),
            metadata: json!({}),
            similarity_score: 0.0,
            ..fired.as_ref().clone()
        })),
        Body::TriggerError(failed) => {
            Body::TriggerError(Box::new(TriggerError { trigger_name: SET_ASIDE.to_owned(), ..failed.as_ref().clone() }))
        }
    }
}

fn least_of_start(start: &Started) -> Started {
    Started {
        agent: None,
        sql: SET_ASIDE.to_owned(),
        sql_original: SET_ASIDE.to_owned(),
        sql_healed: None,
        sql_transpiled: None,
        sql_with_rls: None,
        tables_accessed: Vec::new(),
        columns_masked: Vec::new(),
        policy_verdicts: Vec::new(),
        abac_evaluation: None,
        snapshot: None,
        ..start.clone()
    }
}
