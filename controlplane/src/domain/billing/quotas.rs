//! `GET` and `PUT /v1/organizations/{org_id}/billing/quotas`: `{org_id, tier, quotas, alerts}`.
//!
//! "Only alert thresholds can be modified; credit and storage limits follow the tier. Invalid
//! thresholds return 422 `VALIDATION_ERROR`."

use contract::caller::Limits;
use contract::{OrgId, Tier, Timestamp};
use platform::Result;
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::http::json::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::alerts::{self, Alerts};

#[derive(Debug, Serialize, JsonSchema)]
pub struct BillingQuotas {
    org_id: OrgId,
    id: OrgId,
    tier: Tier,
    /// `null` is custom or unlimited.
    quotas: Limits,
    alerts: Alerts,
}

pub async fn get(cx: Call) -> Result<Json<BillingQuotas>> {
    let mut conn = cx.app.pool().acquire().await?;
    let alerts = alerts::find(&mut conn, cx.org_id()).await?;
    let org_id = cx.org_id().clone();
    Ok(Json(BillingQuotas { id: org_id.clone(), org_id, tier: cx.tier, quotas: cx.limits, alerts }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BillingQuotasChange {
    alerts: ChangedAlerts,
}

/// What is left out stays.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "BillingAlertsChange")]
#[serde(deny_unknown_fields)]
struct ChangedAlerts {
    credit_warning_threshold: Option<f64>,
    credit_critical_threshold: Option<f64>,
    storage_warning_threshold: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedBillingQuotas {
    org_id: OrgId,
    id: OrgId,
    alerts: Alerts,
    updated_at: Timestamp,
}

pub async fn put(
    cx: Call,
    Json(BillingQuotasChange { alerts: given }): Json<BillingQuotasChange>,
) -> Result<Json<ChangedBillingQuotas>> {
    let mut tx = cx.begin().await?;
    let before = alerts::lock(&mut tx, cx.org_id()).await?;
    let after = Alerts {
        credit_warning_threshold: given.credit_warning_threshold.unwrap_or(before.credit_warning_threshold),
        credit_critical_threshold: given.credit_critical_threshold.unwrap_or(before.credit_critical_threshold),
        storage_warning_threshold: given.storage_warning_threshold.unwrap_or(before.storage_warning_threshold),
    };
    after.check()?;
    alerts::store(&mut tx, cx.org_id(), after, cx.now()).await?;
    if after != before {
        let event = Event::new(EventType::OrgSettingsUpdated, cx.org_id().as_str());
        let event = event.before(json!({"alerts": before})).after(json!({"alerts": after}));
        events::record(&cx.app, &mut tx, &cx, event).await?;
    }
    tx.commit().await?;
    let org_id = cx.org_id().clone();
    Ok(Json(ChangedBillingQuotas { id: org_id.clone(), org_id, alerts: after, updated_at: cx.now() }))
}
