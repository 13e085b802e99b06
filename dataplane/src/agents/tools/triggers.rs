//! `register_trigger`, `list_triggers`, `evaluate_triggers`, `delete_trigger`.

use contract::Timestamp;
use contract::policy::abac::Operation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::Rest;
use super::onward::Onward;
use super::seal::Seal;
use super::{Call, Telling};
use crate::Error;
use crate::agents::memory::Reach;
use crate::agents::triggers::{
    Action, Config, Happening, Judged, Listing, NewTrigger, Place, Question, Source, Trigger, notice,
};
use crate::pipeline::{Deed, Standing};

#[derive(Debug, Serialize, JsonSchema)]
pub struct Registered {
    #[serde(flatten)]
    trigger: Shown,
    /// False where the name was there already.
    created: bool,
}

impl Telling for Registered {}

/// A trigger as it is shown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Shown {
    trigger_id: String,
    name: String,
    concept: String,
    threshold: f64,
    action_type: Action,
    action_config: Config,
    cooldown_secs: i64,
    cooldown_ms: i64,
    sources: Vec<Source>,
    agent_filter: Option<String>,
    enabled: bool,
    fire_count: i64,
    last_fired_at: Option<String>,
    created_at: String,
    updated_at: String,
}

impl From<Trigger> for Shown {
    fn from(trigger: Trigger) -> Self {
        Self {
            trigger_id: trigger.trigger_id,
            name: trigger.name,
            concept: trigger.concept,
            threshold: trigger.threshold,
            action_type: trigger.action,
            action_config: trigger.config,
            cooldown_secs: trigger.cooldown_secs,
            cooldown_ms: trigger.cooldown_secs.saturating_mul(1_000),
            sources: trigger.sources,
            agent_filter: trigger.agent_filter,
            enabled: trigger.enabled,
            fire_count: trigger.fire_count,
            last_fired_at: trigger.last_fired_at.map(moment),
            created_at: moment(trigger.created_at),
            updated_at: moment(trigger.updated_at),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TriggerList {
    triggers: Vec<Shown>,
    /// With the same call it gives the triggers behind these; null behind the last.
    next_cursor: Option<String>,
    #[serde(skip)]
    onward: Onward<Place>,
}

impl Telling for TriggerList {
    const LIST: Option<&'static str> = Some("triggers");
    const BARE: bool = true;

    fn rest(&self, shown: usize) -> Option<Rest> {
        self.onward.rest(shown)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Evaluation {
    /// How many triggers were asked; with a cursor, those behind it.
    evaluated: u64,
    /// Ids of those that have fired.
    fired: Vec<String>,
    results: Vec<Verdict>,
    /// With the same call it gives the results behind these, and nothing fires; null behind the last.
    next_cursor: Option<String>,
    #[serde(skip)]
    onward: Onward<Place>,
}

impl Telling for Evaluation {
    const LIST: Option<&'static str> = Some("results");

    fn rest(&self, shown: usize) -> Option<Rest> {
        self.onward.rest(shown)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Verdict {
    trigger_id: String,
    trigger_name: String,
    matched: bool,
    score: f64,
    /// The cosine behind it.
    similarity: f64,
    /// The share of the concept's words that the text has.
    lexical: f64,
    threshold: f64,
    in_cooldown: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    trigger_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Deleted {
    /// It is off; its name can be registered again.
    deleted: bool,
    trigger_id: String,
}

impl Telling for Deleted {}

fn moment(at: Timestamp) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Micros, true)
}

fn deed(call: &Call, name: &str, operation: Operation) -> Result<Deed, Error> {
    let (ask, tables) = (call.ask(format!("CALL {name}"), None)?, Vec::new());
    Ok(Deed { ask, tables, operation, reads: Vec::new() })
}

pub async fn register(call: Call, new: NewTrigger) -> Result<Registered, Error> {
    let (now, new) = (call.pipeline.clock.now(), new.checked()?);
    // whoever registers it hears by it what lies there
    let deed = Deed { reads: new.tables(), ..deed(&call, "register_trigger", Operation::Insert)? };
    let id = contract::ids::fresh(now, &call.pipeline.entropy);
    let triggers = call.triggers.clone();
    let registered = |standing| async move { Ok((triggers.register(&standing, new, id, now).await?, 1)) };
    let (trigger, created) = call.pipeline.act(deed, registered).await?;
    Ok(Registered { trigger: trigger.into(), created })
}

pub async fn list(call: Call, listing: Listing) -> Result<TriggerList, Error> {
    let deed = deed(&call, "list_triggers", Operation::Select)?;
    let seal = Seal::of(&call, "status", &("list_triggers", &listing.status));
    let from: Option<Place> = seal.open_at(listing.cursor.as_deref())?;
    let triggers = call.triggers.clone();
    let listed = |standing| async move {
        let mut found = triggers.list(&standing, &listing).await?;
        found.retain(|trigger| is_behind(from.as_ref(), trigger));
        let count = u64::try_from(found.len()).unwrap_or(u64::MAX);
        Ok((found, count))
    };
    let found = call.pipeline.act(deed, listed).await?;
    let onward = Onward::new(seal, found.iter().map(Trigger::place).collect(), false);
    Ok(TriggerList { triggers: found.into_iter().map(Shown::from).collect(), next_cursor: None, onward })
}

/// Behind a place of the list, or it has none.
fn is_behind(from: Option<&Place>, trigger: &Trigger) -> bool {
    from.is_none_or(|from| trigger.place() < *from)
}

pub async fn evaluate(call: Call, question: Question) -> Result<Evaluation, Error> {
    let (now, mut question) = (call.pipeline.clock.now(), question.checked()?);
    let asked = ("evaluate_triggers", &question.content, &question.trigger_ids, question.dry_run);
    let seal = Seal::of(&call, "content, trigger_ids and dry_run", &asked);
    let from: Option<Place> = seal.open_at(question.cursor.as_deref())?;
    question.dry_run |= from.is_some(); // what has fired does not fire once more for the rest of it
    let operation = if question.dry_run { Operation::Select } else { Operation::Insert };
    let deed = deed(&call, "evaluate_triggers", operation)?;
    let own = &call;
    let evaluated = |standing: Standing| async move {
        // what fires spends the agent's cooldown
        let reach = if question.dry_run { Reach::of(&standing) } else { Reach::to_leave(&standing)? };
        let happening = Happening {
            source: Source::Explicit,
            content: question.content,
            content_id: None,
            agent_id: reach.agent_id,
            metadata: question.metadata,
        };
        let triggers = &own.triggers;
        let mut judged = triggers.judge(&standing, &happening, &question.trigger_ids, now).await?;
        judged.retain(|judged| is_behind(from.as_ref(), &judged.trigger));
        let fired = if question.dry_run {
            Vec::new()
        } else {
            notice((&own.pipeline, &own.triggers), &standing, &happening, now).await
        };
        let count = u64::try_from(judged.len()).unwrap_or(u64::MAX);
        Ok(((judged, fired), count))
    };
    let (judged, fired) = call.pipeline.act(deed, evaluated).await?;
    let onward = Onward::new(seal, judged.iter().map(|judged| judged.trigger.place()).collect(), false);
    let onward = onward.beginning_at((i64::MAX, String::new())); // all are behind it
    let results: Vec<_> = judged.into_iter().map(verdict).collect();
    let evaluated = u64::try_from(results.len()).unwrap_or(u64::MAX);
    Ok(Evaluation { evaluated, fired, results, next_cursor: None, onward })
}

fn verdict(judged: Judged) -> Verdict {
    let Judged { trigger, likeness, matched, in_cooldown } = judged;
    Verdict {
        trigger_id: trigger.trigger_id,
        trigger_name: trigger.name,
        matched,
        score: likeness.score,
        similarity: likeness.similarity,
        lexical: likeness.lexical,
        threshold: trigger.threshold,
        in_cooldown,
    }
}

pub async fn delete(call: Call, Named { trigger_id }: Named) -> Result<Deleted, Error> {
    let now = call.pipeline.clock.now();
    let deed = deed(&call, "delete_trigger", Operation::Delete)?;
    let triggers = call.triggers.clone();
    let id = trigger_id.clone();
    let gone = |standing| async move { Ok((triggers.disable(&standing, &id, now).await?, 1)) };
    call.pipeline.act(deed, gone).await?;
    Ok(Deleted { deleted: true, trigger_id })
}
