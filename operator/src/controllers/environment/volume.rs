//! The volume as it is against the volume as it should be. It may grow, and never anything else.

use std::sync::Arc;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use crate::objects::child::Child;
use crate::objects::observed::Observed;
use crate::objects::quantity::{Quantity, larger};

/// The progress of an expansion of the volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Growth {
    /// As large as specified, or larger.
    #[default]
    None,
    Growing,
    /// The storage class does not let volumes grow.
    Refused,
}

const STORAGE: &str = "storage";

/// This environment's claim.
pub fn claim<'a>(observed: &'a Observed, name: &str) -> Option<&'a Arc<PersistentVolumeClaim>> {
    observed.children.iter().find_map(|child| match child {
        Child::PersistentVolumeClaim(it) if it.metadata.name.as_deref() == Some(name) => Some(it),
        _ => None,
    })
}

/// As much of what was asked for as the volume has: one that somebody else provided may be larger, and one that
/// cannot grow smaller.
pub fn held(observed: &Observed) -> Option<String> {
    let claim = claim(observed, &format!("{}-data", observed.environment.metadata.name.as_deref()?))?;
    let (requested, capacity) = (requested(claim)?, capacity(claim));
    let smaller = capacity.filter(|capacity| Quantity::parse(capacity) < Quantity::parse(requested));
    Some(smaller.unwrap_or(requested).to_owned())
}

/// The claim to apply over the one there is, and how its size fares.
pub fn fit(
    mut wanted: PersistentVolumeClaim,
    live: &PersistentVolumeClaim,
    observed: &Observed,
) -> (PersistentVolumeClaim, Growth) {
    let specified = requested(&wanted).unwrap_or_default().to_owned();
    let current = requested(live).unwrap_or_default().to_owned();
    let grows = Quantity::parse(&specified) > Quantity::parse(&current);
    let bound = live.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound");
    let refused = grows && observed.cluster.volume_may_grow == Some(false);
    // an API server changes the size of bound claims only, and never makes one smaller
    let size = if grows && bound && !refused { larger(&specified, &current) } else { current.as_str() };
    let size = if current.is_empty() { specified.as_str() } else { size };
    if let Some(request) = request_mut(&mut wanted) {
        size.clone_into(request);
    }
    let behind = capacity(live).is_some_and(|capacity| Quantity::parse(capacity) < Quantity::parse(&specified));
    let growth = match (refused, grows || (bound && behind)) {
        (true, _) => Growth::Refused,
        (false, true) => Growth::Growing,
        (false, false) => Growth::None,
    };
    (wanted, growth)
}

fn requested(claim: &PersistentVolumeClaim) -> Option<&str> {
    Some(claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?.get(STORAGE)?.0.as_str())
}

fn capacity(claim: &PersistentVolumeClaim) -> Option<&str> {
    Some(claim.status.as_ref()?.capacity.as_ref()?.get(STORAGE)?.0.as_str())
}

fn request_mut(claim: &mut PersistentVolumeClaim) -> Option<&mut String> {
    Some(&mut claim.spec.as_mut()?.resources.as_mut()?.requests.as_mut()?.get_mut(STORAGE)?.0)
}
