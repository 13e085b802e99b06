//! What is to be done about an environment, as data.
//!
//! A plan is carried out from top to bottom: finalizer, writes, deletes, status, events. Each part
//! may fail or never happen; the next plan starts from what is observed then.

use std::sync::Arc;
use std::time::Duration;

use crds::{Environment, EnvironmentStatus, Reason};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use serde_json::Value;

use super::changes::{self, Changes};
use super::conditions::{self, Draft};
use super::findings::Findings;
use super::validate::validate;
use super::{certificates, events, given, status, teardown};
use crate::objects::agreed::Agreed;
use crate::objects::child::{Child, Key, Kind};
use crate::objects::contest::Contests;
use crate::objects::names::{FINALIZER, annotation};
use crate::objects::observed::Observed;

/// Everything to do now. All parts empty and the status as it is: settled.
#[derive(Debug, Clone)]
pub struct Plan {
    /// `Add` goes before everything else, `Remove` after everything else.
    pub finalizer: Finalizer,
    /// In this order.
    pub writes: Vec<Write>,
    pub deletes: Vec<Delete>,
    /// The whole of it; written when it differs from the one that stands there.
    pub status: EnvironmentStatus,
    /// Only transitions.
    pub events: Vec<Event>,
    /// When to look again if nothing happens before.
    pub requeue: Duration,
    /// For the next observation: what need not be compared again.
    pub agreed: Option<Arc<Agreed>>,
    /// The same, of repairs, once they have been carried out.
    pub contests: Contests,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finalizer {
    Keep,
    Add,
    /// The last thing that is done: the object is gone after it.
    Remove,
}

/// A child that is not as it should be.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a plan holds a dozen of them, for a moment")]
pub enum Write {
    /// Server-side apply, whole, with force: what is in it is ours. Carries its hash already.
    Apply(Child),
    /// Sign a certificate and apply the Secret that holds it.
    Issue(CertificateOrder),
    /// A strategic merge patch that takes away what others added to this version of an object. An apply comes after.
    Strip { key: Key, version: String, patch: Value },
    /// The Secret with this uid is the user's from now on: without our labels, and without an owner.
    Disown { key: Key, uid: String },
    /// A merge patch of `spec.replicas` of the Deployment with this uid, for an environment of which
    /// nothing else can or should be said any more.
    Scale { key: Key, uid: String, replicas: i32 },
}

impl Write {
    pub fn key(&self) -> Key {
        match self {
            Self::Apply(child) => child.key(),
            Self::Strip { key, .. } | Self::Disown { key, .. } | Self::Scale { key, .. } => key.clone(),
            Self::Issue(order) => Key { kind: Kind::Secret, name: order.metadata.name.clone().unwrap_or_default() },
        }
    }
}

/// A Secret with `tls.crt`, `tls.key` and `ca.crt`.
#[derive(Debug, Clone, PartialEq)]
pub struct CertificateOrder {
    /// Name, namespace, labels and owner of the Secret.
    pub metadata: ObjectMeta,
    pub authority: Authority,
    /// Sorted.
    pub dns_names: Vec<String>,
    pub lifetime: Duration,
    /// The present certificate is good; only `ca.crt` or the metadata is to be brought up to date.
    pub keep_certificate: bool,
    /// For the log and for a dry run.
    pub why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authority {
    /// Of the planes among themselves.
    Internal,
    /// Of the organization with this name, in the Secret `<name>-ca`.
    Organization(String),
}

/// With the uid as a precondition: what was made anew under the same name is not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    pub key: Key,
    pub uid: String,
    pub why: &'static str,
}

/// A Kubernetes Event about the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Warning, not Normal.
    pub warning: bool,
    pub reason: String,
    /// What was done, as a verb.
    pub action: &'static str,
    pub note: String,
}

/// Decides. The same observation gives the same plan.
pub fn plan(observed: &Observed) -> Plan {
    let hold = Hold::of(&observed.environment);
    if observed.environment.metadata.deletion_timestamp.is_some() {
        return teardown::plan(observed, hold);
    }
    let verdict = validate(observed);
    let changes = match &verdict {
        Ok(desired) => changes::needed(desired, observed),
        Err(_) => changes::frozen(observed, super::validate::off(observed)),
    };
    let findings = Findings::new(observed, &verdict, &changes, hold);
    let conditions = conditions::all(&findings);
    let status = status::status(&findings, &conditions);
    let finalizer = match hold {
        Hold::No if !has_finalizer(&observed.environment) && verdict.is_ok() => Finalizer::Add,
        _ => Finalizer::Keep,
    };
    finish(observed, hold, changes, finalizer, status)
}

/// What anything must go through that becomes a plan: held back if that was asked for.
pub(super) fn finish(
    observed: &Observed,
    hold: Hold,
    changes: Changes,
    finalizer: Finalizer,
    mut status: EnvironmentStatus,
) -> Plan {
    let Changes { mut writes, mut deletes, lines, agreed, mut contests, .. } = changes;
    status.planned_changes = Vec::new();
    if hold == Hold::DryRun {
        status.planned_changes = shortened(lines);
    }
    if hold != Hold::No {
        writes.clear();
        deletes.clear();
        // nothing was repaired
        contests.clone_from(&observed.contests);
        contests.look_again = None;
    }
    Plan {
        finalizer: if hold == Hold::No { finalizer } else { Finalizer::Keep },
        writes,
        deletes,
        events: events::between(observed.environment.status.as_ref(), &status),
        requeue: requeue(observed, contests.look_again),
        agreed,
        contests,
        status,
    }
}

/// Somebody asked that nothing be touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    No,
    DryRun,
    /// The stronger of the two.
    Paused,
}

impl Hold {
    pub fn of(environment: &Environment) -> Self {
        let set = |name: &str| environment.annotations().get(name).is_some_and(|value| value == "true");
        if set(annotation::PAUSED) {
            Self::Paused
        } else if set(annotation::DRY_RUN) {
            Self::DryRun
        } else {
            Self::No
        }
    }
}

pub(super) fn has_finalizer(environment: &Environment) -> bool {
    environment.finalizers().iter().any(|name| name == FINALIZER)
}

/// `status.plannedChanges` holds twenty lines.
fn shortened(mut lines: Vec<String>) -> Vec<String> {
    const MOST: usize = 20;
    if lines.len() > MOST {
        let more = lines.len() - (MOST - 1);
        lines.truncate(MOST - 1);
        lines.push(format!("and {more} more"));
    }
    lines
}

/// When the next certificate is due, or something contested; else after about an hour, in case an event was lost.
fn requeue(observed: &Observed, contested: Option<Timestamp>) -> Duration {
    const SOONEST: Duration = Duration::from_secs(1);
    let due = observed.secrets.iter().filter_map(|secret| secret.certificate.as_ref());
    let until = |at: Timestamp| Duration::try_from(at.duration_since(observed.now)).unwrap_or(SOONEST);
    let timers = due.map(certificates::renewal).filter(|at| *at > observed.now).map(until);
    timers
        .chain(contested.map(until))
        .chain(given::again(observed))
        .chain([resync(observed)])
        .min()
        .unwrap_or(SOONEST)
        .max(SOONEST)
}

/// An hour, give or take a tenth: a fleet that was started together does not come back together.
fn resync(observed: &Observed) -> Duration {
    const HOUR: u64 = 3_600;
    let uid = observed.environment.metadata.uid.as_deref().unwrap_or_default();
    let mix = uid.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    Duration::from_secs(HOUR - HOUR / 10 + mix % (HOUR / 5))
}

/// The status to publish instead of the plan's when one of its writes failed. What came before it
/// is done; the next plan starts from there.
pub fn interrupted(observed: &Observed, plan: &Plan, failed: &Key, message: &str) -> EnvironmentStatus {
    let previous = observed.environment.status.clone().unwrap_or_default();
    let mut status = EnvironmentStatus { observed_generation: plan.status.observed_generation, ..previous };
    status.env_id.clone_from(&plan.status.env_id);
    status.phase = status.phase.or(plan.status.phase);
    status.last_step = Some(format!("apply {failed}"));
    let way_back = plan.status.volume_size.as_ref().filter(|_| failed.kind == Kind::PersistentVolumeClaim);
    let way_back = way_back.map(|size| format!("; spec.storage.size may go back to {}", size.0));
    let message = format!("{message}{}", way_back.unwrap_or_default());
    let failure = Draft::not(crds::ConditionType::Ready, Reason::ApplyFailed, message);
    status.conditions = conditions::replaced(&plan.status.conditions, &failure, observed);
    status
}
