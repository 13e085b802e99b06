//! Organizations that somebody writes as resources: the row follows.
//!
//! May be repeated, by several replicas and in any order: a row knows which version of the resource
//! it tells, and never goes back.

use contract::OrgId;
use platform::events::{self, Event, EventType, Origin};
use platform::http::text::Email;
use platform::resources::{NamespacedName, OrganizationResource};
use platform::{App, Result};
use sqlx::PgConnection;

use crate::domain::tenancy::organizations::http::created;
use crate::domain::tenancy::organizations::{changes, store};
use crate::domain::tenancy::users;

/// The result of a projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Projected {
    /// The record was not known before.
    Made,
    Changed,
    /// Known already, or newer than what was said.
    Known,
}

/// Brings the row to what the resource says.
pub async fn project(app: &App, said: &OrganizationResource) -> Result<Projected> {
    let mut tx = app.pool().begin().await?;
    store::serialise(&mut tx, &said.slug).await?;
    // what REST is writing just now is told by REST, who knows whose change it is
    store::serialise_change(&mut tx, &said.org_id).await?;
    let projected = if let Some(before) = store::find(&mut tx, &said.org_id).await? {
        change(app, &mut tx, &before, said).await?
    } else {
        make(app, &mut tx, said).await?;
        Projected::Made
    };
    tx.commit().await?;
    Ok(projected)
}

/// Nobody signed up for it: whoever is billed is invited to own it.
async fn make(app: &App, tx: &mut PgConnection, said: &OrganizationResource) -> Result<()> {
    let place = NamespacedName { namespace: said.source.namespace.clone(), name: said.slug.clone() };
    // Of one name there is one resource: an older one is gone, and was not seen to go.
    if let Some(earlier) = store::at(tx, &place, said.source.revision).await? {
        remove(app, tx, &earlier).await?;
    }
    let row = store::insert_resource(tx, said, app.now()).await?;
    let origin = || Origin::writer(app, said.org_id.clone(), &said.source.writer);
    events::record(app, tx, origin(), created(&row)).await?;
    match Email::try_from(said.billing_email.clone()) {
        Ok(email) => users::invite_owner(app, tx, &said.org_id, &email, origin()).await,
        Err(error) => {
            tracing::warn!(org.id = %said.org_id, %error, "nobody is invited to own the organization");
            Ok(())
        }
    }
}

async fn change(
    app: &App,
    tx: &mut PgConnection,
    before: &store::Organization,
    said: &OrganizationResource,
) -> Result<Projected> {
    let Some(after) = store::project(tx, said, app.now()).await? else {
        return Ok(Projected::Known);
    };
    let origin = || Origin::writer(app, said.org_id.clone(), &said.source.writer);
    changes::announce(app, tx, &origin, before, &after).await?;
    Ok(Projected::Changed)
}

/// The resource is gone.
pub async fn removed(app: &App, org_id: &OrgId) -> Result<()> {
    let mut tx = app.pool().begin().await?;
    remove(app, &mut tx, org_id).await?;
    tx.commit().await?;
    Ok(())
}

async fn remove(app: &App, tx: &mut PgConnection, org_id: &OrgId) -> Result<()> {
    if store::remove(tx, org_id, app.now()).await? {
        let event = Event::new(EventType::OrgRemoved, org_id.as_str());
        events::record(app, tx, Origin::system(app, org_id.clone()), event).await?;
    }
    Ok(())
}

/// Every organization that a resource is believed to stand behind.
pub async fn known(app: &App) -> Result<Vec<(OrgId, NamespacedName)>> {
    store::resources(&mut *app.pool().acquire().await?).await
}
