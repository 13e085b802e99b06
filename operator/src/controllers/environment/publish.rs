//! The result of a reconcile: one status, written only when it differs, and Events, only for transitions.

use crds::{Condition, ConditionStatus, ConditionType, EnvironmentStatus, Reason};
use kube::Resource;

use super::apply::ApplyFailure;
use super::plan::interrupted;
use crate::Error;
use crate::cluster::write;
use crate::context::Context;
use crate::error::Class;
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::observed::Observed;
use crate::objects::plan::Plan;
use crate::stores::{Item, WrittenObject};

/// Gives back the error that the apply ended with, once it is written down.
pub async fn publish(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
    applied: Result<(), ApplyFailure>,
) -> Result<(), Error> {
    let _step = context.step("Environment", "publish");
    let environment = observed.environment.as_ref();
    let status = match &applied {
        Ok(()) => plan.status.clone(),
        Err(ApplyFailure { at: Some(key), error }) if matches!(error.class(), Class::Invalid | Class::Transient) => {
            interrupted(observed, plan, key, &error.message())
        }
        // nothing that a user should hear of: it is looked at again soon
        Err(_) => return applied.map_err(|failed| failed.error),
    };
    announce(context, observed, plan, &status, &applied);
    if environment.status.as_ref() != Some(&status) {
        let written = write::status(&context.client, environment, &status).await?;
        let item = Item::Environment(NamespacedName::of(environment));
        context.expected.note(&item, WrittenObject::Itself, written.resource_version());
    }
    applied.map_err(|failed| failed.error)
}

fn announce(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
    status: &EnvironmentStatus,
    applied: &Result<(), ApplyFailure>,
) {
    let environment = observed.environment.as_ref();
    let about = environment.object_ref(&());
    match applied {
        Ok(()) => {
            for event in &plan.events {
                context.events.say(about.clone(), event.warning, &event.reason, event.action, &event.note);
            }
        }
        Err(failed) if has_failed(status) && !environment.status.as_ref().is_some_and(has_failed) => {
            context.events.say(about, true, "ApplyFailed", "Apply", &failed.error.message());
        }
        Err(_) => {}
    }
}

fn has_failed(status: &EnvironmentStatus) -> bool {
    let failed = |condition: &Condition| {
        condition.type_ == ConditionType::Ready
            && condition.status != ConditionStatus::True
            && condition.reason == Reason::ApplyFailed
    };
    status.conditions.iter().any(failed)
}
