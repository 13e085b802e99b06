//! SQL of the webhooks themselves.

use contract::{OrgId, Redacted, Timestamp, WebhookId};
use platform::egress::client::Secrets;
use platform::http::page::PageRequest;
use platform::{App, Error, Result, changed, execute, page_rows, scalar};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;

use super::surface::{Surface, WebhookStatus};

/// A webhook without its secret.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Webhook {
    pub webhook_id: WebhookId,
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub events: Vec<String>,
    pub status: String,
    pub last_delivered_at: Option<Timestamp>,
    pub last_status_code: Option<i32>,
    pub failure_count: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Whose webhooks: of one organization, on one surface.
#[derive(Debug, Clone, Copy)]
pub struct WebhookScope<'a>(pub &'a OrgId, pub Surface);

/// The record a secret is sealed for.
fn record(webhook_id: &WebhookId) -> String {
    format!("webhook:{webhook_id}")
}

pub async fn page(
    conn: &mut PgConnection,
    WebhookScope(org_id, surface): WebhookScope<'_>,
    page: &PageRequest,
) -> Result<(Vec<Webhook>, i64)> {
    let rows = page_rows!(
        conn,
        page,
        Webhook,
        "select webhook_id, url, description, events, status, last_delivered_at, last_status_code, failure_count,
                created_at, updated_at
         from webhooks
         where org_id = $1 and surface = $2 and ($3::timestamptz is null or (created_at, webhook_id) < ($3, $4))
         order by created_at desc, webhook_id desc
         limit $5",
        org_id.as_str(),
        surface.as_str(),
    );
    Ok((rows, count(conn, WebhookScope(org_id, surface)).await?))
}

pub async fn count(conn: &mut PgConnection, WebhookScope(org_id, surface): WebhookScope<'_>) -> Result<i64> {
    scalar!(
        conn,
        r#"select count(*) as "total!" from webhooks where org_id = $1 and surface = $2"#,
        org_id.as_str(),
        surface.as_str(),
    )
}

pub async fn find(
    conn: &mut PgConnection,
    WebhookScope(org_id, surface): WebhookScope<'_>,
    id: &WebhookId,
) -> Result<Option<Webhook>> {
    let row = sqlx::query_as!(
        Webhook,
        "select webhook_id, url, description, events, status, last_delivered_at, last_status_code, failure_count,
                created_at, updated_at
         from webhooks where org_id = $1 and surface = $2 and webhook_id = $3",
        org_id.as_str(),
        surface.as_str(),
        id.as_str(),
    );
    Ok(row.fetch_optional(conn).await?)
}

/// One writer at a time for an organization's webhooks, so that their number holds.
pub async fn lock(tx: &mut PgConnection, org_id: &OrgId) -> Result<()> {
    sqlx::query!("select from organizations where org_id = $1 for no key update", org_id.as_str())
        .fetch_one(tx)
        .await?;
    Ok(())
}

pub async fn insert(
    app: &App,
    conn: &mut PgConnection,
    WebhookScope(org_id, surface): WebhookScope<'_>,
    webhook: &Webhook,
    secret: &Redacted<String>,
) -> Result<()> {
    let sealed = app.keyring().seal(&record(&webhook.webhook_id), secret, app.entropy()).map_err(Error::internal)?;
    execute!(
        conn,
        "insert into webhooks
             (webhook_id, org_id, surface, url, description, events, secret, status, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        webhook.webhook_id.as_str(),
        org_id.as_str(),
        surface.as_str(),
        webhook.url,
        webhook.description,
        &webhook.events,
        sealed,
        webhook.status,
        webhook.created_at,
        webhook.updated_at,
    )
}

pub async fn update(conn: &mut PgConnection, webhook: &Webhook) -> Result<()> {
    execute!(
        conn,
        "update webhooks
         set url = $2, description = $3, events = $4, status = $5, failure_count = $6, updated_at = $7
         where webhook_id = $1",
        webhook.webhook_id.as_str(),
        webhook.url,
        webhook.description,
        &webhook.events,
        webhook.status,
        webhook.failure_count,
        webhook.updated_at,
    )
}

/// With what waits for it and what it was told. Was there one?
pub async fn delete(
    conn: &mut PgConnection,
    WebhookScope(org_id, surface): WebhookScope<'_>,
    id: &WebhookId,
) -> Result<bool> {
    changed!(
        conn,
        "delete from webhooks where org_id = $1 and surface = $2 and webhook_id = $3",
        org_id.as_str(),
        surface.as_str(),
        id.as_str(),
    )
}

/// Which webhooks are to be told.
#[derive(Debug, Clone, Copy)]
pub struct SubscriptionFilter<'a> {
    /// They name one of these types.
    pub names: &'a [String],
    /// And have this URL, if one is named.
    pub url: Option<&'a str>,
}

/// Active ones that are sought. They stay until the transaction ends.
pub async fn subscribed(
    tx: &mut PgConnection,
    WebhookScope(org_id, surface): WebhookScope<'_>,
    SubscriptionFilter { names, url }: SubscriptionFilter<'_>,
) -> Result<Vec<WebhookId>> {
    let ids = sqlx::query_scalar!(
        "select webhook_id from webhooks
         where org_id = $1 and surface = $2 and status = $3 and events && $4 and ($5::text is null or url = $5)
         order by created_at, webhook_id
         for key share",
        org_id.as_str(),
        surface.as_str(),
        WebhookStatus::Active.as_str(),
        names,
        url,
    );
    Ok(ids.fetch_all(tx).await?.into_iter().map(WebhookId::from).collect())
}

/// The signing secrets of a webhook, in the clear.
pub async fn secrets(app: &App, conn: &mut PgConnection, id: &WebhookId) -> Result<Option<Secrets>> {
    let sealed = sqlx::query!(
        "select secret, case when previous_until > $2 then previous_secret end as previous
         from webhooks where webhook_id = $1",
        id.as_str(),
        app.now(),
    );
    let Some(sealed) = sealed.fetch_optional(conn).await? else { return Ok(None) };
    let open = |sealed: &[u8]| app.keyring().open(&record(id), sealed).map_err(Error::internal);
    let previous = sealed.previous.as_deref().map(open).transpose()?;
    Ok(Some(Secrets { current: open(&sealed.secret)?, previous }))
}

/// Another secret from `now` on; the one of before signs too until the second time.
pub async fn rotate(
    app: &App,
    conn: &mut PgConnection,
    id: &WebhookId,
    secret: &Redacted<String>,
    (now, until): (Timestamp, Timestamp),
) -> Result<()> {
    let sealed = app.keyring().seal(&record(id), secret, app.entropy()).map_err(Error::internal)?;
    execute!(
        conn,
        "update webhooks
         set previous_secret = secret, previous_until = $3, secret = $2, updated_at = $4
         where webhook_id = $1",
        id.as_str(),
        sealed,
        until,
        now,
    )
}

/// What an attempt did to its webhook: 0 failures after a success, one more after another.
pub async fn attempted(
    tx: &mut PgConnection,
    id: &WebhookId,
    (accepted, status_code): (bool, Option<u16>),
    status: Option<WebhookStatus>,
    now: Timestamp,
) -> Result<()> {
    execute!(
        tx,
        "update webhooks
         set last_status_code = $3,
             last_delivered_at = case when $2 then $5 else last_delivered_at end,
             failure_count = case when $2 then 0 else failure_count + 1 end,
             status = coalesce($4, status)
         where webhook_id = $1",
        id.as_str(),
        accepted,
        status_code.map(i32::from),
        status.map(WebhookStatus::as_str),
        now,
    )
}
