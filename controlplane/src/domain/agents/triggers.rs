//! Triggers of an environment, over REST: the same calls as the trigger tools.
//!
//! Nothing is kept here: each request becomes a call of a tool in the environment's data plane, and
//! its result is told in the shape of this surface. Members read; whoever registers or switches off here
//! does so for everybody, and so is a developer at least.

use contract::{Access, EnvId, OrgId, Scope};
use platform::http::call::Call;
use platform::http::json::{Created, Json, Query};
use platform::http::routes::Routes;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::domain::agents::agent_tools::{ToolPlace, arguments_of, present, refusals, tool};

pub fn routes() -> Routes {
    const TRIGGERS: &str = "/v1/organizations/{org_id}/triggers";
    const TEST: &str = "/v1/organizations/{org_id}/triggers/{trigger_id}/test";
    const TRIGGER: &str = "/v1/organizations/{org_id}/triggers/{trigger_id}";
    Routes::new()
        .post(TRIGGERS, Access::Developer, Scope::Agent, register)
        .says("Registers a trigger: a concept in words, and from which score on it fires. A name that exists gets these terms.")
        .get(TRIGGERS, Access::Member, Scope::Agent, list)
        .of_pages()
        .says("Lists triggers, the newest first.")
        .post(TEST, Access::Member, Scope::Agent, test)
        .says("Tells whether a text would make a trigger fire; nothing fires.")
        .delete(TRIGGER, Access::Developer, Scope::Agent, delete)
        .says("Switches a trigger off.")
        .all_ours()
        .all_refuse(refusals!(TriggerNotFound))
}

/// "trigger `{name, concept, threshold=0.85, actions=["webhook"], cooldown_secs=60}`".
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewTrigger {
    name: String,
    concept: String,
    #[serde(default = "most")]
    threshold: f64,
    /// One of `flag_for_review`, `webhook`, `agent_notify`, `write_event`.
    #[serde(default = "webhook")]
    actions: Vec<String>,
    /// Particulars of that action: `urgency` and `assigned_to` of `flag_for_review`, `webhook_url` of `webhook`,
    /// `agent_id` of `agent_notify`, `data` of `write_event`.
    action_config: Option<Map<String, Value>>,
    #[serde(default = "minute")]
    cooldown_secs: i64,
    sources: Option<Vec<String>>,
    agent_filter: Option<String>,
}

fn most() -> f64 {
    0.85
}

fn webhook() -> Vec<String> {
    vec!["webhook".to_owned()]
}

fn minute() -> i64 {
    60
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TriggerListing {
    env_id: Option<EnvId>,
    /// `all` (if absent), `active` or `inactive`.
    status: Option<String>,
}

/// A trigger as this surface shows it.
#[derive(Debug, Serialize, JsonSchema)]
struct Trigger {
    id: String,
    org_id: OrgId,
    name: String,
    concept: String,
    threshold: f64,
    actions: Vec<String>,
    action_config: Map<String, Value>,
    cooldown_secs: i64,
    sources: Vec<String>,
    agent_filter: Option<String>,
    enabled: bool,
    fire_count: i64,
    last_fired_at: Option<String>,
    created_at: String,
}

/// A bare list of them.
#[derive(Debug, Serialize, JsonSchema)]
struct Triggers(Vec<Trigger>);

/// A trigger as the tools show it.
#[derive(Debug, Deserialize)]
struct ToolTrigger {
    trigger_id: String,
    name: String,
    concept: String,
    threshold: f64,
    action_type: String,
    action_config: Map<String, Value>,
    cooldown_secs: i64,
    sources: Vec<String>,
    agent_filter: Option<String>,
    enabled: bool,
    fire_count: i64,
    last_fired_at: Option<String>,
    created_at: String,
}

impl ToolTrigger {
    fn shown(self, org_id: &OrgId) -> Trigger {
        Trigger {
            id: self.trigger_id,
            org_id: org_id.clone(),
            name: self.name,
            concept: self.concept,
            threshold: self.threshold,
            actions: vec![self.action_type],
            action_config: self.action_config,
            cooldown_secs: self.cooldown_secs,
            sources: self.sources,
            agent_filter: self.agent_filter,
            enabled: self.enabled,
            fire_count: self.fire_count,
            last_fired_at: self.last_fired_at,
            created_at: self.created_at,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TriggerTest")]
struct Text {
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TriggerTested {
    would_fire: bool,
    /// The score that is compared with the threshold.
    similarity: f64,
    trigger_name: String,
    trigger_id: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct DeletedTrigger {
    trigger_id: String,
    deleted: bool,
}

async fn register(cx: Call, Query(place): Query<ToolPlace>, Json(new): Json<NewTrigger>) -> Result<Created<Trigger>> {
    let [action] = new.actions.as_slice() else {
        return Err(Error::invalid("actions", "count", "`actions` names one action"));
    };
    let arguments = arguments_of(&new, &["actions"], json!({"action_type": action}));
    let told: ToolTrigger = tool(&cx, place.env_id, "register_trigger", None, arguments).await?;
    Ok(Created(told.shown(cx.org_id())))
}

async fn list(cx: Call, Query(wanted): Query<TriggerListing>) -> Result<Json<Triggers>> {
    #[derive(Deserialize)]
    struct ToolTriggerList {
        triggers: Vec<ToolTrigger>,
    }
    let arguments = present(json!({"status": wanted.status}));
    let list: ToolTriggerList = tool(&cx, wanted.env_id, "list_triggers", None, arguments).await?;
    Ok(Json(Triggers(list.triggers.into_iter().map(|told| told.shown(cx.org_id())).collect())))
}

async fn test(
    cx: Call,
    Query(place): Query<ToolPlace>,
    Json(Text { text }): Json<Text>,
) -> Result<Json<TriggerTested>> {
    #[derive(Deserialize)]
    struct TriggerEvaluation {
        results: Vec<TriggerVerdict>,
    }
    #[derive(Deserialize)]
    struct TriggerVerdict {
        trigger_id: String,
        trigger_name: String,
        matched: bool,
        score: f64,
        in_cooldown: bool,
    }
    let trigger_id: String = cx.id("trigger_id")?;
    let arguments = json!({"content": text, "trigger_ids": [trigger_id]});
    let told: TriggerEvaluation = tool(&cx, place.env_id, "evaluate_triggers", None, arguments).await?;
    let verdict = told.results.into_iter().next().ok_or(Error::NotFound { kind: "trigger_id" })?;
    let TriggerVerdict { trigger_id, trigger_name, matched, score, in_cooldown } = verdict;
    Ok(Json(TriggerTested { would_fire: matched && !in_cooldown, similarity: score, trigger_name, trigger_id }))
}

async fn delete(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<DeletedTrigger>> {
    let trigger_id: String = cx.id("trigger_id")?;
    Ok(Json(tool(&cx, place.env_id, "delete_trigger", None, json!({"trigger_id": trigger_id})).await?))
}
