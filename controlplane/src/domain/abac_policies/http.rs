//! Requests, answers and handlers of ABAC policies.

use contract::policy::AbacPolicy;
use contract::policy::abac::AbacRule;
use contract::{PolicyId, Timestamp};
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::http::json::{Created, Json};
use platform::http::page::{PageRequest, Paged};
use platform::snapshot_size::within_share;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::admission::{self, admit, text};
use super::store;
use crate::domain::environments;
use crate::domain::policies::binding::{self, ShownBinding, Unbound};
use crate::domain::policies::{attributes, name};
use crate::domain::tenancy::users;

/// ABAC policies of one environment: every statement walks them.
pub const POLICIES_MAX: i64 = 1_000;
/// Whose share of a snapshot it is.
pub const RULES: &str = "the rules of an environment's ABAC policies";

/// An ABAC policy as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AbacPolicy")]
pub struct AbacPolicyAnswer {
    id: PolicyId,
    #[serde(flatten)]
    policy: AbacPolicy,
    /// Of its rules by `TableIs`.
    #[serde(flatten)]
    shown: ShownBinding,
}

impl AbacPolicyAnswer {
    fn new(policy: AbacPolicy, unbound: Option<Vec<Unbound>>) -> Self {
        Self { id: policy.policy_id.clone(), policy, shown: unbound.into() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbacPolicyCreation {
    name: String,
    description: Option<String>,
    #[schemars(with = "Vec<AbacRule>")]
    rules: Value,
    #[serde(default)]
    priority: i32,
    #[serde(default = "yes")]
    enabled: bool,
}

const fn yes() -> bool {
    true
}

/// What is left out stays; an empty `description` takes it away.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbacPolicyChange {
    name: Option<String>,
    description: Option<String>,
    #[schemars(with = "Option<Vec<AbacRule>>")]
    rules: Option<Value>,
    priority: Option<i32>,
    enabled: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AbacPolicyDeletion {
    policy_id: PolicyId,
    id: PolicyId,
    deleted: bool,
    deleted_at: Timestamp,
}

pub async fn list(cx: Call, page: PageRequest) -> Result<Paged<AbacPolicyAnswer>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, &cx.env_id()?, &page).await?;
    let ids: Vec<PolicyId> = rows.iter().map(|policy| policy.policy_id.clone()).collect();
    let bindings = binding::store::of(&mut conn, &ids).await?;
    let shown = |policy: AbacPolicy| {
        let unbound = bindings.get(&policy.policy_id).cloned();
        AbacPolicyAnswer::new(policy, unbound)
    };
    Ok(page.of(rows, total, |policy| (policy.created_at, policy.policy_id.to_string()), shown))
}

pub async fn create(cx: Call, Json(input): Json<AbacPolicyCreation>) -> Result<Created<AbacPolicyAnswer>> {
    let env_id = cx.env_id()?;
    let rules = {
        let mut conn = cx.app.pool().acquire().await?;
        rules(&mut conn, &cx, &input.rules).await?
    };
    // asked before anything is locked, for a data plane may take its time
    let unbound = binding::of(&cx.app, &env_id, &binding::places_by_attribute(&rules)).await;
    let mut tx = environments::begin(&cx, &env_id).await?;
    if store::count(&mut tx, &env_id).await? >= POLICIES_MAX {
        return Err(Error::conflict("too_many", format!("an environment has at most {POLICIES_MAX} ABAC policies")));
    }
    let now = cx.now();
    let policy = AbacPolicy {
        policy_id: PolicyId::fresh(now, cx.app.entropy()),
        name: name(input.name)?,
        description: description(input.description)?,
        rules,
        priority: input.priority,
        enabled: input.enabled,
        created_at: now,
    };
    let before = store::bytes(&mut tx, &env_id).await?;
    store::insert(&mut tx, &env_id, &policy).await?;
    binding::store::keep(&mut tx, &policy.policy_id, unbound.as_deref(), now).await?;
    within_share(RULES, before, store::bytes(&mut tx, &env_id).await?)?;
    let event = Event::new(EventType::AbacPolicyCreated, policy.policy_id.clone()).after(told(&policy));
    events::commit(&cx.app, tx, &cx, event).await?;
    Ok(Created(AbacPolicyAnswer::new(policy, unbound)))
}

pub async fn update(cx: Call, Json(input): Json<AbacPolicyChange>) -> Result<Json<AbacPolicyAnswer>> {
    let env_id = cx.env_id()?;
    let given = match &input.rules {
        Some(given) => {
            let mut conn = cx.app.pool().acquire().await?;
            found(&mut conn, &cx).await?;
            Some(rules(&mut conn, &cx, given).await?)
        }
        None => None,
    };
    let unbound = match &given {
        Some(rules) => binding::of(&cx.app, &env_id, &binding::places_by_attribute(rules)).await,
        None => None,
    };
    let mut tx = environments::begin(&cx, &env_id).await?;
    let mut policy = found(&mut tx, &cx).await?;
    let before = told(&policy);
    if let Some(given) = input.name {
        policy.name = name(given)?;
    }
    if input.description.is_some() {
        policy.description = description(input.description)?;
    }
    let is_new = given.is_some();
    policy.rules = given.unwrap_or(policy.rules);
    policy.priority = input.priority.unwrap_or(policy.priority);
    policy.enabled = input.enabled.unwrap_or(policy.enabled);
    let bytes = store::bytes(&mut tx, &env_id).await?;
    store::update(&mut tx, &policy).await?;
    if is_new {
        binding::store::keep(&mut tx, &policy.policy_id, unbound.as_deref(), cx.now()).await?;
    }
    within_share(RULES, bytes, store::bytes(&mut tx, &env_id).await?)?;
    let event = Event::new(EventType::AbacPolicyUpdated, policy.policy_id.clone()).before(before).after(told(&policy));
    events::record(&cx.app, &mut tx, &cx, event).await?;
    let unbound = binding::store::of(&mut tx, std::slice::from_ref(&policy.policy_id)).await?.remove(&policy.policy_id);
    tx.commit().await?;
    Ok(Json(AbacPolicyAnswer::new(policy, unbound)))
}

pub async fn delete(cx: Call) -> Result<Json<AbacPolicyDeletion>> {
    let mut tx = environments::begin(&cx, &cx.env_id()?).await?;
    let policy = found(&mut tx, &cx).await?;
    store::delete(&mut tx, &policy.policy_id).await?;
    let event = Event::new(EventType::AbacPolicyDeleted, policy.policy_id.clone()).before(told(&policy));
    events::commit(&cx.app, tx, &cx, event).await?;
    let policy_id = policy.policy_id;
    Ok(Json(AbacPolicyDeletion { id: policy_id.clone(), policy_id, deleted: true, deleted_at: cx.now() }))
}

async fn found(tx: &mut PgConnection, cx: &Call) -> Result<AbacPolicy> {
    let policy = store::find(tx, &cx.env_id()?, &cx.id("policy_id")?).await?;
    policy.ok_or(Error::NotFound { kind: "ABAC policy" })
}

/// What is given, if it is in order and asks for what there is in the organization.
async fn rules(tx: &mut PgConnection, cx: &Call, given: &Value) -> Result<Vec<AbacRule>> {
    let rules = admit(given, &attributes(tx, cx).await?)?;
    let asked = admission::users(&rules);
    if !asked.is_empty() {
        admission::known(&rules, &users::known(tx, cx.org_id(), &asked).await?)?;
    }
    Ok(rules)
}

fn description(given: Option<String>) -> Result<Option<String>> {
    let given = given.filter(|given| !given.is_empty());
    given.as_deref().map_or(Ok(()), |given| text("description", given))?;
    Ok(given)
}

/// The policy in an event: whole, since a rule is what the trail is asked about.
pub fn told(policy: &AbacPolicy) -> Value {
    json!({
        "name": policy.name,
        "description": policy.description,
        "rules": policy.rules,
        "priority": policy.priority,
        "enabled": policy.enabled,
    })
}
