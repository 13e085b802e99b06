//! Integrations that reach beyond what the installation lets them: looked for once, when a control plane starts.
//!
//! Whoever runs the installation may take back a folder, a host or the credentials of the surroundings. What was made
//! before is disabled then, and can be enabled again when it is within bounds.

use platform::events::{self, Event, EventType, Origin};
use platform::{App, Result};

use super::admission;
use super::http::told;
use super::store::{self, PlacedIntegration};

/// Disables every integration that reaches beyond the bounds.
pub async fn confine(app: &App) -> Result<()> {
    let mut tx = app.pool().begin().await?;
    for PlacedIntegration { org_id, env_id, mut integration } in store::enabled(&mut tx).await? {
        if admission::is_within(app, &integration) {
            continue;
        }
        let before = told(&integration);
        (integration.enabled, integration.updated_at) = (false, app.now());
        store::update(&mut tx, &integration).await?;
        let id = integration.storage_integration_id.clone();
        tracing::warn!(storage_integration.id = %id, "it reaches beyond what this installation allows: it is disabled");
        let event = Event::new(EventType::StorageIntegrationUpdated, id).before(before).after(told(&integration));
        let origin = Origin { env_id: Some(env_id), ..Origin::system(app, org_id) };
        events::record(app, &mut tx, origin, event).await?;
    }
    tx.commit().await?;
    Ok(())
}
