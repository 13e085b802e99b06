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
use crate::domain::promotion::{PromotedAction, PromotedChange, Promotion};

/// Brings the target to what the source has; what is the same is no change.
pub async fn promote(cx: &Call, tx: &mut PgConnection, promotion: &Promotion) -> Result<Vec<PromotedChange>> {
    let target = store::governed(tx, &promotion.to).await?;
    let mut held = i64::try_from(target.len()).unwrap_or(i64::MAX);
    let bytes = store::bytes(tx, &promotion.to).await?;
    let mut changes = Vec::new();
    for wanted in store::governed(tx, &promotion.from).await? {
        let change = match target.iter().find(|known| known.name == wanted.name) {
            Some(known) if as_there(&wanted, known) == *known => continue,
            Some(known) => update(cx, tx, promotion, known, &wanted).await?,
            None => {
                held += 1;
                create(cx, tx, promotion, &wanted).await?
            }
        };
        changes.push(change);
    }
    if held > POLICIES_MAX {
        return Err(Error::conflict("too_many", format!("an environment has at most {POLICIES_MAX} ABAC policies")));
    }
    within_share(RULES, bytes, store::bytes(tx, &promotion.to).await?)?;
    Ok(changes)
}

fn change(policy: &AbacPolicy, action: PromotedAction, policy_id: Option<PolicyId>) -> PromotedChange {
    PromotedChange { kind: "abac_policies", name: policy.name.clone(), action, policy_id }
}

/// What is wanted, as the policy that the target has.
fn as_there(wanted: &AbacPolicy, known: &AbacPolicy) -> AbacPolicy {
    AbacPolicy { policy_id: known.policy_id.clone(), created_at: known.created_at, ..wanted.clone() }
}

async fn create(
    cx: &Call,
    tx: &mut PgConnection,
    promotion: &Promotion,
    wanted: &AbacPolicy,
) -> Result<PromotedChange> {
    if promotion.dry_run {
        return Ok(change(wanted, PromotedAction::Create, None));
    }
    let policy_id = PolicyId::fresh(cx.now(), cx.app.entropy());
    let policy = AbacPolicy { policy_id: policy_id.clone(), created_at: cx.now(), ..wanted.clone() };
    store::insert(tx, &promotion.to, &policy).await?;
    let event = Event::new(EventType::AbacPolicyCreated, policy_id.clone()).after(told(&policy));
    events::record(&cx.app, tx, promotion.origin(cx), event).await?;
    Ok(change(wanted, PromotedAction::Create, Some(policy_id)))
}

async fn update(
    cx: &Call,
    tx: &mut PgConnection,
    promotion: &Promotion,
    known: &AbacPolicy,
    wanted: &AbacPolicy,
) -> Result<PromotedChange> {
    let changed = change(wanted, PromotedAction::Update, Some(known.policy_id.clone()));
    if promotion.dry_run {
        return Ok(changed);
    }
    let policy = as_there(wanted, known);
    store::update(tx, &policy).await?;
    let event =
        Event::new(EventType::AbacPolicyUpdated, policy.policy_id.clone()).before(told(known)).after(told(&policy));
    events::record(&cx.app, tx, promotion.origin(cx), event).await?;
    Ok(changed)
}
