//! Arguments about triggers, with their limits.

use contract::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Action, Config, Trigger, TriggerSource, TriggerVisibility};
use crate::Error;
use crate::agents::memory::MemoryReach;
use crate::limits::{fraction, invalid, named, sized};
use crate::pipeline::CallerContext;

const CONCEPT_BYTES_MAX: usize = 8 * 1024;
const CONTENT_BYTES_MAX: usize = 64 * 1024;
const METADATA_BYTES_MAX: usize = 16 * 1024;
const COOLDOWN_SECS_MAX: i64 = 7 * 24 * 3_600;
const IDS_MAX: usize = 100;

/// A trigger to be registered; the name that exists gets these terms, and is on again.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTrigger {
    pub name: String,
    /// What is to be noticed, in words.
    concept: String,
    /// The score from which on it fires, 0 to 1.
    #[serde(default = "most")]
    threshold: f64,
    /// What a firing is for; told to whoever receives it.
    #[serde(default)]
    action_type: Action,
    /// Particulars of that action.
    #[serde(default)]
    action_config: Config,
    /// Seconds in which it fires once for an agent, at most a week.
    #[serde(default = "minute")]
    cooldown_secs: i64,
    /// What is held against it; memories, steps of reasoning and texts that are given if absent. `query` is for those
    /// who read the log of statements, and for a key made for an agent, which hears its own.
    #[serde(default = "left_and_given")]
    sources: Vec<TriggerSource>,
    /// Only what this agent leaves; of a key made for an agent, that one.
    agent_filter: Option<String>,
}

impl NewTrigger {
    pub fn checked(self) -> Result<Self, Error> {
        named("name", &self.name)?;
        sized("concept", self.concept.len(), CONCEPT_BYTES_MAX)?;
        if self.concept.trim().is_empty() {
            return Err(invalid("concept", "concept has no words"));
        }
        fraction("threshold", self.threshold)?;
        if !(0..=COOLDOWN_SECS_MAX).contains(&self.cooldown_secs) {
            return Err(invalid("cooldown_secs", format!("cooldown_secs is from 0 to {COOLDOWN_SECS_MAX}")));
        }
        if self.sources.is_empty() {
            return Err(invalid("sources", "sources names at least one"));
        }
        self.action_config.checked(self.action_type)?;
        self.agent_filter.as_ref().map_or(Ok(()), |agent| named("agent_filter", agent))?;
        Ok(self)
    }

    /// The tables that it would hear.
    pub fn tables(&self) -> Vec<String> {
        let mut tables: Vec<_> = self.sources.iter().filter_map(|source| source.table()).map(str::to_owned).collect();
        tables.sort();
        tables.dedup();
        tables
    }

    /// Of a key made for an agent: only what that agent leaves. Of who may not read others' statements: none of them.
    pub(super) fn within(self, standing: &CallerContext) -> Result<Self, Error> {
        if self.sources.contains(&TriggerSource::Query) && !TriggerVisibility::of(standing).hears(TriggerSource::Query)
        {
            let message = "a trigger on `query` hears others' statements: it is for those who read the log of them \
                           (`audit:read`; owner, admin or auditor), and for a key made for an agent";
            return Err(Error::PolicyDenied { message: message.to_owned() });
        }
        Ok(Self { agent_filter: MemoryReach::of(standing).narrowed(self.agent_filter)?, ..self })
    }

    pub(super) fn trigger(
        self,
        before: Option<Trigger>,
        (trigger_id, maker): (String, &str),
        now: Timestamp,
    ) -> Trigger {
        let (trigger_id, fire_count, last_fired_at, created_at) = before.map_or((trigger_id, 0, None, now), |before| {
            (before.trigger_id, before.fire_count, before.last_fired_at, before.created_at)
        });
        Trigger {
            trigger_id,
            name: self.name,
            concept: self.concept,
            threshold: self.threshold,
            made_by: Some(maker.to_owned()),
            action: self.action_type,
            config: self.action_config,
            cooldown_secs: self.cooldown_secs,
            sources: self.sources,
            agent_filter: self.agent_filter,
            enabled: true,
            fire_count,
            last_fired_at,
            created_at,
            updated_at: now,
        }
    }
}

/// A list of triggers.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerListing {
    /// `all` (if absent), `active` or `inactive`.
    pub status: Option<String>,
    /// `next_cursor` of the same call, for the triggers behind those that it has shown.
    pub cursor: Option<String>,
}

impl TriggerListing {
    pub(super) fn enabled(&self) -> Result<Option<bool>, Error> {
        match self.status.as_deref() {
            None | Some("all") => Ok(None),
            Some("active") => Ok(Some(true)),
            Some("inactive") => Ok(Some(false)),
            Some(_) => Err(invalid("status", "status is all, active or inactive")),
        }
    }
}

/// A text to be held against triggers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriggerQuestion {
    pub content: String,
    /// Only these triggers; all that are on if absent.
    #[serde(default)]
    pub trigger_ids: Vec<String>,
    /// Only tell; if false, triggers with the source `explicit` fire.
    #[serde(default = "yes")]
    pub dry_run: bool,
    /// Goes with the event of a firing.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// `next_cursor` of the same call, for the results behind those that it has shown. With it nothing fires.
    pub cursor: Option<String>,
}

impl TriggerQuestion {
    pub fn checked(self) -> Result<Self, Error> {
        sized("content", self.content.len(), CONTENT_BYTES_MAX)?;
        if self.trigger_ids.len() > IDS_MAX {
            return Err(invalid("trigger_ids", format!("there are at most {IDS_MAX} trigger_ids")));
        }
        if !self.dry_run && !self.trigger_ids.is_empty() {
            return Err(invalid("trigger_ids", "which triggers fire is not chosen: they are named with dry_run alone"));
        }
        sized("metadata", Value::Object(self.metadata.clone()).to_string().len(), METADATA_BYTES_MAX)?;
        Ok(self)
    }
}

fn most() -> f64 {
    0.7
}

fn minute() -> i64 {
    60
}

fn yes() -> bool {
    true
}

fn left_and_given() -> Vec<TriggerSource> {
    vec![TriggerSource::Memory, TriggerSource::ReasoningStep, TriggerSource::Explicit]
}
