//! Records that the removal of an environment removes with it.

use contract::EnvId;
use platform::events::{self, Event, EventType, Origin};
use platform::{App, Result};
use sqlx::PgConnection;

use super::store;
use crate::domain::{api_keys, storage_integrations};

/// Removes an environment: its keys are revoked, credentials of stores are forgotten, and its slug is free.
pub(crate) async fn remove(
    app: &App,
    tx: &mut PgConnection,
    env_id: &EnvId,
    origin: &(dyn Fn() -> Origin + Send + Sync),
) -> Result<()> {
    if !store::remove(tx, env_id, app.now()).await? {
        return Ok(());
    }
    api_keys::revoke_all_in(app, tx, env_id, origin).await?;
    storage_integrations::delete_all_in(tx, env_id).await?;
    events::record(app, tx, origin(), Event::new(EventType::EnvironmentRemoved, env_id.clone())).await
}
