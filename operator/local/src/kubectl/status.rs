//! The page that answers "why is it not ready", as text and as JSON. Pure functions of objects.

use crds::{ConditionType, Environment};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::describe::{self, condition, phase, pod_ready, pod_state, restarts, state};
use super::gather::{Seen, last_seen};
use super::redact;
use crate::table::{age_of, bullets, table};

/// Events on the page; a report has all.
const EVENTS: usize = 10;

/// One line for each environment.
pub fn overview(all: &[Environment], now: Timestamp) -> String {
    if all.is_empty() {
        return "no environments in this namespace".to_owned();
    }
    let header = ["ENVIRONMENT", "ORGANIZATION", "PHASE", "READY", "REASON", "REPLICAS", "VERSION", "AGE"];
    let row = |environment: &Environment| {
        let status = environment.status.as_ref();
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        vec![
            environment.name_any(),
            environment.spec.organization_ref.name.clone(),
            phase(status),
            describe::is_ready(environment).to_string(),
            or_none(describe::reason(environment).map(|reason| format!("{reason:?}"))),
            or_none(status.and_then(|status| status.replicas).map(|replicas| replicas.to_string())),
            or_none(status.and_then(|status| status.version.clone())),
            age_of(environment.creation_timestamp().map(|time| time.0), now),
        ]
    };
    table(&header, &all.iter().map(row).collect::<Vec<_>>())
}

pub fn overview_json(all: &[Environment]) -> Value {
    all.iter()
        .map(|environment| json!({"ready": describe::is_ready(environment), "environment": redact::shown(environment)}))
        .collect()
}

/// Everything about one environment.
pub fn page(seen: &Seen, now: Timestamp) -> String {
    let sections = [
        Some(summary(&seen.environment)),
        why(seen),
        section("CONDITION", conditions(&seen.environment, now)),
        section("CHILD", children(seen, now)),
        section("POD", pods(seen, now)),
        section("KEY", keys(seen)),
        section("EVENT", events(&seen.events, now)),
        unread(seen),
    ];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn summary(environment: &Environment) -> String {
    let status = environment.status.clone().unwrap_or_default();
    let ready = condition(environment, ConditionType::Ready);
    let ready = ready.map_or_else(|| "-".to_owned(), |ready| format!("{:?} ({:?})", ready.status, ready.reason));
    let generation = environment.metadata.generation.unwrap_or_default();
    let observed = status.observed_generation.map_or_else(|| "-".to_owned(), |observed| observed.to_string());
    let connection = status.connection.as_ref().map(|at| format!("{}:{}/{}", at.host, at.port, at.database));
    let replicas = status.replicas.unwrap_or_default();
    let lines = [
        ("Environment", Some(environment.name_any())),
        ("Organization", Some(environment.spec.organization_ref.name.clone())),
        ("Phase", Some(phase(Some(&status)))),
        ("Ready", Some(ready)),
        ("Generation", Some(format!("{generation}, observed {observed}"))),
        (
            "Version",
            status
                .version
                .as_ref()
                .map(|version| format!("{version}, {replicas} of {} replicas", environment.spec.data_plane.replicas)),
        ),
        ("Connection", connection),
        ("Last step", status.last_step.clone()),
    ];
    let lines = lines.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name:14}{value}\n")));
    lines.collect()
}

fn why(seen: &Seen) -> Option<String> {
    let found = describe::why(seen);
    let list = bullets(&found);
    (!found.is_empty()).then(|| format!("Why it is not ready\n{list}"))
}

fn unread(seen: &Seen) -> Option<String> {
    let list = bullets(&seen.unread);
    (!list.is_empty()).then(|| format!("Could not be read\n{list}"))
}

fn section(first: &str, (rest, rows): (Vec<&str>, Vec<Vec<String>>)) -> Option<String> {
    let header: Vec<&str> = std::iter::once(first).chain(rest).collect();
    (!rows.is_empty()).then(|| table(&header, &rows))
}

type Section<'a> = (Vec<&'a str>, Vec<Vec<String>>);

fn conditions(environment: &Environment, now: Timestamp) -> Section<'static> {
    let listed = environment.status.iter().flat_map(|status| &status.conditions);
    let row = |condition: &crds::Condition| {
        vec![
            format!("{:?}", condition.type_),
            format!("{:?}", condition.status),
            format!("{:?}", condition.reason),
            age_of(condition.last_transition_time.parse().ok(), now),
            condition.message.clone(),
        ]
    };
    (vec!["STATUS", "REASON", "AGE", "MESSAGE"], listed.map(row).collect())
}

fn children(seen: &Seen, now: Timestamp) -> Section<'static> {
    let row = |child: &super::gather::Child| {
        vec![child.kind.to_string(), child.name.clone(), state(child), age_of(child.created, now)]
    };
    (vec!["NAME", "STATE", "AGE"], seen.children.iter().map(row).collect())
}

fn pods(seen: &Seen, now: Timestamp) -> Section<'static> {
    let row = |pod: &k8s_openapi::api::core::v1::Pod| {
        vec![
            pod.name_any(),
            pod_state(pod),
            pod_ready(pod).to_string(),
            restarts(pod).to_string(),
            age_of(pod.creation_timestamp().map(|time| time.0), now),
        ]
    };
    (vec!["STATE", "READY", "RESTARTS", "AGE"], seen.pods.iter().map(row).collect())
}

fn keys(seen: &Seen) -> Section<'static> {
    let row = |key: &crds::ApiKey| {
        let status = key.status.clone().unwrap_or_default();
        let phase = status.phase.map_or_else(|| "-".to_owned(), |phase| format!("{phase:?}").to_lowercase());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let secret = key.spec.secret_ref.as_ref().map(|secret| secret.name.clone());
        vec![key.name_any(), or_none(status.prefix), phase, or_none(status.expires_at), or_none(secret)]
    };
    (vec!["PREFIX", "PHASE", "EXPIRES", "SECRET"], seen.keys.iter().map(row).collect())
}

/// The last of them, the newest last.
pub fn events(all: &[Event], now: Timestamp) -> Section<'static> {
    let row = |event: &Event| {
        let object = &event.involved_object;
        let (kind, name) = (object.kind.as_deref().unwrap_or("-"), object.name.as_deref().unwrap_or("-"));
        let count = event.count.or(event.series.as_ref().and_then(|series| series.count)).unwrap_or(1);
        let says = redact::text(&event.message.clone().unwrap_or_default()).replace('\n', " ");
        let times = if count > 1 { format!(" (×{count})") } else { String::new() };
        vec![
            event.reason.clone().unwrap_or_default(),
            event.type_.clone().unwrap_or_default(),
            format!("{kind}/{name}"),
            age_of(last_seen(event), now),
            format!("{says}{times}"),
        ]
    };
    let from = all.len().saturating_sub(EVENTS);
    (vec!["TYPE", "OBJECT", "AGE", "MESSAGE"], all.iter().skip(from).map(row).collect())
}

/// The same for programs.
pub fn json(seen: &Seen, now: Timestamp) -> Value {
    let child = |child: &super::gather::Child| json!({"kind": child.kind, "name": child.name, "state": state(child)});
    let pod = |pod: &k8s_openapi::api::core::v1::Pod| json!({"name": pod.name_any(), "state": pod_state(pod), "ready": pod_ready(pod), "restarts": restarts(pod)});
    let event = |event: &Event| {
        json!({
            "reason": event.reason, "type": event.type_, "message": event.message.as_deref().map(redact::text),
            "object": {"kind": event.involved_object.kind, "name": event.involved_object.name},
            "lastSeen": last_seen(event).map(|time| time.to_string()),
        })
    };
    json!({
        "at": now.to_string(),
        "ready": describe::is_ready(&seen.environment),
        "why": describe::why(seen),
        "environment": redact::shown(&seen.environment),
        "children": seen.children.iter().map(child).collect::<Vec<_>>(),
        "pods": seen.pods.iter().map(pod).collect::<Vec<_>>(),
        "keys": seen.keys.iter().map(redact::shown).collect::<Vec<_>>(),
        "events": seen.events.iter().map(event).collect::<Vec<_>>(),
        "unread": seen.unread,
    })
}

#[cfg(test)]
mod tests;
