//! The tables of triggers and of their last firings. SQL, and nothing but SQL.

use chrono::Duration;
use contract::Timestamp;
use contract::policy::abac::Operation;
use engine::Value;

use super::Trigger;
use crate::Error;
use crate::pipeline::CallerContext;
use crate::storage::system_tables::{Author, ChangeRecord, ReadTarget, at, broken, optional, records, text, write};

/// The name that the log of changes has for the tables.
const TABLE: &str = "svc_triggers.triggers";
/// How long it is known when a trigger fired for an agent: no cooldown is longer.
const KEPT_DAYS: i64 = 7;

/// The newest first.
pub async fn all(place: ReadTarget<'_>) -> Result<Vec<Trigger>, Error> {
    let sql = "select to_json({trigger_id: trigger_id, name: name, concept: concept, threshold: threshold, \
        action: action, action_config: action_config, made_by: made_by, cooldown_secs: cooldown_secs, sources: sources, agent_filter: agent_filter, \
        enabled: enabled, created_at: epoch_us(created_at), updated_at: epoch_us(updated_at), \
        fire_count: fire_count, last_fired_at: epoch_us(last_fired_at)})::varchar \
        from raw._svc_triggers.triggers order by created_at desc, trigger_id desc";
    records(place, (sql.to_owned(), Vec::new())).await
}

/// In place of what was there of this name.
pub async fn put(standing: &CallerContext, trigger: &Trigger, now: Timestamp) -> Result<(), Error> {
    let delete = "delete from raw._svc_triggers.triggers where name = $1".to_owned();
    let insert = "insert into raw._svc_triggers.triggers values \
        ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
    let params = vec![
        text(&trigger.trigger_id),
        text(&trigger.name),
        text(&trigger.concept),
        Value::Double(trigger.threshold),
        text(trigger.action.as_str()),
        Value::BigInt(trigger.cooldown_secs),
        Value::Text(serde_json::to_string(&trigger.sources).map_err(broken)?),
        optional(trigger.agent_filter.as_deref()),
        Value::Boolean(trigger.enabled),
        Value::BigInt(trigger.fire_count),
        trigger.last_fired_at.map_or(Value::Null, at),
        at(trigger.created_at),
        at(trigger.updated_at),
        optional(trigger.made_by.as_deref()),
        Value::Text(serde_json::to_string(&trigger.config).map_err(broken)?),
    ];
    let change = ChangeRecord { table: TABLE, operation: Operation::Update, at: now };
    write(standing, change, vec![(delete, vec![text(&trigger.name)]), (insert.to_owned(), params)]).await
}

/// Has it fired for this agent within its cooldown?
pub async fn fired_since(
    place: ReadTarget<'_>,
    trigger: &Trigger,
    agent_id: &str,
    now: Timestamp,
) -> Result<bool, Error> {
    let sql = "select to_json(count(*))::varchar from raw._svc_triggers.firings \
        where trigger_id = $1 and agent_id = $2 and last_at > $3";
    let params = vec![text(&trigger.trigger_id), text(agent_id), at(cooled(trigger, now))];
    Ok(records::<u64>(place, (sql.to_owned(), params)).await?.pop().unwrap_or_default() > 0)
}

/// Writes a firing down, unless it is too early for another.
pub async fn fire(author: Author<'_>, trigger: &Trigger, agent_id: &str, now: Timestamp) -> Result<bool, Error> {
    if fired_since(author.place, trigger, agent_id, now).await? {
        return Ok(false);
    }
    let own = || vec![text(&trigger.trigger_id), text(agent_id)];
    let steps = [
        ("delete from raw._svc_triggers.firings where trigger_id = $1 and agent_id = $2", own()),
        ("insert into raw._svc_triggers.firings values ($1, $2, $3)", own().into_iter().chain([at(now)]).collect()),
        ("delete from raw._svc_triggers.firings where last_at < $1", vec![at(now - Duration::days(KEPT_DAYS))]),
        (
            "update raw._svc_triggers.triggers set fire_count = fire_count + 1, last_fired_at = $2 where trigger_id = $1",
            vec![text(&trigger.trigger_id), at(now)],
        ),
    ];
    let steps = steps.into_iter().map(|(sql, params)| (sql.to_owned(), params)).collect();
    write(author, ChangeRecord { table: TABLE, operation: Operation::Update, at: now }, steps).await?;
    Ok(true)
}

/// What has fired after this moment does not fire again yet.
fn cooled(trigger: &Trigger, now: Timestamp) -> Timestamp {
    now - Duration::seconds(trigger.cooldown_secs)
}
