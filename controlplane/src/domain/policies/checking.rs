//! Finds out, now and then, which rules of policies rule something: those that could not be asked of before, those
//! whose table has been made since, and those whose table is gone. What changes is an event.

use std::collections::HashMap;

use chrono::Duration;
use contract::binding::{BYTES_MAX, Named, RULES_MAX};
use contract::policy::{AbacPolicy, Policy};
use contract::{EnvId, OrgId, PolicyId};
use futures::{StreamExt, stream};
use platform::events::{self, Event, EventType, Origin};
use platform::{App, Result};
use serde_json::json;

use super::binding::{self, RuleReference, Unbound};
use super::store;
use crate::domain::{abac_policies, environments};

/// How often it is looked whether something is due.
pub const CHECKED_EVERY: Duration = Duration::seconds(10);
/// How long an answer holds.
const AGAIN_AFTER: Duration = Duration::minutes(1);
/// Environments of one round, and how many of them are asked at once.
const ENVIRONMENTS_MAX: i64 = 100;
const AT_ONCE: usize = 8;
/// Questions to one environment in a round; the next round goes on where this one ends.
const QUESTIONS_MAX: usize = 20;

/// Asks of every environment that is due.
pub async fn check_due(app: &App) -> Result<()> {
    let due = {
        let mut conn = app.pool().acquire().await?;
        binding::store::due(&mut conn, app.now() - AGAIN_AFTER, ENVIRONMENTS_MAX).await?
    };
    let each = stream::iter(due).for_each_concurrent(AT_ONCE, |(org_id, env_id)| async move {
        if let Err(error) = check(app, &org_id, &env_id).await {
            tracing::warn!(env.id = %env_id, error = error.with_sources(), "rules of policies could not be looked at");
        }
    });
    each.await;
    Ok(())
}

/// Asks of all policies of one environment.
pub async fn check(app: &App, org_id: &OrgId, env_id: &EnvId) -> Result<()> {
    let rulings = in_turn(app, env_id).await?;
    let mut rest = rulings.as_slice();
    for _ in 0..QUESTIONS_MAX {
        let (question, others) = rest.split_at(fitting(rest));
        if question.is_empty() {
            return Ok(());
        }
        let named: Vec<Named> = question.iter().flat_map(Ruling::named).collect();
        let Some(told) = binding::ask(app, env_id, &named).await else {
            return asked(app, rest).await;
        };
        let mut told = told.as_slice();
        let mut as_before = Vec::new();
        for ruling in question {
            let (own, behind) = told.split_at_checked(ruling.places.len()).unwrap_or_default();
            told = behind;
            match binding::unbound(&ruling.places, own) {
                Some(unbound) if !ruling.knows(&unbound) => settle(app, (org_id, env_id), ruling, &unbound).await?,
                _ => as_before.push(ruling),
            }
        }
        asked(app, as_before).await?;
        rest = others;
    }
    Ok(())
}

/// Nothing new was told of these.
async fn asked(app: &App, rulings: impl IntoIterator<Item = &Ruling>) -> Result<()> {
    let ids: Vec<PolicyId> = rulings.into_iter().map(|ruling| ruling.policy_id.clone()).collect();
    let mut conn = app.pool().acquire().await?;
    binding::store::asked(&mut conn, &ids, app.now()).await
}

/// A policy of either kind, as far as it names something.
struct Ruling {
    policy_id: PolicyId,
    name: String,
    enabled: bool,
    /// Of the rules as they are stored.
    digest: String,
    places: Vec<RuleReference>,
    known: Option<Vec<Unbound>>,
}

impl Ruling {
    /// Whether the same was told before.
    fn knows(&self, told: &[Unbound]) -> bool {
        let said = |one: &Unbound| (one.field.clone(), one.message.clone());
        self.known.as_ref().is_some_and(|known| known.iter().map(said).eq(told.iter().map(said)))
    }

    fn named(&self) -> impl Iterator<Item = Named> {
        self.places.iter().map(|place| place.named.clone())
    }
}

async fn in_turn(app: &App, env_id: &EnvId) -> Result<Vec<Ruling>> {
    let mut tx = app.pool().begin_with("begin isolation level repeatable read read only").await?;
    let mut by_id = HashMap::new();
    for Policy { policy_id, name, enabled, rules, .. } in store::governed(&mut tx, env_id).await? {
        by_id.insert(policy_id, (name, enabled, binding::places(&rules)));
    }
    for AbacPolicy { policy_id, name, enabled, rules, .. } in abac_policies::governed(&mut tx, env_id).await? {
        by_id.insert(policy_id, (name, enabled, binding::places_by_attribute(&rules)));
    }
    let oldest = binding::store::oldest(&mut tx, env_id).await?;
    let ids: Vec<PolicyId> = by_id.keys().cloned().collect();
    let mut bindings = binding::store::of(&mut tx, &ids).await?;
    let ruling = |(policy_id, digest): (PolicyId, String)| {
        let (name, enabled, places) = by_id.remove(&policy_id)?;
        let known = bindings.remove(&policy_id);
        Some(Ruling { policy_id, name, enabled, digest, places, known })
    };
    Ok(oldest.into_iter().filter_map(ruling).collect())
}

/// How many of them make one question; one of them is always asked of, in several if it must be.
fn fitting(rulings: &[Ruling]) -> usize {
    let (mut rules, mut bytes) = (0, 0);
    let fits = |ruling: &&Ruling| {
        rules += ruling.places.len();
        bytes += ruling.named().map(|named| named.bytes()).sum::<usize>();
        rules <= RULES_MAX && bytes <= BYTES_MAX
    };
    rulings.iter().take_while(fits).count().max(1).min(rulings.len())
}

/// Keeps what was told, if it is of the rules that the policy has still, and says what has changed.
async fn settle(app: &App, (org_id, env_id): (&OrgId, &EnvId), ruling: &Ruling, told: &[Unbound]) -> Result<()> {
    let mut tx = app.pool().begin().await?;
    environments::lock(&mut tx, env_id).await?;
    let Some((digest, known)) = binding::store::known(&mut tx, &ruling.policy_id).await? else {
        return Ok(());
    };
    if digest != ruling.digest {
        return Ok(());
    }
    binding::store::keep(&mut tx, &ruling.policy_id, Some(told), app.now()).await?;
    if let Some(kind) = news(known.as_deref(), told).filter(|_| ruling.enabled) {
        let event = Event::new(kind, ruling.policy_id.clone())
            .before(json!({"name": ruling.name, "unbound": known}))
            .after(json!({"name": ruling.name, "unbound": told}));
        let origin = Origin { env_id: Some(env_id.clone()), ..Origin::system(app, org_id.clone()) };
        events::record(app, &mut tx, origin, event).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// What there is to say: a rule that rules nothing and did, or of which it was not known; or that all rule again.
fn news(known: Option<&[Unbound]>, told: &[Unbound]) -> Option<EventType> {
    let known = known.unwrap_or_default();
    let is_new = |one: &Unbound| known.iter().all(|before| before.field != one.field);
    if told.iter().any(is_new) {
        return Some(EventType::PolicyUnbound);
    }
    (told.is_empty() && !known.is_empty()).then_some(EventType::PolicyBound)
}

#[cfg(test)]
mod tests;
