//! Requests, answers and handlers of agent capabilities.

use contract::capability::Capabilities;
use contract::{EnvId, GrantId, Timestamp};
use platform::events::{self, Event, EventType, Origin};
use platform::http::call::Call;
use platform::http::json::{Created, Json, Query};
use platform::http::page::{PageRequest, Paged};
use platform::http::text;
use platform::snapshot_size::within_share;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;
use sqlx::types::Json as Stored;

use super::admission;
use super::policies::{self, GrantedAccess};
use super::status::GrantStatus;
use super::store::{self, CapabilityUsage, GrantRow};
use crate::domain::{abac_policies, agents, environments};

/// Grants of one environment that are not revoked: a snapshot holds them all.
const GRANTS_MAX: i64 = 1_000;
const AGENT_ID_MAX: usize = 256;

/// A grant as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CapabilityGrant {
    id: GrantId,
    grant_id: GrantId,
    agent_id: String,
    capabilities: Capabilities,
    expires_at: Timestamp,
    granted_by: String,
    granted_at: Timestamp,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<CapabilityUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Timestamp>,
}

impl CapabilityGrant {
    fn of(row: GrantRow, usage: Option<CapabilityUsage>, now: Timestamp) -> Result<Self> {
        let status = row.status()?.told(row.expires_at, now);
        Ok(Self {
            id: row.grant_id.clone(),
            grant_id: row.grant_id,
            agent_id: row.agent_id,
            capabilities: row.capabilities.0,
            expires_at: row.expires_at,
            granted_by: row.granted_by,
            granted_at: row.granted_at,
            status,
            usage,
            revoked_by: row.revoked_by,
            revoked_at: row.revoked_at,
        })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct CapabilityGrantFilter {
    agent_id: Option<String>,
}

pub async fn list(
    cx: Call,
    Query(filter): Query<CapabilityGrantFilter>,
    page: PageRequest,
) -> Result<Paged<CapabilityGrant>> {
    let mut tx = cx.app.pool().begin_with("begin isolation level repeatable read read only").await?;
    let (rows, total) = store::page(&mut tx, &cx.env_id()?, filter.agent_id.as_deref(), &page).await?;
    let ids: Vec<GrantId> = rows.iter().map(|row| row.grant_id.clone()).collect();
    let usage = store::usage(&mut tx, &ids, cx.now()).await?;
    tx.commit().await?;
    let answer = |row: GrantRow| {
        let used = usage.get(&row.grant_id).copied().unwrap_or_default();
        CapabilityGrant::of(row, Some(used), cx.now())
    };
    let answers = rows.into_iter().map(answer).collect::<Result<Vec<_>>>()?;
    Ok(page.of(answers, total, |answer| (answer.granted_at, answer.grant_id.to_string()), |answer| answer))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapabilityGrantCreation {
    pub agent_id: String,
    pub capabilities: Capabilities,
    pub expires_at: Timestamp,
}

/// Confines the agent at once: the answer waits for the data planes that are connected (`guard`).
pub async fn grant(cx: Call, Json(input): Json<CapabilityGrantCreation>) -> Result<Created<CapabilityGrant>> {
    let env_id = cx.env_id()?;
    let mut tx = environments::begin(&cx, &env_id).await?;
    let row = granted(&cx, &mut tx, &env_id, input).await?;
    tx.commit().await?;
    CapabilityGrant::of(row, None, cx.now()).map(Created)
}

/// Takes every grant of the agent away that is not revoked, and gives it this one. Under the environment's lock.
pub async fn grant_alone(
    cx: &Call,
    tx: &mut PgConnection,
    env_id: &EnvId,
    input: CapabilityGrantCreation,
) -> Result<()> {
    for grant in store::of(tx, env_id, &input.agent_id).await?.unwrap_or_default() {
        let row = store::lock(tx, env_id, &grant.grant_id).await?.ok_or(Error::NotFound { kind: "grant" })?;
        withdrawn(cx, tx, env_id, &row).await?;
    }
    granted(cx, tx, env_id, input).await.map(|_| ())
}

async fn granted(cx: &Call, tx: &mut PgConnection, env_id: &EnvId, input: CapabilityGrantCreation) -> Result<GrantRow> {
    let agent_id = text::checked("agent_id", &input.agent_id, AGENT_ID_MAX)?;
    let operations = admission::admit(&input.capabilities)?;
    let row = GrantRow {
        grant_id: GrantId::fresh(cx.now(), cx.app.entropy()),
        agent_id,
        capabilities: Stored(input.capabilities),
        status: GrantStatus::Active.as_str().to_owned(),
        granted_by: cx.caller.actor_id().to_owned(),
        granted_at: cx.now(),
        expires_at: admission::end(input.expires_at, cx.now())?,
        revoked_by: None,
        revoked_at: None,
    };
    if !agents::is_known(tx, cx.org_id(), &row.agent_id).await? {
        return Err(Error::AgentNotFound { agent_id: row.agent_id });
    }
    let framework = agents::framework(tx, cx.org_id(), &row.agent_id).await?;
    let tables = &row.capabilities.allowed_tables;
    let wish =
        GrantedAccess { agent_id: &row.agent_id, framework: framework.as_deref(), tables, operations: &operations };
    policies::permit(&abac_policies::governed(tx, env_id).await?, wish, cx.now())?;
    if store::count_active(tx, env_id).await? >= GRANTS_MAX {
        let message = format!("an environment has at most {GRANTS_MAX} grants: revoke those that have ended");
        return Err(Error::conflict("too_many", message));
    }
    let before = store::bytes(tx, env_id).await?;
    store::insert(tx, env_id, &row).await?;
    within_share("the grants of an environment", before, store::bytes(tx, env_id).await?)?;
    let event = Event::new(EventType::AgentCapabilityGranted, row.grant_id.clone()).after(told(&row));
    events::record(&cx.app, tx, Origin::within(cx, env_id), event).await?;
    Ok(row)
}

/// `{grant_id, agent_id, revoked, revoked_by, revoked_at}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CapabilityGrantRevocation {
    id: GrantId,
    grant_id: GrantId,
    agent_id: String,
    revoked: bool,
    revoked_by: String,
    revoked_at: Timestamp,
}

pub async fn revoke(cx: Call) -> Result<Json<CapabilityGrantRevocation>> {
    let env_id = cx.env_id()?;
    let mut tx = environments::begin(&cx, &env_id).await?;
    let row = store::lock(&mut tx, &env_id, &cx.id("grant_id")?).await?;
    let row = row.ok_or(Error::NotFound { kind: "grant" })?;
    withdrawn(&cx, &mut tx, &env_id, &row).await?;
    tx.commit().await?;
    Ok(Json(CapabilityGrantRevocation {
        id: row.grant_id.clone(),
        grant_id: row.grant_id,
        agent_id: row.agent_id,
        revoked: true,
        revoked_by: cx.caller.actor_id().to_owned(),
        revoked_at: cx.now(),
    }))
}

async fn withdrawn(cx: &Call, tx: &mut PgConnection, env_id: &EnvId, row: &GrantRow) -> Result<()> {
    let Some(to) = row.status()?.after_delete() else {
        return Err(Error::conflict("revoked", "the grant is revoked already"));
    };
    store::revoke(tx, &row.grant_id, to, cx.caller.actor_id(), cx.now()).await?;
    let event = Event::new(EventType::AgentCapabilityRevoked, row.grant_id.clone()).before(told(row));
    events::record(&cx.app, tx, Origin::within(cx, env_id), event).await
}

/// The grant in an event: whole, since what it allowed is what the trail is asked about.
fn told(row: &GrantRow) -> Value {
    json!({"agent_id": row.agent_id, "capabilities": row.capabilities.0, "expires_at": row.expires_at})
}
