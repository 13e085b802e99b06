//! An organization with its owner, made by the platform itself: for local mode and for tests.

use contract::{OrgId, Redacted, Tier, UserId};
use platform::events::{self, Origin};
use platform::http::text::Email;
use platform::resources::NewOrganization;
use platform::{App, Error, Result};

use crate::domain::accounts::{account, links};
use crate::domain::tenancy::organizations::http::created;
use crate::domain::tenancy::organizations::store;
use crate::domain::tenancy::users;

#[derive(Debug, Clone)]
pub struct OrganizationSeed {
    pub name: String,
    pub slug: String,
    pub tier: Tier,
    pub owner_email: String,
    pub owner_name: String,
    pub owner_password: Redacted<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeded {
    pub org_id: OrgId,
    pub owner_id: UserId,
}

/// Makes the organization, or finds the one of this slug; either way its tier is as asked for and
/// its owner's password is the one given.
pub async fn seed(app: &App, seed: &OrganizationSeed) -> Result<Seeded> {
    let email =
        Email::try_from(seed.owner_email.clone()).map_err(|e| Error::invalid("owner_email", "email", e.to_string()))?;
    let account = account::ensure(app, &email, &seed.owner_name, seed.owner_password.expose()).await?;
    let mut tx = app.pool().begin().await?;
    // Whoever runs the installation has named the address.
    links::verified(&mut tx, &account, app.now()).await?;
    let org_id = match store::by_slug(&mut tx, &seed.slug).await? {
        Some(org_id) => org_id,
        None => make(app, &mut tx, seed, &email).await?,
    };
    store::set_tier(&mut tx, &org_id, seed.tier, app.now()).await?;
    let owner_id = if let Some(owner_id) = users::store::owner(&mut tx, &org_id).await? {
        owner_id
    } else {
        let owner =
            users::store::Owner { org_id: &org_id, account_id: &account, email: &email, name: Some(&seed.owner_name) };
        users::store::insert_owner(&mut tx, app, &owner).await?
    };
    tx.commit().await?;
    Ok(Seeded { org_id, owner_id })
}

async fn make(app: &App, tx: &mut sqlx::PgConnection, seed: &OrganizationSeed, email: &Email) -> Result<OrgId> {
    let org_id = OrgId::fresh(app.now(), app.entropy());
    let record = NewOrganization {
        slug: &seed.slug,
        name: &seed.name,
        billing_email: email.as_str(),
        cloud_region: "local",
        mfa_required: false,
        enforce_sso: false,
    };
    let row = store::insert(tx, &org_id, &record, app.now()).await?;
    events::record(app, tx, Origin::system(app, org_id.clone()), created(&row)).await?;
    Ok(org_id)
}
