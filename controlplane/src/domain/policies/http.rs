//! Requests, answers and handlers of standard policies.

use std::collections::BTreeSet;

use contract::policy::{MaskingRule, Policy, RowFilterRule, Rules};
use contract::{EnvId, PolicyId, SqlAnalyzer, Timestamp};
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

use super::admission::{admit, unheard};
use super::binding::{self, ShownBinding, Unbound};
use super::store;
use crate::domain::tenancy::users;
use crate::domain::{api_keys, environments};

const NAME_MAX: usize = 256;
/// Policies of one environment: every statement walks them.
pub const POLICIES_MAX: i64 = 1_000;
/// Whose share of a snapshot it is.
pub const RULES: &str = "the rules of an environment's policies";

/// A policy as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Policy")]
pub struct PolicyAnswer {
    id: PolicyId,
    #[serde(flatten)]
    policy: Policy,
    #[serde(flatten)]
    shown: ShownBinding,
    /// What may not be as it was meant, where the policy was made or changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl PolicyAnswer {
    pub fn new(policy: Policy, unbound: Option<Vec<Unbound>>) -> Self {
        Self { id: policy.policy_id.clone(), policy, shown: unbound.into(), warnings: Vec::new() }
    }

    pub fn warned(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }
}

/// What `rules` may hold, by `type`: `admission` reads them, to name the member that does not fit.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "PolicyRules")]
#[expect(dead_code, reason = "only its shape is shown")]
enum EitherRules {
    ColumnMasking(Vec<MaskingRule>),
    RowLevelSecurity(Vec<RowFilterRule>),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyCreation")]
#[serde(deny_unknown_fields)]
pub struct Creation {
    name: String,
    r#type: String,
    #[schemars(with = "EitherRules")]
    rules: Value,
    #[serde(default = "yes")]
    enabled: bool,
    /// Keeps rules that name a table or column that is not there: they rule nothing until it is.
    #[serde(default)]
    accept_missing: bool,
}

const fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyChange {
    name: Option<String>,
    r#type: Option<String>,
    #[schemars(with = "Option<EitherRules>")]
    rules: Option<Value>,
    enabled: Option<bool>,
    /// Keeps rules that name a table or column that is not there: they rule nothing until it is.
    #[serde(default)]
    accept_missing: bool,
}

/// Rules that are in order, with what is known of them.
#[derive(Debug)]
pub struct Judged {
    pub rules: Rules,
    pub unbound: Option<Vec<Unbound>>,
    pub warnings: Vec<String>,
}

/// The draft of a policy.
#[derive(Debug)]
pub struct PolicyDraft {
    pub name: String,
    pub enabled: bool,
    pub rules: Rules,
    pub accept_missing: bool,
}

impl Creation {
    pub fn admitted(self, sql: &dyn SqlAnalyzer, carried: &KnownAttributes) -> Result<PolicyDraft> {
        let Self { name: given, r#type, rules, enabled, accept_missing } = self;
        let (name, rules) = (name(given)?, admit(sql, &r#type, &rules, &carried.by_anybody)?);
        Ok(PolicyDraft { name, enabled, rules, accept_missing })
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PolicyDeletion {
    policy_id: PolicyId,
    id: PolicyId,
    deleted: bool,
    deleted_at: Timestamp,
}

pub async fn list(cx: Call, page: PageRequest) -> Result<Paged<PolicyAnswer>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, &cx.env_id()?, &page).await?;
    let ids: Vec<PolicyId> = rows.iter().map(|policy| policy.policy_id.clone()).collect();
    let bindings = binding::store::of(&mut conn, &ids).await?;
    let shown = |policy: Policy| {
        let unbound = bindings.get(&policy.policy_id).cloned();
        PolicyAnswer::new(policy, unbound)
    };
    Ok(page.of(rows, total, |policy| (policy.created_at, policy.policy_id.to_string()), shown))
}

/// Holds the rules against what there is; asked before anything is locked, for a data plane may take its time.
async fn judged(cx: &Call, rules: Rules, carried: &KnownAttributes, accept_missing: bool) -> Result<Judged> {
    let unbound = binding::of(&cx.app, &cx.env_id()?, &binding::places(&rules)).await;
    binding::admit(unbound.as_deref().unwrap_or_default(), accept_missing)?;
    let warnings = unheard(cx.app.sql(), &rules, &carried.by_users);
    Ok(Judged { rules, unbound, warnings })
}

pub async fn create(cx: Call, Json(input): Json<Creation>) -> Result<Created<PolicyAnswer>> {
    let env_id = cx.env_id()?;
    let carried = KnownAttributes::now(&cx).await?;
    let PolicyDraft { name, enabled, rules, accept_missing } = input.admitted(cx.app.sql(), &carried)?;
    let Judged { rules, unbound, warnings } = judged(&cx, rules, &carried, accept_missing).await?;
    let mut tx = environments::begin(&cx, &env_id).await?;
    has_room(&mut tx, &env_id).await?;
    let before = store::bytes(&mut tx, &env_id).await?;
    let policy = inserted(&cx, &mut tx, (name, enabled, rules), unbound.as_deref()).await?;
    within_share(RULES, before, store::bytes(&mut tx, &env_id).await?)?;
    tx.commit().await?;
    Ok(Created(PolicyAnswer::new(policy, unbound).warned(warnings)))
}

async fn has_room(tx: &mut PgConnection, env_id: &EnvId) -> Result<()> {
    if store::count(tx, env_id).await? < POLICIES_MAX {
        return Ok(());
    }
    Err(Error::conflict("too_many", format!("an environment has at most {POLICIES_MAX} policies")))
}

/// A new policy, with its event.
pub async fn inserted(
    cx: &Call,
    tx: &mut PgConnection,
    (name, enabled, rules): (String, bool, Rules),
    unbound: Option<&[Unbound]>,
) -> Result<Policy> {
    let now = cx.now();
    let policy_id = PolicyId::fresh(now, cx.app.entropy());
    let policy = Policy { policy_id, name, enabled, rules, created_at: now, updated_at: now };
    store::insert(tx, &cx.env_id()?, &policy).await?;
    binding::store::keep(tx, &policy.policy_id, unbound, now).await?;
    let event = Event::new(EventType::PolicyCreated, policy.policy_id.clone()).after(told(&policy));
    events::record(&cx.app, tx, cx, event).await?;
    Ok(policy)
}

/// A policy as it is now, with its event.
pub async fn updated(cx: &Call, tx: &mut PgConnection, before: Value, policy: &Policy) -> Result<()> {
    store::update(tx, policy).await?;
    let event = Event::new(EventType::PolicyUpdated, policy.policy_id.clone()).before(before).after(told(policy));
    events::record(&cx.app, tx, cx, event).await
}

/// "policy with new `updated_at`". The type stays: another type is another policy.
pub async fn update(cx: Call, Json(input): Json<PolicyChange>) -> Result<Json<PolicyAnswer>> {
    let env_id = cx.env_id()?;
    let judged = rejudged(&cx, &input).await?;
    let mut tx = environments::begin(&cx, &env_id).await?;
    let mut policy = found(&mut tx, &cx).await?;
    cx.expected.holds(policy.updated_at)?;
    let before = told(&policy);
    if let Some(given) = input.name {
        policy.name = name(given)?;
    }
    if let Some(judged) = &judged {
        policy.rules = judged.rules.clone();
    }
    policy.enabled = input.enabled.unwrap_or(policy.enabled);
    policy.updated_at = cx.now();
    let bytes = store::bytes(&mut tx, &env_id).await?;
    updated(&cx, &mut tx, before, &policy).await?;
    if let Some(judged) = &judged {
        binding::store::keep(&mut tx, &policy.policy_id, judged.unbound.as_deref(), cx.now()).await?;
    }
    within_share(RULES, bytes, store::bytes(&mut tx, &env_id).await?)?;
    let unbound = binding::store::of(&mut tx, std::slice::from_ref(&policy.policy_id)).await?.remove(&policy.policy_id);
    tx.commit().await?;
    Ok(Json(PolicyAnswer::new(policy, unbound).warned(judged.map(|judged| judged.warnings).unwrap_or_default())))
}

/// The rules that are given, in order; none where none are.
async fn rejudged(cx: &Call, input: &PolicyChange) -> Result<Option<Judged>> {
    let type_name = {
        let mut conn = cx.app.pool().acquire().await?;
        let policy = found(&mut conn, cx).await?;
        cx.expected.holds(policy.updated_at)?;
        policy.rules.type_name()
    };
    if input.r#type.as_ref().is_some_and(|given| *given != type_name) {
        return Err(Error::invalid("type", "immutable", "`type` is set when a policy is created"));
    }
    let Some(rules) = &input.rules else {
        return Ok(None);
    };
    let carried = KnownAttributes::now(cx).await?;
    let rules = admit(cx.app.sql(), type_name, rules, &carried.by_anybody)?;
    judged(cx, rules, &carried, input.accept_missing).await.map(Some)
}

pub async fn delete(cx: Call) -> Result<Json<PolicyDeletion>> {
    let mut tx = environments::begin(&cx, &cx.env_id()?).await?;
    let policy = found(&mut tx, &cx).await?;
    cx.expected.holds(policy.updated_at)?;
    store::delete(&mut tx, &policy.policy_id).await?;
    let event = Event::new(EventType::PolicyDeleted, policy.policy_id.clone()).before(told(&policy));
    events::commit(&cx.app, tx, &cx, event).await?;
    let policy_id = policy.policy_id;
    Ok(Json(PolicyDeletion { id: policy_id.clone(), policy_id, deleted: true, deleted_at: cx.now() }))
}

async fn found(tx: &mut PgConnection, cx: &Call) -> Result<Policy> {
    let policy = store::find(tx, &cx.env_id()?, &cx.id("policy_id")?).await?;
    policy.ok_or(Error::NotFound { kind: "policy" })
}

/// What a rule may ask about besides what is built in: attributes that somebody carries now.
pub async fn attributes(tx: &mut PgConnection, cx: &Call) -> Result<BTreeSet<String>> {
    Ok(KnownAttributes::of(tx, cx).await?.by_anybody)
}

/// The attributes that there are.
#[derive(Debug)]
pub struct KnownAttributes {
    pub by_users: BTreeSet<String>,
    pub by_anybody: BTreeSet<String>,
}

impl KnownAttributes {
    pub async fn now(cx: &Call) -> Result<Self> {
        let mut conn = cx.app.pool().acquire().await?;
        Self::of(&mut conn, cx).await
    }

    async fn of(conn: &mut PgConnection, cx: &Call) -> Result<Self> {
        let by_users: BTreeSet<String> = users::attribute_names(conn, cx.org_id()).await?.into_iter().collect();
        let mut by_anybody = by_users.clone();
        by_anybody.extend(api_keys::attribute_names(conn, cx.org_id()).await?);
        Ok(Self { by_users, by_anybody })
    }
}

/// A name that a policy may have.
pub fn name(given: String) -> Result<String> {
    let fits = !given.trim().is_empty() && given.len() <= NAME_MAX && !given.chars().any(char::is_control);
    if fits {
        Ok(given)
    } else {
        Err(Error::invalid("name", "1..256", format!("`name` is 1 to {NAME_MAX} bytes of text")))
    }
}

/// The policy in an event: whole, since a rule is what the trail is asked about.
pub fn told(policy: &Policy) -> Value {
    let rules = match &policy.rules {
        Rules::ColumnMasking(rules) => json!(rules),
        Rules::RowLevelSecurity(rules) => json!(rules),
    };
    json!({"name": policy.name, "type": policy.rules.type_name(), "enabled": policy.enabled, "rules": rules})
}
