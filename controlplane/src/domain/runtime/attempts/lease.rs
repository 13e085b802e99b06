//! Leases: who holds one, and why somebody does not.

use contract::Timestamp;
use platform::http::call::Call;
use platform::{Error, Result};
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use subtle::ConstantTimeEq;

use super::{Attempt, AttemptStatus, store};
use crate::domain::runtime::{actor, clock};

pub fn digest(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

/// 409 with what the attempt is.
pub fn state_conflict(attempt: &Attempt, reason: &'static str) -> Error {
    let message = match reason {
        "lease_expired" => "the lease of this attempt has ended",
        "lease_token_mismatch" => "`lease_token` is not that of this attempt",
        "lease_token_required" => "somebody else holds this attempt: send its `lease_token`",
        "attempt_cancelled" => "the attempt was cancelled",
        "not_pending" => "the attempt is not pending",
        "agent_mismatch" => "the attempt was made for another agent",
        "already_completed" => "the attempt was completed otherwise",
        "attempt_terminal" => "the attempt has ended",
        _ => "the attempt is not running",
    };
    // Who cannot prove the lease learns nothing of it.
    let known = match reason {
        "lease_token_mismatch" | "lease_token_required" => json!({}),
        _ => json!({"status": attempt.status, "lease_expires_at": attempt.lease_expires_at}),
    };
    Error::state_conflict(reason, message, &known)
}

/// The token is the attempt's.
pub fn proven(attempt: &Attempt, token: &str) -> Result<()> {
    let is_same = bool::from(digest(token).ct_eq(&attempt.lease_token_sha256));
    if is_same { Ok(()) } else { Err(state_conflict(attempt, "lease_token_mismatch")) }
}

/// The attempt is in this state, and its lease has not ended.
pub fn held(attempt: &Attempt, wanted: AttemptStatus, now: Timestamp) -> Result<()> {
    let reason = match attempt.status {
        AttemptStatus::TimedOut => "lease_expired",
        AttemptStatus::Cancelled => "attempt_cancelled",
        _ if attempt.status.is_active() && attempt.ends_at() <= now => "lease_expired",
        status if status == wanted => return Ok(()),
        _ if wanted == AttemptStatus::Pending => "not_pending",
        _ => "not_running",
    };
    Err(state_conflict(attempt, reason))
}

/// The attempt is the caller's to write for: by its token or, without one, because they hold it.
/// Otherwise one would make what another is taken for the maker of, and approve it oneself.
fn theirs(cx: &Call, attempt: &Attempt, token: Option<&str>) -> Result<()> {
    match token {
        Some(token) => proven(attempt, token)?,
        None if attempt.held_by == actor::of(&cx.caller) => {}
        None => return Err(state_conflict(attempt, "lease_token_required")),
    }
    speaking(cx, attempt)
}

/// A key that is bound to an agent does nothing in the name of another.
pub fn speaking(cx: &Call, attempt: &Attempt) -> Result<()> {
    let speaks = actor::speaks_for(cx, attempt.agent_id.as_deref());
    speaks.then_some(()).ok_or_else(|| state_conflict(attempt, "agent_mismatch"))
}

/// An attempt that may be written for, locked: active, its lease not ended, and the caller's.
pub async fn live(
    cx: &Call,
    tx: &mut PgConnection,
    attempt_id: &str,
    token: Option<&str>,
) -> Result<(Attempt, Timestamp)> {
    let attempt = store::lock(tx, cx.org_id(), attempt_id).await?;
    theirs(cx, &attempt, token)?;
    let now = clock::now(tx).await?;
    if !attempt.status.is_active() {
        return Err(state_conflict(&attempt, "attempt_terminal"));
    }
    held(&attempt, attempt.status, now)?;
    Ok((attempt, now))
}
