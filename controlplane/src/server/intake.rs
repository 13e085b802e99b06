//! Stores what data planes report: in order, each entry once, its usage and its credits in the same
//! transaction.
//!
//! A log counts its entries from 1 without gaps. What is stored already is passed over, so a data
//! plane that was not acknowledged may send again; what would leave a gap is refused, so a lost
//! entry is seen and not papered over.
//!
//! What is stored is within the bounds of an entry, and no text of it opens a key. Should the database
//! refuse an entry for what is in it all the same, the least of it is stored in its place (`set_aside`),
//! its credits included, and what follows it goes on: nobody can stop an environment's audit by what
//! they ask.

mod set_aside;

use std::collections::BTreeMap;

use contract::agent::REGISTERS;
use contract::capability::hour_of;
use contract::policy::abac::Operation;
use contract::report::{Body, Entry, Finished, MicroCredits, Started};
use contract::{Code, EnvId, KeyId, OrgId, QueryId, Timestamp};
use platform::events::{self, Event, EventType, Origin};
use platform::redaction::scrubbed;
use platform::{App, Error, Result};
use serde_json::json;
use sqlx::PgConnection;

use crate::domain::audit::store;
use crate::domain::billing::credits;
use crate::domain::{agent_capabilities, agents, api_keys, billing, environments, shadow_mode, webhooks};

/// Stores the entries; every entry of the log up to the returned one is stored.
pub async fn store_entries(app: &App, env_id: &EnvId, log: &str, entries: Vec<Entry>) -> Result<u64> {
    let clean = |Entry { sequence, body }| Entry { sequence, body: body.bounded(&scrubbed) };
    let entries: Vec<Entry> = entries.into_iter().map(clean).collect();
    match store_all(app, env_id, log, &entries).await {
        Err(error) if set_aside::is_of_content(&error) => set_aside::store_each(app, env_id, log, &entries).await,
        stored => stored,
    }
}

/// All of them, or none. They are within their bounds.
async fn store_all(app: &App, env_id: &EnvId, log: &str, entries: &[Entry]) -> Result<u64> {
    let mut tx = app.pool().begin().await?;
    let Some((_, org_id, _)) = environments::governed(&mut tx, env_id).await? else {
        return Err(Error::EnvironmentNotFound);
    };
    let stored = store::sequence(&mut tx, env_id, log).await?;
    let mut sequence = stored;
    let mut started: Vec<&Started> = Vec::new();
    let mut finished: Vec<&Finished> = Vec::new();
    let mut happened: Vec<&Body> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.sequence > stored) {
        if entry.sequence != sequence.saturating_add(1) {
            return Err(Error::ReportGap { log: log.to_owned(), have: sequence, got: entry.sequence });
        }
        sequence = entry.sequence;
        match &entry.body {
            Body::Started(start) if start.org_id == org_id => started.push(start.as_ref()),
            Body::Started(_) => return Err(Error::Refused(contract::Code::CrossTenant)),
            Body::Finished(finish) => finished.push(finish.as_ref()),
            body @ (Body::BranchMerged(_) | Body::TriggerFired(_) | Body::TriggerError(_)) => happened.push(body),
        }
    }
    let all_new = store::insert_starts(&mut tx, env_id, &started).await?;
    let ended = store::insert_ends(&mut tx, env_id, &finished).await?;
    let begun = store::begun(&mut tx, env_id, if all_new { started.as_slice() } else { &[] }, &ended).await?;
    finished.retain(|finish| ended.contains(&finish.query_id));
    settle(app, &mut tx, (&org_id, env_id, log), &finished, &begun).await?;
    let ended: Vec<QueryId> = ended.into_iter().collect();
    shadow_mode::sample(app, &mut tx, env_id, &ended).await?;
    agents::used(&mut tx, (&org_id, env_id), &of_agents(&started)).await?;
    let under_grants: Vec<_> = started.iter().filter_map(|start| Some((start.grant_id.as_ref()?, start.at))).collect();
    agent_capabilities::used(&mut tx, env_id, under_grants).await?;
    for (key_id, at) in last_uses(&started) {
        api_keys::used(&mut tx, key_id, at).await?;
    }
    for body in happened {
        record(app, &mut tx, (&org_id, env_id), body).await?;
    }
    store::advance(&mut tx, env_id, log, sequence).await?;
    tx.commit().await?;
    Ok(sequence)
}

/// What happened in the environment, as an event of the organization's trail. Who did it is who the
/// data plane says.
async fn record(app: &App, tx: &mut PgConnection, (org_id, env_id): (&OrgId, &EnvId), body: &Body) -> Result<()> {
    let system = Origin::system(app, org_id.clone());
    let (event, actor_id) = match body {
        Body::Started(_) | Body::Finished(_) => return Ok(()), // no event, but a query
        Body::BranchMerged(merged) => {
            let told = json!({
                "branch_name": merged.branch_name,
                "agent_id": merged.agent_id,
                "strategy": merged.strategy,
                "tables_merged": merged.tables_merged,
                "rows_affected": merged.rows_affected,
                "merged_at": merged.merged_at,
            });
            (Event::new(EventType::BranchMerged, merged.branch_id.clone()).after(told), merged.actor_id.clone())
        }
        Body::TriggerFired(fired) => {
            let told = json!({
                "trigger_name": fired.trigger_name,
                "fired_at": fired.fired_at,
                "similarity_score": fired.similarity_score,
                "threshold": fired.threshold,
                "content": fired.content,
                "content_id": fired.content_id,
                "agent_id": fired.agent_id,
                "metadata": fired.metadata,
            });
            (Event::new(EventType::TriggerFired, fired.trigger_id.clone()).after(told), fired.agent_id.clone())
        }
        Body::TriggerError(failed) => {
            let told = json!({
                "trigger_name": failed.trigger_name,
                "error": failed.error,
                "occurred_at": failed.occurred_at,
            });
            (Event::new(EventType::TriggerError, failed.trigger_id.clone()).after(told), system.actor_id.clone())
        }
    };
    let origin = Origin { env_id: Some(env_id.clone()), actor_id, ..system };
    events::record(app, tx, origin, event).await?;
    if let Body::TriggerFired(fired) = body
        && let Some(url) = webhooks::only_for(&fired.metadata)
        && !webhooks::hears_of_triggers(tx, org_id, &url).await?
    {
        let told = json!({
            "trigger_name": fired.trigger_name,
            "error": Code::NotFound.stable(), // the webhook that it is for
            "occurred_at": fired.fired_at,
        });
        let event = Event::new(EventType::TriggerError, fired.trigger_id.clone()).after(told);
        let origin = Origin { env_id: Some(env_id.clone()), ..Origin::system(app, org_id.clone()) };
        events::record(app, tx, origin, event).await?;
    }
    Ok(())
}

/// Usage by hour and operation, the credits of the log by month, and who is told of it.
async fn settle(
    app: &App,
    tx: &mut PgConnection,
    place: (&OrgId, &EnvId, &str),
    finished: &[&Finished],
    begun: &BTreeMap<QueryId, store::BegunQuery>,
) -> Result<()> {
    let (org_id, env_id, _) = place;
    let mut usage: BTreeMap<(Timestamp, &str), billing::Used> = BTreeMap::new();
    let mut months: BTreeMap<Timestamp, MicroCredits> = BTreeMap::new();
    for finish in finished {
        let query = begun.get(&finish.query_id);
        let operation = query.and_then(|query| query.operation).map_or("other", Operation::as_str);
        let hour = usage.entry((hour_of(finish.at), operation)).or_default();
        hour.add(finish.micro_credits, query.is_some_and(|query| query.by_dashboard));
        let month = months.entry(credits::period_of(finish.at)).or_default();
        *month = month.saturating_add(finish.micro_credits);
    }
    for ((hour, operation), used) in usage {
        billing::add_usage(tx, (org_id, env_id), hour, operation, used).await?;
    }
    for (month, cost) in months {
        credits::settle(tx, place, month, cost).await?;
        billing::watch(app, tx, org_id, month).await?;
    }
    Ok(())
}

fn last_uses<'a>(started: &[&'a Started]) -> BTreeMap<&'a KeyId, Timestamp> {
    let mut uses: BTreeMap<&KeyId, Timestamp> = BTreeMap::new();
    for start in started {
        if let Some(key_id) = &start.key_id {
            let last = uses.entry(key_id).or_insert(start.at);
            *last = (*last).max(start.at);
        }
    }
    uses
}

/// What each agent has asked.
fn of_agents(started: &[&Started]) -> BTreeMap<String, agents::Use> {
    let mut uses: BTreeMap<String, agents::Use> = BTreeMap::new();
    for start in started {
        let Some(agent) = &start.agent else { continue };
        let Some(agent_id) = &agent.agent_id else { continue };
        let fresh = agents::Use { makes_known: false, framework: None, queries: 0, first: start.at, last: start.at };
        let seen = uses.entry(agent_id.clone()).or_insert(fresh);
        seen.makes_known |= start.sql != REGISTERS;
        seen.queries = seen.queries.saturating_add(1);
        seen.framework = agent.framework.clone().or_else(|| seen.framework.take());
        (seen.first, seen.last) = (seen.first.min(start.at), seen.last.max(start.at));
    }
    uses
}

#[cfg(test)]
mod tests {
    use contract::report::TriggerFired;
    use platform::redaction::REDACTED;

    use super::*;

    #[test]
    fn no_key_stands_in_any_text_of_what_a_trigger_tells() {
        let key = format!("svc_live_{}", "a".repeat(40));
        let fired = Body::TriggerFired(Box::new(TriggerFired {
            trigger_id: "t".to_owned(),
            trigger_name: key.clone(),
            fired_at: Timestamp::UNIX_EPOCH,
            similarity_score: 1.0,
            threshold: 0.5,
            content: key.clone(),
            content_id: None,
            agent_id: key.clone(),
            metadata: json!({"note": [format!("it is {key}"), {"deep": key}], key: 1, "n": 2.5}),
        }));
        let told = serde_json::to_value(fired.bounded(&scrubbed)).unwrap();
        assert!(!told.to_string().contains("aaaa"), "{told}");
        let metadata = &told["trigger_fired"]["metadata"];
        assert_eq!(metadata["n"], 2.5);
        assert_eq!(metadata["note"][0], format!("it is svc_live_{REDACTED}"));
    }
}
