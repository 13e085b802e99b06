//! `key.expiring`: "24 hours before the old key expires", and before a key itself does. Said at once when a grace is shorter.

use chrono::Duration;
use contract::{KeyId, Timestamp};
use platform::events::{self, Event, EventType, Origin};
use platform::jobs::kind::BackgroundJob;
use platform::jobs::queue;
use platform::{App, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use super::store;

const NOTICE: Duration = Duration::hours(24);

/// The job that says that a key, or old secrets of it, are about to end.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeyExpiring {
    key_id: KeyId,
    ends: Timestamp,
}

impl BackgroundJob for KeyExpiring {
    const KIND: &'static str = "key_expiring";

    /// Says it, unless the key was revoked or ends at another time by now, and its old secrets too.
    async fn run(&self, app: &App) -> Result<()> {
        let mut tx = app.pool().begin().await?;
        let Some(expiring) = store::expiring(&mut tx, &self.key_id, self.ends).await? else {
            return Ok(());
        };
        let mut after = json!({"name": expiring.name});
        for (member, is_meant) in [("old_key_expires_at", expiring.by_old_text), ("expires_at", expiring.by_itself)] {
            if let Some(members) = after.as_object_mut().filter(|_| is_meant) {
                members.insert(member.to_owned(), json!(self.ends));
            }
        }
        let origin = Origin { env_id: Some(expiring.env_id), ..Origin::system(app, expiring.org_id) };
        events::commit(app, tx, origin, Event::new(EventType::KeyExpiring, self.key_id.clone()).after(after)).await
    }
}

/// Plans the notice for old secrets of a key that end at `ends`.
pub async fn announce(tx: &mut PgConnection, app: &App, key_id: &KeyId, ends: Timestamp) -> Result<()> {
    let due = (ends - NOTICE).max(app.now());
    queue::enqueue_once(app, tx, &KeyExpiring { key_id: key_id.clone(), ends }, due).await
}

/// Plans the notice for a key that ends by itself. Whoever makes one for a day knows that it ends.
pub async fn announce_own(tx: &mut PgConnection, app: &App, key_id: &KeyId, ends: Option<Timestamp>) -> Result<()> {
    match ends.filter(|ends| *ends - NOTICE > app.now()) {
        Some(ends) => announce(tx, app, key_id, ends).await,
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::worlds::World;

    /// The members of each `key.expiring` there is, the oldest first.
    async fn said_to_expire(world: &World) -> Vec<Value> {
        let told = "select changes -> 'after' from iam_events where event_type = 'key.expiring' order by sequence";
        sqlx::query_scalar(told).fetch_all(world.app.app.pool()).await.unwrap()
    }

    #[tokio::test]
    async fn a_key_that_ends_by_itself_is_said_to_a_day_before() {
        let world = World::start().await;
        let made = world.create_key(json!({"name": "ci", "scopes": ["key:read"], "expires_in_days": 30})).await;
        let revoked = world.create_key(json!({"name": "gone", "scopes": ["key:read"], "expires_in_days": 30})).await;
        world.create_key(json!({"name": "for a day", "scopes": ["key:read"], "expires_in_days": 1})).await;
        let path = |key: &Value, rest: &str| world.env(&format!("api-keys/{}{rest}", key["key_id"].as_str().unwrap()));
        world.app.delete(&path(&revoked, ""), &world.owner).await.expect(200);
        world.app.advance(Duration::days(29) - Duration::seconds(1));
        // its old text ends with the key itself, which is one thing to say
        world.app.post(&path(&made, "/rotate"), &world.owner, json!({"grace_period_hours": 168})).await.expect(200);
        crate::server::jobs::run_due(&world.app.app).await.unwrap();
        assert_eq!(said_to_expire(&world).await, Vec::<Value>::new());
        world.app.advance(Duration::seconds(1));
        crate::server::jobs::run_due(&world.app.app).await.unwrap();
        let ends = &made["expires_at"];
        let both = json!({"name": "ci", "old_key_expires_at": ends, "expires_at": ends});
        assert_eq!(said_to_expire(&world).await, [both]);
    }
}
