//! Keys that are made for agents, by the organization's path: the API keys of an environment that name an agent.
//!
//! Nothing of its own is kept here but what people call the agent and say of the key. What its agent may reach is its
//! capability grant: `allowed_tables` and `allowed_schemas` are one that replaces all others of the agent, and so need
//! the right to write policies too. The environment is the key's, else `?env_id=`, else the organization's only one.

mod answers;
mod input;
#[cfg(test)]
mod tests;

use contract::capability::Confined;
use contract::{Access, Code, EnvId, KeyId, Scope};
use platform::events::{self, Event, EventType, Origin};
use platform::http::call::Call;
use platform::http::json::{Created, Json, MaybeJson, Query};
use platform::http::link::{Address, Linked};
use platform::http::page::{PageRequest, Paged};
use platform::http::routes::Routes;
use platform::{Error, Result};
use serde_json::json;
use sqlx::PgConnection;

use super::http::{self, ApiKeyRevocation, RotationInput, made};
use super::life;
use super::store::{self, KeyRow};
use crate::domain::agents::agent_tools::{self, ListPlace, ToolPlace, environment};
use crate::domain::agents::branches::{self, Analytics};
use crate::domain::{agent_capabilities, audit, environments};
use answers::{AgentKey, AgentKeyDetail, AgentKeyRotation, AgentKeyUsage, AgentKeys, BranchUsage, NewAgentKey};
use input::{AgentKeyChange, AgentKeyCreation, Reach};

/// What confining an agent may fail of.
const CONFINING: &[Code] = &[Code::PolicyViolation, Code::InvalidRule];

pub fn routes() -> Routes {
    use Access::Admin;
    use Scope::{KeyRead, KeyWrite};
    const KEYS: &str = "/v1/organizations/{org_id}/agent-keys";
    const KEY: &str = "/v1/organizations/{org_id}/agent-keys/{key_id}";
    Routes::new()
        .post(KEYS, Admin, KeyWrite, create)
        .says("Makes a key for an agent, and confines the agent if tables or schemas are named; the answer alone holds its value.")
        .own_role()
        .secret("raw_key", "rotate the key, which tells another")
        .step_up()
        .refuses(CONFINING)
        .get(KEYS, Admin, KeyRead, list)
        .says("Lists the keys that are made for agents as a bare list, the newest first.")
        .get(KEY, Admin, KeyRead, get)
        .says("Tells of an agent's key, and what bounds its use.")
        .put(KEY, Admin, KeyWrite, update)
        .says("Changes what a key is called, what is said of it, and what its agent may reach; what is not sent stays.")
        .own_role()
        .refuses(CONFINING)
        .post("/v1/organizations/{org_id}/agent-keys/{key_id}/rotate", Admin, KeyWrite, rotate)
        .says("Gives an agent's key a new value; the old one holds for the grace period.")
        .own_role()
        .secret("new_key", "rotate the key once more")
        .step_up()
        .delete(KEY, Admin, KeyWrite, revoke)
        .says("Revokes an agent's key, over every protocol and at once.")
        .get("/v1/organizations/{org_id}/agent-keys/{key_id}/usage", Admin, KeyRead, usage)
        .says("Tells how many queries were asked with an agent's key, and what they cost.")
        .get("/v1/organizations/{org_id}/agent-keys/{key_id}/branch-usage", Admin, KeyRead, branch_usage)
        .says("Counts the branches of a key's agent.")
        .refuses(agent_tools::REFUSALS)
        .all_ours()
}

async fn create(
    cx: Call,
    Query(place): Query<ToolPlace>,
    Json(input): Json<AgentKeyCreation>,
) -> Result<Created<NewAgentKey>> {
    let now = cx.now();
    let env_id = environment(&cx, place.env_id).await?;
    let (mut wanted, agent_name, description, reach) = input.admitted(cx.tier, now)?;
    let minted = life::mint(&cx.app, &env_id).await?;
    let mut tx = environments::begin(&cx, &env_id).await?;
    let row = made(&cx, &mut tx, (&env_id, &minted, now), &mut wanted).await?;
    store::describe(&mut tx, &row.key_id, Some(&agent_name), description.as_deref()).await?;
    if let Some(reach) = reach {
        confine(&cx, &mut tx, (&env_id, &row), reach).await?;
    }
    let row = find(&mut tx, &env_id, &row.key_id).await?;
    let confined = agent_capabilities::governed(&mut tx, &env_id).await?;
    tx.commit().await?;
    let record = AgentKey::of(row, &confined, cx.tier, cx.now());
    Ok(Created(NewAgentKey { raw_key: minted.text.expose().clone(), record }))
}

async fn list(
    cx: Call,
    address: Address,
    Query(place): Query<ListPlace>,
    page: PageRequest,
) -> Result<Linked<AgentKeys>> {
    let env_id = environment(&cx, place.env_id).await?;
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, &env_id, &page, true).await?;
    let confined = agent_capabilities::governed(&mut conn, &env_id).await?;
    let now = cx.now();
    let mark = |row: &KeyRow| (row.created_at, row.key_id.to_string());
    let Paged { data, pagination } = page.of(rows, total, mark, |row| AgentKey::of(row, &confined, cx.tier, now));
    let next = pagination.cursor.map(|cursor| address.after(&cursor));
    Ok(Linked { list: AgentKeys(data), next })
}

async fn get(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<AgentKeyDetail>> {
    let (env_id, key_id) = named(&cx, place).await?;
    let mut conn = cx.app.pool().acquire().await?;
    let row = find(&mut conn, &env_id, &key_id).await?;
    let confined = agent_capabilities::governed(&mut conn, &env_id).await?;
    let record = AgentKey::of(row, &confined, cx.tier, cx.now());
    Ok(Json(AgentKeyDetail { record, effective_limits: cx.limits }))
}

async fn update(cx: Call, Query(place): Query<ToolPlace>, Json(input): Json<AgentKeyChange>) -> Result<Json<AgentKey>> {
    let (env_id, key_id) = named(&cx, place).await?;
    let mut tx = environments::begin(&cx, &env_id).await?;
    let row = find(&mut tx, &env_id, &key_id).await?;
    let confined = agent_capabilities::governed(&mut tx, &env_id).await?;
    let was = json!({"agent_name": row.agent_name, "description": row.description});
    let (agent_name, description, reach) = input.admitted(&row, reach_of(&row, &confined, &cx))?;
    let is = json!({"agent_name": agent_name, "description": description});
    if was != is {
        store::describe(&mut tx, &row.key_id, agent_name.as_deref(), description.as_deref()).await?;
        let event = Event::new(EventType::KeyUpdated, row.key_id.clone()).before(was).after(is);
        events::record(&cx.app, &mut tx, Origin::within(&cx, &env_id), event).await?;
    }
    if let Some(reach) = reach {
        confine(&cx, &mut tx, (&env_id, &row), reach).await?;
    }
    let row = find(&mut tx, &env_id, &key_id).await?;
    let confined = agent_capabilities::governed(&mut tx, &env_id).await?;
    tx.commit().await?;
    Ok(Json(AgentKey::of(row, &confined, cx.tier, cx.now())))
}

async fn rotate(
    cx: Call,
    Query(place): Query<ToolPlace>,
    MaybeJson(input): MaybeJson<RotationInput>,
) -> Result<Json<AgentKeyRotation>> {
    let (env_id, key_id) = known(&cx, place).await?;
    let rotation = http::rotated(&cx, &env_id, &key_id, input).await?;
    Ok(Json(AgentKeyRotation { old_key_id: key_id, rotation }))
}

async fn revoke(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<ApiKeyRevocation>> {
    let (env_id, key_id) = known(&cx, place).await?;
    http::revoked(&cx, &env_id, &key_id).await.map(Json)
}

async fn usage(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<AgentKeyUsage>> {
    let (env_id, key_id) = named(&cx, place).await?;
    let mut conn = cx.app.pool().acquire().await?;
    let row = find(&mut conn, &env_id, &key_id).await?;
    let agent_id = row.agent_id.unwrap_or_default();
    let used = audit::of_key(&mut conn, &env_id, (&agent_id, &key_id), cx.now()).await?;
    Ok(Json(AgentKeyUsage { key_id, agent_id, used, last_used_at: row.last_used_at }))
}

async fn branch_usage(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<BranchUsage>> {
    let (env_id, key_id) = named(&cx, place).await?;
    let mut conn = cx.app.pool().acquire().await?;
    let row = find(&mut conn, &env_id, &key_id).await?;
    drop(conn);
    let agent_id = row.agent_id.unwrap_or_default();
    let branches: Analytics = branches::of_agent(&cx, &env_id, &agent_id).await?;
    Ok(Json(BranchUsage { key_id, agent_id, branches }))
}

/// The environment that is meant, and the key in the path.
async fn named(cx: &Call, place: ToolPlace) -> Result<(EnvId, KeyId)> {
    Ok((environment(cx, place.env_id).await?, cx.id("key_id")?))
}

/// The same, of a key that is there.
async fn known(cx: &Call, place: ToolPlace) -> Result<(EnvId, KeyId)> {
    let (env_id, key_id) = named(cx, place).await?;
    let mut conn = cx.app.pool().acquire().await?;
    find(&mut conn, &env_id, &key_id).await?;
    Ok((env_id, key_id))
}

/// The key of an agent; another key is none.
async fn find(conn: &mut PgConnection, env_id: &EnvId, key_id: &KeyId) -> Result<KeyRow> {
    let row = store::find(conn, env_id, key_id).await?;
    row.filter(|row| row.agent_id.is_some()).ok_or(Error::NotFound { kind: "agent key" })
}

fn reach_of(row: &KeyRow, confined: &Confined, cx: &Call) -> Reach {
    row.agent_id.as_deref().and_then(|agent_id| Reach::of(agent_id, confined, cx.now())).unwrap_or_default()
}

/// Whoever confines an agent writes a policy.
async fn confine(cx: &Call, tx: &mut PgConnection, (env_id, row): (&EnvId, &KeyRow), reach: Reach) -> Result<()> {
    cx.caller.may(Access::Admin, Some(Scope::PolicyWrite)).map_err(Error::Lacks)?;
    let grant = reach.granted(row.agent_id.clone().unwrap_or_default(), row.expires_at, cx.now());
    agent_capabilities::grant_alone(cx, tx, env_id, grant).await
}
