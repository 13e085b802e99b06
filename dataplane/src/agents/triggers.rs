//! Triggers: what is to be noticed in what agents remember and think.
//!
//! A trigger has a concept in words. What is stored as a memory or written down as a step of reasoning
//! is held against it, and so are what an agent asks (`queries`) and a text that somebody gives; where the score reaches the threshold it
//! fires, for one agent at most once in its cooldown. A firing is the event `trigger.fired` of the
//! organization, told to its webhooks; its action tells those who receive it what it is for (`action`). "A
//! trigger that fails never fails the write": it is the event `trigger.error` then.
//!
//! A trigger tells whoever sees it what it has heard. So a key made for an agent registers triggers that hear that
//! agent alone, and nobody registers one that hears a table which is closed to them, or others' statements without a
//! right to the log of them. Rights are judged when it is
//! registered and at every later look (`visibility`), not when it fires: a firing is told to the organization's
//! webhooks, which are an administrator's, and its count to those who may read then what was heard.
//!
//! A score means what it means in a search of memories by the built-in embedder, whoever makes the vectors of
//! memories: `max(C(cosine), lexical)`.

mod action;
mod fields;
mod queries;
mod store;
mod telling;
mod visibility;

use std::sync::Arc;

use contract::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::Error;
use crate::agents::memory::{self, ComparedText, Likeness};
use crate::agents::ownership::{Ownership, maker};
use crate::agents::reasoning;
use crate::pipeline::CallerContext;
use crate::storage::system_tables::{self, Author, json_text, json_text_or_null};

pub use action::{Action, Config};
pub use fields::{NewTrigger, TriggerListing, TriggerQuestion};
pub use queries::{TriggerQueue, attend};
pub use telling::notice;
pub use visibility::TriggerVisibility;

/// Triggers of one environment, those that are switched off included.
const TRIGGERS_MAX: usize = 1_000;

/// What is held against the concepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerSource {
    Memory,
    ReasoningStep,
    /// A statement of an agent, when its answer has ended.
    Query,
    /// `evaluate_triggers` without `dry_run`.
    Explicit,
}

impl TriggerSource {
    pub const ALL: [Self; 4] = [Self::Memory, Self::ReasoningStep, Self::Query, Self::Explicit];

    /// The table that it is read in, as policies name it.
    pub const fn table(self) -> Option<&'static str> {
        match self {
            Self::Memory => Some(memory::TABLE),
            Self::ReasoningStep => Some(reasoning::TABLE),
            Self::Query | Self::Explicit => None,
        }
    }
}

/// A trigger, as its record has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Trigger {
    pub trigger_id: String,
    pub name: String,
    pub concept: String,
    /// Who registered it first.
    pub made_by: Option<String>,
    pub threshold: f64,
    pub action: Action,
    #[serde(rename = "action_config", deserialize_with = "config_or_none")]
    pub config: Config,
    pub cooldown_secs: i64,
    #[serde(deserialize_with = "json_text")]
    pub sources: Vec<TriggerSource>,
    pub agent_filter: Option<String>,
    pub enabled: bool,
    pub fire_count: i64,
    #[serde(with = "chrono::serde::ts_microseconds_option")]
    pub last_fired_at: Option<Timestamp>,
    #[serde(with = "chrono::serde::ts_microseconds")]
    pub created_at: Timestamp,
    #[serde(with = "chrono::serde::ts_microseconds")]
    pub updated_at: Timestamp,
}

/// Reads the particulars of an action; what was registered before there were any has none.
fn config_or_none<'de, D: Deserializer<'de>>(column: D) -> Result<Config, D::Error> {
    Ok(json_text_or_null(column)?.unwrap_or_default())
}

/// The position of a trigger in a list, the newest first: when one was made in microseconds, and its id.
pub type TriggerPosition = (i64, String);

impl Trigger {
    pub fn place(&self) -> TriggerPosition {
        (self.created_at.timestamp_micros(), self.trigger_id.clone())
    }

    fn made(&self) -> Ownership<'_> {
        Ownership { what: "trigger", by: self.made_by.as_deref(), agent_id: None }
    }
}

/// Something that triggers may notice.
#[derive(Debug, Clone)]
pub struct TriggerContent {
    pub source: TriggerSource,
    pub content: String,
    /// The memory or step that it is.
    pub content_id: Option<String>,
    pub agent_id: String,
    pub metadata: Map<String, Value>,
}

/// How one trigger judges a text.
#[derive(Debug, Clone)]
pub struct TriggerJudgement {
    pub trigger: Trigger,
    pub likeness: Likeness,
    pub matched: bool,
    /// It has fired for this agent, and not long enough ago.
    pub in_cooldown: bool,
}

/// Triggers that a content has fired, and those that have failed.
#[derive(Debug, Default)]
pub struct Noticed {
    pub fired: Vec<TriggerJudgement>,
    pub failed: Vec<(Trigger, Error)>,
}

/// The triggers of one environment.
#[derive(Debug, Clone, Default)]
pub struct Triggers {
    /// As the table has them; none until it is read.
    known: Arc<Mutex<Option<Vec<Trigger>>>>,
    /// What agents have asked.
    pub asked: TriggerQueue,
}

impl Triggers {
    /// Makes a trigger, or gives the one of this name other terms; whether it is new.
    pub async fn register(
        &self,
        standing: &CallerContext,
        new: NewTrigger,
        trigger_id: String,
        now: Timestamp,
    ) -> Result<(Trigger, bool), Error> {
        let new = new.within(standing)?;
        let mut held = self.known.lock().await;
        let known = loaded(&mut held, standing.into()).await?;
        let before = known.iter().find(|trigger| trigger.name == new.name).cloned();
        if before.is_none() && known.len() >= TRIGGERS_MAX {
            return Err(Error::TriggersFull { limit: TRIGGERS_MAX });
        }
        before.as_ref().map_or(Ok(()), |before| before.made().may_change(standing))?;
        let created = before.is_none();
        let made_by = before.as_ref().and_then(|before| before.made_by.clone());
        // what heard more than they may know begins anew, under another id: its counts and cooldowns would tell
        let before = before.filter(|before| TriggerVisibility::of(standing).shows(before));
        let maker = made_by.as_deref().unwrap_or_else(|| maker(standing));
        let trigger = new.trigger(before, (trigger_id, maker), now);
        let put = store::put(standing, &trigger, now).await;
        *held = None; // as the table has it, whatever came of it
        put.map(|()| (trigger, created))
    }

    /// Those that the caller may know of, the newest first.
    pub async fn list(&self, standing: &CallerContext, listing: &TriggerListing) -> Result<Vec<Trigger>, Error> {
        let enabled = listing.enabled()?;
        let mut held = self.known.lock().await;
        let known = loaded(&mut held, standing.into()).await?;
        let visibility = TriggerVisibility::of(standing);
        let listed =
            |trigger: &&Trigger| enabled.is_none_or(|wanted| trigger.enabled == wanted) && visibility.shows(trigger);
        Ok(known.iter().filter(listed).cloned().collect())
    }

    /// Switches it off.
    pub async fn disable(&self, standing: &CallerContext, trigger_id: &str, now: Timestamp) -> Result<Trigger, Error> {
        let mut held = self.known.lock().await;
        let known = loaded(&mut held, standing.into()).await?;
        let found = known.iter().find(|trigger| trigger.trigger_id == trigger_id).cloned();
        let trigger = found.ok_or(Error::TriggerNotFound)?;
        trigger.made().may_change(standing)?;
        let trigger = Trigger { enabled: false, updated_at: now, ..trigger };
        let put = store::put(standing, &trigger, now).await;
        *held = None;
        put.map(|()| trigger)
    }

    /// How the triggers that the caller may know of judge a text: those that are named, else all that are on.
    pub async fn judge(
        &self,
        standing: &CallerContext,
        trigger_content: &TriggerContent,
        ids: &[String],
        now: Timestamp,
    ) -> Result<Vec<TriggerJudgement>, Error> {
        let (place, visibility) = (standing.into(), TriggerVisibility::of(standing));
        let mut held = self.known.lock().await;
        let known = loaded(&mut held, place).await?;
        let known: Vec<_> = known.iter().filter(|trigger| visibility.shows(trigger)).collect();
        if let Some(unknown) = ids.iter().find(|id| !known.iter().any(|trigger| trigger.trigger_id == **id)) {
            tracing::debug!(trigger.id = %unknown, "there is no such trigger");
            return Err(Error::TriggerNotFound);
        }
        let wanted =
            |trigger: &&Trigger| if ids.is_empty() { trigger.enabled } else { ids.contains(&trigger.trigger_id) };
        let asked: Vec<_> = known.into_iter().filter(wanted).cloned().collect();
        drop(held);
        let mut judged = weighed(asked, &trigger_content.content);
        for judged in judged.iter_mut().filter(|judged| judged.matched) {
            judged.in_cooldown = store::fired_since(place, &judged.trigger, &trigger_content.agent_id, now).await?;
        }
        Ok(judged)
    }

    /// Fires what is to be fired. One at a time, so that a cooldown holds.
    async fn notice(
        &self,
        author: Author<'_>,
        trigger_content: &TriggerContent,
        now: Timestamp,
    ) -> Result<Noticed, Error> {
        let concerns = |trigger: &Trigger| {
            trigger.enabled
                && trigger.sources.contains(&trigger_content.source)
                && trigger.agent_filter.as_ref().is_none_or(|agent| *agent == trigger_content.agent_id)
        };
        let mut held = self.known.lock().await;
        let known = loaded(&mut held, author.place).await?;
        let asked = known.iter().filter(|trigger| concerns(trigger)).cloned().collect();
        let mut noticed = Noticed::default();
        for judged in weighed(asked, &trigger_content.content).into_iter().filter(|judged| judged.matched) {
            match store::fire(author, &judged.trigger, &trigger_content.agent_id, now).await {
                Ok(true) => noticed.fired.push(judged),
                Ok(false) => {} // it has, not long ago
                Err(error) => noticed.failed.push((judged.trigger, error)),
            }
        }
        if !noticed.fired.is_empty() || !noticed.failed.is_empty() {
            *held = None; // they have counted
        }
        Ok(noticed)
    }
}

fn weighed(triggers: Vec<Trigger>, content: &str) -> Vec<TriggerJudgement> {
    let said = ComparedText::of(content);
    let judge = |trigger: Trigger| {
        let likeness = said.likeness(&ComparedText::of(&trigger.concept));
        let matched = likeness.score >= trigger.threshold;
        TriggerJudgement { trigger, likeness, matched, in_cooldown: false }
    };
    triggers.into_iter().map(judge).collect()
}

async fn loaded<'a>(
    held: &'a mut Option<Vec<Trigger>>,
    place: system_tables::ReadTarget<'_>,
) -> Result<&'a mut Vec<Trigger>, Error> {
    let known = match held.take() {
        Some(known) => known,
        None => store::all(place).await?,
    };
    Ok(held.insert(known))
}
