//! The Environment controller: gather → validate → plan → apply → publish.
//!
//! The middle is pure: [`crate::objects::observed::Observed`] goes in, a [`Plan`] comes out. It reads no clock,
//! asks no server, and the same input gives the same plan; so a dry run, a test over ten thousand
//! histories and the running operator execute the same code. Around it, [`gather`] reads the stores,
//! [`apply`] and [`publish`] write.

mod additions;
pub mod apply;
pub mod build;
mod certificates;
mod changes;
mod conditions;
mod events;
mod field_manager;
mod findings;
pub mod fleet;
pub mod gather;
mod given;
mod phase;
pub mod plan;
pub mod publish;
mod status;
mod teardown;
#[cfg(test)]
mod tests;
pub mod validate;
mod volume;
mod workload;

use std::sync::Arc;
use std::time::Duration;

use crate::Error;
use crate::context::Context;
use crate::objects::agreed::Agreed;
use crate::objects::contest::Contests;
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::observed::Observed;
use crate::objects::plan::{Finalizer, Plan};
use crate::stores::Item;

/// Returns how soon to look again; absent: it is gone.
pub(crate) async fn reconcile(context: &Context, place: &NamespacedName) -> Result<Option<Duration>, Error> {
    let item = Item::Environment(place.clone());
    context.seen_own_writes(&item)?;
    let Some(mut observed) = gather::gather(context, place) else {
        context.agreed.set(place, None);
        context.contested.set(place, Contests::default());
        return Ok(None);
    };
    observed.given_certificate = given::read(context, &observed.environment, place).await;
    let mut plan = planned(context, &observed);
    if let Some(named) = field_manager::name(context, &observed, &plan.contests).await {
        observed.contests = Arc::new(named);
        plan = planned(context, &observed);
    }
    if !same(observed.agreed.as_ref(), plan.agreed.as_ref()) {
        context.agreed.set(place, plan.agreed.clone());
    }
    let applied = apply::apply(context, &observed, &plan).await;
    if applied.is_ok() {
        context.contested.set(place, plan.contests.clone());
    }
    publish::publish(context, &observed, &plan, applied).await?;
    if plan.finalizer == Finalizer::Remove {
        apply::finalizer(context, &observed, &item, false).await?;
        return Ok(None);
    }
    Ok(Some(plan.requeue))
}

fn planned(context: &Context, observed: &Observed) -> Plan {
    let _step = context.step("Environment", "plan");
    plan::plan(observed)
}

fn same(a: Option<&Arc<Agreed>>, b: Option<&Arc<Agreed>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}
