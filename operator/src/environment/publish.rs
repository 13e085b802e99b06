//! Says what came of it: one status, only when it differs, and Events, only of transitions.

use crds::{Condition, ConditionStatus, ConditionType, EnvironmentStatus};
use kube::{Resource, ResourceExt};

use super::observed::Observed;
use super::plan::Plan;
use crate::conditions::Conditions;
use crate::context::{Context, Written};
use crate::error::Class;
use crate::stores::{Item, Place};
use crate::{Error, write};

/// Returns the error that the apply ended with, if the status could be written.
pub async fn publish(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
    applied: Result<(), Error>,
) -> Result<(), Error> {
    let _step = context.step("Environment", "publish");
    let environment = observed.environment.as_ref();
    let status = match &applied {
        Ok(()) => plan.status.clone(),
        Err(error) if matches!(error.class(), Class::Invalid | Class::Transient) => failed(observed, plan, error),
        Err(_) => return applied,
    };
    if environment.status.as_ref() != Some(&status) {
        let written = write::status(&context.client, environment, &status).await?;
        let item = Item::Environment(Place::of(environment));
        context.expected.note(&item, Written::Itself, written.resource_version().as_deref());
    }
    let about = environment.object_ref(&());
    for event in plan.events.iter().filter(|_| applied.is_ok()) {
        context.events.say(about.clone(), event.warning, &event.reason, event.action, &event.note);
    }
    if let Err(error) = &applied
        && !is_degraded(environment.status.as_ref(), error)
    {
        context.events.say(about, true, &format!("{:?}", error.reason()), "Apply", &error.message());
    }
    applied
}

fn is_degraded(status: Option<&EnvironmentStatus>, error: &Error) -> bool {
    let degraded = |condition: &Condition| {
        condition.type_ == ConditionType::Degraded
            && condition.status == ConditionStatus::True
            && condition.reason == error.reason()
    };
    status.is_some_and(|status| status.conditions.iter().any(degraded))
}

/// The plan's status, but for what could not be carried out.
fn failed(observed: &Observed, plan: &Plan, error: &Error) -> EnvironmentStatus {
    let old = observed.environment.status.clone().unwrap_or_default();
    let generation = observed.environment.metadata.generation.unwrap_or_default();
    let (reason, message) = (error.reason(), error.message());
    let conditions = Conditions::from(&old.conditions, plan.status.conditions.clone(), generation, observed.now)
        .flag(ConditionType::Degraded, true, reason, &message)
        .flag(ConditionType::Ready, false, reason, &message)
        .done();
    EnvironmentStatus { conditions, ..plan.status.clone() }
}
