//! Several policies at once: a file that somebody keeps, made to hold.
//!
//! A policy is found again by its name; what is not named stays. All of it holds or nothing does, and a dry run takes
//! the same way up to the last step.

use std::collections::BTreeSet;

use contract::binding::Named;
use contract::policy::Policy;
use contract::{PolicyId, SqlAnalyzer, Timestamp};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::snapshot_size::within_share;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admission::unheard;
use super::binding::{self, Unbound};
use super::http::{Creation, KnownAttributes, POLICIES_MAX, PolicyAnswer, PolicyDraft, RULES, inserted, told, updated};
use super::store;
use crate::domain::environments;

/// What a file holds.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoliciesApplication {
    policies: Vec<Creation>,
    /// Only tells what would change.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PolicyStep {
    Created,
    Changed,
    Unchanged,
}

/// A policy as it is, or would be.
#[derive(Debug, Serialize, JsonSchema)]
struct AppliedPolicy {
    change: PolicyStep,
    #[serde(flatten)]
    policy: PolicyAnswer,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AppliedPolicies")]
pub struct Output {
    dry_run: bool,
    policies: Vec<AppliedPolicy>,
}

pub async fn apply(cx: Call, Json(input): Json<PoliciesApplication>) -> Result<Json<Output>> {
    let PoliciesApplication { policies, dry_run } = input;
    let env_id = cx.env_id()?;
    let carried = KnownAttributes::now(&cx).await?;
    let wanted = admitted(cx.app.sql(), policies, &carried)?;
    let planned = plan(wanted, present(&cx).await?)?;
    let unbound = bound(&cx, &planned).await?;
    let mut tx = environments::begin(&cx, &env_id).await?;
    let now = store::governed(&mut tx, &env_id).await?;
    if !planned.iter().all(|plan| plan.holds(&now)) {
        return Err(Error::conflict("changed", "the policies have changed meanwhile: apply again"));
    }
    let created = planned.iter().filter(|plan| plan.known.is_none()).count();
    if i64::try_from(now.len() + created).unwrap_or(i64::MAX) > POLICIES_MAX {
        return Err(Error::conflict("too_many", format!("an environment has at most {POLICIES_MAX} policies")));
    }
    let bytes = store::bytes(&mut tx, &env_id).await?;
    let mut applied = Vec::with_capacity(planned.len());
    for (index, (plan, unbound)) in planned.into_iter().zip(unbound).enumerate() {
        let warnings = unheard(cx.app.sql(), &plan.wanted.rules, &carried.by_users);
        let done = plan.carry_out(&cx, &mut tx, unbound).await.map_err(|error| within(index, error))?;
        applied.push(AppliedPolicy { policy: done.policy.warned(warnings), ..done });
    }
    within_share(RULES, bytes, store::bytes(&mut tx, &env_id).await?)?;
    if dry_run {
        tx.rollback().await?;
    } else {
        tx.commit().await?;
    }
    Ok(Json(Output { dry_run, policies: applied }))
}

fn admitted(sql: &dyn SqlAnalyzer, policies: Vec<Creation>, carried: &KnownAttributes) -> Result<Vec<PolicyDraft>> {
    let most = usize::try_from(POLICIES_MAX).unwrap_or(usize::MAX);
    if policies.is_empty() || policies.len() > most {
        return Err(Error::invalid("policies", "1..1000", format!("`policies` are 1 to {POLICIES_MAX}")));
    }
    let mut names = BTreeSet::new();
    let mut wanted = Vec::with_capacity(policies.len());
    for (index, policy) in policies.into_iter().enumerate() {
        let policy = policy.admitted(sql, carried).map_err(|error| within(index, error))?;
        if !names.insert(policy.name.clone()) {
            let message = format!("`policies[{index}].name`: another before it is named `{}`", policy.name);
            return Err(Error::invalid(format!("policies[{index}].name"), "unique", message));
        }
        wanted.push(policy);
    }
    Ok(wanted)
}

/// The error of one of them, which says whose it is.
fn within(index: usize, error: Error) -> Error {
    let place = |field: String| format!("policies[{index}].{field}");
    let said = |message: String| format!("policies[{index}]: {message}");
    match error {
        Error::Invalid { field, constraint, message } => {
            Error::Invalid { field: place(field), constraint, message: said(message) }
        }
        Error::InvalidRule { field, message } => Error::InvalidRule { field: place(field), message: said(message) },
        other => other,
    }
}

async fn present(cx: &Call) -> Result<Vec<(Policy, Option<Vec<Unbound>>)>> {
    let mut conn = cx.app.pool().acquire().await?;
    let policies = store::governed(&mut conn, &cx.env_id()?).await?;
    let ids: Vec<PolicyId> = policies.iter().map(|policy| policy.policy_id.clone()).collect();
    let mut bindings = binding::store::of(&mut conn, &ids).await?;
    let with = |policy: Policy| {
        let unbound = bindings.remove(&policy.policy_id);
        (policy, unbound)
    };
    Ok(policies.into_iter().map(with).collect())
}

/// The plan for one policy.
struct Plan {
    wanted: PolicyDraft,
    /// The policy of this name, and what is known of its rules.
    known: Option<(Policy, Option<Vec<Unbound>>)>,
}

fn plan(wanted: Vec<PolicyDraft>, mut present: Vec<(Policy, Option<Vec<Unbound>>)>) -> Result<Vec<Plan>> {
    let mut planned = Vec::with_capacity(wanted.len());
    for (index, wanted) in wanted.into_iter().enumerate() {
        let place = present.iter().position(|(policy, _)| policy.name == wanted.name);
        let known = place.map(|place| present.swap_remove(place));
        if known.as_ref().is_some_and(|(known, _)| known.rules.type_name() != wanted.rules.type_name()) {
            let message = format!("`policies[{index}].type`: the policy `{}` is of another type", wanted.name);
            return Err(Error::invalid(format!("policies[{index}].type"), "immutable", message));
        }
        planned.push(Plan { wanted, known });
    }
    Ok(planned)
}

/// What is known of the rules of each; asked in one go of those that are new.
async fn bound(cx: &Call, planned: &[Plan]) -> Result<Vec<Option<Vec<Unbound>>>> {
    let places: Vec<_> = planned.iter().map(|plan| binding::places(&plan.wanted.rules)).collect();
    let new = planned.iter().zip(&places).filter(|(plan, _)| plan.has_new_rules());
    let named: Vec<Named> = new.flat_map(|(_, places)| places.iter().map(|place| place.named.clone())).collect();
    let told = if named.is_empty() { None } else { binding::ask(&cx.app, &cx.env_id()?, &named).await };
    let mut told = told.as_deref();
    let mut all = Vec::with_capacity(planned.len());
    for (index, (plan, places)) in planned.iter().zip(&places).enumerate() {
        if !plan.has_new_rules() {
            all.push(plan.known.as_ref().and_then(|(_, unbound)| unbound.clone()));
            continue;
        }
        let own = told.and_then(|all| all.split_at_checked(places.len()));
        told = own.map(|(_, rest)| rest);
        let unbound = own.and_then(|(own, _)| binding::unbound(places, own));
        binding::admit(unbound.as_deref().unwrap_or_default(), plan.wanted.accept_missing)
            .map_err(|error| within(index, error))?;
        all.push(unbound);
    }
    Ok(all)
}

impl Plan {
    fn has_new_rules(&self) -> bool {
        self.known.as_ref().is_none_or(|(known, _)| known.rules != self.wanted.rules)
    }

    fn step(&self) -> PolicyStep {
        match &self.known {
            None => PolicyStep::Created,
            Some((known, _)) if known.rules == self.wanted.rules && known.enabled == self.wanted.enabled => {
                PolicyStep::Unchanged
            }
            Some(_) => PolicyStep::Changed,
        }
    }

    /// Whether the environment is still as the plan was made for.
    fn holds(&self, now: &[Policy]) -> bool {
        let version = |policy: &Policy| -> (PolicyId, Timestamp) { (policy.policy_id.clone(), policy.updated_at) };
        let there = now.iter().find(|policy| policy.name == self.wanted.name).map(version);
        there == self.known.as_ref().map(|(known, _)| version(known))
    }

    async fn carry_out(
        self,
        cx: &Call,
        tx: &mut sqlx::PgConnection,
        unbound: Option<Vec<Unbound>>,
    ) -> Result<AppliedPolicy> {
        let (change, has_new_rules) = (self.step(), self.has_new_rules());
        let PolicyDraft { name, enabled, rules, .. } = self.wanted;
        let policy = match self.known {
            None => inserted(cx, tx, (name, enabled, rules), unbound.as_deref()).await?,
            Some((known, _)) if change == PolicyStep::Unchanged => known,
            Some((known, _)) => {
                let before = told(&known);
                let policy = Policy { enabled, rules, updated_at: cx.now(), ..known };
                updated(cx, tx, before, &policy).await?;
                if has_new_rules {
                    binding::store::keep(tx, &policy.policy_id, unbound.as_deref(), cx.now()).await?;
                }
                policy
            }
        };
        Ok(AppliedPolicy { change, policy: PolicyAnswer::new(policy, unbound) })
    }
}

#[cfg(test)]
mod tests;
