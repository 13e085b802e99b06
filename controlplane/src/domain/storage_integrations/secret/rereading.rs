//! Reads Secrets again: what is rotated in one reaches data planes within a minute and a snapshot, without a restart.

use chrono::Duration;
use contract::OrgId;
use platform::events::{self, Event, EventType, Origin};
use platform::{App, Error, Result};

use super::read;
use super::source::{KUBERNETES_SECRET, KeptSecret, SecretReading};
use super::store::{self, HeldSecret};
use crate::domain::environments;
use crate::domain::storage_integrations::http::told;
use crate::domain::storage_integrations::store as integrations;

/// How old what was read of a Secret is at most, while the cluster answers.
pub const REREAD_EVERY: Duration = Duration::minutes(1);

/// Reads every Secret that an integration has. While the cluster does not answer, what was read last rules.
pub async fn reread(app: &App) -> Result<()> {
    if app.resources().is_none() {
        return Ok(());
    }
    let all = {
        let mut conn = app.pool().acquire().await?;
        store::held(&mut conn).await?
    };
    for held in &all {
        match again(app, held).await {
            Ok(()) => {}
            // each would wait for it
            Err(Error::Unavailable(_)) => return Ok(()),
            Err(error) => tracing::warn!(
                storage_integration.id = %held.storage_integration_id,
                error = error.with_sources(),
                "the Secret of a storage integration could not be read",
            ),
        }
    }
    Ok(())
}

async fn again(app: &App, held: &HeldSecret) -> Result<()> {
    let place = {
        let mut conn = app.pool().acquire().await?;
        environments::resource_place(&mut conn, &held.env_id).await?
    };
    let Some((org_id, environment)) = place else { return Ok(()) };
    let reading = read(app, &held.source, &environment).await?;
    let id = held.storage_integration_id.as_str();
    let is_known = match &reading {
        Ok(credentials) => {
            let known = integrations::opened(app.keyring(), id, KUBERNETES_SECRET, held.credentials.as_deref());
            known.is_ok_and(|known| known == *credentials)
        }
        Err(problem) => held.problem.as_ref() == Some(problem),
    };
    if is_known { Ok(()) } else { settle(app, org_id, held, reading).await }
}

/// Keeps what the Secret gives now, unless somebody has given the integration others meanwhile.
async fn settle(app: &App, org_id: OrgId, held: &HeldSecret, reading: SecretReading) -> Result<()> {
    let mut tx = app.pool().begin().await?;
    environments::lock(&mut tx, &held.env_id).await?;
    let found = integrations::find(&mut tx, &held.env_id, &held.storage_integration_id).await?;
    let has_it = |secret: &KeptSecret| secret.source == held.source;
    let Some(mut integration) = found.filter(|it| it.secret.as_ref().is_some_and(has_it)) else { return Ok(()) };
    let before = told(&integration);
    let (credentials, problem) = match reading {
        Ok(credentials) => (Some(credentials), None),
        Err(problem) => (None, Some(problem)),
    };
    let id = integration.storage_integration_id.clone();
    if let Some(problem) = &problem {
        tracing::warn!(storage_integration.id = %id, %problem, "a Secret gives no credentials: nothing is reached by it");
    }
    integration.updated_at = app.now();
    integrations::update(&mut tx, &integration).await?;
    let secret = KeptSecret { source: held.source.clone(), problem };
    store::hold(app, &mut tx, &mut integration, secret, credentials.as_ref()).await?;
    let event = Event::new(EventType::StorageIntegrationUpdated, id).before(before).after(told(&integration));
    let origin = Origin { env_id: Some(held.env_id.clone()), ..Origin::system(app, org_id) };
    events::commit(app, tx, origin, event).await
}
