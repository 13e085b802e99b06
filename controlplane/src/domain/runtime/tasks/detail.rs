//! `GET …/detail`: a task and all that belongs to it "in one response".

use contract::Timestamp;
use platform::Result;
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::http::TaskView;
use super::store;
use crate::domain::runtime::artifacts::{self, Artifact};
use crate::domain::runtime::attempts::{self, Attempt};
use crate::domain::runtime::decisions::{self, Decision};
use crate::domain::runtime::events::{self, WorkflowEvent};
use crate::domain::runtime::invocations::{self, Invocation};
use crate::domain::runtime::recovery::{self, Recovery};
use crate::domain::runtime::reviews::{self, ReviewShown};
use crate::domain::runtime::{clock, fields};

const EVENTS_MAX: i32 = 1_000;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct TaskDetailExtent {
    max_events: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskDetail {
    #[serde(flatten)]
    answer: TaskView,
    attempts: Vec<Attempt>,
    decisions: Vec<Decision>,
    invocations: Vec<Invocation>,
    artifacts: Vec<Artifact>,
    events: Vec<WorkflowEvent>,
    reviews: Vec<ReviewShown>,
    recovery_actions: Vec<Recovery>,
    totals: TaskTotals,
}

/// What the task has taken so far.
#[derive(Debug, Serialize, JsonSchema)]
struct TaskTotals {
    cost_usd: f64,
    tokens: i64,
    duration_ms: i64,
}

impl TaskTotals {
    fn of(attempts: &[Attempt], invocations: &[Invocation], now: Timestamp) -> Self {
        let tokens = |call: &Invocation| call.input_tokens.saturating_add(call.output_tokens);
        let worked = |attempt: &Attempt| {
            let ended = attempt.completed_at.unwrap_or(now);
            attempt.started_at.map_or(0, |started| (ended - started).num_milliseconds().max(0))
        };
        Self {
            cost_usd: invocations.iter().map(|call| call.cost_usd).sum(),
            tokens: invocations.iter().map(tokens).fold(0, i64::saturating_add),
            duration_ms: attempts.iter().map(worked).fold(0, i64::saturating_add),
        }
    }
}

pub async fn get(cx: Call, Query(extent): Query<TaskDetailExtent>) -> Result<Json<TaskDetail>> {
    let max_events = fields::integer("max_events", extent.max_events.unwrap_or(EVENTS_MAX.into()), 0, EVENTS_MAX)?;
    // One snapshot: what the parts say of each other fits together.
    let mut tx = cx.begin().await?;
    sqlx::query!("set transaction isolation level repeatable read, read only").execute(&mut *tx).await?;
    let task = store::find(&mut tx, cx.org_id(), &cx.id::<String>("task_id")?).await?;
    let attempts = attempts::of_task(&mut tx, &task.id).await?;
    let decisions = decisions::of_task(&mut tx, &task.id).await?;
    let invocations = invocations::of_task(&mut tx, &task.id).await?;
    let artifacts = artifacts::of_task(&mut tx, &task.id).await?;
    let events = events::newest_of_task(&mut tx, &task.id, max_events).await?;
    let reviews = reviews::store::of_task(&mut tx, &task.id).await?.into_iter().map(ReviewShown::from).collect();
    let recovery_actions = recovery::of_task(&mut tx, &task.id).await?;
    let totals = TaskTotals::of(&attempts, &invocations, clock::now(&mut tx).await?);
    let answer = TaskView::of(&mut tx, task).await?;
    Ok(Json(TaskDetail {
        answer,
        attempts,
        decisions,
        invocations,
        artifacts,
        events,
        reviews,
        recovery_actions,
        totals,
    }))
}
