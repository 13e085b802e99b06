//! The second surface: "POST /v1/webhooks (body `url`, `secret`, `events`, `description`), GET
//! /v1/webhooks, DELETE /v1/webhooks/{`webhook_id`}, GET /v1/webhooks/deliveries?status=failed, POST
//! /v1/webhooks/deliveries/{`event_id`}/replay. Response bodies of these: not shown."
//!
//! The secret is the caller's own and is never answered. `trigger.fired` carries what agents have stored and asked: a key
//! subscribes to it that may read that itself.

use contract::{Access, DeliveryId, EventId, Redacted, Scope};
use platform::http::call::Call;
use platform::http::json::{Accepted, Created, Json, Query};
use platform::http::page::{PageRequest, Paged};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::http::{self, WebhookAnswer, WebhookDeletion};
use super::queue::{self, WebhookDelivery};
use super::store::WebhookScope;
use super::surface::{DeliveryStatus, DeliveryTrigger, Surface};

/// A secret of less can be guessed from one signed body.
const SECRET_CHARACTERS: std::ops::RangeInclusive<usize> = 24..=128;
const SURFACE: Surface = Surface::Notices;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeWebhookCreation {
    url: String,
    secret: String,
    events: Vec<String>,
    description: Option<String>,
}

pub async fn create(cx: Call, Json(input): Json<NoticeWebhookCreation>) -> Result<Created<WebhookAnswer>> {
    let NoticeWebhookCreation { url, secret, events, description } = input;
    let secret = admitted(secret)?;
    if events.iter().any(|event| event == "trigger.fired") {
        for scope in [Scope::Agent, Scope::QueryRead, Scope::AuditRead] {
            cx.caller.may(Access::Admin, Some(scope)).map_err(Error::Lacks)?;
        }
    }
    let webhook = http::WebhookCreation { url, events, description };
    http::make(&cx, SURFACE, webhook, &secret).await.map(Created)
}

/// A secret of the caller's own, if it is long enough.
pub fn admitted(secret: String) -> Result<Redacted<String>> {
    if SECRET_CHARACTERS.contains(&secret.len()) && secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Redacted::new(secret));
    }
    let (least, most) = (SECRET_CHARACTERS.start(), SECRET_CHARACTERS.end());
    let message = format!("`secret` is {least} to {most} visible ASCII characters");
    Err(Error::invalid("secret", format!("{least}..{most} visible ASCII characters"), message))
}

pub async fn list(cx: Call, page: PageRequest) -> Result<Paged<WebhookAnswer>> {
    http::list_of(&cx, SURFACE, page).await
}

pub async fn delete(cx: Call) -> Result<Json<WebhookDeletion>> {
    http::remove(&cx, SURFACE).await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct DeliveryFilter {
    status: Option<String>,
}

pub async fn deliveries(
    cx: Call,
    Query(filter): Query<DeliveryFilter>,
    page: PageRequest,
) -> Result<Paged<WebhookDelivery>> {
    let status = filter.status.map(|given| {
        let names = DeliveryStatus::ALL.iter().map(|status| status.as_str()).collect::<Vec<_>>().join(", ");
        let message = format!("`status` is one of {names}");
        DeliveryStatus::parse(&given).ok_or_else(|| Error::invalid("status", names, message))
    });
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = queue::page(&mut conn, WebhookScope(cx.org_id(), SURFACE), status.transpose()?, &page).await?;
    Ok(page.of(rows, total, |row| (row.created_at, row.delivery_id.to_string()), |row| row))
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct EventReplay {
    event_id: EventId,
    id: EventId,
    status: &'static str,
    /// Webhooks that are told again.
    deliveries: Vec<DeliveryId>,
}

/// "After 6 failures the event is marked failed in the delivery log and can be replayed": to the
/// webhooks that did not take it, with the same bytes, from the first attempt on.
pub async fn replay(cx: Call) -> Result<Accepted<EventReplay>> {
    let event_id: EventId = cx.id("event_id")?;
    let mut tx = cx.begin().await?;
    let found = queue::of_event(&mut tx, WebhookScope(cx.org_id(), SURFACE), &event_id).await?;
    if found.is_empty() {
        return Err(Error::NotFound { kind: "delivery" });
    }
    let moves = |status: &DeliveryStatus| status.after(DeliveryTrigger::Replayed).is_some();
    let failed: Vec<DeliveryId> =
        found.into_iter().filter(|(_, status)| status.as_ref().is_some_and(moves)).map(|(id, _)| id).collect();
    if failed.is_empty() {
        // before the answer: a delivery that is still locked would be passed over when it is due
        tx.rollback().await?;
        return Err(Error::conflict("not_failed", "no delivery of this event has failed: there is nothing to replay"));
    }
    for delivery_id in &failed {
        queue::begin_anew(&mut tx, delivery_id, cx.now()).await?;
    }
    tx.commit().await?;
    let status = DeliveryStatus::Pending.as_str();
    Ok(Accepted(EventReplay { id: event_id.clone(), event_id, status, deliveries: failed }))
}
