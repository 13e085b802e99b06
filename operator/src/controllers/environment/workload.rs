//! The state of the workload, read from the Deployment and its pods.

use crds::Reason;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition};
use kube::ResourceExt as _;

use crate::objects::child::Child;
use crate::objects::names::label;
use crate::objects::observed::{Observed, PodFacts};

/// The state of the replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkloadState {
    /// There is none.
    Absent,
    /// None should run, and none does.
    Off,
    /// None should run, and some still let statements finish.
    Draining,
    /// Fewer answer than should; and why, if that is known.
    Starting(StartObstacle),
    /// Enough answer, but not all of them as specified yet; and why, if that is known.
    Rolling(StartObstacle),
    /// A rollout has been given up; what ran before still runs. And why, if that is known.
    TimedOut(StartObstacle),
    /// All answer, and all as specified.
    Settled,
}

/// The obstacle that keeps replicas from starting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartObstacle {
    pub reason: Reason,
    pub message: String,
}

impl StartObstacle {
    /// It is more than that starting takes its time.
    pub fn is_known(&self) -> bool {
        self.reason != Reason::Starting
    }
}

/// This environment's Deployment; one that an earlier environment of the same name left is not.
pub fn deployment(observed: &Observed) -> Option<&Deployment> {
    let environment = &observed.environment.metadata;
    observed.children.iter().find_map(|child| match child {
        Child::Deployment(it) if it.metadata.name == environment.name => {
            let owned = it.owner_references().iter().any(|owner| Some(&owner.uid) == environment.uid.as_ref());
            owned.then_some(it.as_ref())
        }
        _ => None,
    })
}

/// The version that its pods are started with.
pub fn version(deployment: &Deployment) -> Option<String> {
    let template = &deployment.spec.as_ref()?.template;
    template.metadata.as_ref()?.labels.as_ref()?.get(label::VERSION).cloned()
}

pub fn replicas(deployment: &Deployment) -> i32 {
    deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// How many answer.
pub fn available(observed: &Observed) -> i32 {
    deployment(observed).and_then(|it| it.status.as_ref()?.available_replicas).unwrap_or(0)
}

/// The state with `wanted` replicas; `pending`: the Deployment is about to be written, so what is
/// there is not what is wanted.
pub fn state(observed: &Observed, wanted: i32, pending: bool) -> WorkloadState {
    let Some(deployment) = deployment(observed) else {
        return match (wanted, observed.pods.is_empty()) {
            (0, true) if pending => WorkloadState::Off,
            (0, false) => WorkloadState::Draining,
            _ if pending => WorkloadState::Starting(obstacle(None, &observed.pods)),
            _ => WorkloadState::Absent,
        };
    };
    let status = deployment.status.clone().unwrap_or_default();
    let seen = status.observed_generation >= deployment.metadata.generation;
    let of = |count: Option<i32>| count.unwrap_or(0);
    if wanted == 0 {
        let drained = replicas(deployment) == 0 && seen && of(status.replicas) == 0 && observed.pods.is_empty();
        return if drained { WorkloadState::Off } else { WorkloadState::Draining };
    }
    let enough = of(status.available_replicas) >= wanted;
    let complete = seen && [status.replicas, status.updated_replicas].into_iter().all(|count| of(count) == wanted);
    if enough && complete && !pending {
        return WorkloadState::Settled;
    }
    let obstacle = obstacle(Some(deployment), &observed.pods);
    if seen && !pending && gave_up(deployment) {
        return WorkloadState::TimedOut(obstacle);
    }
    if enough { WorkloadState::Rolling(obstacle) } else { WorkloadState::Starting(obstacle) }
}

/// The Deployment has made no progress within its deadline.
pub fn gave_up(deployment: &Deployment) -> bool {
    condition(deployment, "Progressing")
        .is_some_and(|it| it.status == "False" && it.reason.as_deref() == Some("ProgressDeadlineExceeded"))
}

fn condition<'a>(deployment: &'a Deployment, type_: &str) -> Option<&'a DeploymentCondition> {
    let conditions = deployment.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().find(|it| it.type_ == type_)
}

/// Of what the scheduler says of nodes: what is no hindrance any more once the pod that is replaced has ended. Nodes
/// that the pod itself rules out, or that keep it away, are not among it: there its end would help nobody.
const ENDS_WITH_THE_OLD: [&str; 4] =
    ["didn't match pod affinity rules", "Insufficient ", "Too many pods", "exceed max volume count"];

/// The successor finds no place beside the pod that it replaces, and the end of that one makes it one.
pub fn makes_place_by_ending(pods: &[PodFacts]) -> bool {
    let has_place = |pod: &PodFacts| pod.unschedulable.is_none();
    let waits = |pod: &PodFacts| {
        let message = pod.unschedulable.as_deref().filter(|_| !pod.ready && !pod.ending);
        message.is_some_and(|message| ENDS_WITH_THE_OLD.iter().any(|cause| message.contains(cause)))
    };
    pods.iter().any(has_place) && pods.iter().any(waits)
}

/// What keeps a pod from being made, else from being placed, else from running.
fn obstacle(deployment: Option<&Deployment>, pods: &[PodFacts]) -> StartObstacle {
    let refused = deployment.and_then(|it| condition(it, "ReplicaFailure")).filter(|it| it.status == "True");
    if let Some(refused) = refused {
        let message = unnamed(refused.message.as_deref().unwrap_or_default());
        return StartObstacle { reason: Reason::ReplicaFailure, message };
    }
    let starting = || pods.iter().filter(|pod| !pod.ready && !pod.ending);
    if let Some(message) = starting().find_map(|pod| pod.unschedulable.clone()) {
        return StartObstacle { reason: Reason::Unschedulable, message };
    }
    let broken = |pod: &PodFacts| {
        let why = pod.waiting.clone()?;
        // a container that is being created is on its way, and no obstacle
        (why.ends_with("BackOff") || why.starts_with("Err") || why.ends_with("Error")).then_some(why)
    };
    match starting().find_map(broken) {
        Some(why) => {
            StartObstacle { reason: Reason::CrashLooping, message: format!("the container does not run: {why}") }
        }
        None => StartObstacle { reason: Reason::Starting, message: "replicas are starting".to_owned() },
    }
}

/// Without the pod's name, which is another at each attempt: a status must not turn with it.
fn unnamed(message: &str) -> String {
    let parts = message.split_once("pods \"").and_then(|(before, rest)| Some((before, rest.split_once('"')?.1)));
    parts.map_or_else(|| message.to_owned(), |(before, after)| format!("{before}a pod{after}"))
}
