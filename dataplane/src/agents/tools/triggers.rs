//! `register_trigger`, `list_triggers`, `evaluate_triggers`, `delete_trigger`.

use contract::policy::abac::Operation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::Rest;
use super::onward::Onward;
use super::seal::Seal;
use super::{Telling, ToolCall, moment};
use crate::Error;
use crate::agents::memory::MemoryReach;
use crate::agents::triggers::{
    Action, Config, NewTrigger, Trigger, TriggerContent, TriggerJudgement, TriggerListing, TriggerPosition,
    TriggerQuestion, TriggerSource, notice,
};
use crate::pipeline::{CallerContext, ToolAction};

#[derive(Debug, Serialize, JsonSchema)]
pub struct Registered {
    #[serde(flatten)]
    trigger: ShownTrigger,
    /// False where the name was there already.
    created: bool,
}

impl Telling for Registered {}

/// A trigger as it is shown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownTrigger {
    trigger_id: String,
    name: String,
    concept: String,
    threshold: f64,
    action_type: Action,
    action_config: Config,
    cooldown_secs: i64,
    cooldown_ms: i64,
    sources: Vec<TriggerSource>,
    agent_filter: Option<String>,
    enabled: bool,
    fire_count: i64,
    last_fired_at: Option<String>,
    created_at: String,
    updated_at: String,
}

impl From<Trigger> for ShownTrigger {
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
    triggers: Vec<ShownTrigger>,
    /// With the same call it gives the triggers behind these; null behind the last.
    next_cursor: Option<String>,
    #[serde(skip)]
    onward: Onward<TriggerPosition>,
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
    results: Vec<TriggerVerdict>,
    /// With the same call it gives the results behind these, and nothing fires; null behind the last.
    next_cursor: Option<String>,
    #[serde(skip)]
    onward: Onward<TriggerPosition>,
}

impl Telling for Evaluation {
    const LIST: Option<&'static str> = Some("results");

    fn rest(&self, shown: usize) -> Option<Rest> {
        self.onward.rest(shown)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct TriggerVerdict {
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
pub struct TriggerReference {
    trigger_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedTrigger {
    /// It is off; its name can be registered again.
    deleted: bool,
    trigger_id: String,
}

impl Telling for DeletedTrigger {}

pub async fn register(call: ToolCall, new: NewTrigger) -> Result<Registered, Error> {
    let (now, new) = (call.pipeline.clock.now(), new.checked()?);
    // whoever registers it hears by it what lies there
    let tool_action =
        ToolAction { reads: new.tables(), ..call.action("register_trigger", Vec::new(), Operation::Insert)? };
    let id = contract::ids::fresh(now, &call.pipeline.entropy);
    let triggers = call.triggers.clone();
    let registered = |standing| async move { Ok((triggers.register(&standing, new, id, now).await?, 1)) };
    let (trigger, created) = call.pipeline.act(tool_action, registered).await?;
    Ok(Registered { trigger: trigger.into(), created })
}

pub async fn list(call: ToolCall, listing: TriggerListing) -> Result<TriggerList, Error> {
    let tool_action = call.action("list_triggers", Vec::new(), Operation::Select)?;
    let seal = Seal::of(&call, "status", &("list_triggers", &listing.status));
    let from: Option<TriggerPosition> = seal.open_at(listing.cursor.as_deref())?;
    let triggers = call.triggers.clone();
    let listed = |standing| async move {
        let mut found = triggers.list(&standing, &listing).await?;
        found.retain(|trigger| is_behind(from.as_ref(), trigger));
        let count = u64::try_from(found.len()).unwrap_or(u64::MAX);
        Ok((found, count))
    };
    let found = call.pipeline.act(tool_action, listed).await?;
    let onward = Onward::new(seal, found.iter().map(Trigger::place).collect(), false);
    Ok(TriggerList { triggers: found.into_iter().map(ShownTrigger::from).collect(), next_cursor: None, onward })
}

/// Behind a place of the list, or it has none.
fn is_behind(from: Option<&TriggerPosition>, trigger: &Trigger) -> bool {
    from.is_none_or(|from| trigger.place() < *from)
}

pub async fn evaluate(call: ToolCall, question: TriggerQuestion) -> Result<Evaluation, Error> {
    let (now, mut question) = (call.pipeline.clock.now(), question.checked()?);
    let asked = ("evaluate_triggers", &question.content, &question.trigger_ids, question.dry_run);
    let seal = Seal::of(&call, "content, trigger_ids and dry_run", &asked);
    let from: Option<TriggerPosition> = seal.open_at(question.cursor.as_deref())?;
    question.dry_run |= from.is_some(); // what has fired does not fire once more for the rest of it
    let operation = if question.dry_run { Operation::Select } else { Operation::Insert };
    let tool_action = call.action("evaluate_triggers", Vec::new(), operation)?;
    let own = &call;
    let evaluated = |standing: CallerContext| async move {
        // what fires spends the agent's cooldown
        let reach = if question.dry_run { MemoryReach::of(&standing) } else { MemoryReach::to_leave(&standing)? };
        let trigger_content = TriggerContent {
            source: TriggerSource::Explicit,
            content: question.content,
            content_id: None,
            agent_id: reach.agent_id,
            metadata: question.metadata,
        };
        let triggers = &own.triggers;
        let mut judged = triggers.judge(&standing, &trigger_content, &question.trigger_ids, now).await?;
        judged.retain(|judged| is_behind(from.as_ref(), &judged.trigger));
        let fired = if question.dry_run {
            Vec::new()
        } else {
            notice((&own.pipeline, &own.triggers), &standing, &trigger_content, now).await
        };
        let count = u64::try_from(judged.len()).unwrap_or(u64::MAX);
        Ok(((judged, fired), count))
    };
    let (judged, fired) = call.pipeline.act(tool_action, evaluated).await?;
    let onward = Onward::new(seal, judged.iter().map(|judged| judged.trigger.place()).collect(), false);
    let onward = onward.beginning_at((i64::MAX, String::new())); // all are behind it
    let results: Vec<_> = judged.into_iter().map(verdict).collect();
    let evaluated = u64::try_from(results.len()).unwrap_or(u64::MAX);
    Ok(Evaluation { evaluated, fired, results, next_cursor: None, onward })
}

fn verdict(judged: TriggerJudgement) -> TriggerVerdict {
    let TriggerJudgement { trigger, likeness, matched, in_cooldown } = judged;
    TriggerVerdict {
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

pub async fn delete(
    call: ToolCall,
    TriggerReference { trigger_id }: TriggerReference,
) -> Result<DeletedTrigger, Error> {
    let now = call.pipeline.clock.now();
    let tool_action = call.action("delete_trigger", Vec::new(), Operation::Delete)?;
    let triggers = call.triggers.clone();
    let id = trigger_id.clone();
    let gone = |standing| async move { Ok((triggers.disable(&standing, &id, now).await?, 1)) };
    call.pipeline.act(tool_action, gone).await?;
    Ok(DeletedTrigger { deleted: true, trigger_id })
}
