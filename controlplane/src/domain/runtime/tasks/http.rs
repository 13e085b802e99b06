//! Reading tasks.

use platform::Result;
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;

use super::{Task, store};
use crate::domain::runtime::attempts::{self, Attempt};
use crate::domain::runtime::listing::{Listed, Records};

/// "Task with its latest attempt."
#[derive(Debug, Serialize, JsonSchema)]
pub struct TaskView {
    #[serde(flatten)]
    pub task: Task,
    latest_attempt: Option<Attempt>,
}

impl TaskView {
    pub async fn of(conn: &mut PgConnection, task: Task) -> Result<Self> {
        let latest_attempt = attempts::latest(conn, std::slice::from_ref(&task.id)).await?.pop();
        Ok(Self { task, latest_attempt })
    }
}

pub async fn get(cx: Call) -> Result<Json<TaskView>> {
    let mut conn = cx.app.pool().acquire().await?;
    let task = store::find(&mut conn, cx.org_id(), &cx.id::<String>("task_id")?).await?;
    Ok(Json(TaskView::of(&mut conn, task).await?))
}

pub async fn list(
    cx: Call,
    Query(filter): Query<store::TaskFilter>,
    Records(listing): Records,
) -> Result<Listed<TaskView>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, cx.org_id(), &filter, &listing).await?;
    let ids: Vec<String> = rows.iter().map(|task| task.id.clone()).collect();
    let attempts = attempts::latest(&mut conn, &ids).await?;
    let latest = |task: &Task| attempts.iter().find(|attempt| attempt.task_id == task.id).cloned();
    let mark = |task: &Task| (task.created_at, task.id.clone());
    Ok(listing.answer(rows, total, mark, |task| TaskView { latest_attempt: latest(&task), task }))
}
