//! ABAC policies of one environment in another.

use contract::PolicyId;
use contract::policy::AbacPolicy;
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::snapshot_size::within_share;
use platform::{Error, Result};
use sqlx::PgConnection;

use super::http::{POLICIES_MAX, RULES, told};
use super::store;
use crate::domain::promotion::{PromotedChange, Promotion};

/// Brings the target to what the source has; what is the same is no change.
pub async fn promote(cx: &Call, tx: &mut PgConnection, promotion: &Promotion) -> Result<Vec<PromotedChange>> {
    let target = store::governed(tx, &promotion.to).await?;
    let mut held = i64::try_from(target.len()).unwrap_or(i64::MAX);
    let bytes = store::bytes(tx, &promotion.to).await?;
    let mut changes = Vec::new();
    for wanted in store::governed(tx, &promotion.from).await? {
        let there = target.iter().find(|known| known.name == wanted.name);
        match there {
            Some(known) if as_there(&wanted, known) == *known => continue,
            Some(_) => {}
            None => held += 1,
        }
        changes.push(put(cx, tx, promotion, there, &wanted).await?);
    }
    if held > POLICIES_MAX {
        return Err(Error::conflict("too_many", format!("an environment has at most {POLICIES_MAX} ABAC policies")));
    }
    within_share(RULES, bytes, store::bytes(tx, &promotion.to).await?)?;
    Ok(changes)
}

/// What is wanted, as the policy that the target has.
fn as_there(wanted: &AbacPolicy, known: &AbacPolicy) -> AbacPolicy {
    AbacPolicy { policy_id: known.policy_id.clone(), created_at: known.created_at, ..wanted.clone() }
}

/// Makes the policy in the target, or changes the one that is there.
async fn put(
    cx: &Call,
    tx: &mut PgConnection,
    promotion: &Promotion,
    there: Option<&AbacPolicy>,
    wanted: &AbacPolicy,
) -> Result<PromotedChange> {
    let mut change = PromotedChange::of("abac_policies", &wanted.name, there.map(|known| &known.policy_id));
    if promotion.dry_run {
        return Ok(change);
    }
    let (policy, event) = if let Some(known) = there {
        let policy = as_there(wanted, known);
        store::update(tx, &policy).await?;
        let event = Event::new(EventType::AbacPolicyUpdated, policy.policy_id.clone()).before(told(known));
        (policy, event)
    } else {
        let policy_id = PolicyId::fresh(cx.now(), cx.app.entropy());
        let policy = AbacPolicy { policy_id: policy_id.clone(), created_at: cx.now(), ..wanted.clone() };
        store::insert(tx, &promotion.to, &policy).await?;
        (policy, Event::new(EventType::AbacPolicyCreated, policy_id))
    };
    events::record(&cx.app, tx, promotion.origin(cx), event.after(told(&policy))).await?;
    change.policy_id = Some(policy.policy_id);
    Ok(change)
}
