//! Changes of an organization, and their events.

use platform::events::{self, Event, EventType, Origin};
use platform::resources::OrganizationChange;
use platform::{App, Result};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::store::Organization;

/// What of the change is one: a member that is the same already is nobody's to write.
pub fn beyond(before: &Organization, change: OrganizationChange) -> OrganizationChange {
    OrganizationChange {
        name: change.name.filter(|name| *name != before.name),
        billing_email: change.billing_email.filter(|email| *email != before.billing_email),
        mfa_required: change.mfa_required.filter(|required| *required != before.mfa_required),
        enforce_sso: change.enforce_sso.filter(|enforced| *enforced != before.enforce_sso),
    }
}

/// The organization with the change.
pub fn applied(before: &Organization, change: OrganizationChange) -> Organization {
    Organization {
        name: change.name.unwrap_or_else(|| before.name.clone()),
        billing_email: change.billing_email.unwrap_or_else(|| before.billing_email.clone()),
        mfa_required: change.mfa_required.unwrap_or(before.mfa_required),
        enforce_sso: change.enforce_sso.unwrap_or(before.enforce_sso),
        ..before.clone()
    }
}

/// Records what differs, whoever changed it.
pub async fn announce(
    app: &App,
    tx: &mut PgConnection,
    origin: &(dyn Fn() -> Origin + Send + Sync),
    before: &Organization,
    after: &Organization,
) -> Result<()> {
    let (mut was, mut is) = events::different(settings(before), settings(after));
    if is.is_empty() {
        return Ok(());
    }
    if is.contains_key("suspended") {
        // The subscription is told of whole.
        was.entry("tier").or_insert_with(|| json!(before.tier));
        is.entry("tier").or_insert_with(|| json!(after.tier));
    }
    let event = Event::new(EventType::OrgSettingsUpdated, after.org_id.as_str()).before(was).after(is);
    events::record(app, tx, origin(), event).await?;
    if after.mfa_required && !before.mfa_required {
        let event = Event::new(EventType::OrgMfaEnforced, after.org_id.as_str());
        let event = event.before(json!({"mfa_required": false})).after(json!({"mfa_required": true}));
        events::record(app, tx, origin(), event).await?;
    }
    Ok(())
}

fn settings(row: &Organization) -> Value {
    json!({
        "name": row.name, "billing_email": row.billing_email, "tier": row.tier, "quotas": row.quotas,
        "suspended": row.status == "suspended", "mfa_required": row.mfa_required, "enforce_sso": row.enforce_sso,
    })
}
