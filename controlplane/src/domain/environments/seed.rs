//! An environment for a fresh installation, made without a caller: the local platform's demo.

use contract::{EnvId, OrgId};
use platform::events::{self, Event, EventType, Origin};
use platform::{App, Result};
use serde_json::json;

use super::placement;
use super::store::{self, EnvironmentRow};

/// The seed of the demo environment.
#[derive(Debug, Clone)]
pub struct EnvironmentSeed {
    pub name: String,
    pub slug: String,
    pub test_mode: bool,
}

/// The environment of this slug, made if it is not there, and placed.
pub async fn seed(app: &App, org_id: &OrgId, seed: &EnvironmentSeed) -> Result<EnvId> {
    let env_id = record(app, org_id, seed).await?;
    placement::provision(app, &env_id).await?;
    Ok(env_id)
}

/// The environment of this slug, made if it is not there.
pub async fn record(app: &App, org_id: &OrgId, seed: &EnvironmentSeed) -> Result<EnvId> {
    let now = app.now();
    let mut tx = app.pool().begin().await?;
    store::serialise(&mut tx, org_id).await?;
    let env_id = if let Some(env_id) = store::find_by_slug(&mut tx, org_id, &seed.slug).await? {
        env_id
    } else {
        let mut row = EnvironmentRow::fresh(EnvId::fresh(now, app.entropy()), org_id, &seed.name, &seed.slug, now);
        row.settings.test_mode = seed.test_mode;
        store::insert(&mut tx, &row).await?;
        let event = Event::new(EventType::EnvironmentCreated, row.env_id.clone());
        let origin = Origin { env_id: Some(row.env_id.clone()), ..Origin::system(app, org_id.clone()) };
        let after = json!({"name": row.name, "slug": row.slug});
        events::record(app, &mut tx, origin, event.after(after)).await?;
        row.env_id
    };
    tx.commit().await?;
    Ok(env_id)
}
