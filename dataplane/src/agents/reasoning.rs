//! Chain of thought: what an agent did and why, step by step, in a ledger that only grows.
//!
//! The steps of a session are a chain: `hash = sha256("sluice.cot.v1\n" + prev_hash + "\n" + canonical
//! JSON of the step)`, the first `prev_hash` being sixty-four zeros, and their numbers have no gaps.
//! There is nothing here that changes or removes a step, and no statement reaches the table; a file
//! that was changed behind our back shows in `verify`. A bare chain does not show a cut tail.
//!
//! A session is of the agent that began it: a key made for another agent neither sees nor continues it.

mod chain;
mod fields;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::Error;
use crate::agents::memory::MemoryReach;
use crate::pipeline::CallerContext;
use crate::storage::system_tables::{json_text, json_text_or_null};
use store::SessionHead;

pub use super::listing_cursor::cursor;
pub use chain::ChainVerdict;
pub use fields::{History, NewStep, NewSteps, Replay};

/// The name that policies have for it.
pub const TABLE: &str = contract::own_tables::STEPS;

/// One step, as it was written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Thought {
    pub trace_id: String,
    pub session_id: String,
    pub agent_id: String,
    pub step_number: i64,
    pub step_type: String,
    pub content: String,
    #[serde(deserialize_with = "json_text_or_null")]
    pub input: Option<Value>,
    #[serde(deserialize_with = "json_text_or_null")]
    pub output: Option<Value>,
    pub model_name: Option<String>,
    pub token_count: Option<i64>,
    pub latency_ms: Option<i64>,
    pub importance: f64,
    #[serde(deserialize_with = "json_text")]
    pub metadata: Map<String, Value>,
    pub prev_hash: String,
    pub hash: String,
    #[serde(with = "chrono::serde::ts_microseconds")]
    pub created_at: Timestamp,
}

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Session {
    pub session_id: String,
    /// Who began it.
    pub agent_id: String,
    #[serde(with = "chrono::serde::ts_microseconds")]
    pub started_at: Timestamp,
    #[serde(with = "chrono::serde::ts_microseconds")]
    pub last_step_at: Timestamp,
    pub step_count: i64,
    pub head_hash: String,
}

/// A session told again.
#[derive(Debug, Clone)]
pub struct ReplayedSession {
    pub thoughts: Vec<Thought>,
    /// Steps in the whole session.
    pub step_count: i64,
    /// None where it was not asked for.
    pub verdict: Option<ChainVerdict>,
}

/// The step behind the head of its session.
fn following(
    head: Option<&SessionHead>,
    reach: &MemoryReach,
    (trace_id, new): (String, NewStep),
    now: Timestamp,
) -> Result<Thought, Error> {
    if head.is_some_and(|head| reach.bound && head.began_by != reach.agent_id) {
        return Err(Error::PolicyDenied { message: "the session is another agent's".to_owned() });
    }
    let (step_number, prev_hash) =
        head.map_or((0, chain::GENESIS.to_owned()), |head| (head.step_number + 1, head.hash.clone()));
    new.thought(trace_id, reach.agent_id.clone(), step_number, prev_hash, now)
}

/// The ledger of one environment.
#[derive(Debug, Clone, Default)]
pub struct Thoughts(Arc<Mutex<()>>);

impl Thoughts {
    /// Appends a step to its session. One at a time: no forks, no gaps.
    pub async fn append(
        &self,
        standing: CallerContext,
        new: NewStep,
        trace_id: String,
        now: Timestamp,
    ) -> Result<Thought, Error> {
        let new = new.checked()?;
        let reach = MemoryReach::to_leave(&standing)?;
        let _alone = self.0.lock().await;
        let head = store::head(&standing, &new.session_id).await?;
        let thought = following(head.as_ref(), &reach, (trace_id, new), now)?;
        store::insert(&standing, std::slice::from_ref(&thought), now).await?;
        Ok(thought)
    }

    /// Appends steps to their sessions, all or none; those that a session has already are left out.
    pub async fn append_all(
        &self,
        standing: CallerContext,
        new: NewSteps,
        now: Timestamp,
    ) -> Result<Vec<Thought>, Error> {
        let new = new.checked()?;
        let reach = MemoryReach::to_leave(&standing)?;
        let _alone = self.0.lock().await;
        let mut sessions = BTreeMap::new();
        let mut thoughts = Vec::new();
        for (trace_id, step) in new {
            let session_id = step.session_id.clone();
            let is_known = sessions.contains_key(&session_id);
            if !is_known {
                let head = store::head(&standing, &session_id).await?;
                sessions.insert(session_id.clone(), head);
            }
            if store::has(&standing, &session_id, &trace_id).await? {
                continue;
            }
            let head = sessions.get(&session_id).and_then(Option::as_ref);
            let thought = following(head, &reach, (trace_id, step), now)?;
            let began_by = head.map_or_else(|| thought.agent_id.clone(), |head| head.began_by.clone());
            let head = SessionHead { step_number: thought.step_number, hash: thought.hash.clone(), began_by };
            sessions.insert(session_id, Some(head));
            thoughts.push(thought);
        }
        store::insert(&standing, &thoughts, now).await?;
        Ok(thoughts)
    }

    /// The steps of a session in order; the whole chain is checked if that is asked for.
    pub async fn replay(&self, standing: CallerContext, replay: Replay) -> Result<ReplayedSession, Error> {
        let replay = replay.checked()?;
        let reach = MemoryReach::of(&standing);
        let head = store::head(&standing, &replay.session_id).await?;
        let head = head.filter(|head| !reach.bound || head.began_by == reach.agent_id);
        let head = head.ok_or(Error::SessionNotFound)?;
        let verdict =
            if replay.verify_chain { Some(store::verify(&standing, &replay.session_id).await?) } else { None };
        let thoughts = store::steps(&standing, &replay.session_id, replay.from_step, replay.limit).await?;
        Ok(ReplayedSession { thoughts, step_count: head.step_number + 1, verdict })
    }

    /// The sessions there are, the latest first, and whether there are more.
    pub async fn sessions(&self, standing: CallerContext, history: History) -> Result<(Vec<Session>, bool), Error> {
        let history = history.checked()?;
        let agent = MemoryReach::of(&standing).narrowed(history.agent_id.clone())?;
        store::sessions(&standing, &history, agent.as_deref()).await
    }
}
