//! "`{decision, reason, matching_policies, evaluation_time_ms}`; evaluates without enforcing."
//!
//! The caller that is imagined is known by the attributes of the context alone: it has no user, no
//! address and no attributes of its own. What the context leaves out is the one who asks, now.
//! Where the files of its stages are, only the data plane knows: rules by `StorageIntegrationIs` say nothing here.

use std::collections::BTreeMap;
use std::time::Instant;

use chrono::Weekday;
use contract::analyzer::NamedTable;
use contract::policy::TableRef;
use contract::policy::abac::{self, Action, Context, Decision, Origin, StorageUse, When, hour_and_minute};
use contract::{PolicyId, Role};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store;

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AbacSimulation")]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    #[serde(default)]
    context: Given,
    query: String,
}

/// "Simulation context attributes: `user_role`, `query_origin`, `agent_framework`, `time_of_day`
/// (HH:MM), `day_of_week`."
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "AbacSimulationContext")]
#[serde(deny_unknown_fields)]
struct Given {
    user_role: Option<Role>,
    query_origin: Option<Origin>,
    agent_framework: Option<String>,
    time_of_day: Option<String>,
    day_of_week: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AbacSimulationOutcome {
    decision: &'static str,
    reason: String,
    matching_policies: Vec<AbacPolicyMatch>,
    evaluation_time_ms: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AbacPolicyMatch {
    policy_id: PolicyId,
    name: String,
    action: Action,
}

pub async fn simulate(cx: Call, Json(input): Json<Simulation>) -> Result<Json<AbacSimulationOutcome>> {
    let statement = cx.app.sql().statement(&input.query).map_err(|message| Error::invalid("query", "sql", message))?;
    let given = input.context;
    let when = When {
        now: cx.now(),
        time_of_day: read("time_of_day", "HH:MM", given.time_of_day.as_deref(), hour_and_minute)?,
        day_of_week: read("day_of_week", "a day of the week", given.day_of_week.as_deref(), weekday)?,
    };
    let mut conn = cx.app.pool().acquire().await?;
    let policies = store::governed(&mut conn, &cx.env_id()?).await?;
    let nothing = BTreeMap::new();
    let context = Context {
        role: given.user_role.unwrap_or(cx.caller.role),
        user_id: None,
        attributes: &nothing,
        agent_id: None,
        agent_framework: given.agent_framework.as_deref(),
        origin: given.query_origin.unwrap_or(Origin::Rest),
        source_ip: None,
        tables: statement.tables.iter().map(table).collect(),
        storage: StorageUse::default(),
        operations: statement.operations,
        when,
    };
    let began = Instant::now();
    let decision = abac::evaluate(&policies, &context);
    let took = began.elapsed().as_secs_f64() * 1_000.0;
    Ok(Json(outcome(decision, statement.is_write, took)))
}

fn outcome(found: Decision, writes: bool, evaluation_time_ms: f64) -> AbacSimulationOutcome {
    let (decision, otherwise) = found.in_words(writes);
    let matching = |(policy_id, name, action)| AbacPolicyMatch { policy_id, name, action };
    AbacSimulationOutcome {
        decision,
        reason: found.message.unwrap_or_else(|| otherwise.to_owned()),
        matching_policies: found.matched.into_iter().map(matching).collect(),
        evaluation_time_ms,
    }
}

/// By the caller's own words, as stage 2 has it: no schema means `main`.
fn table(named: &NamedTable) -> TableRef<'_> {
    TableRef { schema: named.schema.as_deref().unwrap_or("main"), name: &named.name }
}

fn weekday(text: &str) -> Option<Weekday> {
    text.parse().ok()
}

fn read<T>(name: &str, form: &str, given: Option<&str>, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
    let wrong = || Error::invalid(format!("context.{name}"), "format", format!("`{name}` is {form}"));
    given.map(|text| parse(text).ok_or_else(wrong)).transpose()
}
