//! Promotion: one environment's policies become another's.
//!
//! "Promotion copies configuration only; data is not copied. With `dry_run` true, the target is not
//! modified and `changes` shows what would apply." Policies are told apart by their names: what the
//! target lacks is made there, what differs is brought to what the source has, what only the target
//! has stays. `policies` means both kinds of standard policy, and `settings.heal`, which rules what a query may become.
//!
//! A key is bound to one environment, whoever it acts for, and a role that was lent holds in one: neither
//! reaches the target. Else a key of an environment for trying things out could set aside the masks of the real one.

mod change;

use std::time::Duration;

use contract::caller::Credential;
use contract::governance::EnvironmentStatus;
use contract::policy::Rules;
use contract::{EnvId, EnvironmentSettings, Timestamp, ids};
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

pub use change::{PromotedAction, PromotedChange, Promotion};

use super::environments::http;
use super::environments::store::{self, EnvironmentRow};
use crate::domain::{abac_policies, policies};

/// What may be promoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PromotionPart {
    Policies,
    MaskingRules,
    RlsFilters,
    AbacPolicies,
}

const EVERYTHING: [PromotionPart; 4] =
    [PromotionPart::Policies, PromotionPart::MaskingRules, PromotionPart::RlsFilters, PromotionPart::AbacPolicies];

/// How long a promotion waits for the target to say what its rules name.
const MARKED_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromotionCreation {
    target_env_id: EnvId,
    include: Option<Vec<PromotionPart>>,
    #[serde(default)]
    dry_run: bool,
}

/// `{promotion_id, source_env, target_env, status, changes, promoted_by, promoted_at}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnvironmentPromotion {
    id: String,
    promotion_id: String,
    source_env: EnvId,
    target_env: EnvId,
    /// `completed` or `dry_run`.
    status: &'static str,
    changes: Vec<PromotedChange>,
    promoted_by: String,
    promoted_at: Timestamp,
}

pub async fn promote(cx: Call, Json(wish): Json<PromotionCreation>) -> Result<Json<EnvironmentPromotion>> {
    let parts = wish.include.unwrap_or_else(|| EVERYTHING.to_vec());
    if parts.is_empty() {
        return Err(Error::invalid("include", "required", "`include` names at least one kind of policy"));
    }
    let promotion = Promotion { from: cx.env_id()?, to: wish.target_env_id, dry_run: wish.dry_run };
    admitted(&cx, &promotion).await?;
    let mut tx = cx.begin().await?;
    store::serialise_change(&mut tx, &promotion.to).await?;
    let mut both = [&promotion.from, &promotion.to];
    both.sort();
    for env_id in both {
        store::lock(&mut tx, env_id).await?;
    }
    let (_, _, target) = store::governed(&mut tx, &promotion.to).await?.ok_or(Error::EnvironmentNotFound)?;
    if target.status == EnvironmentStatus::Decommissioning {
        return Err(Error::conflict("decommissioning", "the target environment is being removed"));
    }
    let standard = |rules: &Rules| {
        parts.contains(&PromotionPart::Policies)
            || match rules {
                Rules::ColumnMasking(_) => parts.contains(&PromotionPart::MaskingRules),
                Rules::RowLevelSecurity(_) => parts.contains(&PromotionPart::RlsFilters),
            }
    };
    let mut changes = policies::promote(&cx, &mut tx, &promotion, standard).await?;
    if parts.contains(&PromotionPart::AbacPolicies) {
        changes.extend(abac_policies::promote(&cx, &mut tx, &promotion).await?);
    }
    if parts.contains(&PromotionPart::Policies) {
        changes.extend(heal(&cx, &mut tx, &promotion).await?);
    }
    let promotion_id = ids::fresh(cx.now(), cx.app.entropy());
    if !promotion.dry_run {
        let after = json!({"promotion_id": promotion_id, "target_env": promotion.to, "changes": changes});
        let event = Event::new(EventType::EnvironmentPromoted, promotion.from.clone()).after(after);
        events::commit(&cx.app, tx, &cx, event).await?;
        in_force(&cx, &promotion.to).await?;
        // What names nothing in the target is kept, and marked: now if the target answers, else when it does.
        let marking = policies::check(&cx.app, cx.org_id(), &promotion.to);
        if !matches!(tokio::time::timeout(MARKED_WITHIN, marking).await, Ok(Ok(()))) {
            tracing::debug!(env.id = %promotion.to, "what was promoted is looked at later");
        }
    }
    Ok(Json(EnvironmentPromotion {
        id: promotion_id.clone(),
        promotion_id,
        source_env: promotion.from,
        target_env: promotion.to,
        status: if promotion.dry_run { "dry_run" } else { "completed" },
        changes,
        promoted_by: cx.caller.actor_id().to_owned(),
        promoted_at: cx.now(),
    }))
}

/// The last of it: where the target is a resource that is written here, and all else has been let through by then.
async fn heal(cx: &Call, tx: &mut PgConnection, promotion: &Promotion) -> Result<Option<PromotedChange>> {
    let missing = || Error::EnvironmentNotFound;
    let from = store::find(tx, cx.org_id(), &promotion.from).await?.ok_or_else(missing)?;
    let to = store::find(tx, cx.org_id(), &promotion.to).await?.ok_or_else(missing)?;
    if from.settings.heal == to.settings.heal {
        return Ok(None);
    }
    if !promotion.dry_run {
        let settings = EnvironmentSettings { heal: from.settings.heal, ..to.settings };
        let wished = EnvironmentRow { settings, updated_at: cx.now(), ..to.clone() };
        http::changed(cx, tx, &to, wished, &|| promotion.origin(cx)).await?;
    }
    Ok(Some(PromotedChange {
        kind: "settings",
        name: "heal".to_owned(),
        action: PromotedAction::Update,
        policy_id: None,
    }))
}

async fn admitted(cx: &Call, promotion: &Promotion) -> Result<()> {
    if promotion.from == promotion.to {
        return Err(Error::invalid("target_env_id", "another", "`target_env_id` is another environment"));
    }
    if let Credential::Key { .. } = cx.caller.credential {
        return Err(Error::EnvironmentMismatch);
    }
    let own = store::belongs(cx.app.pool(), &promotion.to, cx.org_id()).await?;
    own.then_some(()).ok_or(Error::EnvironmentNotFound)
}

/// The guard waits for the source alone.
async fn in_force(cx: &Call, target: &EnvId) -> Result<()> {
    for (env_id, version) in store::versions(cx.app.pool(), std::slice::from_ref(target)).await? {
        cx.app.attached().in_force(&env_id, version).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
