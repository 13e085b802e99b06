//! A new attempt, and the lease that comes with it.

use chrono::Duration;
use contract::{Timestamp, ids};
use platform::http::call::Call;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::{Attempt, AttemptStatus, lease, store};
use crate::domain::agents;
use crate::domain::runtime::change::Change;
use crate::domain::runtime::events::{self, EventSubject};
use crate::domain::runtime::recovery::Level;
use crate::domain::runtime::tasks::{self, Task, TaskStatus};
use crate::domain::runtime::{actor, fields};

const TTL_SECS_LEAST: i32 = 30;
const TTL_SECS_MOST: i32 = 3_600;

/// What an attempt is asked for with.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptWish {
    pub agent_id: Option<String>,
    pub branch_id: Option<String>,
    pub lease_ttl_secs: Option<i64>,
}

/// An attempt with its token: the only answers that show it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LeasedAttempt")]
pub struct Leased {
    #[serde(flatten)]
    pub attempt: Attempt,
    lease_token: String,
    heartbeat_interval_secs: i32,
    lease_ttl_secs: i32,
}

impl Leased {
    pub fn new(attempt: Attempt, lease_token: String) -> Self {
        let ttl = attempt.lease_ttl_secs;
        Self { lease_token, heartbeat_interval_secs: heartbeat_interval(ttl), lease_ttl_secs: ttl, attempt }
    }
}

/// Three heartbeats to a lease: two may be lost.
pub const fn heartbeat_interval(ttl_secs: i32) -> i32 {
    ttl_secs / 3
}

/// An attempt of a task that is locked, pending until it is claimed.
pub async fn grant(cx: &Call, change: &mut Change<'_>, task: &Task, wish: AttemptWish) -> Result<Leased> {
    let ttl = wish.lease_ttl_secs.unwrap_or_else(|| cx.app.config().lease_ttl_secs.into());
    let ttl = fields::integer("lease_ttl_secs", ttl, TTL_SECS_LEAST, TTL_SECS_MOST)?;
    let agent_id = actor::declared(cx, fields::maybe_name("agent_id", wish.agent_id.as_deref())?)?;
    let branch_id = fields::maybe_name("branch_id", wish.branch_id.as_deref())?;
    let now = change.now;
    free(change.tx, task, now).await?;
    let hint = Hint::of(task);
    let token = ids::unguessable(cx.app.entropy());
    let mut attempt = Attempt {
        id: ids::fresh(cx.now(), cx.app.entropy()),
        org_id: task.org_id.clone(),
        task_id: task.id.clone(),
        attempt_number: 0,
        agent_id,
        branch_id,
        status: AttemptStatus::Pending,
        retry_count: task.retry_count,
        max_retries: task.max_retries,
        lease_token_sha256: lease::digest(&token),
        lease_ttl_secs: ttl,
        lease_expires_at: now + Duration::seconds(ttl.into()),
        last_heartbeat_at: None,
        heartbeat_count: 0,
        progress: None,
        started_at: None,
        runtime_ends_at: None,
        completed_at: None,
        failure_kind: None,
        failure_reason: None,
        result: None,
        recovery_level: hint.level,
        recovers_attempt_id: hint.recovers_attempt_id,
        model_hint: hint.model_id,
        cancel_requested: false,
        held_by: actor::of(&cx.caller),
        completion_sha256: None,
        completion: None,
        version: 1,
        created_at: now,
        updated_at: now,
    };
    store::insert(change.tx, &mut attempt).await?;
    say(cx, change, &attempt, "created").await?;
    if let Some(agent_id) = &attempt.agent_id {
        register(cx, change.tx, agent_id).await;
    }
    Ok(Leased::new(attempt, token))
}

/// The hint of recovery for the next attempt.
#[derive(Debug, Default, Deserialize)]
struct Hint {
    level: Option<Level>,
    model_id: Option<String>,
    recovers_attempt_id: Option<String>,
}

impl Hint {
    fn of(task: &Task) -> Self {
        let stored = task.next_attempt_hint.clone().map(serde_json::from_value);
        stored.and_then(Result::ok).unwrap_or_default()
    }
}

/// "Creating an attempt with an `agent_id` registers the agent on a best-effort basis (failure of
/// registration does not fail the attempt)."
async fn register(cx: &Call, tx: &mut PgConnection, agent_id: &str) {
    let registered = async {
        let mut savepoint = tx.begin().await?;
        let source = agents::RegistrationSource::CreateAttempt;
        agents::register(&mut savepoint, cx.org_id(), (agent_id, None), source, cx.now()).await?;
        savepoint.commit().await?;
        Ok::<_, Error>(())
    };
    if let Err(error) = registered.await {
        tracing::warn!(error = error.with_sources(), "an agent could not be registered");
    }
}

/// The task may be tried now.
async fn free(tx: &mut PgConnection, task: &Task, now: Timestamp) -> Result<()> {
    task.open()?;
    if let Some(active) = store::lock_active(tx, &task.id).await? {
        let known = json!({"attempt_id": active.id, "lease_expires_at": active.lease_expires_at});
        return Err(Error::state_conflict("active_attempt_exists", "the task has an active attempt", &known));
    }
    if task.deadline.is_some_and(|deadline| deadline <= now) {
        let known = json!({"deadline": task.deadline});
        return Err(Error::state_conflict("deadline_passed", "the task's deadline has passed", &known));
    }
    if let Some(reason) = &task.blocked_reason {
        let known = json!({"blocked_reason": reason});
        return Err(Error::state_conflict("blocked", "the task waits for a person: POST /v2/recovery", &known));
    }
    if task.awaits_repair.is_some() && tasks::is_awaiting(tx, task).await? {
        let known = json!({"awaits_repair": task.awaits_repair});
        return Err(Error::state_conflict("awaiting_repair", "the task waits for its repair", &known));
    }
    if task.not_before.is_some_and(|not_before| not_before > now) {
        let known = json!({"not_before": task.not_before});
        return Err(Error::state_conflict("retry_backoff", "the task pauses after a failure", &known));
    }
    Ok(())
}

/// Starts a pending attempt whose lease is held: its task becomes active.
pub async fn start(cx: &Call, change: &mut Change<'_>, task: &mut Task, attempt: &mut Attempt) -> Result<()> {
    let now = change.now;
    attempt.turn(AttemptStatus::Running, now)?;
    attempt.started_at = Some(now);
    attempt.held_by = actor::of(&cx.caller);
    attempt.lease_expires_at = now + Duration::seconds(attempt.lease_ttl_secs.into());
    attempt.runtime_ends_at = task.max_runtime_secs.map(|secs| now + Duration::seconds(secs.into()));
    store::save(change.tx, attempt, now).await?;
    say(cx, change, attempt, "started").await?;
    task.turn(TaskStatus::Active, now)?;
    super::settle(change, task, &actor::agent(attempt.agent_id.as_deref(), &cx.caller)).await
}

async fn say(cx: &Call, change: &mut Change<'_>, attempt: &Attempt, action: &str) -> Result<()> {
    let who = actor::agent(attempt.agent_id.as_deref(), &cx.caller);
    let payload = json!({"action": action, "agent_id": attempt.agent_id, "attempt_number": attempt.attempt_number});
    events::append(change, EventSubject::attempt(attempt), "attempt_lifecycle", payload, &who).await.map(drop)
}
