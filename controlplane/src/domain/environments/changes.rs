//! Changes of an environment, and their events.

use contract::EnvId;
use platform::events::{self, Event, EventType, Origin};
use platform::{App, Result};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::store::EnvironmentRow;

/// Records what differs of the settings, whoever changed it.
pub async fn announce(
    app: &App,
    tx: &mut PgConnection,
    origin: &(dyn Fn() -> Origin + Send + Sync),
    before: &EnvironmentRow,
    after: &EnvironmentRow,
) -> Result<()> {
    let (was, is) = events::different(settings(before), settings(after));
    if is.is_empty() {
        return Ok(());
    }
    let event = Event::new(EventType::EnvironmentUpdated, after.env_id.clone()).before(was).after(is);
    events::record(app, tx, origin(), event).await
}

/// Records that it was suspended or resumed.
pub async fn switched(
    app: &App,
    tx: &mut PgConnection,
    origin: Origin,
    (env_id, kind): (&EnvId, EventType),
    (was, is): (&str, &str),
) -> Result<()> {
    let event = Event::new(kind, env_id.clone()).before(json!({"status": was})).after(json!({"status": is}));
    events::record(app, tx, origin, event).await
}

fn settings(row: &EnvironmentRow) -> Value {
    let mut settings = json!(row.settings);
    if let Some(fields) = settings.as_object_mut() {
        fields.insert("name".to_owned(), json!(row.name));
    }
    settings
}
