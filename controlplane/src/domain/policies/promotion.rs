//! Standard policies of one environment in another.

use contract::PolicyId;
use contract::policy::{Policy, Rules};
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::snapshot_size::within_share;
use platform::{Error, Result};
use sqlx::PgConnection;

use super::http::{POLICIES_MAX, RULES, told};
use super::store;
use crate::domain::promotion::{PromotedChange, Promotion};

/// Brings the target to what the source has of the chosen kinds; what is the same is no change.
pub async fn promote(
    cx: &Call,
    tx: &mut PgConnection,
    promotion: &Promotion,
    chosen: impl Fn(&Rules) -> bool,
) -> Result<Vec<PromotedChange>> {
    let target = store::governed(tx, &promotion.to).await?;
    let mut held = i64::try_from(target.len()).unwrap_or(i64::MAX);
    let bytes = store::bytes(tx, &promotion.to).await?;
    let mut changes = Vec::new();
    for wanted in store::governed(tx, &promotion.from).await?.into_iter().filter(|policy| chosen(&policy.rules)) {
        let there = target.iter().find(|known| known.name == wanted.name);
        match there {
            Some(known) if known.rules == wanted.rules && known.enabled == wanted.enabled => continue,
            Some(known) if known.rules.type_name() != wanted.rules.type_name() => {
                let message = format!("the target's policy `{}` is of another type", known.name);
                return Err(Error::conflict("type_differs", message));
            }
            Some(_) => {}
            None => held += 1,
        }
        changes.push(put(cx, tx, promotion, there, wanted).await?);
    }
    if held > POLICIES_MAX {
        return Err(Error::conflict("too_many", format!("an environment has at most {POLICIES_MAX} policies")));
    }
    within_share(RULES, bytes, store::bytes(tx, &promotion.to).await?)?;
    Ok(changes)
}

/// Makes the policy in the target, or changes the one that is there.
async fn put(
    cx: &Call,
    tx: &mut PgConnection,
    promotion: &Promotion,
    there: Option<&Policy>,
    wanted: Policy,
) -> Result<PromotedChange> {
    let kind = match wanted.rules {
        Rules::ColumnMasking(_) => "masking_rules",
        Rules::RowLevelSecurity(_) => "rls_filters",
    };
    let mut change = PromotedChange::of(kind, &wanted.name, there.map(|known| &known.policy_id));
    if promotion.dry_run {
        return Ok(change);
    }
    let now = cx.now();
    let (policy, event) = if let Some(known) = there {
        let policy = Policy { enabled: wanted.enabled, rules: wanted.rules, updated_at: now, ..known.clone() };
        store::update(tx, &policy).await?;
        let event = Event::new(EventType::PolicyUpdated, policy.policy_id.clone()).before(told(known));
        (policy, event)
    } else {
        let policy_id = PolicyId::fresh(now, cx.app.entropy());
        let policy = Policy { policy_id: policy_id.clone(), created_at: now, updated_at: now, ..wanted };
        store::insert(tx, &promotion.to, &policy).await?;
        (policy, Event::new(EventType::PolicyCreated, policy_id))
    };
    events::record(&cx.app, tx, promotion.origin(cx), event.after(told(&policy))).await?;
    change.policy_id = Some(policy.policy_id);
    Ok(change)
}
