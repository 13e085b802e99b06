//! The decision about an environment: from everything observed of it to a plan.

use std::time::Duration;

use crds::{EnvironmentStatus, Reason};
use jiff::Timestamp;

use super::changes::{self, Changes};
use super::findings::Findings;
use super::validate::validate;
use super::{certificates, conditions, events, given, status, teardown};
use crate::cluster::write;
use crate::conditions::Draft;
use crate::objects::child::{Key, Kind};
use crate::objects::hold::Hold;
use crate::objects::observed::Observed;
use crate::objects::plan::{Finalizer, Plan};

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
        Hold::No if !write::has_finalizer(observed.environment.as_ref()) && verdict.is_ok() => Finalizer::Add,
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
    status.conditions = conditions::replaced(&plan.status.conditions, failure, observed);
    status
}
