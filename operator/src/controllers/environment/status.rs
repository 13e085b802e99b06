//! The status of an environment.

use contract::wire::port;
use crds::{Condition, ConditionStatus, ConditionType, Connection, EnvironmentStatus, GivenSecrets, Quantity};

use super::findings::Findings;
use super::phase::phase;
use super::volume::{self, Growth};
use super::workload::{self, WorkloadState};
use crate::conditions::{find, rfc3339};
use crate::objects::hold::Hold;
use crate::objects::names::selector_text;
use crate::objects::observed::Observed;
use crate::objects::source::DeployedSource;

pub fn status(it: &Findings<'_>, conditions: &[Condition]) -> EnvironmentStatus {
    let before = it.environment().status.clone().unwrap_or_default();
    let answers =
        find(conditions, ConditionType::WorkloadAvailable).is_some_and(|it| it.status == ConditionStatus::True);
    let activated_at = before.activated_at.or_else(|| answers.then(|| rfc3339(it.observed.now)));
    let settled = matches!(it.workload, WorkloadState::Settled | WorkloadState::Off);
    let runs = workload::deployment(it.observed).filter(|_| settled);
    let (image, secrets, pods) = match runs.and_then(DeployedSource::of).map(|it| it.source) {
        Some(it) => (Some(it.image), Some(it.secrets).filter(|it| *it != GivenSecrets::default()), it.pods.text()),
        None => (before.image, before.secrets, before.pods),
    };
    EnvironmentStatus {
        connection: activated_at.as_ref().and_then(|_| connection(it)).or(before.connection),
        volume_size: volume_size(it),
        version: runs.and_then(workload::version).or(before.version),
        image,
        secrets,
        pods,
        suspended_replicas: it.off.map(|_| it.environment().spec.data_plane.replicas).filter(|replicas| *replicas > 0),
        last_step: Some(step(it).to_owned()),
        phase: Some(phase(false, activated_at.is_some(), conditions)),
        activated_at,
        teardown: Vec::new(),
        ..base(it.observed, conditions)
    }
}

/// Written with what is written anyway; of a volume that is to grow, before.
fn volume_size(it: &Findings<'_>) -> Option<Quantity> {
    let before = || it.environment().status.as_ref().and_then(|status| status.volume_size.clone());
    let is_due =
        matches!(it.workload, WorkloadState::Settled | WorkloadState::Off) || it.changes.growth != Growth::None;
    if is_due { volume::held(it.observed).map(Quantity) } else { before() }
}

/// What can be said in any phase.
pub fn base(observed: &Observed, conditions: &[Condition]) -> EnvironmentStatus {
    let environment = &observed.environment;
    EnvironmentStatus {
        observed_generation: environment.metadata.generation,
        env_id: environment.metadata.uid.clone(),
        replicas: Some(workload::available(observed)),
        selector: environment.metadata.name.as_deref().map(selector_text),
        conditions: conditions.to_vec(),
        ..environment.status.clone().unwrap_or_default()
    }
}

fn connection(it: &Findings<'_>) -> Option<Connection> {
    let desired = it.verdict.as_ref().ok()?;
    let host = format!("{}.{}.svc.{}", desired.name, desired.namespace, desired.release.cluster_domain);
    Some(Connection { host, port: i32::from(port::PGWIRE), database: it.environment().spec.slug.clone() })
}

/// What the operator is at, once the plan has been carried out.
fn step(it: &Findings<'_>) -> &'static str {
    match (&it.workload, it.hold) {
        (_, Hold::Paused) => "paused",
        (_, Hold::DryRun) => "dryRun",
        _ if it.verdict.is_err() => "refused",
        _ if it.changes.waits_for.is_some() => "waitForRemoval",
        (WorkloadState::Draining, _) => "drain",
        (WorkloadState::Off, _) => "suspended",
        (WorkloadState::Starting(_) | WorkloadState::Rolling(_) | WorkloadState::Absent, _) => "waitForReplicas",
        (WorkloadState::TimedOut(_), _) => "rolloutTimedOut",
        (WorkloadState::Settled, _) => "settled",
    }
}
