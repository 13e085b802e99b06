//! The Events of an environment: one for a change of its status, none for a state.

use crds::{Condition, ConditionStatus, ConditionType, EnvironmentStatus, Reason};

use crate::conditions::find;
use crate::objects::plan::Event;

/// Between the status that stands and the one that will.
pub fn between(before: Option<&EnvironmentStatus>, after: &EnvironmentStatus) -> Vec<Event> {
    let none = EnvironmentStatus::default();
    let before = before.unwrap_or(&none);
    let mut events = Vec::new();
    if let Some(phase) = after.phase.filter(|phase| before.phase != Some(*phase)) {
        events.push(normal(format!("{phase:?}"), "Reconcile", format!("the environment is {}", word(phase))));
    }
    let changed = |type_| {
        let said = |condition: &&Condition| {
            let was = find(&before.conditions, type_);
            was.map(|was| (was.status, was.reason)) != Some((condition.status, condition.reason))
        };
        find(&after.conditions, type_).filter(said)
    };
    events.extend(changed(ConditionType::Ready).and_then(of_ready));
    let degraded = changed(ConditionType::Degraded).filter(|it| it.status == ConditionStatus::True);
    events.extend(degraded.map(warning).filter(|event| !events.contains(event)).into_iter().collect::<Vec<_>>());
    for step in after.teardown.iter().filter(|step| !before.teardown.contains(step)) {
        events.push(normal(format!("{step:?}"), "Delete", format!("deletion: {step:?} is done")));
    }
    events
}

fn of_ready(condition: &Condition) -> Option<Event> {
    match (condition.status, condition.reason) {
        (ConditionStatus::True, _) => Some(normal("Ready".to_owned(), "Reconcile", "as specified".to_owned())),
        // somebody has to act
        (
            ConditionStatus::False,
            Reason::Invalid
            | Reason::QuotaExceeded
            | Reason::ReferenceNotFound
            | Reason::CrashLooping
            | Reason::Unschedulable
            | Reason::ReplicaFailure
            | Reason::RolloutTimedOut
            | Reason::DeletionNotConfirmed
            | Reason::ExpansionNotAllowed,
        ) => Some(warning(condition)),
        _ => None,
    }
}

fn word(phase: crds::EnvironmentPhase) -> String {
    format!("{phase:?}").to_lowercase()
}

fn normal(reason: String, action: &'static str, note: String) -> Event {
    Event { warning: false, reason, action, note }
}

fn warning(condition: &Condition) -> Event {
    Event {
        warning: true,
        reason: format!("{:?}", condition.reason),
        action: "Reconcile",
        note: condition.message.clone(),
    }
}
