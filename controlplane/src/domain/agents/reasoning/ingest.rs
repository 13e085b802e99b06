//! Steps of reasoning that were taken elsewhere, brought together: `{traces}`, as typed clients send them.
//!
//! They join the ledger of the environment in the order of their `step_index`, under its own chain of hashes. The
//! hash that a client made itself is kept with the step, beside its time; it is not what the chain is checked by.

use contract::OrgId;
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::agents::agent_tools::{ToolPlace, present, tool};

/// Steps that one request brings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ReasoningIngest")]
pub(super) struct Ingest {
    /// 1 to 500, of one agent.
    traces: Vec<Trace>,
}

/// One step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ReasoningTrace")]
struct Trace {
    trace_id: String,
    session_id: String,
    agent_id: String,
    /// Your own; it may be left out.
    #[serde(default)]
    org_id: Option<String>,
    /// Its place in its session, as far as this request goes.
    #[serde(default)]
    step_index: i64,
    /// `Thought`, `ToolCall`, `ToolResult` or your own word.
    trace_type: String,
    /// Any JSON; what is no text is kept as its JSON.
    content: Value,
    /// As its maker computed it; kept as it is.
    content_hash: Option<String>,
    /// When it was taken, as its maker says.
    timestamp: Option<String>,
}

/// What was written.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReasoningIngested {
    /// Steps that were not there before.
    ingested: u64,
    /// Of all that came, in the order in which they stand.
    trace_ids: Vec<String>,
}

pub(super) async fn ingest(
    cx: Call,
    Query(place): Query<ToolPlace>,
    Json(Ingest { mut traces }): Json<Ingest>,
) -> Result<Json<ReasoningIngested>> {
    #[derive(Deserialize)]
    struct Logged {
        logged: u64,
    }
    let agent_id = of_one_agent(&traces)?;
    are_ours(&traces, cx.org_id())?;
    traces.sort_by_key(|trace| trace.step_index);
    let trace_ids: Vec<String> = traces.iter().map(|trace| trace.trace_id.clone()).collect();
    let steps: Vec<Value> = traces.into_iter().map(step).collect();
    let arguments = json!({"steps": steps, "trace_ids": trace_ids});
    let Logged { logged } = tool(&cx, place.env_id, "log_reasoning_steps", Some(agent_id), arguments).await?;
    Ok(Json(ReasoningIngested { ingested: logged, trace_ids }))
}

/// Whose steps they are: a call of a tool is one agent's.
fn of_one_agent(traces: &[Trace]) -> Result<String> {
    let Some(first) = traces.first() else {
        return Err(Error::invalid("traces", "1..500", "`traces` has at least one step"));
    };
    match traces.iter().position(|trace| trace.agent_id != first.agent_id) {
        None => Ok(first.agent_id.clone()),
        Some(place) => {
            let message = format!("`traces[{place}]` is another agent's: send the steps of each agent by themselves");
            Err(Error::invalid(format!("traces[{place}].agent_id"), "one agent", message))
        }
    }
}

fn are_ours(traces: &[Trace], org_id: &OrgId) -> Result<()> {
    let is_other = |trace: &Trace| trace.org_id.as_deref().is_some_and(|id| !id.is_empty() && id != org_id.as_str());
    match traces.iter().position(is_other) {
        None => Ok(()),
        Some(place) => {
            let message = format!("`traces[{place}].org_id` is not your organization: leave it out, or send its id");
            Err(Error::invalid(format!("traces[{place}].org_id"), "own", message))
        }
    }
}

/// The step as the tool takes it.
fn step(trace: Trace) -> Value {
    let Trace { session_id, trace_type, content, content_hash, timestamp, .. } = trace;
    let content = match content {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let metadata = present(json!({"content_hash": content_hash, "timestamp": timestamp}));
    json!({"session_id": session_id, "step_type": trace_type, "content": content, "metadata": metadata})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(given: Value) -> Vec<Trace> {
        serde_json::from_value(given).unwrap()
    }

    #[test]
    fn steps_are_of_one_agent_and_of_ones_own_organization() {
        let trace = |agent: &str, org: &str| {
            json!({"trace_id": "t", "session_id": "s", "agent_id": agent, "org_id": org, "trace_type": "Thought",
                   "content": {"text": "x"}})
        };
        let field = |refused: Error| refused.problem().details["field"].as_str().map(str::to_owned);
        let own = OrgId::from("acme");
        assert_eq!(of_one_agent(&traces(json!([trace("a", ""), trace("a", "")]))).unwrap(), "a");
        let mixed = of_one_agent(&traces(json!([trace("a", ""), trace("b", "")]))).unwrap_err();
        assert_eq!(field(mixed).as_deref(), Some("traces[1].agent_id"));
        assert_eq!(field(of_one_agent(&[]).unwrap_err()).as_deref(), Some("traces"));
        assert!(are_ours(&traces(json!([trace("a", "acme"), trace("a", "")])), &own).is_ok());
        let other = are_ours(&traces(json!([trace("a", "other")])), &own).unwrap_err();
        assert_eq!(field(other).as_deref(), Some("traces[0].org_id"));
    }

    #[test]
    fn what_its_maker_said_of_a_step_is_kept_with_it() {
        let given = json!([{"trace_id": "t", "session_id": "s", "agent_id": "a", "trace_type": "ToolCall",
            "content": {"n": 1}, "content_hash": "abc", "timestamp": "2026-01-01T00:00:00+00:00"}]);
        let [trace] = <[Trace; 1]>::try_from(traces(given)).unwrap();
        assert_eq!(
            step(trace),
            json!({"session_id": "s", "step_type": "ToolCall", "content": "{\"n\":1}",
                "metadata": {"content_hash": "abc", "timestamp": "2026-01-01T00:00:00+00:00"}})
        );
    }
}
