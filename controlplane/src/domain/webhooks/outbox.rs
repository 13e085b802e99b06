//! Deliveries of an event: one for each webhook that wants it, written in the
//! transaction that recorded the event.

use contract::{DeliveryId, EventId, OrgId, Timestamp};
use futures::future::BoxFuture;
use platform::events::{ChainEntry, EventType};
use platform::{App, Error, Result};
use serde_json::{Map, Value, json};
use sqlx::PgConnection;

use super::queue;
use super::store::{self, SubscriptionFilter, WebhookScope};
use super::surface::Surface;

/// One event as one surface tells it. Its body is made once: "sign the exact stored bytes".
#[derive(Debug)]
pub struct Notice {
    pub surface: Surface,
    pub event_type: &'static str,
    pub event_id: EventId,
    pub org_id: OrgId,
    pub occurred_at: Timestamp,
    body: Value,
    /// For the webhook of this URL alone.
    only: Option<String>,
}

/// Queues what the event tells for every active webhook that names its type.
pub fn tell<'a>(
    app: &'a App,
    tx: &'a mut PgConnection,
    kind: EventType,
    entry: &'a ChainEntry,
) -> BoxFuture<'a, Result<()>> {
    Box::pin(queue_notices(app, tx, kind, entry))
}

async fn queue_notices(app: &App, tx: &mut PgConnection, kind: EventType, entry: &ChainEntry) -> Result<()> {
    for notice in notices(kind, entry) {
        let names = notice.surface.subscriptions(notice.event_type);
        let sought = SubscriptionFilter { names: &names, url: notice.only.as_deref() };
        let subscribed = store::subscribed(tx, WebhookScope(&entry.org_id, notice.surface), sought).await?;
        if subscribed.is_empty() {
            continue;
        }
        let body = serde_json::to_vec(&notice.body).map_err(Error::internal)?;
        for webhook_id in subscribed {
            let delivery_id = DeliveryId::fresh(app.now(), app.entropy());
            queue::insert(tx, &delivery_id, &webhook_id, &notice, &body, app.now()).await?;
        }
    }
    Ok(())
}

/// Of a trigger that has fired: the URL of the one webhook that its `action_config` names, written as webhooks have it.
pub fn only_for(metadata: &Value) -> Option<String> {
    let named = metadata.get("action_config")?.get("webhook_url")?.as_str()?;
    Some(reqwest::Url::parse(named).map_or_else(|_| named.to_owned(), String::from))
}

/// Is there an active webhook of this URL that hears of triggers?
pub async fn hears_of_triggers(tx: &mut PgConnection, org_id: &OrgId, url: &str) -> Result<bool> {
    let names = Surface::Notices.subscriptions("trigger.fired");
    let sought = SubscriptionFilter { names: &names, url: Some(url) };
    Ok(!store::subscribed(tx, WebhookScope(org_id, Surface::Notices), sought).await?.is_empty())
}

fn notices(kind: EventType, entry: &ChainEntry) -> Vec<Notice> {
    let organization = of_organization(kind, entry);
    organization.into_iter().chain(of_contract(kind, entry)).collect()
}

fn notice(entry: &ChainEntry, surface: Surface, event_type: &'static str, body: Value) -> Notice {
    Notice {
        surface,
        event_type,
        event_id: entry.event_id.clone(),
        org_id: entry.org_id.clone(),
        occurred_at: entry.timestamp,
        body,
        only: None,
    }
}

/// "Payload envelope: `{event_id, event_type, org_id, timestamp, data}`."
fn of_organization(kind: EventType, entry: &ChainEntry) -> Option<Notice> {
    let event_type = Surface::Organization.name_of(kind)?;
    let body = json!({
        "event_id": entry.event_id,
        "event_type": event_type,
        "org_id": entry.org_id,
        "timestamp": entry.timestamp,
        "data": data(entry),
    });
    Some(notice(entry, Surface::Organization, event_type, body))
}

/// "`data` for `key.rotated` carries `key_id`, `name`, `old_key_expires_at`, `rotated_by`." Of the
/// others the same: the resource's id, what it has become (or was, when it is gone), who did it.
fn data(entry: &ChainEntry) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert(id_of(&entry.resource_type).to_owned(), json!(entry.resource_id));
    if let Some(env_id) = &entry.environment_id {
        data.insert("env_id".to_owned(), json!(env_id));
    }
    let told = ["after", "before"].iter().find_map(|side| entry.changes.get(side)?.as_object());
    for (name, value) in told.into_iter().flatten() {
        data.entry(name.as_str()).or_insert_with(|| value.clone());
    }
    if let Some(by) = by(&entry.event_type) {
        data.entry(by).or_insert_with(|| json!(entry.actor_id));
    }
    data
}

/// The member that names a resource of this type.
fn id_of(resource_type: &str) -> &'static str {
    match resource_type {
        "api_key" => "key_id",
        "user" => "user_id",
        "policy" | "abac_policy" => "policy_id",
        "environment" => "env_id",
        "organization" => "org_id",
        "webhook" => "webhook_id",
        "jit_request" => "request_id",
        "agent_capability" => "grant_id",
        "branch" => "branch_id",
        "trigger" => "trigger_id",
        _ => "resource_id",
    }
}

/// `rotated_by` of `key.rotated`, `changed_by` of `user.role_changed`; nothing for what nobody does.
fn by(event_type: &str) -> Option<String> {
    let verb = event_type.rsplit(['.', '_']).next()?;
    let done = verb.ends_with("ed") && !matches!(event_type, "auth.failed" | "jit.expired" | "billing.quota_exceeded");
    done.then(|| format!("{verb}_by"))
}

/// The types of the delivery contract that an event of the trail means: "payload fields" as printed.
fn of_contract(kind: EventType, entry: &ChainEntry) -> Option<Notice> {
    let event_type = Surface::Notices.name_of(kind)?;
    let body = match kind {
        EventType::KeyRotated => of_key(entry, "action", "rotated"),
        EventType::KeyRevoked => of_key(entry, "reason", "revoked"),
        EventType::OrgSettingsUpdated => of_tier(entry)?,
        EventType::BillingWarning | EventType::BillingCritical | EventType::BillingQuotaExceeded => of_usage(entry),
        EventType::GateReady
        | EventType::GateSignOffNeeded
        | EventType::GateApproved
        | EventType::GateRejected
        | EventType::RecoveryHumanNeeded => of_review(entry),
        _ => whole(entry),
    };
    let only = match kind {
        EventType::TriggerFired => body.get("metadata").and_then(only_for),
        _ => None,
    };
    Some(Notice { only, ..notice(entry, Surface::Notices, event_type, body) })
}

fn of_key(entry: &ChainEntry, member: &str, what: &str) -> Value {
    let name = ["after", "before"].iter().find_map(|side| entry.changes.get(side)?.get("name"));
    json!({
        "org_id": entry.org_id,
        "key_id": entry.resource_id,
        "key_name": name,
        member: what,
        "performed_by": entry.actor_id,
        "occurred_at": entry.timestamp,
    })
}

/// What the runtime tells of a review: which roles have to hear of it, and where they decide.
fn of_review(entry: &ChainEntry) -> Value {
    let mut body = Map::from_iter([("org_id".to_owned(), json!(entry.org_id))]);
    body.extend(entry.changes.get("after").and_then(Value::as_object).cloned().unwrap_or_default());
    body.insert("performed_by".to_owned(), json!(entry.actor_id));
    body.insert("occurred_at".to_owned(), json!(entry.timestamp));
    Value::Object(body)
}

/// "`org_id`, `threshold_percent`, `current_usage`, `monthly_limit`, `period_start`, `period_end`."
fn of_usage(entry: &ChainEntry) -> Value {
    let mut body = Map::from_iter([("org_id".to_owned(), json!(entry.org_id))]);
    for name in ["threshold_percent", "current_usage", "monthly_limit", "period_start", "period_end"] {
        let said = entry.changes.get("after").and_then(|after| after.get(name));
        body.insert(name.to_owned(), said.cloned().unwrap_or_default());
    }
    Value::Object(body)
}

/// The resource as it has become, with its organization and its id.
fn whole(entry: &ChainEntry) -> Value {
    let told = entry.changes.get("after").and_then(Value::as_object).cloned().unwrap_or_default();
    let own = [("org_id", json!(entry.org_id)), (id_of(&entry.resource_type), json!(entry.resource_id))];
    own.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(told).collect()
}

/// None where neither the tier nor a suspension changed: a suspension tells the tier it is of.
fn of_tier(entry: &ChainEntry) -> Option<Value> {
    let tier = |side: &str| entry.changes.get(side)?.get("tier").cloned();
    Some(json!({
        "org_id": entry.org_id,
        "previous_tier": tier("before")?,
        "new_tier": tier("after")?,
        "effective_at": entry.timestamp,
        "subscription_id": null,
    }))
}
