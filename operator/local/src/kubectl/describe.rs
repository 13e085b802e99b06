//! An environment in words: whether it is ready, and if not, why. Pure functions of objects.

use crds::{Condition, ConditionStatus, ConditionType, Environment, EnvironmentStatus, Reason};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use operator::objects::child::Kind;
use serde_json::Value;

use super::gather::{Child, Seen};

/// `Ready` is true, and said of the generation that stands there.
pub fn is_ready(environment: &Environment) -> bool {
    let generation = environment.metadata.generation.unwrap_or_default();
    condition(environment, ConditionType::Ready)
        .is_some_and(|ready| ready.status == ConditionStatus::True && ready.observed_generation >= generation)
}

pub fn condition(environment: &Environment, type_: ConditionType) -> Option<&Condition> {
    environment.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)
}

/// Types in which `True` is the good news; in the others it is the bad, or merely news.
fn is_good(type_: ConditionType) -> bool {
    use ConditionType as T;
    matches!(
        type_,
        T::Ready
            | T::SpecValid
            | T::WorkloadAvailable
            | T::CredentialsSynced
            | T::CertificateReady
            | T::OrganizationActive
    )
}

/// Why it is not ready, the cause before its consequences; empty: it is.
pub fn why(seen: &Seen) -> Vec<String> {
    if is_ready(&seen.environment) {
        return Vec::new();
    }
    let mut found = generations(&seen.environment);
    let status = seen.environment.status.as_ref();
    let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
    // the summary repeats one of the others: it speaks only when they do not
    let causes = conditions.iter().filter(|condition| condition.type_ != ConditionType::Ready && speaks(condition));
    found.extend(causes.map(sentence));
    found.extend(seen.pods.iter().flat_map(of_pod));
    found.extend(seen.children.iter().filter_map(of_volume));
    if found.is_empty() {
        found.extend(condition(&seen.environment, ConditionType::Ready).map(sentence));
    }
    if found.is_empty() {
        found.push("no condition says so; the operator's log may (kubectl sluice report)".to_owned());
    }
    found
}

fn speaks(condition: &Condition) -> bool {
    match condition.status {
        ConditionStatus::True => !is_good(condition.type_),
        ConditionStatus::False => is_good(condition.type_),
        ConditionStatus::Unknown => true,
    }
}

fn sentence(condition: &Condition) -> String {
    let Condition { type_, status, reason, message, .. } = condition;
    format!("{type_:?} is {status:?} ({reason:?}): {message}")
}

/// Has the operator looked at what stands there?
fn generations(environment: &Environment) -> Vec<String> {
    let generation = environment.metadata.generation.unwrap_or_default();
    let observed = environment.status.as_ref().and_then(|status| status.observed_generation);
    match observed {
        None => {
            vec!["the operator has not looked at it yet: does it run, and does it watch this namespace?".to_owned()]
        }
        Some(observed) if observed < generation => {
            vec![format!("the operator has seen generation {observed}, and the object is at {generation}")]
        }
        Some(_) => Vec::new(),
    }
}

fn of_pod(pod: &Pod) -> Vec<String> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let Some(status) = &pod.status else { return Vec::new() };
    let conditions = status.conditions.iter().flatten();
    let unplaced = conditions.filter(|condition| condition.type_ == "PodScheduled" && condition.status == "False");
    let unplaced = unplaced.filter_map(|condition| condition.message.clone());
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    unplaced.chain(containers.filter_map(of_container)).map(|says| format!("pod {name}: {says}")).collect()
}

fn of_container(container: &ContainerStatus) -> Option<String> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().filter(|reason| *reason != "ContainerCreating")?;
    let said = waiting.message.as_ref().map(|message| format!(" ({message})")).unwrap_or_default();
    let text = format!("container {} waits: {reason}{said}", container.name);
    let last = container.last_state.as_ref().and_then(|last| last.terminated.as_ref());
    let ended = last.map(|ended| {
        let (count, code) = (container.restart_count, ended.exit_code);
        format!(
            "; it ended {count} times, last with status {code} ({})",
            ended.reason.as_deref().unwrap_or("no reason")
        )
    });
    Some(text + &ended.unwrap_or_default())
}

fn of_volume(child: &Child) -> Option<String> {
    let phase = child.object.pointer("/status/phase")?.as_str()?;
    let waits = child.kind == Kind::PersistentVolumeClaim && phase != "Bound";
    waits.then(|| format!("volume claim {} is {phase}: no volume was given to it yet", child.name))
}

/// One word or two on how a child is.
pub fn state(child: &Child) -> String {
    let object = &child.object;
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("-").to_owned();
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return "is being deleted".to_owned();
    }
    match child.kind {
        Kind::Deployment => {
            let (ready, wanted) = (number("/status/readyReplicas"), number("/spec/replicas"));
            format!("{ready}/{wanted} ready, {} updated", number("/status/updatedReplicas"))
        }
        Kind::PersistentVolumeClaim => format!("{}, {}", text("/status/phase"), text("/status/capacity/storage")),
        Kind::Service => {
            let ports = object.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten();
            let ports: Vec<_> = ports.map(|port| port["port"].to_string()).collect();
            format!("{}:{}", text("/spec/clusterIP"), ports.join(","))
        }
        Kind::PodDisruptionBudget => format!("{} may be away", number("/status/disruptionsAllowed")),
        _ => "there".to_owned(),
    }
}

/// `Running`, `CrashLoopBackOff`, `Ending`, …: as kubectl prints it.
pub fn pod_state(pod: &Pod) -> String {
    if pod.metadata.deletion_timestamp.is_some() {
        return "Ending".to_owned();
    }
    let Some(status) = &pod.status else { return "Pending".to_owned() };
    let containers = status.container_statuses.iter().flatten();
    let mut waiting = containers.filter_map(|container| container.state.as_ref()?.waiting.as_ref()?.reason.clone());
    waiting.next().or(status.phase.clone()).unwrap_or_else(|| "Pending".to_owned())
}

pub fn pod_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

pub fn restarts(pod: &Pod) -> i32 {
    let containers = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    containers.into_iter().flatten().map(|container| container.restart_count).sum()
}

/// `active`, as the API writes it; `-` before the operator has looked.
pub fn phase(status: Option<&EnvironmentStatus>) -> String {
    let phase = status.and_then(|status| status.phase).map(serde_json::to_value);
    phase.and_then(Result::ok).and_then(|phase| phase.as_str().map(str::to_owned)).unwrap_or_else(|| "-".to_owned())
}

/// Why `Ready` is what it is.
pub fn reason(environment: &Environment) -> Option<Reason> {
    condition(environment, ConditionType::Ready).map(|ready| ready.reason)
}
