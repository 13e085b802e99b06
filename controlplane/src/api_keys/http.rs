//! Requests, answers and handlers of API keys.

use std::collections::BTreeMap;

use chrono::Duration;
use contract::{KeyId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds;
use super::input::Creation;
use super::life::{self, Given, Making};
use super::resource;
use super::store::{self, Row};
use crate::http::call::Call;
use crate::http::json::{Created, Json, MaybeJson};
use crate::http::page::{Page, Paged};
use crate::{Error, Result, environments};

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
    fn of(row: Row, now: Timestamp) -> Self {
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
#[schemars(rename = "NewApiKey")]
pub struct NewKey {
    key: String,
    #[serde(flatten)]
    record: ApiKey,
}

pub async fn list(cx: Call, page: Page) -> Result<Paged<ApiKey>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, &cx.env_id()?, &page).await?;
    let now = cx.now();
    Ok(page.of(rows, total, |row| (row.created_at, row.key_id.to_string()), |row| ApiKey::of(row, now)))
}

pub async fn create(cx: Call, Json(input): Json<Creation>) -> Result<Created<NewKey>> {
    let now = cx.now();
    let mut wanted = input.admit(now)?;
    let env_id = cx.env_id()?;
    let minted = life::mint(&cx.app, &env_id).await?;
    let mut tx = cx.begin().await?;
    environments::lock(&mut tx, &env_id).await?;
    bounds::may_make(&mut tx, &cx, &mut wanted).await?;
    let making = Making {
        env_id: &env_id,
        wanted: &wanted,
        given: Given::to_caller(&minted, &cx),
        by: cx.caller.actor_id(),
        tier: cx.tier,
        limits: cx.limits,
        now,
    };
    let row = life::make(&cx.app, &mut tx, &making, &cx).await?;
    resource::tell(&cx.app, &mut tx, &row.key_id).await?;
    tx.commit().await?;
    Ok(Created(NewKey { key: minted.text.expose().clone(), record: ApiKey::of(row, cx.now()) }))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "ApiKeyRotationInput")]
#[serde(deny_unknown_fields)]
pub struct RotationInput {
    grace_period_hours: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ApiKeyRotation")]
pub struct Rotation {
    key_id: KeyId,
    id: KeyId,
    new_key: String,
    new_prefix: String,
    old_key_expires_at: Timestamp,
    grace_period_hours: i64,
    rotated_at: Timestamp,
    rotated_by: String,
}

/// "`grace_period_hours` integer optional (default 72, max 168)".
pub async fn rotate(cx: Call, MaybeJson(input): MaybeJson<RotationInput>) -> Result<Json<Rotation>> {
    let grace_period_hours = input.grace_period_hours.unwrap_or(GRACE_HOURS);
    if !(0..=GRACE_HOURS_MAX).contains(&grace_period_hours) {
        let message = format!("`grace_period_hours` is from 0 to {GRACE_HOURS_MAX}");
        return Err(Error::invalid("grace_period_hours", "0..168", message));
    }
    let env_id = cx.env_id()?;
    let minted = life::mint(&cx.app, &env_id).await?;
    let mut tx = cx.begin().await?;
    environments::lock(&mut tx, &env_id).await?;
    let now = cx.now();
    let row = store::find(&mut tx, &env_id, &cx.id("key_id")?).await?.ok_or(Error::NotFound { kind: "API key" })?;
    if row.status(now) != "active" {
        return Err(Error::conflict("not_active", format!("the key is {}: make a new one", row.status(now))));
    }
    bounds::may_take(&mut tx, &cx, &row).await?;
    let grace = Duration::hours(grace_period_hours);
    let old_key_expires_at =
        life::rotate(&cx.app, &mut tx, &env_id, (&row, Given::to_caller(&minted, &cx), grace), &cx).await?;
    store::mark_delivered(&mut tx, &row.key_id, now).await?;
    resource::tell(&cx.app, &mut tx, &row.key_id).await?;
    tx.commit().await?;
    Ok(Json(Rotation {
        id: row.key_id.clone(),
        key_id: row.key_id,
        new_key: minted.text.expose().clone(),
        new_prefix: minted.prefix,
        old_key_expires_at,
        grace_period_hours,
        rotated_at: now,
        rotated_by: cx.caller.actor_id().to_owned(),
    }))
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ApiKeyRevocation")]
pub struct Revocation {
    key_id: KeyId,
    id: KeyId,
    name: String,
    revoked: bool,
    revoked_at: Timestamp,
    revoked_by: String,
}

/// Takes effect at once: data planes drop the key when this transaction commits (`publisher`).
/// Asked again, tells what happened then.
pub async fn revoke(cx: Call) -> Result<Json<Revocation>> {
    let mut tx = cx.begin().await?;
    let env_id = cx.env_id()?;
    environments::lock(&mut tx, &env_id).await?;
    let mut row = store::find(&mut tx, &env_id, &cx.id("key_id")?).await?.ok_or(Error::NotFound { kind: "API key" })?;
    if row.revoked_at.is_none() {
        life::revoke(&cx.app, &mut tx, &row, cx.caller.actor_id(), &cx).await?;
        resource::tell(&cx.app, &mut tx, &row.key_id).await?;
        row.revoked_at = Some(cx.now());
        row.revoked_by = Some(cx.caller.actor_id().to_owned());
    }
    tx.commit().await?;
    let (Some(revoked_at), Some(revoked_by)) = (row.revoked_at, row.revoked_by) else {
        return Err(Error::internal("a revoked key says when and by whom"));
    };
    Ok(Json(Revocation {
        id: row.key_id.clone(),
        key_id: row.key_id,
        name: row.name,
        revoked: true,
        revoked_at,
        revoked_by,
    }))
}
