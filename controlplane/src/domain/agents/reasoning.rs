//! Reasoning of agents, over REST: the same calls as the tools of the reasoning ledger.
//!
//! Nothing is kept here: each request becomes a call of a tool in the environment's data plane, and its
//! result is told in the shape of this surface. The environment is the key's, else `?env_id=`, else the
//! organization's only one. Members read. Steps are written by agents, with their tool, or brought here
//! together (`ingest`) by a developer at least; nobody changes one.

mod ingest;

use contract::reasoning::{ReasoningBreak, ReasoningSession, ReasoningStep, ReasoningStory};
use contract::{Access, EnvId, Scope};
use platform::Result;
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use platform::http::routes::Routes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::agents::agent_tools::{ToolPlace, arguments_of, refusals, tool};

pub fn routes() -> Routes {
    const SESSIONS: &str = "/v1/cot/sessions";
    const REPLAY: &str = "/v1/cot/sessions/{session_id}/replay";
    const VERIFY: &str = "/v1/cot/sessions/{session_id}/verify";
    const INGEST: &str = "/v1/cot/ingest";
    Routes::new()
        .post(INGEST, Access::Developer, Scope::Agent, ingest::ingest)
        .says(
            "Writes down steps of one agent that were taken elsewhere, all or none; what is there already is left out.",
        )
        .get(SESSIONS, Access::Member, Scope::Agent, sessions)
        .of_pages()
        .says("Lists the sessions of reasoning, the latest first.")
        .get(REPLAY, Access::Member, Scope::Agent, replay)
        .of_pages()
        .says("Tells a session again, step by step.")
        .get(VERIFY, Access::Member, Scope::Agent, verify)
        .says("Checks the chain of hashes of a session, from its first step to its last.")
        .all_ours()
        .all_refuse(refusals!(NotFound))
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReasoningListing {
    env_id: Option<EnvId>,
    /// Only sessions that this agent began.
    agent_id: Option<String>,
    /// Only sessions with a step since this moment, ISO 8601.
    since: Option<String>,
    /// 1 to 200; 50 if absent.
    limit: Option<u32>,
    /// From the page before.
    cursor: Option<String>,
    /// `true`: the page with its cursor; else the bare list.
    envelope: Option<bool>,
}

/// Sessions, the latest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum ReasoningSessionList {
    Enveloped(ReasoningSessions),
    Bare(Vec<ReasoningSession>),
}

/// A page of sessions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ReasoningSessions {
    sessions: Vec<ReasoningSession>,
    /// For the next page; null after the last.
    cursor: Option<String>,
    has_more: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReasoningWanted {
    env_id: Option<EnvId>,
    /// The first step wanted, counted from 0.
    from_step: Option<u32>,
    /// Steps wanted, 1 to 1000.
    limit: Option<u32>,
    /// Check the hashes of the whole session too.
    verify_chain: Option<bool>,
}

/// A session told again.
#[derive(Debug, Serialize, JsonSchema)]
struct ReasoningReplay {
    session_id: String,
    /// Steps in the whole session.
    total_steps: i64,
    /// Null where it was not asked for.
    chain_valid: Option<bool>,
    steps: Vec<ReasoningStep>,
}

/// What a check of a session came to. A chain shows what was changed, left out or put in before its last step;
/// that its last steps were cut off, it does not.
#[derive(Debug, Serialize, JsonSchema)]
struct ReasoningVerification {
    session_id: String,
    chain_valid: bool,
    /// Steps in the whole session.
    total_traces: i64,
    /// Of the first step that is not what it should be.
    invalid_hashes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    break_detected_at: Option<ReasoningBreak>,
}

async fn sessions(cx: Call, Query(wanted): Query<ReasoningListing>) -> Result<Json<ReasoningSessionList>> {
    let arguments = arguments_of(&wanted, &["env_id", "envelope"], json!({}));
    let page: ReasoningSessions = tool(&cx, wanted.env_id, "get_session_history", None, arguments).await?;
    let is_bare = wanted.envelope != Some(true);
    Ok(Json(if is_bare { ReasoningSessionList::Bare(page.sessions) } else { ReasoningSessionList::Enveloped(page) }))
}

async fn replay(cx: Call, Query(wanted): Query<ReasoningWanted>) -> Result<Json<ReasoningReplay>> {
    let session_id: String = cx.id("session_id")?;
    let arguments = arguments_of(&wanted, &["env_id"], json!({"session_id": session_id}));
    let ReasoningStory { session_id, steps, step_count, chain_valid, .. } =
        tool(&cx, wanted.env_id, "replay_decision", None, arguments).await?;
    Ok(Json(ReasoningReplay { session_id, total_steps: step_count, chain_valid, steps }))
}

async fn verify(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<ReasoningVerification>> {
    let session_id: String = cx.id("session_id")?;
    let arguments = json!({"session_id": session_id, "verify_chain": true, "limit": 1});
    let ReasoningStory { session_id, step_count, chain_valid, break_detected_at, .. } =
        tool(&cx, place.env_id, "replay_decision", None, arguments).await?;
    Ok(Json(ReasoningVerification {
        session_id,
        // A check that was not made is none that held.
        chain_valid: chain_valid == Some(true),
        total_traces: step_count,
        invalid_hashes: break_detected_at.iter().map(|broken| broken.actual_hash.clone()).collect(),
        break_detected_at,
    }))
}
