//! How the pods are doing, read from the Deployment and from the pods themselves.

use crds::Reason;
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt as _;

use super::child::Child;
use super::names::label;
use super::observed::{Observed, PodFacts};

/// What can be said of the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Absent,
    /// None should run, and none does.
    Off,
    /// None should run, and some still let statements finish.
    Draining,
    /// Fewer answer than should; and why, if that is known.
    Starting(Trouble),
    /// Enough answer, but not all of them as specified yet.
    Rolling,
    /// A rollout has been given up; what ran before still runs.
    TimedOut,
    /// All answer, and all as specified.
    Settled,
}

/// What keeps replicas from starting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub reason: Reason,
    pub message: String,
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
pub fn state(observed: &Observed, wanted: i32, pending: bool) -> State {
    let Some(deployment) = deployment(observed) else {
        return match (wanted, observed.pods.is_empty()) {
            (0, true) if pending => State::Off,
            (0, false) => State::Draining,
            _ if pending => State::Starting(trouble(&observed.pods)),
            _ => State::Absent,
        };
    };
    let status = deployment.status.clone().unwrap_or_default();
    let seen = status.observed_generation >= deployment.metadata.generation;
    let of = |count: Option<i32>| count.unwrap_or(0);
    if wanted == 0 {
        let drained = replicas(deployment) == 0 && seen && of(status.replicas) == 0 && observed.pods.is_empty();
        return if drained { State::Off } else { State::Draining };
    }
    let enough = of(status.available_replicas) >= wanted;
    let complete = seen && [status.replicas, status.updated_replicas].into_iter().all(|count| of(count) == wanted);
    if enough && complete && !pending {
        return State::Settled;
    }
    if seen && !pending && gave_up(deployment) {
        return State::TimedOut;
    }
    if enough { State::Rolling } else { State::Starting(trouble(&observed.pods)) }
}

/// The Deployment has made no progress within its deadline.
pub fn gave_up(deployment: &Deployment) -> bool {
    let conditions = deployment.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|it| {
        it.type_ == "Progressing" && it.status == "False" && it.reason.as_deref() == Some("ProgressDeadlineExceeded")
    })
}

fn trouble(pods: &[PodFacts]) -> Trouble {
    let starting = || pods.iter().filter(|pod| !pod.ready && !pod.ending);
    if let Some(message) = starting().find_map(|pod| pod.unschedulable.clone()) {
        return Trouble { reason: Reason::Unschedulable, message };
    }
    let broken = |pod: &PodFacts| {
        let why = pod.waiting.clone()?;
        // a container that is being created is on its way, not in trouble
        (why.ends_with("BackOff") || why.starts_with("Err") || why.ends_with("Error")).then_some(why)
    };
    match starting().find_map(broken) {
        Some(why) => Trouble { reason: Reason::CrashLooping, message: format!("the container does not run: {why}") },
        None => Trouble { reason: Reason::Starting, message: "replicas are starting".to_owned() },
    }
}
