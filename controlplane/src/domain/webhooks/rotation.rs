//! Another signing secret for a webhook. Until the grace ends deliveries are signed with the one before as well.

use chrono::Duration;
use contract::{Redacted, Timestamp, WebhookId};
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::http::{found, fresh_secret};
use super::notices::admitted;
use super::store;
use super::surface::Surface;

const GRACE_HOURS: i64 = 24;
const GRACE_HOURS_MAX: i64 = 168;

/// How long the secret of before signs too.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookSecretRotation {
    /// From 0 to 168; 24 if left out.
    grace_period_hours: Option<i64>,
}

/// The same, with the new secret.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "NoticeWebhookSecretRotation")]
#[serde(deny_unknown_fields)]
pub struct OwnRotation {
    secret: String,
    /// From 0 to 168; 24 if left out.
    grace_period_hours: Option<i64>,
}

/// Until when both secrets sign.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookSecretRotated {
    webhook_id: WebhookId,
    rotated_at: Timestamp,
    previous_secret_signs_until: Timestamp,
}

/// The one answer that holds the new secret.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookNewSecret {
    signing_secret: String,
    #[serde(flatten)]
    rotated: WebhookSecretRotated,
}

pub async fn rotate(cx: Call, Json(input): Json<WebhookSecretRotation>) -> Result<Json<WebhookNewSecret>> {
    let signing_secret = fresh_secret(&cx.app);
    let secret = Redacted::new(signing_secret.clone());
    let rotated = record(&cx, Surface::Organization, &secret, input.grace_period_hours).await?;
    Ok(Json(WebhookNewSecret { signing_secret, rotated }))
}

pub async fn rotate_own(cx: Call, Json(input): Json<OwnRotation>) -> Result<Json<WebhookSecretRotated>> {
    let secret = admitted(input.secret)?;
    Ok(Json(record(&cx, Surface::Notices, &secret, input.grace_period_hours).await?))
}

async fn record(
    cx: &Call,
    surface: Surface,
    secret: &Redacted<String>,
    hours: Option<i64>,
) -> Result<WebhookSecretRotated> {
    let hours = hours.unwrap_or(GRACE_HOURS);
    if !(0..=GRACE_HOURS_MAX).contains(&hours) {
        let message = format!("`grace_period_hours` is from 0 to {GRACE_HOURS_MAX}");
        return Err(Error::invalid("grace_period_hours", "0..168", message));
    }
    let (now, until) = (cx.now(), cx.now() + Duration::hours(hours));
    let mut tx = cx.begin().await?;
    store::lock(&mut tx, cx.org_id()).await?;
    let webhook = found(&mut tx, cx, surface).await?;
    let after = json!({"secret": "rotated", "previous_secret_signs_until": until});
    let event = Event::new(EventType::WebhookUpdated, webhook.webhook_id.clone()).after(after);
    events::record(&cx.app, &mut tx, cx, event).await?;
    store::rotate(&cx.app, &mut tx, &webhook.webhook_id, secret, (now, until)).await?;
    tx.commit().await?;
    Ok(WebhookSecretRotated { webhook_id: webhook.webhook_id, rotated_at: now, previous_secret_signs_until: until })
}
