//! Reading tasks.

use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;

use super::{Task, store};
use crate::Result;
use crate::domain::runtime::attempts::{self, Attempt};
use crate::domain::runtime::listing::{Listed, Records};
use crate::platform::http::call::Call;
use crate::platform::http::json::{Json, Query};

/// "Task with its latest attempt."
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TaskView")]
pub struct Answer {
    #[serde(flatten)]
    pub task: Task,
    latest_attempt: Option<Attempt>,
}

impl Answer {
    pub async fn of(conn: &mut PgConnection, task: Task) -> Result<Self> {
        let latest_attempt = attempts::latest(conn, std::slice::from_ref(&task.id)).await?.pop();
        Ok(Self { task, latest_attempt })
    }
}

pub async fn get(cx: Call) -> Result<Json<Answer>> {
    let mut conn = cx.app.pool().acquire().await?;
    let task = store::find(&mut conn, cx.org_id(), &cx.id::<String>("task_id")?).await?;
    Ok(Json(Answer::of(&mut conn, task).await?))
}

pub async fn list(cx: Call, Query(filter): Query<store::Filter>, Records(listing): Records) -> Result<Listed<Answer>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, cx.org_id(), &filter, &listing).await?;
    let ids: Vec<String> = rows.iter().map(|task| task.id.clone()).collect();
    let attempts = attempts::latest(&mut conn, &ids).await?;
    let latest = |task: &Task| attempts.iter().find(|attempt| attempt.task_id == task.id).cloned();
    let mark = |task: &Task| (task.created_at, task.id.clone());
    Ok(listing.answer(rows, total, mark, |task| Answer { latest_attempt: latest(&task), task }))
}
