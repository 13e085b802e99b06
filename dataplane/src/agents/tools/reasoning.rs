//! `log_reasoning_step`, `replay_decision`, `get_session_history`; and for the REST surface alone many steps at once.

use contract::policy::abac::Operation;
use contract::reasoning::{ReasoningSession, ReasoningStep, ReasoningStory};
use schemars::JsonSchema;
use serde::Serialize;

use super::budget::Rest;
use super::{Telling, ToolCall, moment};
use crate::Error;
use crate::agents::reasoning::{self, History, NewStep, NewSteps, Replay, ReplayedSession, Session, Thought};
use crate::agents::triggers::{self, TriggerContent, TriggerSource};
use crate::pipeline::{CallerContext, ToolAction};

#[derive(Debug, Serialize, JsonSchema)]
pub struct Logged {
    trace_id: String,
    session_id: String,
    step_number: i64,
    hash: String,
    prev_hash: String,
    /// Ids of the triggers that have fired.
    triggers_fired: Vec<String>,
}

impl Telling for Logged {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LoggedTogether {
    /// Steps that were written; those that were there are not counted.
    logged: u64,
    /// Ids of the triggers that have fired.
    triggers_fired: Vec<String>,
}

impl Telling for LoggedTogether {}

impl Telling for ReasoningStory {
    const LIST: Option<&'static str> = Some("steps");

    fn rest(&self, shown: usize) -> Option<Rest> {
        let last = self.steps.get(shown.checked_sub(1)?)?;
        Some(("from_step", (last.step_number + 1).into()))
    }
}

impl From<Thought> for ReasoningStep {
    fn from(thought: Thought) -> Self {
        Self {
            trace_id: thought.trace_id,
            agent_id: thought.agent_id,
            step_number: thought.step_number,
            step_type: thought.step_type,
            content: thought.content,
            input: thought.input,
            output: thought.output,
            model_name: thought.model_name,
            token_count: thought.token_count,
            latency_ms: thought.latency_ms,
            importance: thought.importance,
            metadata: thought.metadata,
            prev_hash: thought.prev_hash,
            hash: thought.hash,
            created_at: moment(thought.created_at),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionList {
    sessions: Vec<ReasoningSession>,
    /// For the next page; null after the last.
    cursor: Option<String>,
    has_more: bool,
}

impl Telling for SessionList {
    const LIST: Option<&'static str> = Some("sessions");
    const BARE: bool = true;

    fn rest(&self, shown: usize) -> Option<Rest> {
        let last = self.sessions.get(shown.checked_sub(1)?)?;
        Some(("cursor", reasoning::cursor(last.last_step_at.parse().ok()?, &last.session_id).into()))
    }
}

impl From<Session> for ReasoningSession {
    fn from(session: Session) -> Self {
        Self {
            session_id: session.session_id,
            agent_id: session.agent_id,
            started_at: moment(session.started_at),
            last_step_at: moment(session.last_step_at),
            step_count: session.step_count,
            head_hash: session.head_hash,
        }
    }
}

fn tool_action(call: &ToolCall, name: &str, operation: Operation) -> Result<ToolAction, Error> {
    call.action(name, vec![reasoning::TABLE.to_owned()], operation)
}

pub async fn log(call: ToolCall, new: NewStep) -> Result<Logged, Error> {
    let tool_action = tool_action(&call, "log_reasoning_step", Operation::Insert)?;
    let now = call.pipeline.clock.now();
    let trace_id = contract::ids::fresh(now, &call.pipeline.entropy);
    let own = &call;
    let logged = |standing: CallerContext| async move {
        let thought = own.thoughts.append(standing.clone(), new, trace_id, now).await?;
        let fired = triggers::notice((&own.pipeline, &own.triggers), &standing, &trigger_content(&thought), now).await;
        Ok(((thought, fired), 1))
    };
    let (thought, triggers_fired) = call.pipeline.act(tool_action, logged).await?;
    let Thought { trace_id, session_id, step_number, hash, prev_hash, .. } = thought;
    Ok(Logged { trace_id, session_id, step_number, hash, prev_hash, triggers_fired })
}

fn trigger_content(thought: &Thought) -> TriggerContent {
    TriggerContent {
        source: TriggerSource::ReasoningStep,
        content: thought.content.clone(),
        content_id: Some(thought.trace_id.clone()),
        agent_id: thought.agent_id.clone(),
        metadata: thought.metadata.clone(),
    }
}

/// Steps that were taken elsewhere.
pub async fn log_together(call: ToolCall, new: NewSteps) -> Result<LoggedTogether, Error> {
    let tool_action = tool_action(&call, "log_reasoning_steps", Operation::Insert)?;
    let now = call.pipeline.clock.now();
    let own = &call;
    let logged = |standing: CallerContext| async move {
        let thoughts = own.thoughts.append_all(standing.clone(), new, now).await?;
        let mut fired = Vec::new();
        for thought in &thoughts {
            fired.extend(
                triggers::notice((&own.pipeline, &own.triggers), &standing, &trigger_content(thought), now).await,
            );
        }
        let count = u64::try_from(thoughts.len()).unwrap_or(u64::MAX);
        Ok(((count, fired), count))
    };
    let (logged, triggers_fired) = call.pipeline.act(tool_action, logged).await?;
    Ok(LoggedTogether { logged, triggers_fired })
}

pub async fn replay(call: ToolCall, replay: Replay) -> Result<ReasoningStory, Error> {
    let tool_action = tool_action(&call, "replay_decision", Operation::Select)?;
    let session_id = replay.session_id.clone();
    let told = |standing| async {
        let replayed = call.thoughts.replay(standing, replay).await?;
        let count = u64::try_from(replayed.thoughts.len()).unwrap_or(u64::MAX);
        Ok((replayed, count))
    };
    let ReplayedSession { thoughts, step_count, verdict } = call.pipeline.act(tool_action, told).await?;
    let chain_valid = verdict.as_ref().map(|verdict| verdict.broken.is_none());
    let break_detected_at = verdict.and_then(|verdict| verdict.broken);
    let steps = thoughts.into_iter().map(ReasoningStep::from).collect();
    Ok(ReasoningStory { session_id, steps, step_count, chain_valid, break_detected_at })
}

pub async fn history(call: ToolCall, history: History) -> Result<SessionList, Error> {
    let tool_action = tool_action(&call, "get_session_history", Operation::Select)?;
    let listed = |standing| async {
        let (sessions, more) = call.thoughts.sessions(standing, history).await?;
        let count = u64::try_from(sessions.len()).unwrap_or(u64::MAX);
        Ok(((sessions, more), count))
    };
    let (sessions, has_more) = call.pipeline.act(tool_action, listed).await?;
    let last = sessions.last().filter(|_| has_more);
    let cursor = last.map(|last| reasoning::cursor(last.last_step_at, &last.session_id));
    Ok(SessionList { sessions: sessions.into_iter().map(ReasoningSession::from).collect(), cursor, has_more })
}
