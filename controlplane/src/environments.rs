//! Environments: what the guard must know of them. The room itself is built beside this.

use contract::{EnvId, OrgId};
use sqlx::PgPool;

use crate::Result;

/// Is it an environment of this organization?
pub async fn belongs(pool: &PgPool, env_id: &EnvId, org_id: &OrgId) -> Result<bool> {
    let exists = sqlx::query_scalar("select exists (select from environments where env_id = $1 and org_id = $2)")
        .bind(env_id.as_str())
        .bind(org_id.as_str())
        .fetch_one(pool)
        .await?;
    Ok(exists)
}
