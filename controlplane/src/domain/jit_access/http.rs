//! Requests, answers and handlers of JIT access.

use chrono::Duration;
use contract::{EnvId, JitRequestId, Role, Timestamp, UserId};
use platform::events::{self, Event, EventType, Origin};
use platform::http::call::Call;
use platform::http::json::{Created, Json};
use platform::http::page::{PageRequest, Paged};
use platform::http::text;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::{PgConnection, Postgres, Transaction};

use super::expiry;
use super::status::{JitStatus, JitTransition};
use super::store::{self, JitRequestRow};
use crate::domain::environments;
use crate::domain::tenancy::users;

/// "JIT duration: max 480 minutes".
const MINUTES_MAX: i64 = 480;
const REASON_MAX: usize = 1_000;
/// Pending requests of one environment.
const PENDING_MAX: i64 = 1_000;

/// A request as it is answered. Beyond the specification: the reason of a denial, by its own name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JitRequest {
    id: JitRequestId,
    request_id: JitRequestId,
    requester_id: String,
    requester_email: String,
    current_role: String,
    requested_role: String,
    reason: String,
    duration_minutes: i32,
    status: JitStatus,
    requested_at: Timestamp,
    approved_by: Option<String>,
    elevated_role: Option<String>,
    effective_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    denied_by: Option<String>,
    denied_at: Option<Timestamp>,
    denial_reason: Option<String>,
    revoked_by: Option<String>,
    original_expiry: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
}

impl JitRequest {
    fn of(row: JitRequestRow) -> Result<Self> {
        let status = row.status()?;
        let approved = matches!(status, JitStatus::Approved | JitStatus::Revoked);
        let revoked = status == JitStatus::Revoked;
        let denied = status == JitStatus::Denied;
        Ok(Self {
            id: row.request_id.clone(),
            request_id: row.request_id,
            requester_id: row.requester_id,
            requester_email: row.requester_email,
            current_role: row.held_role,
            elevated_role: approved.then(|| row.requested_role.clone()),
            requested_role: row.requested_role,
            reason: row.reason,
            duration_minutes: row.duration_minutes,
            status,
            requested_at: row.requested_at,
            approved_by: row.decided_by.clone().filter(|_| approved),
            effective_at: row.decided_at.filter(|_| approved),
            expires_at: row.expires_at,
            denied_by: row.decided_by.filter(|_| denied),
            denied_at: row.decided_at.filter(|_| denied),
            denial_reason: row.denial_reason,
            revoked_by: row.revoked_by,
            original_expiry: row.expires_at.filter(|_| revoked),
            revoked_at: row.revoked_at,
        })
    }
}

pub async fn list(cx: Call, page: PageRequest) -> Result<Paged<JitRequest>> {
    listed(&cx, &cx.env_id()?, &page).await
}

pub(super) async fn listed(cx: &Call, env_id: &EnvId, page: &PageRequest) -> Result<Paged<JitRequest>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, env_id, page).await?;
    let answers = rows.into_iter().map(JitRequest::of).collect::<Result<Vec<_>>>()?;
    let mark = |answer: &JitRequest| (answer.requested_at, answer.request_id.to_string());
    Ok(page.of(answers, total, mark, |answer| answer))
}

contract::some_roles! {
    /// "`requested_role`: `admin`, `developer`, `analyst`".
    pub enum JitRole { Admin, Developer, Analyst }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "JitAccessInput")]
#[serde(deny_unknown_fields)]
pub struct Asking {
    pub requested_role: JitRole,
    pub reason: String,
    pub duration_minutes: i64,
}

pub async fn request(cx: Call, Json(input): Json<Asking>) -> Result<Created<JitRequest>> {
    asked(&cx, &cx.env_id()?, input).await.map(Created)
}

pub(super) async fn asked(cx: &Call, env_id: &EnvId, input: Asking) -> Result<JitRequest> {
    let user_id =
        cx.caller.user_id.clone().ok_or(Error::Forbidden("a key that acts for nobody has no role to raise"))?;
    let row = JitRequestRow {
        request_id: JitRequestId::fresh(cx.now(), cx.app.entropy()),
        requester_id: user_id.to_string(),
        requester_email: String::new(),
        held_role: String::new(),
        requested_role: input.requested_role.role().to_string(),
        reason: text::checked("reason", &input.reason, REASON_MAX)?,
        duration_minutes: minutes(input.duration_minutes)?,
        status: JitStatus::Pending.as_str().to_owned(),
        requested_at: cx.now(),
        decided_by: None,
        decided_at: None,
        denial_reason: None,
        expires_at: None,
        revoked_by: None,
        revoked_at: None,
    };
    let mut tx = environments::begin(cx, env_id).await?;
    let (email, held) = raisable(&mut tx, cx, &user_id, input.requested_role.role()).await?;
    if store::count_pending(&mut tx, env_id).await? >= PENDING_MAX {
        return Err(Error::conflict("too_many", format!("an environment has at most {PENDING_MAX} pending requests")));
    }
    let row = JitRequestRow { requester_email: email, held_role: held.to_string(), ..row };
    store::insert(&mut tx, env_id, &row).await?;
    let event = Event::new(EventType::JitRequested, row.request_id.clone()).after(told(&row));
    events::commit(&cx.app, tx, Origin::within(cx, env_id), event).await?;
    JitRequest::of(row)
}

fn minutes(given: i64) -> Result<i32> {
    let fits = i32::try_from(given).ok().filter(|_| (1..=MINUTES_MAX).contains(&given));
    fits.ok_or_else(|| {
        let message = format!("`duration_minutes` is from 1 to {MINUTES_MAX}");
        Error::invalid("duration_minutes", "1..480", message)
    })
}

/// The user's address and role, if `wanted` is more than the role they have.
async fn raisable(tx: &mut PgConnection, cx: &Call, user_id: &UserId, wanted: Role) -> Result<(String, Role)> {
    let member = users::member(tx, cx.org_id(), user_id).await?.filter(|member| member.status != "suspended");
    let member = member.ok_or_else(|| Error::conflict("requester_gone", "the requester is no user any more"))?;
    if member.role == Role::ServiceAccount {
        return Err(Error::Forbidden("a service account is governed by its keys' scopes: it has no role to raise"));
    }
    if member.role.raised_to(wanted) == member.role {
        let message = format!("the role `{}` is not less than `{wanted}`", member.role);
        return Err(Error::conflict("has_role", message));
    }
    Ok((member.email, member.role))
}

/// `{request_id, status, approved_by, elevated_role, effective_at, expires_at}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JitApproval {
    id: JitRequestId,
    request_id: JitRequestId,
    status: JitStatus,
    approved_by: String,
    elevated_role: String,
    effective_at: Timestamp,
    expires_at: Timestamp,
}

/// Effective at once: the answer waits for the data planes that are connected (`guard`).
pub async fn approve(cx: Call) -> Result<Json<JitApproval>> {
    let (mut tx, mut row) = decided(&cx, JitTransition::Approve).await?;
    let role: Role = row.requested_role.parse().map_err(Error::internal)?;
    if role == Role::Admin && cx.caller.role != Role::Owner {
        return Err(Error::Forbidden("only the owner approves an elevation to `admin`"));
    }
    raisable(&mut tx, &cx, &UserId::from(row.requester_id.as_str()), role).await?;
    let expires_at = cx.now() + Duration::minutes(row.duration_minutes.into());
    row.expires_at = Some(expires_at);
    store::save(&mut tx, &row).await?;
    expiry::announce(&cx.app, &mut tx, &row.request_id, expires_at).await?;
    record(&cx, &mut tx, EventType::JitApproved, &row).await?;
    tx.commit().await?;
    Ok(Json(JitApproval {
        id: row.request_id.clone(),
        request_id: row.request_id,
        status: JitStatus::Approved,
        approved_by: cx.caller.actor_id().to_owned(),
        elevated_role: row.requested_role,
        effective_at: cx.now(),
        expires_at,
    }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "JitRefusal")]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    reason: String,
}

/// `{request_id, status, denied_by, reason, denied_at}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JitDenial {
    id: JitRequestId,
    request_id: JitRequestId,
    status: JitStatus,
    denied_by: String,
    reason: String,
    denied_at: Timestamp,
}

pub async fn deny(cx: Call, Json(input): Json<Refusal>) -> Result<Json<JitDenial>> {
    let reason = text::checked("reason", &input.reason, REASON_MAX)?;
    let (mut tx, mut row) = decided(&cx, JitTransition::Deny).await?;
    row.denial_reason = Some(reason.clone());
    store::save(&mut tx, &row).await?;
    record(&cx, &mut tx, EventType::JitDenied, &row).await?;
    tx.commit().await?;
    Ok(Json(JitDenial {
        id: row.request_id.clone(),
        request_id: row.request_id,
        status: JitStatus::Denied,
        denied_by: cx.caller.actor_id().to_owned(),
        reason,
        denied_at: cx.now(),
    }))
}

/// `{request_id, status, revoked_by, original_expiry, revoked_at}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JitRevocation {
    id: JitRequestId,
    request_id: JitRequestId,
    status: JitStatus,
    revoked_by: String,
    original_expiry: Timestamp,
    revoked_at: Timestamp,
}

pub async fn revoke(cx: Call) -> Result<Json<JitRevocation>> {
    let (mut tx, mut row) = moved(&cx, JitTransition::Revoke).await?;
    let original_expiry = row.expires_at.ok_or_else(|| Error::internal("an approved request has an end"))?;
    if original_expiry <= cx.now() {
        return Err(Error::conflict("expired", "the elevation has ended by itself"));
    }
    row.revoked_by = Some(cx.caller.actor_id().to_owned());
    row.revoked_at = Some(cx.now());
    store::save(&mut tx, &row).await?;
    record(&cx, &mut tx, EventType::JitRevoked, &row).await?;
    tx.commit().await?;
    Ok(Json(JitRevocation {
        id: row.request_id.clone(),
        request_id: row.request_id,
        status: JitStatus::Revoked,
        revoked_by: cx.caller.actor_id().to_owned(),
        original_expiry,
        revoked_at: cx.now(),
    }))
}

/// The request as the caller's decision leaves it. "Nobody approves their own request"; denying it
/// would hide that it was ever made, so that is not theirs either.
async fn decided(cx: &Call, trigger: JitTransition) -> Result<(Transaction<'static, Postgres>, JitRequestRow)> {
    let (tx, mut row) = moved(cx, trigger).await?;
    if cx.caller.user_id.as_ref().is_some_and(|user_id| user_id.as_str() == row.requester_id) {
        return Err(Error::Forbidden("nobody decides on their own request"));
    }
    row.decided_by = Some(cx.caller.actor_id().to_owned());
    row.decided_at = Some(cx.now());
    Ok((tx, row))
}

/// The request in the path, locked and moved; nothing is written yet.
async fn moved(cx: &Call, trigger: JitTransition) -> Result<(Transaction<'static, Postgres>, JitRequestRow)> {
    let env_id = cx.env_id()?;
    let mut tx = environments::begin(cx, &env_id).await?;
    let row = store::lock(&mut tx, &env_id, &cx.id("request_id")?).await?;
    let mut row = row.ok_or(Error::NotFound { kind: "JIT request" })?;
    let from = row.status()?;
    let Some(to) = from.after(trigger) else {
        return Err(Error::conflict(from.as_str(), format!("the request is {}", from.as_str())));
    };
    to.as_str().clone_into(&mut row.status);
    Ok((tx, row))
}

async fn record(cx: &Call, tx: &mut PgConnection, kind: EventType, row: &JitRequestRow) -> Result<()> {
    events::record(&cx.app, tx, cx, Event::new(kind, row.request_id.clone()).after(told(row))).await
}

/// The request in an event.
fn told(row: &JitRequestRow) -> Value {
    json!({
        "requester_id": row.requester_id,
        "requester_email": row.requester_email,
        "current_role": row.held_role,
        "requested_role": row.requested_role,
        "reason": row.reason,
        "duration_minutes": row.duration_minutes,
        "status": row.status,
        "elevated_role": row.expires_at.map(|_| &row.requested_role),
        "expires_at": row.expires_at,
        "denial_reason": row.denial_reason,
    })
}
