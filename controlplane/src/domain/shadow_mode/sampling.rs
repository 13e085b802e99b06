//! Which queries of an environment a session takes: SELECTs that have ended well, each with the
//! session's probability, which a hash of its id decides: no replica needs to remember, and an entry
//! that is reported twice is sampled once or never.
//!
//! Not taken is what could not be run again as it was: what writes, what had parameters, and a text
//! that held a key. Replays are not sampled themselves, nor
//! is what the dashboard asks for its pages.

use contract::policy::abac::Operation;
use contract::report::{Finished, Outcome, Started};
use contract::wire::{Forwarded, Who};
use contract::{EnvId, QueryId, SessionId, ShadowSessionId};
use platform::redaction::REDACTED;
use platform::{App, Result};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::replaying::REQUEST_ID;
use super::store::{self, Sampled};
use crate::domain::audit;

/// Takes its share of the queries that have just been stored as ended, in the same transaction.
pub async fn sample(app: &App, tx: &mut PgConnection, env_id: &EnvId, ended: &[QueryId]) -> Result<()> {
    let Some(sampling) = store::sampling(&mut *tx, env_id, app.now()).await? else {
        return Ok(());
    };
    let chosen: Vec<QueryId> =
        ended.iter().filter(|id| is_chosen(&sampling.session_id, id, sampling.rate)).cloned().collect();
    if chosen.is_empty() || sampling.waiting >= store::WAITING_MAX {
        return Ok(());
    }
    for (started, finished) in audit::ended(&mut *tx, env_id, &chosen).await? {
        if let Some(sampled) = sampled(&sampling.session_id, &started, &finished) {
            store::insert_sampled(app, &mut *tx, &sampling, &sampled).await?;
        }
    }
    Ok(())
}

/// The first eight bytes of a hash, as a number from 0 to 1, against the rate.
#[expect(clippy::cast_precision_loss, reason = "a probability needs no more digits")]
fn is_chosen(session_id: &ShadowSessionId, query_id: &QueryId, rate: f64) -> bool {
    let digest = Sha256::digest(format!("{session_id}\n{query_id}"));
    let drawn = digest.iter().take(8).fold(0_u64, |drawn, byte| (drawn << 8) | u64::from(*byte));
    (drawn as f64 / u64::MAX as f64) < rate || rate >= 1.0
}

fn sampled(session_id: &ShadowSessionId, started: &Started, finished: &Finished) -> Option<Sampled> {
    let who = match (&started.key_id, &started.user_id) {
        (Some(key_id), _) => Who::Key { key_id: key_id.clone() },
        (None, Some(user_id)) => {
            let session_id = SessionId::from(format!("shadow {session_id}"));
            Who::Session { user_id: user_id.clone(), session_id }
        }
        (None, None) => return None,
    };
    let runs_again = finished.outcome == Outcome::Completed
        && started.operation == Some(Operation::Select)
        && !started.by_dashboard
        && !started.request_id.as_str().starts_with(REQUEST_ID)
        && !has_parameter(&started.sql_original)
        && !started.sql_original.contains(REDACTED);
    runs_again.then(|| Sampled {
        caller: Forwarded::of(who, started.source_ip),
        agent_id: started.agent.as_ref().and_then(|agent| agent.agent_id.clone()),
        framework: started.agent.as_ref().and_then(|agent| agent.framework.clone()),
        sql: started.sql_original.clone(),
        shown: started.sql.clone(),
        source_ms: finished.execution_time_ms,
        row_count: i64::try_from(finished.rows_returned).unwrap_or(i64::MAX),
    })
}

/// `$1` anywhere, be it in a text: rather one query less than one that cannot run.
fn has_parameter(sql: &str) -> bool {
    sql.split('$').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_share_that_is_taken() {
        let session = ShadowSessionId::from("s");
        for (rate, from, to) in [(1.0, 1_000, 1_000), (0.5, 440, 560), (0.01, 1, 25)] {
            let taken = (0..1_000).filter(|n| is_chosen(&session, &QueryId::from(n.to_string()), rate)).count();
            assert!((from..=to).contains(&taken), "{rate}: {taken}");
        }
    }

    #[test]
    fn a_parameter_is_seen() {
        for (sql, has) in [("select $1", true), ("select '$'", false), ("select $$a$$", false), ("select 'US$5'", true)]
        {
            assert_eq!(has_parameter(sql), has, "{sql}");
        }
    }
}
