//! `key.expiring`: "24 hours before the old key expires". Said at once when the grace is shorter.

use chrono::Duration;
use contract::{KeyId, Timestamp};
use serde_json::json;
use sqlx::PgConnection;

use super::store;
use crate::events::{self, Event, EventType, Origin};
use crate::jobs::{self, Job};
use crate::{App, Result};

const NOTICE: Duration = Duration::hours(24);

/// Plans the notice for old secrets of a key that end at `ends`.
pub async fn announce(tx: &mut PgConnection, app: &App, key_id: &KeyId, ends: Timestamp) -> Result<()> {
    let due = (ends - NOTICE).max(app.now());
    jobs::enqueue(app, tx, Job::KeyExpiring { key_id: key_id.clone(), ends }, due).await
}

/// Says it, unless the key was revoked or its old secrets end at another time by now.
pub async fn say(app: &App, key_id: &KeyId, ends: Timestamp) -> Result<()> {
    let mut tx = app.pool().begin().await?;
    let Some(expiring) = store::expiring(&mut tx, key_id, ends).await? else {
        return Ok(());
    };
    let origin = Origin { env_id: Some(expiring.env_id), ..Origin::system(app, expiring.org_id) };
    let after = json!({"name": expiring.name, "old_key_expires_at": ends});
    events::record(app, &mut tx, origin, Event::new(EventType::KeyExpiring, key_id.clone()).after(after)).await?;
    tx.commit().await?;
    Ok(())
}
