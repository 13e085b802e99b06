//! SQL of the deliveries: outbox, queue and log in one table.

use chrono::Duration;
use contract::{DeliveryId, EventId, Timestamp, WebhookId};
use platform::http::page::PageRequest;
use platform::{App, Result, changed, execute, page_rows};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;

use super::outbox::Notice;
use super::store::WebhookScope;
use super::surface::DeliveryStatus;

/// Who holds a delivery longer is taken for dead; an attempt takes 10 seconds at most.
const LOCK: Duration = Duration::minutes(1);
/// Requests to one webhook at once: a slow one has no more than this of all the room there is.
const AT_ONCE_PER_WEBHOOK: i64 = 4;
/// What has ended is kept for so long.
const KEPT: Duration = Duration::days(30);

/// A row of the delivery log.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookDelivery {
    pub id: DeliveryId,
    pub delivery_id: DeliveryId,
    pub webhook_id: WebhookId,
    pub event_id: EventId,
    pub event_type: String,
    pub status: String,
    pub attempts: i32,
    /// Null when none is to come.
    pub next_attempt_at: Option<Timestamp>,
    pub last_attempt_at: Option<Timestamp>,
    pub last_status_code: Option<i32>,
    pub last_error: Option<String>,
    pub delivered_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// A delivery to be attempted, by whoever claimed it and nobody else.
#[derive(Debug)]
pub struct ClaimedDelivery {
    pub delivery_id: DeliveryId,
    pub webhook_id: WebhookId,
    pub surface: String,
    pub url: String,
    pub event_id: EventId,
    pub event_type: String,
    pub body: Vec<u8>,
    /// This one included.
    pub attempts: i32,
    pub epoch: i64,
    /// Where in a trace the event was recorded.
    pub traceparent: Option<String>,
    pub tracestate: Option<String>,
}

pub async fn insert(
    tx: &mut PgConnection,
    delivery_id: &DeliveryId,
    webhook_id: &WebhookId,
    notice: &Notice,
    body: &[u8],
    now: Timestamp,
) -> Result<()> {
    let place = telemetry::here();
    execute!(
        tx,
        "insert into webhook_deliveries
             (delivery_id, webhook_id, org_id, event_id, event_type, occurred_at, body, status, next_attempt_at, created_at,
              traceparent, tracestate)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11)",
        delivery_id.as_str(),
        webhook_id.as_str(),
        notice.org_id.as_str(),
        notice.event_id.as_str(),
        notice.event_type,
        notice.occurred_at,
        body,
        DeliveryStatus::Pending.as_str(),
        now,
        place.traceparent(),
        place.tracestate(),
    )
}

/// Takes up to `most` that are due, oldest first, and no webhook more than its share.
pub async fn claim(app: &App, most: i64) -> Result<Vec<ClaimedDelivery>> {
    let now = app.now();
    let rows = sqlx::query_as!(
        ClaimedDelivery,
        "with due as (
             select d.delivery_id
             from webhooks w
             cross join lateral (
                 select delivery_id, next_attempt_at
                 from webhook_deliveries
                 where webhook_id = w.webhook_id and status = 'pending' and next_attempt_at <= $1
                   and (locked_until is null or locked_until <= $1)
                 order by next_attempt_at, delivery_id
                 limit greatest(0, $3 - (select count(*) from webhook_deliveries b
                                         where b.webhook_id = w.webhook_id and b.status = 'pending'
                                           and b.locked_until > $1))
                 for update skip locked
             ) d
             where w.status = 'active'
             order by d.next_attempt_at, d.delivery_id
             limit $4
         )
         update webhook_deliveries d
         set locked_until = $2, epoch = d.epoch + 1, attempts = d.attempts + 1
         from webhooks w
         where d.delivery_id in (select delivery_id from due) and w.webhook_id = d.webhook_id
         returning d.delivery_id, d.webhook_id, w.surface, w.url, d.event_id, d.event_type, d.body, d.attempts, d.epoch,
                   d.traceparent, d.tracestate",
        now,
        now + LOCK,
        AT_ONCE_PER_WEBHOOK,
        most,
    )
    .fetch_all(app.pool())
    .await?;
    Ok(rows)
}

/// How an attempt ended: the state it leads to, and when the next one is due if it stays pending.
#[derive(Debug)]
pub struct DeliveryOutcome {
    pub status: DeliveryStatus,
    pub next_attempt_at: Option<Timestamp>,
    pub status_code: Option<u16>,
    pub error: Option<&'static str>,
}

/// Writes down how the attempt ended, unless somebody else has claimed the delivery since.
pub async fn settle(
    tx: &mut PgConnection,
    claimed: &ClaimedDelivery,
    ended: &DeliveryOutcome,
    now: Timestamp,
) -> Result<bool> {
    changed!(
        tx,
        "update webhook_deliveries
         set status = $3, next_attempt_at = coalesce($4, next_attempt_at), last_status_code = $5, last_error = $6,
             last_attempt_at = $7::timestamptz, delivered_at = case when $3 = 'delivered' then $7::timestamptz end, locked_until = null
         where delivery_id = $1 and epoch = $2 and status = 'pending'",
        claimed.delivery_id.as_str(),
        claimed.epoch,
        ended.status.as_str(),
        ended.next_attempt_at,
        ended.status_code.map(i32::from),
        ended.error,
        now,
    )
}

/// "Receives nothing": what waited for a webhook ends with it.
pub async fn give_up(tx: &mut PgConnection, webhook_id: &WebhookId) -> Result<()> {
    execute!(
        tx,
        "update webhook_deliveries
         set status = 'failed', locked_until = null, last_error = coalesce(last_error, 'the webhook has failed')
         where webhook_id = $1 and status = 'pending'",
        webhook_id.as_str(),
    )
}

pub async fn page(
    conn: &mut PgConnection,
    WebhookScope(org_id, surface): WebhookScope<'_>,
    status: Option<DeliveryStatus>,
    page: &PageRequest,
) -> Result<(Vec<WebhookDelivery>, i64)> {
    let status = status.map(DeliveryStatus::as_str);
    let rows = page_rows!(
        conn,
        page,
        WebhookDelivery,
        "select d.delivery_id as id, d.delivery_id, d.webhook_id, d.event_id, d.event_type, d.status, d.attempts,
                case when d.status = 'pending' then d.next_attempt_at end as next_attempt_at, d.last_attempt_at,
                d.last_status_code, d.last_error, d.delivered_at, d.created_at
         from webhook_deliveries d join webhooks w using (webhook_id)
         where d.org_id = $1 and w.surface = $2 and ($3::text is null or d.status = $3)
           and ($4::timestamptz is null or (d.created_at, d.delivery_id) < ($4, $5))
         order by d.created_at desc, d.delivery_id desc
         limit $6",
        org_id.as_str(),
        surface.as_str(),
        status,
    );
    let total = sqlx::query_scalar!(
        r#"select count(*) as "total!" from webhook_deliveries d join webhooks w using (webhook_id)
           where d.org_id = $1 and w.surface = $2 and ($3::text is null or d.status = $3)"#,
        org_id.as_str(),
        surface.as_str(),
        status,
    );
    Ok((rows, total.fetch_one(conn).await?))
}

/// The deliveries of one event, under lock: the id of each and its state.
pub async fn of_event(
    tx: &mut PgConnection,
    WebhookScope(org_id, surface): WebhookScope<'_>,
    event_id: &EventId,
) -> Result<Vec<(DeliveryId, Option<DeliveryStatus>)>> {
    let rows = sqlx::query!(
        "select d.delivery_id, d.status
         from webhook_deliveries d join webhooks w using (webhook_id)
         where d.org_id = $1 and w.surface = $2 and d.event_id = $3
         order by d.delivery_id
         for update of d",
        org_id.as_str(),
        surface.as_str(),
        event_id.as_str(),
    )
    .fetch_all(tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.delivery_id.into(), DeliveryStatus::parse(&row.status))).collect())
}

/// Begins anew: the first attempt is due at once.
pub async fn begin_anew(tx: &mut PgConnection, delivery_id: &DeliveryId, now: Timestamp) -> Result<()> {
    sqlx::query!(
        "update webhook_deliveries
         set status = 'pending', attempts = 0, next_attempt_at = $2, locked_until = null
         where delivery_id = $1",
        delivery_id.as_str(),
        now,
    )
    .execute(&mut *tx)
    .await?;
    execute!(tx, "select pg_notify('webhook_deliveries', '')")
}

/// Forgets what ended long ago.
pub async fn sweep(app: &App) -> Result<()> {
    sqlx::query!("delete from webhook_deliveries where status <> 'pending' and created_at <= $1", app.now() - KEPT)
        .execute(app.pool())
        .await?;
    Ok(())
}
