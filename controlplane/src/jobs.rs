//! What runs on its own: the queue's rows.

use contract::{EnvId, KeyId, Timestamp, ids};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use crate::{App, Result};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Job {
    ProvisionEnvironment { env_id: EnvId },
    KeyExpiring { key_id: KeyId, ends: Timestamp },
}

/// Puts a job in the queue, in the caller's transaction.
pub async fn enqueue(app: &App, tx: &mut PgConnection, job: Job, run_at: Timestamp) -> Result<()> {
    let now = app.now();
    sqlx::query!(
        "insert into jobs (job_id, job, run_at, created_at) values ($1, $2, $3, $4)",
        ids::fresh(now, app.entropy()),
        json!({"v": 1, "job": job}),
        run_at,
        now,
    )
    .execute(tx)
    .await?;
    Ok(())
}
