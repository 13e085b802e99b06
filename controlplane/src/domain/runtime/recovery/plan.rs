//! The step after a failure, carried out in the transaction of the failure.

use contract::{OrgId, ids};
use platform::Result;
use platform::events::Origin;
use serde_json::{Value, json};

use super::levels::{self, Past};
use super::{Action, FailureKind, Level, Recovery, failure, store};
use crate::domain::runtime::attempts::Attempt;
use crate::domain::runtime::change::Change;
use crate::domain::runtime::events::{self, EventSubject};
use crate::domain::runtime::notifications::{self, Notification};
use crate::domain::runtime::people::PM;
use crate::domain::runtime::reviews::{self, EntityType, Review, Urgency};
use crate::domain::runtime::tasks::{self, Task, TaskStatus};
use crate::domain::runtime::{actor, explain};

/// Events that the evidence of an escalation holds.
const EVIDENCE_EVENTS: i32 = 50;

/// Decides what becomes of a task whose attempt has failed; both are locked, the attempt is stored.
pub async fn plan(change: &mut Change<'_>, task: &mut Task, attempt: &Attempt, derived: bool) -> Result<()> {
    let (now, entropy) = (change.now, change.app.entropy());
    let kind = attempt.failure_kind.unwrap_or(FailureKind::Other);
    let known = store::known(change.tx, &task.id).await?;
    let past = Past {
        levels: known.levels.into_iter().flatten().collect(),
        retries_left: task.retry_count < task.max_retries,
        has_artifact: known.artifact_id.is_some(),
        is_repair: task.repairs.is_some(),
    };
    let level = levels::step(kind, &past);
    let mut recovery = begin(change, task, attempt, kind);
    (recovery.level, recovery.derived) = (Some(level), derived);
    let reason = attempt.failure_reason.clone().unwrap_or_else(|| "the attempt failed".to_owned());
    match level {
        Level::L1 | Level::L2 => {
            recovery.model_id =
                if level == Level::L2 { stronger(task, known.decision.as_ref()) } else { known.model_id };
            recovery.action_type = if level == Level::L2 { Action::RetryWithModel } else { Action::Retry };
            failure::again(task, now, entropy)?;
        }
        Level::L3 => {
            recovery.action_type = Action::Repair;
            failure::again(task, now, entropy)?;
            let evidence = json!({"failure_kind": kind, "failure_reason": reason, "artifact_id": known.artifact_id});
            repair(change, task, attempt, evidence).await?;
        }
        Level::L4 => {
            recovery.action_type = Action::Escalate;
            if holds(task) {
                task.turn(TaskStatus::Pending, now)?;
                task.blocked_reason = Some(reason.clone());
            } else {
                task.failure_reason = Some(reason.clone());
                task.turn(TaskStatus::Failed, now)?;
            }
        }
        Level::Blocked => {
            recovery.action_type = Action::Block;
            task.turn(TaskStatus::Pending, now)?;
            task.blocked_reason = Some(reason.clone());
        }
    }
    if !matches!(level, Level::L4 | Level::Blocked) {
        task.next_attempt_hint = Some(hint(&recovery, known.artifact_id.as_deref(), &reason));
        recovery.new_attempt_hint.clone_from(&task.next_attempt_hint);
    }
    if level == Level::L4 {
        recovery.review_id = Some(ask(change, task, attempt, &reason, PM, actor::SYSTEM).await?.id);
    }
    finish(change, recovery, task, attempt).await.map(drop)
}

/// A recovery as it begins: with the state before it.
pub fn begin(change: &Change<'_>, task: &Task, attempt: &Attempt, failure_kind: FailureKind) -> Recovery {
    Recovery {
        id: ids::fresh(change.now, change.app.entropy()),
        org_id: task.org_id.clone(),
        task_id: task.id.clone(),
        task_attempt_id: attempt.id.clone(),
        attempt_id: attempt.id.clone(),
        failure_kind,
        derived: false,
        action_type: Action::Retry,
        kind: Action::Retry,
        level: None,
        status: "initiated".to_owned(),
        trigger_event: Some("attempt_lifecycle".to_owned()),
        state_before: state(task, attempt),
        state_after: json!({}),
        executed_by: actor::SYSTEM.to_owned(),
        model_id: None,
        override_reason: None,
        new_attempt_hint: None,
        review_id: None,
        created_at: change.now,
    }
}

fn state(task: &Task, attempt: &Attempt) -> Value {
    json!({
        "task_status": task.status,
        "attempt_status": attempt.status,
        "retry_count": task.retry_count,
        "blocked_reason": task.blocked_reason,
    })
}

/// Stores what was done, and says so.
pub async fn finish(
    change: &mut Change<'_>,
    mut recovery: Recovery,
    task: &Task,
    attempt: &Attempt,
) -> Result<Recovery> {
    recovery.state_after = state(task, attempt);
    recovery.kind = recovery.action_type;
    store::insert(change.tx, &recovery).await?;
    let payload = json!({
        "recovery_id": recovery.id,
        "level": recovery.level,
        "action_type": recovery.action_type,
        "failure_kind": recovery.failure_kind,
        "derived": recovery.derived,
        "review_id": recovery.review_id,
    });
    let who = &recovery.executed_by;
    events::append(change, EventSubject::attempt(attempt), "recovery_initiated", payload, who).await?;
    Ok(recovery)
}

/// What the next attempt is told.
pub fn hint(recovery: &Recovery, artifact_id: Option<&str>, reason: &str) -> Value {
    json!({
        "level": recovery.level,
        "model_id": recovery.model_id,
        "repair_of": artifact_id.filter(|_| recovery.level == Some(Level::L3)),
        "recovers_attempt_id": recovery.task_attempt_id,
        "reason": reason,
    })
}

/// `metadata.recovery.hold_on_l4`: the task waits for the person instead of failing.
fn holds(task: &Task) -> bool {
    task.metadata.pointer("/recovery/hold_on_l4").and_then(Value::as_bool).unwrap_or(false)
}

/// `metadata.recovery.escalation_model`, or what follows the last model in its decision's
/// `context.fallback_chain`.
fn stronger(task: &Task, decision: Option<&(String, Value)>) -> Option<String> {
    let named = task.metadata.pointer("/recovery/escalation_model").and_then(Value::as_str);
    let next = || {
        let (model_id, context) = decision?;
        let chain: Vec<&str> = context.get("fallback_chain")?.as_array()?.iter().filter_map(Value::as_str).collect();
        let place = chain.iter().position(|model| model == model_id).map_or(0, |place| place.saturating_add(1));
        chain.get(place).copied()
    };
    named.or_else(next).map(ToOwned::to_owned)
}

/// A task that repairs what this one has made; this one waits for it.
pub async fn repair(change: &mut Change<'_>, task: &mut Task, attempt: &Attempt, evidence: Value) -> Result<()> {
    let child = Task {
        kind: format!("repair:{}", task.kind),
        metadata: json!({"repair": evidence, "repairs_attempt_id": attempt.id}),
        repairs: Some(task.id.clone()),
        ..Task::fresh(change.app.entropy(), &task.org_id, &task.project_id, task.priority, change.now)
    };
    tasks::dispatch(change.tx, &child).await?;
    let payload = json!({"action": "created", "kind": child.kind, "repairs": task.id});
    events::append(change, EventSubject::task(&child), "task_lifecycle", payload, actor::SYSTEM).await?;
    task.awaits_repair = Some(child.id);
    Ok(())
}

/// L4 for a task whose repair has come to nothing; it is locked, and has no active attempt.
pub async fn escalate(change: &mut Change<'_>, task: &mut Task, attempt: &Attempt) -> Result<()> {
    let reason = "the repair did not succeed".to_owned();
    let kind = attempt.failure_kind.unwrap_or(FailureKind::Other);
    let mut recovery = begin(change, task, attempt, kind);
    (recovery.level, recovery.action_type) = (Some(Level::L4), Action::Escalate);
    task.awaits_repair = None;
    if holds(task) {
        task.blocked_reason = Some(reason.clone());
    } else {
        task.failure_reason = Some(reason.clone());
        task.turn(TaskStatus::Failed, change.now)?;
    }
    recovery.review_id = Some(ask(change, task, attempt, &reason, PM, actor::SYSTEM).await?.id);
    finish(change, recovery, task, attempt).await.map(drop)
}

/// Asks a person: "level-4 recovery needing a human (to pm or admin)". The evidence is what explains
/// the attempt.
pub async fn ask(
    change: &mut Change<'_>,
    task: &Task,
    attempt: &Attempt,
    reason: &str,
    assigned_to: &str,
    who: &str,
) -> Result<Review> {
    let org_id = OrgId::from(task.org_id.as_str());
    let evidence_bundle = explain::of_attempt(change.tx, &org_id, &attempt.id, EVIDENCE_EVENTS).await?;
    let review = Review {
        task_id: Some(task.id.clone()),
        attempt_id: Some(attempt.id.clone()),
        reason: reason.to_owned(),
        urgency: Urgency::High,
        assigned_to: assigned_to.to_owned(),
        evidence_bundle,
        requested_by: who.to_owned(),
        ..Review::fresh(change, &task.org_id, &task.project_id, (EntityType::Recovery, &attempt.id))
    };
    let review = reviews::request(change, &review).await?;
    let origin = Origin { actor_id: who.to_owned(), ..Origin::system(change.app, org_id) };
    notifications::send(change.app, change.tx, origin, Notification::HumanNeeded, &review).await?;
    Ok(review)
}
