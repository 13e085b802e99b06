//! The worker that runs queries a second time: beside each other, within the concurrency of each
//! replay, apart from the jobs, which run one after another.
//!
//! A query is claimed under a lock that ends, so it is replayed at least once though who claimed it
//! dies. What only could not be run now is tried again a few times.

use std::sync::Arc;
use std::time::Duration as Wait;

use axum::body::to_bytes;
use chrono::Duration;
use contract::policy::abac::Origin;
use contract::wire::{Forwarded, QueryBody};
use contract::{Code, EnvId, ReplayId, RequestId, Timestamp};
use platform::{App, Error, Result, execute};
use sqlx::types::Json;
use tokio::sync::Semaphore;

use super::comparing::{self, Compared, ExpectedAnswer};
use super::states::ReplayVerdict;
use crate::domain::query;

/// Replays are known by their request id, and not sampled.
pub const REQUEST_ID: &str = "shadow-";
/// Replays of this process at once.
const AT_ONCE: usize = 16;
/// Replays whose queries are looked for at once.
const LANES: i64 = 16;
const POLL: Wait = Wait::from_secs(1);
/// Longer than a query may take.
const LOCK: Duration = Duration::minutes(6);
/// What could not be run is tried again after this, and this often.
const AGAIN: Duration = Duration::seconds(30);
const ATTEMPTS: i32 = 4;
/// The longest answer that is compared.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Replays until shutdown.
pub async fn work(app: App) {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    while !app.shutdown().is_cancelled() {
        let claimed = match claim(&app, room.available_permits()).await {
            Ok(claimed) => claimed,
            Err(error) => {
                tracing::warn!(error = %error, "shadow queries cannot be read");
                Vec::new()
            }
        };
        let idle = claimed.is_empty();
        for query in claimed {
            // As many were claimed as there was room for, and nobody else takes any.
            let Ok(place) = Arc::clone(&room).try_acquire_owned() else { break };
            let app = app.clone();
            app.clone().tasks().spawn(async move {
                replay(&app, query).await;
                drop(place);
            });
        }
        if idle {
            app.shutdown().run_until_cancelled(tokio::time::sleep(POLL)).await;
        }
    }
}

/// Replays everything that waits now, and says how many replays that took.
pub async fn run_due(app: &App) -> Result<usize> {
    let mut count = 0;
    loop {
        let claimed = claim(app, AT_ONCE).await?;
        if claimed.is_empty() {
            return Ok(count);
        }
        count += claimed.len();
        futures::future::join_all(claimed.into_iter().map(|query| replay(app, query))).await;
    }
}

#[derive(Debug)]
struct ClaimedQuery {
    shadow_id: String,
    replay_id: ReplayId,
    env_id: EnvId,
    caller: Json<Forwarded>,
    agent_id: Option<String>,
    framework: Option<String>,
    sql: String,
    row_count: Option<i64>,
    result_hash: Option<String>,
    attempts: i32,
}

/// The next queries of each replay, as far as its concurrency goes.
async fn claim(app: &App, most: usize) -> Result<Vec<ClaimedQuery>> {
    let now = app.now();
    let mut left = i64::try_from(most).unwrap_or(i64::MAX);
    let mut tx = app.pool().begin().await?;
    // Held until these are claimed: two workers together must not pass a replay's concurrency.
    let lanes = sqlx::query!(
        r#"select r.replay_id, r.concurrency from shadow_replays r
           where r.status = 'running'
             and exists (select from shadow_queries q where q.replay_id = r.replay_id and q.done_at is null
                           and (q.locked_until is null or q.locked_until <= $1))
           order by r.started_at, r.replay_id
           limit $2
           for update skip locked"#,
        now,
        LANES,
    )
    .fetch_all(&mut *tx)
    .await?;
    let mut claimed = Vec::new();
    for lane in lanes {
        let taken = sqlx::query_as!(
            ClaimedQuery,
            r#"update shadow_queries q
               set locked_until = $3, waits_again = false, attempts = attempts + 1
               from shadow_replays r
               where r.replay_id = q.replay_id and q.shadow_id in (
                 select shadow_id from shadow_queries
                 where replay_id = $1 and done_at is null and (locked_until is null or locked_until <= $2)
                 order by shadow_id
                 limit least($5::bigint, greatest(0, $4::bigint - (
                   select count(*) from shadow_queries
                   where replay_id = $1 and done_at is null and locked_until > $2 and not waits_again)))
                 for update skip locked)
               returning q.shadow_id, q.replay_id, r.env_id, q.caller as "caller: Json<Forwarded>", q.agent_id,
                         q.framework, q.sql, q.row_count, q.result_hash, q.attempts"#,
            lane.replay_id,
            now,
            now + LOCK,
            i64::from(lane.concurrency),
            left,
        )
        .fetch_all(&mut *tx)
        .await?;
        left = left.saturating_sub(i64::try_from(taken.len()).unwrap_or(i64::MAX)).max(0);
        claimed.extend(taken);
    }
    tx.commit().await?;
    Ok(claimed)
}

async fn replay(app: &App, claimed: ClaimedQuery) {
    let compared = match run(app, &claimed).await {
        Ok(compared) => Some(compared),
        Err(error) if claimed.attempts < ATTEMPTS && passes(&error) => None,
        Err(error) => Some(refused(&error)),
    };
    if let Err(error) = settle(app, &claimed, compared.as_ref()).await {
        tracing::warn!(shadow.id = claimed.shadow_id, error = error.with_sources(), "a replay could not be settled");
    }
}

/// Runs the query as its caller would; nothing that writes is sent.
async fn run(app: &App, claimed: &ClaimedQuery) -> Result<Compared> {
    match app.sql().statement(&claimed.sql) {
        Ok(statement) if statement.is_write => {
            return Ok(Compared::failed(ReplayVerdict::Denied, "it writes: what writes is not replayed"));
        }
        Ok(_) => {}
        Err(error) => return Ok(Compared::failed(ReplayVerdict::Error, error)),
    }
    let caller = Forwarded { origin: Some(Origin::Shadow), ..claimed.caller.0.clone() };
    let asked = query::ForwardedQuery {
        env_id: &claimed.env_id,
        caller: Some(&caller),
        request_id: &RequestId::from(format!("{REQUEST_ID}{}", claimed.shadow_id)),
        key: None,
        timeout_ms: None,
        place: None,
    };
    let body = QueryBody {
        sql: claimed.sql.clone(),
        agent_id: claimed.agent_id.clone(),
        agent_framework: claimed.framework.clone(),
        heal: None, // the data plane heals nothing that is replayed
        ..QueryBody::default()
    };
    let answer = query::send(app, &asked, "query", &body).await?;
    let Ok(bytes) = to_bytes(answer.into_body(), ANSWER_BYTES_MAX).await else {
        let reason = format!("the answer broke off, or is longer than {ANSWER_BYTES_MAX} bytes, which is not compared");
        return Ok(Compared::failed(ReplayVerdict::Error, reason));
    };
    let expected = ExpectedAnswer { row_count: claimed.row_count, result_hash: claimed.result_hash.clone() };
    Ok(comparing::compare(&expected, &bytes))
}

/// Is it an error that may have passed in half a minute?
fn passes(error: &Error) -> bool {
    matches!(
        error.code(),
        Code::ProxyUnreachable
            | Code::CircuitOpen
            | Code::ShuttingDown
            | Code::ServiceUnavailable
            | Code::ConcurrentLimit
            | Code::RateLimited
    )
}

/// What refuses a caller is `denied`; all else is an error.
fn refused(error: &Error) -> Compared {
    let denied = matches!(error.code().http(), 401 | 403) || error.code() == Code::PolicyViolation;
    Compared::failed(if denied { ReplayVerdict::Denied } else { ReplayVerdict::Error }, error.to_string())
}

/// Writes down what came of it; without a verdict it waits to be tried again. Of the text is kept what reports show.
async fn settle(app: &App, claimed: &ClaimedQuery, compared: Option<&Compared>) -> Result<()> {
    let now: Timestamp = app.now();
    let Some(Compared { verdict, reason, service_ms }) = compared else {
        return execute!(
            app.pool(),
            "update shadow_queries set locked_until = $2, waits_again = true where shadow_id = $1 and done_at is null",
            claimed.shadow_id,
            now + AGAIN,
        );
    };
    let mut tx = app.pool().begin().await?;
    sqlx::query!(
        "update shadow_queries
         set verdict = $2, reason = $3, service_ms = $4, done_at = $5, sql = '',
             shown = case $2 when 'matched' then '' else shown end
         where shadow_id = $1 and done_at is null",
        claimed.shadow_id,
        verdict.as_str(),
        reason.as_deref(),
        *service_ms,
        now,
    )
    .execute(&mut *tx)
    .await?;
    // A log's replay is over with its last query; that of a session with the session.
    sqlx::query!(
        "update shadow_replays r set status = 'completed', finished_at = $2
         where replay_id = $1 and status = 'running' and upload_id is not null
           and not exists (select from shadow_queries q where q.replay_id = r.replay_id and q.done_at is null)",
        claimed.replay_id.as_str(),
        now,
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(())
}
