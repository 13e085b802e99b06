//! `GET …/detail`: a task and all that belongs to it "in one response".

use serde::{Deserialize, Serialize};

use super::http::Answer;
use super::store;
use crate::Result;
use crate::http::call::Call;
use crate::http::json::{Json, Query};
use crate::runtime::attempts::{self, Attempt};
use crate::runtime::events::{self, WorkflowEvent};
use crate::runtime::fields;

const EVENTS_MAX: i32 = 1_000;

#[derive(Debug, Deserialize)]
pub struct Extent {
    max_events: Option<i64>,
}

#[derive(Debug, Serialize)]
pub struct Detail {
    #[serde(flatten)]
    answer: Answer,
    attempts: Vec<Attempt>,
    events: Vec<WorkflowEvent>,
}

pub async fn get(cx: Call, Query(extent): Query<Extent>) -> Result<Json<Detail>> {
    let max_events = fields::integer("max_events", extent.max_events.unwrap_or(EVENTS_MAX.into()), 0, EVENTS_MAX)?;
    // One snapshot: what the parts say of each other fits together.
    let mut tx = cx.begin().await?;
    sqlx::query!("set transaction isolation level repeatable read, read only").execute(&mut *tx).await?;
    let task = store::find(&mut tx, cx.org_id(), &cx.id::<String>("task_id")?).await?;
    let attempts = attempts::of_task(&mut tx, &task.id).await?;
    let events = events::newest_of_task(&mut tx, &task.id, max_events).await?;
    let answer = Answer::of(&mut tx, task).await?;
    Ok(Json(Detail { answer, attempts, events }))
}
