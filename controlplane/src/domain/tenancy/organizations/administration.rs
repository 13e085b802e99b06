//! Tier and suspension: what only whoever runs the installation changes, by `sluice org`.
//!
//! "`suspended` is due to billing or policy violation." A suspended organization is managed as
//! before, and nobody queries. Where the organization is a resource, the resource says it.

use std::fmt;

use contract::{OrgId, Tier};
use platform::events::{self, Origin};
use platform::{App, Error, Result};

use super::{changes, store};

/// A change by the platform's administration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdministrativeChange {
    Tier(Tier),
    Suspend,
    Resume,
}

contract::named! {
    /// "Organization: `active`, `pending_payment`, `provisioning`, `suspended`, `cancelled`. Transitions of
    /// organization status: not shown."
    pub enum OrganizationStatus {
        Active = "active",
        PendingPayment = "pending_payment",
        Provisioning = "provisioning",
        Suspended = "suspended",
        Cancelled = "cancelled",
    }
}

impl OrganizationStatus {
    /// `None`: not from here. A tier is for whoever has not left.
    pub const fn after(self, change: AdministrativeChange) -> Option<Self> {
        match (self, change) {
            (Self::Cancelled, _) => None,
            (status, AdministrativeChange::Tier(_)) => Some(status),
            (Self::Active | Self::PendingPayment | Self::Provisioning, AdministrativeChange::Suspend) => {
                Some(Self::Suspended)
            }
            (Self::Suspended, AdministrativeChange::Resume) => Some(Self::Active),
            (Self::Suspended, AdministrativeChange::Suspend) | (_, AdministrativeChange::Resume) => None,
        }
    }
}

/// The organization as it stands after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedOrganization {
    pub org_id: OrgId,
    pub slug: String,
    pub tier: String,
    pub status: String,
}

impl fmt::Display for ChangedOrganization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): tier {}, {}", self.slug, self.org_id, self.tier, self.status)
    }
}

/// Changes the organization of this slug or id, in one transaction with the event that says so.
pub async fn change(app: &App, organization: &str, change: AdministrativeChange) -> Result<ChangedOrganization> {
    let mut tx = app.pool().begin().await?;
    let org_id = match store::by_slug(&mut tx, organization).await? {
        Some(org_id) => org_id,
        None => organization.into(),
    };
    let before = store::lock(&mut tx, &org_id).await?;
    if let Some(place) = before.place() {
        let message = format!(
            "the organization is a resource: change spec.tier or spec.suspended of Organization {}/{}",
            place.namespace, place.name
        );
        return Err(Error::conflict("is_resource", message));
    }
    let status = OrganizationStatus::parse(&before.status).and_then(|status| status.after(change));
    let Some(status) = status else {
        return Err(Error::conflict("status", format!("the organization is {}", before.status)));
    };
    let tier = if let AdministrativeChange::Tier(tier) = change { tier.as_str() } else { before.tier.as_str() };
    let after = store::stand(&mut tx, &org_id, tier, status.as_str(), app.now()).await?;
    events::intact(app, &mut tx, &org_id).await?;
    changes::announce(app, &mut tx, &|| origin(app, &org_id), &before, &after).await?;
    tx.commit().await?;
    Ok(ChangedOrganization { org_id: after.org_id, slug: after.slug, tier: after.tier, status: after.status })
}

/// Whoever has the installation's secrets and its database.
fn origin(app: &App, org_id: &OrgId) -> Origin {
    Origin { actor_id: "system:cli".to_owned(), ..Origin::system(app, org_id.clone()) }
}
