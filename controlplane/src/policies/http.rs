//! Requests, answers and handlers of standard policies.

use std::collections::BTreeSet;

use contract::policy::{MaskingRule, Policy, RowFilterRule, Rules};
use contract::{PolicyId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::admission::admit;
use super::store;
use crate::events::{self, Event, EventType};
use crate::governance::within_share;
use crate::http::call::Call;
use crate::http::json::{Created, Json};
use crate::http::page::{Page, Paged};
use crate::{Error, Result, api_keys, environments, users};

const NAME_MAX: usize = 256;
/// Policies of one environment: every statement walks them.
pub const POLICIES_MAX: i64 = 1_000;
/// Whose share of a snapshot it is.
pub const RULES: &str = "the rules of an environment's policies";

/// A policy as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Policy")]
pub struct Answer {
    id: PolicyId,
    #[serde(flatten)]
    policy: Policy,
}

impl From<Policy> for Answer {
    fn from(policy: Policy) -> Self {
        Self { id: policy.policy_id.clone(), policy }
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
}

const fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyChange")]
#[serde(deny_unknown_fields)]
pub struct Change {
    name: Option<String>,
    r#type: Option<String>,
    #[schemars(with = "Option<EitherRules>")]
    rules: Option<Value>,
    enabled: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PolicyDeletion")]
pub struct Deletion {
    policy_id: PolicyId,
    id: PolicyId,
    deleted: bool,
    deleted_at: Timestamp,
}

pub async fn list(cx: Call, page: Page) -> Result<Paged<Answer>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, &cx.env_id()?, &page).await?;
    Ok(page.of(rows, total, |policy| (policy.created_at, policy.policy_id.to_string()), Answer::from))
}

pub async fn create(cx: Call, Json(input): Json<Creation>) -> Result<Created<Answer>> {
    let env_id = cx.env_id()?;
    let mut tx = cx.begin().await?;
    environments::lock(&mut tx, &env_id).await?;
    if store::count(&mut tx, &env_id).await? >= POLICIES_MAX {
        return Err(Error::conflict("too_many", format!("an environment has at most {POLICIES_MAX} policies")));
    }
    let now = cx.now();
    let policy = Policy {
        policy_id: PolicyId::fresh(now, cx.app.entropy()),
        name: name(input.name)?,
        enabled: input.enabled,
        rules: admit(&input.r#type, &input.rules, &attributes(&mut tx, &cx).await?)?,
        created_at: now,
        updated_at: now,
    };
    let before = store::bytes(&mut tx, &env_id).await?;
    store::insert(&mut tx, &env_id, &policy).await?;
    within_share(RULES, before, store::bytes(&mut tx, &env_id).await?)?;
    let event = Event::new(EventType::PolicyCreated, policy.policy_id.clone()).after(told(&policy));
    events::record(&cx.app, &mut tx, &cx, event).await?;
    tx.commit().await?;
    Ok(Created(policy.into()))
}

/// "policy with new `updated_at`". The type stays: another type is another policy.
pub async fn update(cx: Call, Json(input): Json<Change>) -> Result<Json<Answer>> {
    let env_id = cx.env_id()?;
    let mut tx = cx.begin().await?;
    environments::lock(&mut tx, &env_id).await?;
    let mut policy = found(&mut tx, &cx).await?;
    cx.expected.holds(policy.updated_at)?;
    let before = told(&policy);
    let type_name = policy.rules.type_name();
    if input.r#type.is_some_and(|given| given != type_name) {
        return Err(Error::invalid("type", "immutable", "`type` is set when a policy is created"));
    }
    if let Some(given) = input.name {
        policy.name = name(given)?;
    }
    if let Some(rules) = &input.rules {
        policy.rules = admit(type_name, rules, &attributes(&mut tx, &cx).await?)?;
    }
    policy.enabled = input.enabled.unwrap_or(policy.enabled);
    policy.updated_at = cx.now();
    let bytes = store::bytes(&mut tx, &env_id).await?;
    store::update(&mut tx, &policy).await?;
    within_share(RULES, bytes, store::bytes(&mut tx, &env_id).await?)?;
    let event = Event::new(EventType::PolicyUpdated, policy.policy_id.clone()).before(before).after(told(&policy));
    events::record(&cx.app, &mut tx, &cx, event).await?;
    tx.commit().await?;
    Ok(Json(policy.into()))
}

pub async fn delete(cx: Call) -> Result<Json<Deletion>> {
    let mut tx = cx.begin().await?;
    environments::lock(&mut tx, &cx.env_id()?).await?;
    let policy = found(&mut tx, &cx).await?;
    cx.expected.holds(policy.updated_at)?;
    store::delete(&mut tx, &policy.policy_id).await?;
    let event = Event::new(EventType::PolicyDeleted, policy.policy_id.clone()).before(told(&policy));
    events::record(&cx.app, &mut tx, &cx, event).await?;
    tx.commit().await?;
    let policy_id = policy.policy_id;
    Ok(Json(Deletion { id: policy_id.clone(), policy_id, deleted: true, deleted_at: cx.now() }))
}

async fn found(tx: &mut PgConnection, cx: &Call) -> Result<Policy> {
    let policy = store::find(tx, &cx.env_id()?, &cx.id("policy_id")?).await?;
    policy.ok_or(Error::NotFound { kind: "policy" })
}

/// What a rule may ask about besides what is built in: attributes that somebody carries now.
pub async fn attributes(tx: &mut PgConnection, cx: &Call) -> Result<BTreeSet<String>> {
    let mut names: BTreeSet<String> = users::attribute_names(tx, cx.org_id()).await?.into_iter().collect();
    names.extend(api_keys::attribute_names(tx, cx.org_id()).await?);
    Ok(names)
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
