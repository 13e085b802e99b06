//! The organization's webhooks: requests, answers and handlers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contract::{EventId, Redacted, Timestamp, WebhookId};
use platform::egress::client::{SECRET_PREFIX, WebhookRequest};
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::http::json::{Created, Json};
use platform::http::page::{PageRequest, Paged};
use platform::http::text;
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::store::{self, Webhook, WebhookScope};
use super::surface::{Surface, WebhookStatus, WebhookTrigger};

/// Webhooks of one organization on one surface: each event is written down for each of them.
const WEBHOOKS_MAX: i64 = 20;
const DESCRIPTION_MAX: usize = 500;
/// What a test is sent as; nothing subscribes to it.
const TEST_TYPE: &str = "webhook.test";
const SURFACE: Surface = Surface::Organization;

/// A webhook as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Webhook")]
pub struct WebhookAnswer {
    id: WebhookId,
    #[serde(flatten)]
    webhook: Webhook,
}

impl From<Webhook> for WebhookAnswer {
    fn from(webhook: Webhook) -> Self {
        Self { id: webhook.webhook_id.clone(), webhook }
    }
}

/// The one answer that holds the secret.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NewWebhook {
    signing_secret: String,
    #[serde(flatten)]
    webhook: WebhookAnswer,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookCreation {
    pub url: String,
    pub events: Vec<String>,
    pub description: Option<String>,
}

/// What is left out stays; an empty `description` takes it away.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookChange {
    url: Option<String>,
    events: Option<Vec<String>>,
    description: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookDeletion {
    webhook_id: WebhookId,
    id: WebhookId,
    deleted: bool,
    deleted_at: Timestamp,
}

pub async fn list(cx: Call, page: PageRequest) -> Result<Paged<WebhookAnswer>> {
    list_of(&cx, SURFACE, page).await
}

pub async fn list_of(cx: &Call, surface: Surface, page: PageRequest) -> Result<Paged<WebhookAnswer>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, WebhookScope(cx.org_id(), surface), &page).await?;
    Ok(page.of(rows, total, |row| (row.created_at, row.webhook_id.to_string()), WebhookAnswer::from))
}

pub async fn create(cx: Call, Json(input): Json<WebhookCreation>) -> Result<Created<NewWebhook>> {
    let signing_secret = fresh_secret(&cx.app);
    let webhook = make(&cx, SURFACE, input, &Redacted::new(signing_secret.clone())).await?;
    Ok(Created(NewWebhook { signing_secret, webhook }))
}

pub fn fresh_secret(app: &App) -> String {
    format!("{SECRET_PREFIX}{}", STANDARD.encode(app.entropy().bytes::<32>()))
}

/// On either surface.
pub async fn make(
    cx: &Call,
    surface: Surface,
    input: WebhookCreation,
    secret: &Redacted<String>,
) -> Result<WebhookAnswer> {
    let now = cx.now();
    let webhook = Webhook {
        webhook_id: WebhookId::fresh(now, cx.app.entropy()),
        url: cx.app.egress().admit(&input.url)?.into(),
        description: description(input.description)?,
        events: types(surface, input.events)?,
        status: WebhookStatus::Active.as_str().to_owned(),
        last_delivered_at: None,
        last_status_code: None,
        failure_count: 0,
        created_at: now,
        updated_at: now,
    };
    let mut tx = cx.begin().await?;
    store::lock(&mut tx, cx.org_id()).await?;
    if store::count(&mut tx, WebhookScope(cx.org_id(), surface)).await? >= WEBHOOKS_MAX {
        return Err(Error::conflict("too_many", format!("an organization has at most {WEBHOOKS_MAX} webhooks")));
    }
    store::insert(&cx.app, &mut tx, WebhookScope(cx.org_id(), surface), &webhook, secret).await?;
    let event = Event::new(EventType::WebhookCreated, webhook.webhook_id.clone()).after(told(&webhook));
    events::commit(&cx.app, tx, cx, event).await?;
    Ok(webhook.into())
}

/// "No deliveries until the endpoint is updated": it is active again.
pub async fn update(cx: Call, Json(input): Json<WebhookChange>) -> Result<Json<WebhookAnswer>> {
    let mut tx = cx.begin().await?;
    store::lock(&mut tx, cx.org_id()).await?;
    let mut webhook = found(&mut tx, &cx, SURFACE).await?;
    cx.expected.holds(webhook.updated_at)?;
    let before = told(&webhook);
    if let Some(url) = &input.url {
        webhook.url = cx.app.egress().admit(url)?.into();
    }
    if input.description.is_some() {
        webhook.description = description(input.description)?;
    }
    if let Some(events) = input.events {
        webhook.events = types(SURFACE, events)?;
    }
    status(&webhook)?.after(WebhookTrigger::Updated).as_str().clone_into(&mut webhook.status);
    webhook.failure_count = 0;
    webhook.updated_at = cx.now();
    store::update(&mut tx, &webhook).await?;
    let event = Event::new(EventType::WebhookUpdated, webhook.webhook_id.clone()).before(before).after(told(&webhook));
    events::commit(&cx.app, tx, &cx, event).await?;
    Ok(Json(webhook.into()))
}

pub async fn delete(cx: Call) -> Result<Json<WebhookDeletion>> {
    remove(&cx, SURFACE).await
}

/// On either surface. The event first: whoever records another waits for the chain before they
/// hold the webhook, and so must we.
pub async fn remove(cx: &Call, surface: Surface) -> Result<Json<WebhookDeletion>> {
    let mut tx = cx.begin().await?;
    let webhook = found(&mut tx, cx, surface).await?;
    cx.expected.holds(webhook.updated_at)?;
    let event = Event::new(EventType::WebhookDeleted, webhook.webhook_id.clone()).before(told(&webhook));
    events::record(&cx.app, &mut tx, cx, event).await?;
    if !store::delete(&mut tx, WebhookScope(cx.org_id(), surface), &webhook.webhook_id).await? {
        return Err(Error::NotFound { kind: "webhook" });
    }
    tx.commit().await?;
    let webhook_id = webhook.webhook_id;
    Ok(Json(WebhookDeletion { id: webhook_id.clone(), webhook_id, deleted: true, deleted_at: cx.now() }))
}

/// How a test went. Never what the receiver said: it may be somebody else's.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookTest {
    webhook_id: WebhookId,
    test_event_id: EventId,
    delivered: bool,
    status_code: Option<u16>,
    response_time_ms: u64,
    delivered_at: Timestamp,
}

/// "422 `DELIVERY_FAILED` on a non-2xx reply." A test that succeeds makes a failed webhook active.
pub async fn test(cx: Call) -> Result<Json<WebhookTest>> {
    let mut conn = cx.app.pool().acquire().await?;
    let webhook = found(&mut conn, &cx, SURFACE).await?;
    let secrets = store::secrets(&cx.app, &mut conn, &webhook.webhook_id).await?;
    // The receiver may think for seconds.
    drop(conn);
    let secrets = secrets.ok_or(Error::NotFound { kind: "webhook" })?;
    let (event_id, now) = (EventId::fresh(cx.now(), cx.app.entropy()), cx.now());
    let envelope = json!({
        "event_id": event_id, "event_type": TEST_TYPE, "org_id": cx.org_id(), "timestamp": now,
        "data": {"webhook_id": webhook.webhook_id},
    });
    let body = serde_json::to_vec(&envelope).map_err(Error::internal)?;
    let (url, event_type) = (webhook.url.as_str(), TEST_TYPE);
    let place = telemetry::here();
    let webhook_request =
        WebhookRequest { url, secrets: &secrets, event_id: &event_id, event_type, body, attempt: 1, now, place };
    let receipt = cx.app.egress().send(webhook_request).await;
    if let Some(reason) = receipt.error {
        return Err(Error::DeliveryFailed { reason, status_code: receipt.status });
    }
    let status = status(&webhook)?.after(WebhookTrigger::TestSucceeded);
    let mut conn = cx.app.pool().acquire().await?;
    store::attempted(&mut conn, &webhook.webhook_id, (true, receipt.status), Some(status), cx.now()).await?;
    Ok(Json(WebhookTest {
        webhook_id: webhook.webhook_id,
        test_event_id: event_id,
        delivered: true,
        status_code: receipt.status,
        response_time_ms: u64::try_from(receipt.took.as_millis()).unwrap_or(u64::MAX),
        delivered_at: cx.now(),
    }))
}

pub async fn found(conn: &mut PgConnection, cx: &Call, surface: Surface) -> Result<Webhook> {
    let webhook = store::find(conn, WebhookScope(cx.org_id(), surface), &cx.id("webhook_id")?).await?;
    webhook.ok_or(Error::NotFound { kind: "webhook" })
}

fn status(webhook: &Webhook) -> Result<WebhookStatus> {
    WebhookStatus::parse(&webhook.status).ok_or_else(|| Error::internal("a webhook of an unknown status"))
}

fn description(given: Option<String>) -> Result<Option<String>> {
    let given = given.filter(|given| !given.trim().is_empty());
    given.map(|given| text::checked("description", &given, DESCRIPTION_MAX)).transpose()
}

/// Each a type of this surface, once.
fn types(surface: Surface, given: Vec<String>) -> Result<Vec<String>> {
    if given.is_empty() {
        return Err(Error::invalid("events", "at least one", "`events` names at least one event type"));
    }
    for (at, name) in given.iter().enumerate() {
        let field = format!("events[{at}]");
        if !surface.types().contains(&name.as_str()) {
            let message = format!("`{field}` is not an event type: one of {}", surface.types().join(", "));
            return Err(Error::invalid(field, "event type", message));
        }
        if given.iter().take(at).any(|earlier| earlier == name) {
            return Err(Error::invalid(field.clone(), "unique", format!("`{field}` names `{name}` again")));
        }
    }
    Ok(given)
}

/// The webhook in an event. Of the URL only where it leads: paths and queries hold tokens.
fn told(webhook: &Webhook) -> Value {
    let url = reqwest::Url::parse(&webhook.url).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str);
    json!({"host": host, "description": webhook.description, "events": webhook.events, "status": webhook.status})
}
