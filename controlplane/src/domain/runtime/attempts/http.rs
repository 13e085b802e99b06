//! Taking an attempt, and keeping it.

use std::time::Duration;

use contract::Timestamp;
use platform::http::call::Call;
use platform::http::json::{Json, MaybeJson, OrNothing};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::grant::{AttemptWish, Leased, grant, heartbeat_interval, start};
use super::{Attempt, AttemptStatus, lease, store};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::tasks::{self, Task, TaskRequest};
use crate::domain::runtime::{actor, clock, fields};

const KINDS_MAX: usize = 50;
const WAIT_SECS_MAX: i32 = 20;
/// Pauses end, and other replicas make tasks, without a word.
const POLL: Duration = Duration::from_secs(1);

pub async fn get(cx: Call) -> Result<Json<Attempt>> {
    let mut conn = cx.app.pool().acquire().await?;
    Ok(Json(store::find(&mut conn, cx.org_id(), &cx.id::<String>("attempt_id")?).await?))
}

/// "Creates an attempt and issues a lease token."
pub async fn create(cx: Call, MaybeJson(wish): MaybeJson<AttemptWish>) -> Result<Json<Leased>> {
    let mut tx = cx.begin().await?;
    let task = tasks::lock(&mut tx, cx.org_id(), &cx.id::<String>("task_id")?).await?;
    let mut change = Change::begin(&cx.app, &mut tx).await?;
    let leased = grant(&cx, &mut change, &task, wish).await?;
    tx.commit().await?;
    Ok(Json(leased))
}

/// Creates an attempt and claims it.
pub async fn create_claimed(cx: Call, MaybeJson(wish): MaybeJson<AttemptWish>) -> Result<Json<Leased>> {
    let mut tx = cx.begin().await?;
    let mut task = tasks::lock(&mut tx, cx.org_id(), &cx.id::<String>("task_id")?).await?;
    let mut change = Change::begin(&cx.app, &mut tx).await?;
    let mut leased = grant(&cx, &mut change, &task, wish).await?;
    start(&cx, &mut change, &mut task, &mut leased.attempt).await?;
    tx.commit().await?;
    Ok(Json(leased))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NextTaskWish")]
#[serde(deny_unknown_fields)]
pub struct NextWish {
    #[serde(default)]
    kinds: Vec<String>,
    project_id: Option<String>,
    agent_id: String,
    branch_id: Option<String>,
    lease_ttl_secs: Option<i64>,
    /// How long to wait for a task where there is none.
    #[serde(default)]
    wait_secs: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NextTask")]
pub struct Next {
    #[serde(flatten)]
    leased: Leased,
    task: Task,
}

/// Claims whatever waits: by priority, then by age. Nothing waits, for as long as the caller does:
/// 204. No connection is held meanwhile.
pub async fn claim_next(cx: Call, Json(wish): Json<NextWish>) -> Result<OrNothing<Next>> {
    if wish.kinds.len() > KINDS_MAX {
        return Err(Error::invalid("kinds", format!("..{KINDS_MAX}"), format!("`kinds` has at most {KINDS_MAX}")));
    }
    actor::declared(&cx, Some(wish.agent_id.clone()))?;
    let wait =
        Duration::from_secs(fields::integer("wait_secs", wish.wait_secs, 0, WAIT_SECS_MAX)?.unsigned_abs().into());
    let deadline = Instant::now() + wait;
    loop {
        // Listens before it looks: what comes in between is heard.
        let arrived = cx.app.work_waits().notified();
        let mut arrived = std::pin::pin!(arrived);
        arrived.as_mut().enable();
        if let Some(next) = take_next(&cx, &wish).await? {
            return Ok(OrNothing(Some(next)));
        }
        if Instant::now() >= deadline || cx.app.shutdown().is_cancelled() {
            return Ok(OrNothing(None));
        }
        tokio::select! {
            () = arrived => {}
            () = tokio::time::sleep_until(deadline.min(Instant::now() + POLL)) => {}
            () = cx.app.shutdown().cancelled() => {}
        }
    }
}

async fn take_next(cx: &Call, wish: &NextWish) -> Result<Option<Next>> {
    let mut tx = cx.begin().await?;
    let mut change = Change::begin(&cx.app, &mut tx).await?;
    let wanted = TaskRequest { kinds: &wish.kinds, project_id: wish.project_id.as_deref(), now: change.now };
    let Some(mut task) = tasks::next(change.tx, cx.org_id(), &wanted).await? else {
        return Ok(None);
    };
    let wish = AttemptWish {
        agent_id: Some(wish.agent_id.clone()),
        branch_id: wish.branch_id.clone(),
        lease_ttl_secs: wish.lease_ttl_secs,
    };
    let mut leased = grant(cx, &mut change, &task, wish).await?;
    start(cx, &mut change, &mut task, &mut leased.attempt).await?;
    tx.commit().await?;
    Ok(Some(Next { leased, task }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptClaim {
    lease_token: String,
    agent_id: Option<String>,
}

/// Claims a pending attempt. Said again by the same holder, it answers the same and changes
/// nothing.
pub async fn claim(cx: Call, Json(claim): Json<AttemptClaim>) -> Result<Json<Leased>> {
    let agent_id = actor::declared(&cx, fields::maybe_name("agent_id", claim.agent_id.as_deref())?)?;
    let attempt_id: String = cx.id("attempt_id")?;
    let mut tx = cx.begin().await?;
    let mut task = tasks::lock_of_attempt(&mut tx, cx.org_id(), &attempt_id).await?;
    let mut attempt = store::lock(&mut tx, cx.org_id(), &attempt_id).await?;
    let mut change = Change::begin(&cx.app, &mut tx).await?;
    let now = change.now;
    lease::proven(&attempt, &claim.lease_token)?;
    let agrees = attempt.agent_id.is_none() || agent_id.is_none() || attempt.agent_id == agent_id;
    if !agrees {
        return Err(lease::state_conflict(&attempt, "agent_mismatch"));
    }
    if attempt.status == AttemptStatus::Running && lease::held(&attempt, AttemptStatus::Running, now).is_ok() {
        return Ok(Json(Leased::new(attempt, claim.lease_token)));
    }
    lease::held(&attempt, AttemptStatus::Pending, now)?;
    attempt.agent_id = attempt.agent_id.or(agent_id);
    start(&cx, &mut change, &mut task, &mut attempt).await?;
    tx.commit().await?;
    Ok(Json(Leased::new(attempt, claim.lease_token)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    lease_token: String,
    progress: Option<fields::Object>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct HeartbeatAnswer {
    attempt_id: String,
    status: AttemptStatus,
    lease_token: String,
    lease_expires_at: Timestamp,
    heartbeat_interval_secs: i32,
    /// Stop soon: the task was blocked.
    cancel_requested: bool,
    server_time: Timestamp,
}

/// "Extends the lease."
pub async fn heartbeat(cx: Call, Json(heartbeat): Json<Heartbeat>) -> Result<Json<HeartbeatAnswer>> {
    let progress = fields::maybe_object("progress", heartbeat.progress)?;
    let attempt_id: String = cx.id("attempt_id")?;
    let token_sha256 = lease::digest(&heartbeat.lease_token);
    let mut conn = cx.app.pool().acquire().await?;
    if cx.agent_id.is_some() {
        let attempt = store::find(&mut conn, cx.org_id(), &attempt_id).await?;
        lease::proven(&attempt, &heartbeat.lease_token)?;
        lease::speaking(&cx, &attempt)?;
    }
    let Some(extended) =
        store::extend_lease(&mut conn, cx.org_id(), &attempt_id, &token_sha256, progress.as_ref()).await?
    else {
        let attempt = store::find(&mut conn, cx.org_id(), &attempt_id).await?;
        lease::proven(&attempt, &heartbeat.lease_token)?;
        lease::held(&attempt, AttemptStatus::Running, clock::now(&mut conn).await?)?;
        return Err(lease::state_conflict(&attempt, "not_running"));
    };
    Ok(Json(HeartbeatAnswer {
        attempt_id,
        status: extended.status,
        lease_token: heartbeat.lease_token,
        lease_expires_at: extended.lease_expires_at,
        heartbeat_interval_secs: heartbeat_interval(extended.lease_ttl_secs),
        cancel_requested: extended.cancel_requested,
        server_time: extended.at,
    }))
}
