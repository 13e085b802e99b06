//! Firings and errors of triggers: events in the log of reports, for the control plane to record.

use contract::Timestamp;
use contract::report::{Body, TriggerError, TriggerFired};
use serde_json::{Value, json};

use super::{Config, Trigger, TriggerContent, TriggerJudgement, TriggerVisibility, Triggers};
use crate::Pipeline;
use crate::pipeline::CallerContext;
use crate::storage::system_tables::Author;

/// What of a text goes with the event.
const CONTENT_CHARS_MAX: usize = 1_000;

/// Tells the triggers of what a caller has done; the ids of those that have fired, as far as the caller may know of
/// them. What goes wrong here is told, and undoes nothing.
pub async fn notice(
    (pipeline, triggers): (&Pipeline, &Triggers),
    standing: &CallerContext,
    trigger_content: &TriggerContent,
    now: Timestamp,
) -> Vec<String> {
    let fired = told((pipeline, triggers), standing.into(), trigger_content, now).await;
    if fired.is_empty() {
        return Vec::new();
    }
    let visibility = TriggerVisibility::of(standing);
    fired.into_iter().filter(|trigger| visibility.shows(trigger)).map(|trigger| trigger.trigger_id).collect()
}

/// The same, of what nobody waits for: those that have fired.
pub async fn told(
    (pipeline, triggers): (&Pipeline, &Triggers),
    author: Author<'_>,
    trigger_content: &TriggerContent,
    now: Timestamp,
) -> Vec<Trigger> {
    let noticed = match triggers.notice(author, trigger_content, now).await {
        Ok(noticed) => noticed,
        Err(error) => {
            tracing::warn!(%error, "the triggers could not be asked");
            return Vec::new();
        }
    };
    for (trigger, error) in noticed.failed {
        let told = TriggerError {
            trigger_id: trigger.trigger_id,
            trigger_name: trigger.name,
            error: error.code().stable().to_owned(),
            occurred_at: now,
        };
        tell(pipeline, Body::TriggerError(Box::new(told)));
    }
    let those_fired = noticed.fired.iter().map(|judged| judged.trigger.clone()).collect();
    for judged in noticed.fired {
        tell(pipeline, Body::TriggerFired(Box::new(fired(judged, trigger_content, now))));
    }
    those_fired
}

fn fired(judged: TriggerJudgement, trigger_content: &TriggerContent, fired_at: Timestamp) -> TriggerFired {
    let TriggerJudgement { trigger, likeness, .. } = judged;
    let mut metadata = trigger_content.metadata.clone();
    metadata.insert("action_type".to_owned(), json!(trigger.action));
    // what the text's own metadata says there is not the trigger's
    metadata.remove("action_config");
    if trigger.config != Config::default() {
        metadata.insert("action_config".to_owned(), json!(trigger.config));
    }
    metadata.insert("source".to_owned(), json!(trigger_content.source));
    TriggerFired {
        trigger_id: trigger.trigger_id,
        trigger_name: trigger.name,
        fired_at,
        similarity_score: likeness.score,
        threshold: trigger.threshold,
        content: trigger_content.content.chars().take(CONTENT_CHARS_MAX).collect(),
        content_id: trigger_content.content_id.clone(),
        agent_id: trigger_content.agent_id.clone(),
        metadata: Value::Object(metadata),
    }
}

fn tell(pipeline: &Pipeline, body: Body) {
    let Some(ledger) = pipeline.startup_gate.opened() else { return };
    if let Err(error) = ledger.log.happened(body) {
        tracing::error!(%error, "a trigger could not be recorded");
    }
}
