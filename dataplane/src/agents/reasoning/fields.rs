//! Arguments about steps and sessions, with their limits.

use std::collections::BTreeSet;

use contract::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Thought, chain};
use crate::Error;
use crate::limits::{counted, fraction, invalid, moment, named, sized};

const CONTENT_BYTES_MAX: usize = 64 * 1024;
const JSON_BYTES_MAX: usize = 64 * 1024;
const STEPS_MAX: usize = 1_000;
/// Steps that are written down together.
const TOGETHER_MAX: usize = 500;
const PAGE_MAX: usize = 200;

/// A step to be written down.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStep {
    /// The session it belongs to; its first step begins it.
    pub session_id: String,
    /// What was thought or done, at most 64 KiB.
    pub content: String,
    /// `observation`, `thought`, `action`, `decision` or your own word.
    #[serde(default = "observation")]
    pub step_type: String,
    /// What went in, any JSON.
    pub input: Option<Value>,
    /// What came out, any JSON.
    pub output: Option<Value>,
    pub model_name: Option<String>,
    pub token_count: Option<u32>,
    pub latency_ms: Option<u32>,
    /// 0 to 1.
    #[serde(default = "middling")]
    pub importance: f64,
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// Steps that were taken elsewhere, to be written down together, in their order: all of them or none.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSteps {
    /// 1 to 500.
    pub steps: Vec<NewStep>,
    /// The id of each. One that its session has already is not written again.
    pub trace_ids: Vec<String>,
}

/// A session to be told again.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    pub session_id: String,
    /// Check the hashes of the whole session.
    #[serde(default)]
    pub verify_chain: bool,
    /// The first step wanted, counted from 0.
    #[serde(default)]
    pub from_step: u32,
    /// Steps wanted, 1 to 1000.
    #[serde(default = "thousand")]
    pub limit: usize,
}

/// A list of sessions.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// 1 to 200.
    #[serde(default = "fifty")]
    pub limit: usize,
    /// Only sessions that this agent began.
    pub agent_id: Option<String>,
    /// Only sessions with a step since this moment, ISO 8601.
    pub since: Option<String>,
    /// From the page before.
    pub cursor: Option<String>,
}

fn observation() -> String {
    "observation".to_owned()
}

fn middling() -> f64 {
    0.5
}

fn thousand() -> usize {
    STEPS_MAX
}

fn fifty() -> usize {
    50
}

impl NewStep {
    pub(super) fn checked(self) -> Result<Self, Error> {
        named("session_id", &self.session_id)?;
        named("step_type", &self.step_type)?;
        if let Some(model_name) = &self.model_name {
            named("model_name", model_name)?;
        }
        sized("content", self.content.len(), CONTENT_BYTES_MAX)?;
        for (field, value) in [("input", &self.input), ("output", &self.output)] {
            sized(field, value.as_ref().map_or(0, |value| value.to_string().len()), JSON_BYTES_MAX)?;
        }
        sized("metadata", Value::Object(self.metadata.clone()).to_string().len(), JSON_BYTES_MAX)?;
        fraction("importance", self.importance)?;
        Ok(self)
    }

    pub(super) fn thought(
        self,
        trace_id: String,
        agent_id: String,
        step_number: i64,
        prev_hash: String,
        now: Timestamp,
    ) -> Result<Thought, Error> {
        let mut thought = Thought {
            trace_id,
            session_id: self.session_id,
            agent_id,
            step_number,
            step_type: self.step_type,
            content: self.content,
            input: self.input,
            output: self.output,
            model_name: self.model_name,
            token_count: self.token_count.map(i64::from),
            latency_ms: self.latency_ms.map(i64::from),
            importance: self.importance,
            metadata: self.metadata,
            prev_hash,
            hash: String::new(),
            created_at: now,
        };
        thought.hash = chain::hash(&thought)?;
        Ok(thought)
    }
}

impl NewSteps {
    /// Each step with its id.
    pub(super) fn checked(self) -> Result<Vec<(String, NewStep)>, Error> {
        let Self { steps, trace_ids } = self;
        counted("steps", steps.len(), TOGETHER_MAX)?;
        if steps.len() != trace_ids.len() {
            return Err(invalid("trace_ids", "trace_ids has one id for each step"));
        }
        let mut known = BTreeSet::new();
        let checked = trace_ids.into_iter().zip(steps).enumerate().map(|(place, (trace_id, step))| {
            let field = format!("trace_ids[{place}]");
            named(&field, &trace_id)?;
            if !known.insert(trace_id.clone()) {
                return Err(invalid(&field, format!("{trace_id} is the id of two steps")));
            }
            Ok((trace_id, step.checked()?))
        });
        checked.collect()
    }
}

impl Replay {
    pub(super) fn checked(self) -> Result<Self, Error> {
        counted("limit", self.limit, STEPS_MAX)?;
        Ok(self)
    }
}

impl History {
    pub(super) fn checked(self) -> Result<Self, Error> {
        counted("limit", self.limit, PAGE_MAX)?;
        self.moment()?;
        Ok(self)
    }

    /// Microseconds of `since`.
    pub(super) fn moment(&self) -> Result<Option<i64>, Error> {
        moment("since", self.since.as_deref())
    }
}
