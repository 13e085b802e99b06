//! Environments that somebody writes as resources: the row follows.
//!
//! May be repeated, by several replicas and in any order: a row knows which version of the resource
//! it tells, and never goes back.

use contract::governance::EnvironmentStatus;
use contract::{EnvId, OrgId};
use platform::events::{self, Event, EventType, Origin};
use platform::resources::{EnvironmentResource, NamespacedName};
use platform::{App, Result};
use serde_json::json;
use sqlx::PgConnection;

use crate::domain::api_keys;
use crate::domain::environments::changes;
use crate::domain::environments::removal::remove;
use crate::domain::environments::store::{self, EnvironmentRow};
use crate::domain::tenancy::organizations;
use crate::server::kubernetes;
use crate::server::kubernetes::organizations::Projected;

/// Brings the row to what the resource says. `None`: its organization is not known, or not yet.
pub async fn project(app: &App, said: &EnvironmentResource) -> Result<Option<Projected>> {
    let mut tx = app.pool().begin().await?;
    let place = NamespacedName { namespace: said.source.namespace.clone(), name: said.organization.clone() };
    let Some(org_id) = organizations::store::at(&mut tx, &place, i64::MAX).await? else {
        return Ok(None);
    };
    store::serialise(&mut tx, &org_id).await?;
    let origin = || {
        let origin = Origin::writer(app, org_id.clone(), &said.source.writer);
        Origin { env_id: Some(said.env_id.clone()), ..origin }
    };
    // what REST is writing just now is told by REST, who knows whose change it is
    store::serialise_change(&mut tx, &said.env_id).await?;
    store::lock(&mut tx, &said.env_id).await?;
    let projected = match store::find(&mut tx, &org_id, &said.env_id).await? {
        Some(before) => change(app, &mut tx, &before, said, &origin).await?,
        None => make(app, &mut tx, &org_id, said, &origin).await?,
    };
    tx.commit().await?;
    Ok(Some(projected))
}

async fn make(
    app: &App,
    tx: &mut PgConnection,
    org_id: &OrgId,
    said: &EnvironmentResource,
    origin: &(dyn Fn() -> Origin + Send + Sync),
) -> Result<Projected> {
    // Of one name there is one resource: an older one is gone, and was not seen to go.
    if let Some(earlier) = store::at(tx, org_id, &said.slug, said.source.revision).await? {
        remove(app, tx, &earlier, &system(app, org_id, &earlier)).await?;
    }
    store::insert_resource(tx, &EnvironmentRow::of(said, org_id, app.now()), said).await?;
    let after = json!({"name": said.name, "slug": said.slug});
    let event = Event::new(EventType::EnvironmentCreated, said.env_id.clone()).after(after);
    events::record(app, tx, origin(), event).await?;
    Ok(Projected::Made)
}

async fn change(
    app: &App,
    tx: &mut PgConnection,
    before: &EnvironmentRow,
    said: &EnvironmentResource,
    origin: &(dyn Fn() -> Origin + Send + Sync),
) -> Result<Projected> {
    if !store::project(tx, said, app.now()).await? {
        return Ok(Projected::Known);
    }
    changes::announce(app, tx, origin, before, &EnvironmentRow::of(said, &before.org_id, app.now())).await?;
    let became = |status: EnvironmentStatus| said.status == status && before.status != status.as_str();
    let statuses = (before.status.as_str(), said.status.as_str());
    if became(EnvironmentStatus::Suspended) {
        let kind = (&said.env_id, EventType::EnvironmentSuspended);
        changes::switched(app, tx, origin(), kind, statuses).await?;
    }
    // it is on again some time after REST has asked for it, and told it
    let is_on = matches!(said.status, EnvironmentStatus::Active | EnvironmentStatus::Provisioning);
    if is_on && statuses.0 == EnvironmentStatus::Suspended.as_str() && said.source.writer != kubernetes::MANAGER {
        changes::switched(app, tx, origin(), (&said.env_id, EventType::EnvironmentResumed), statuses).await?;
    }
    if became(EnvironmentStatus::Decommissioning) {
        api_keys::revoke_all_in(app, tx, &said.env_id, origin).await?;
    }
    Ok(Projected::Changed)
}

/// The resource is gone: the keys are revoked, and the slug is free.
pub async fn removed(app: &App, env_id: &EnvId) -> Result<()> {
    let mut tx = app.pool().begin().await?;
    store::lock(&mut tx, env_id).await?;
    if let Some((org_id, _)) = store::place(&mut tx, env_id).await? {
        remove(app, &mut tx, env_id, &system(app, &org_id, env_id)).await?;
    }
    tx.commit().await?;
    Ok(())
}

fn system(app: &App, org_id: &OrgId, env_id: &EnvId) -> impl Fn() -> Origin + Send + Sync {
    move || Origin { env_id: Some(env_id.clone()), ..Origin::system(app, org_id.clone()) }
}

/// Every environment that a resource is believed to stand behind.
pub async fn known(app: &App) -> Result<Vec<(EnvId, NamespacedName)>> {
    store::resources(&mut *app.pool().acquire().await?).await
}
