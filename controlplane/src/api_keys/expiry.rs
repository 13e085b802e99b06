//! `key.expiring`: "24 hours before the old key expires". Said at once when the grace is shorter.

use chrono::Duration;
use contract::{KeyId, Timestamp};
use sqlx::PgConnection;

use crate::{App, Result, jobs};
use crate::jobs::Job;

const NOTICE: Duration = Duration::hours(24);

/// Plans the notice for old secrets of a key that end at `ends`.
pub async fn announce(tx: &mut PgConnection, app: &App, key_id: &KeyId, ends: Timestamp) -> Result<()> {
    let due = (ends - NOTICE).max(app.now());
    jobs::enqueue(app, tx, Job::KeyExpiring { key_id: key_id.clone(), ends }, due).await
}
