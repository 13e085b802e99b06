//! Requests, answers and handlers of API keys.

use std::collections::BTreeMap;

use chrono::Duration;
use contract::key::Minted;
use contract::{EnvId, KeyId, Timestamp};
use platform::events::Origin;
use platform::http::call::Call;
use platform::http::json::{Created, Json, MaybeJson};
use platform::http::page::{PageRequest, Paged};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::input::{Admitted, ApiKeyCreation};
use super::life::{self, KeyText, Making};
use super::store::{self, KeyRow};
use super::{bounds, resource};
use crate::domain::environments;

const GRACE_HOURS: i64 = 72;
pub(super) const GRACE_HOURS_MAX: i64 = 168;

/// A key as it is answered: never its text, never its hash.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApiKey {
    key_id: KeyId,
    id: KeyId,
    name: String,
    prefix: String,
    scopes: Vec<String>,
    ip_allowlist: Vec<String>,
    user_id: Option<String>,
    attributes: BTreeMap<String, String>,
    agent_id: Option<String>,
    agent_framework: Option<String>,
    expires_at: Option<Timestamp>,
    status: &'static str,
    revoked: bool,
    last_used_at: Option<Timestamp>,
    created_at: Timestamp,
    created_by: String,
}

impl ApiKey {
    fn of(row: KeyRow, now: Timestamp) -> Self {
        Self {
            status: row.status(now),
            revoked: row.revoked_at.is_some(),
            id: row.key_id.clone(),
            key_id: row.key_id,
            name: row.name,
            prefix: row.prefix,
            scopes: row.scopes,
            ip_allowlist: row.ip_allowlist,
            user_id: row.user_id,
            attributes: row.attributes.0,
            agent_id: row.agent_id,
            agent_framework: row.agent_framework,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
            created_at: row.created_at,
            created_by: row.created_by,
        }
    }
}

/// The one answer that holds the text of a key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NewApiKey {
    key: String,
    #[serde(flatten)]
    record: ApiKey,
}

pub async fn list(cx: Call, page: PageRequest) -> Result<Paged<ApiKey>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, &cx.env_id()?, &page, false).await?;
    let now = cx.now();
    Ok(page.of(rows, total, |row| (row.created_at, row.key_id.to_string()), |row| ApiKey::of(row, now)))
}

pub async fn create(cx: Call, Json(input): Json<ApiKeyCreation>) -> Result<Created<NewApiKey>> {
    let now = cx.now();
    let mut wanted = input.admit(now)?;
    let env_id = cx.env_id()?;
    let minted = life::mint(&cx.app, &env_id).await?;
    let mut tx = environments::begin(&cx, &env_id).await?;
    let row = made(&cx, &mut tx, (&env_id, &minted, now), &mut wanted).await?;
    tx.commit().await?;
    Ok(Created(NewApiKey { key: minted.text.expose().clone(), record: ApiKey::of(row, cx.now()) }))
}

/// A key as the caller may make it. Under the environment's lock; `now` is when its expiry is counted from.
pub(super) async fn made(
    cx: &Call,
    tx: &mut PgConnection,
    (env_id, minted, now): (&EnvId, &Minted, Timestamp),
    wanted: &mut Admitted,
) -> Result<KeyRow> {
    bounds::may_make(tx, cx, wanted).await?;
    let making = Making {
        env_id,
        wanted,
        given: KeyText::to_caller(minted, cx),
        by: cx.caller.actor_id(),
        tier: cx.tier,
        limits: cx.limits,
        now,
    };
    let row = life::make(&cx.app, tx, &making, Origin::within(cx, env_id)).await?;
    resource::tell(&cx.app, tx, &row.key_id).await?;
    Ok(row)
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "ApiKeyRotationInput")]
#[serde(deny_unknown_fields)]
pub struct RotationInput {
    grace_period_hours: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ApiKeyRotation {
    key_id: KeyId,
    id: KeyId,
    new_key: String,
    new_prefix: String,
    old_key_expires_at: Timestamp,
    grace_period_hours: i64,
    rotated_at: Timestamp,
    rotated_by: String,
}

pub async fn rotate(cx: Call, MaybeJson(input): MaybeJson<RotationInput>) -> Result<Json<ApiKeyRotation>> {
    rotated(&cx, &cx.env_id()?, &cx.id("key_id")?, input).await.map(Json)
}

/// "`grace_period_hours` integer optional (default 72, max 168)".
pub(super) async fn rotated(cx: &Call, env_id: &EnvId, key_id: &KeyId, input: RotationInput) -> Result<ApiKeyRotation> {
    let grace_period_hours = input.grace_period_hours.unwrap_or(GRACE_HOURS);
    if !(0..=GRACE_HOURS_MAX).contains(&grace_period_hours) {
        let message = format!("`grace_period_hours` is from 0 to {GRACE_HOURS_MAX}");
        return Err(Error::invalid("grace_period_hours", "0..168", message));
    }
    let minted = life::mint(&cx.app, env_id).await?;
    let mut tx = environments::begin(cx, env_id).await?;
    let now = cx.now();
    let row = store::find(&mut tx, env_id, key_id).await?.ok_or(Error::NotFound { kind: "API key" })?;
    if row.status(now) != "active" {
        return Err(Error::conflict("not_active", format!("the key is {}: make a new one", row.status(now))));
    }
    bounds::may_take(&mut tx, cx, &row).await?;
    let given = (&row, KeyText::to_caller(&minted, cx), Duration::hours(grace_period_hours));
    let old_key_expires_at = life::rotate(&cx.app, &mut tx, env_id, given, Origin::within(cx, env_id)).await?;
    store::mark_delivered(&mut tx, &row.key_id, now).await?;
    resource::tell(&cx.app, &mut tx, &row.key_id).await?;
    tx.commit().await?;
    Ok(ApiKeyRotation {
        id: row.key_id.clone(),
        key_id: row.key_id,
        new_key: minted.text.expose().clone(),
        new_prefix: minted.prefix,
        old_key_expires_at,
        grace_period_hours,
        rotated_at: now,
        rotated_by: cx.caller.actor_id().to_owned(),
    })
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ApiKeyRevocation {
    key_id: KeyId,
    id: KeyId,
    name: String,
    revoked: bool,
    revoked_at: Timestamp,
    revoked_by: String,
}

pub async fn revoke(cx: Call) -> Result<Json<ApiKeyRevocation>> {
    revoked(&cx, &cx.env_id()?, &cx.id("key_id")?).await.map(Json)
}

/// Takes effect at once: data planes drop the key when this transaction commits (`publisher`).
/// Asked again, tells what happened then.
pub(super) async fn revoked(cx: &Call, env_id: &EnvId, key_id: &KeyId) -> Result<ApiKeyRevocation> {
    let mut tx = environments::begin(cx, env_id).await?;
    let mut row = store::find(&mut tx, env_id, key_id).await?.ok_or(Error::NotFound { kind: "API key" })?;
    if row.revoked_at.is_none() {
        life::revoke(&cx.app, &mut tx, &row, cx.caller.actor_id(), Origin::within(cx, env_id)).await?;
        resource::tell(&cx.app, &mut tx, &row.key_id).await?;
        row.revoked_at = Some(cx.now());
        row.revoked_by = Some(cx.caller.actor_id().to_owned());
    }
    tx.commit().await?;
    let (Some(revoked_at), Some(revoked_by)) = (row.revoked_at, row.revoked_by) else {
        return Err(Error::internal("a revoked key says when and by whom"));
    };
    Ok(ApiKeyRevocation {
        id: row.key_id.clone(),
        key_id: row.key_id,
        name: row.name,
        revoked: true,
        revoked_at,
        revoked_by,
    })
}
