//! Everything that a plan depends on, from the stores alone: a settled environment costs no request.

use std::sync::Arc;

use crds::{Environment, Reason};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;

use super::child::{Child, Kind};
use super::fleet::{self, Member, Movement};
use super::observed::{Authorities, ClusterFacts, Given, Observed, Sibling};
use crate::context::Context;
use crate::release;
use crate::stores::{Packed, Place, SecretOf, organization_of};

/// Nothing: the environment is gone.
pub fn gather(context: &Context, place: &Place) -> Option<Observed> {
    let _step = context.step("Environment", "gather");
    let stores = &context.stores;
    let environment = stores.environments.get(place)?;
    let organization = organization_of(&environment);
    let known = stores.secrets.group(place);
    let children = children(context, place);
    let authority = |place: &Place| stores.secrets.get(place).and_then(|known| known.authority);
    let signer = Place::new(&place.namespace, &format!("{}-ca", organization.name));
    Some(Observed {
        organization: stores.organizations.get(&organization),
        siblings: siblings(context, &organization, &children),
        secrets: known
            .into_iter()
            .filter(|known| matches!(known.of, SecretOf::Environment(_)))
            .map(|known| known.facts)
            .collect(),
        given_certificate: Given::Unseen,
        pods: stores.pods.group(place),
        keys: stores.api_keys.group(place),
        authorities: Authorities {
            internal: authority(&release::authority(context)),
            organization: authority(&signer),
        },
        cluster: ClusterFacts {
            volume_may_grow: volume(&children)
                .and_then(|it| class_of(&it))
                .and_then(|it| stores.storage_classes.get(&it)),
            has_volume_snapshots: stores.is_served(Kind::VolumeSnapshot),
            has_cert_manager: stores.is_served(Kind::Certificate),
        },
        release: Arc::clone(&context.release),
        may_move: may_move(context, &environment),
        agreed: context.agreed.get(place),
        now: context.now(),
        children,
        environment,
    })
}

fn children(context: &Context, place: &Place) -> Vec<Child> {
    // to read what was written here a moment ago does not fail
    let read = |it: Packed| it.child().inspect_err(|error| tracing::error!(%error, "a child cannot be read")).ok();
    context.stores.children.group(place).into_iter().filter_map(read).collect()
}

/// Nobody, where nobody asks: an environment that runs keeps its place, whatever the quota.
fn siblings(context: &Context, organization: &Place, children: &[Child]) -> Vec<Sibling> {
    if children.iter().any(|child| child.kind() == Kind::Deployment) {
        return Vec::new();
    }
    context.stores.environments.group(organization).iter().map(|it| sibling(it)).collect()
}

fn sibling(environment: &Environment) -> Sibling {
    Sibling {
        created: environment.metadata.creation_timestamp.as_ref().map(|time| time.0),
        uid: environment.uid().unwrap_or_default(),
    }
}

fn volume(children: &[Child]) -> Option<Arc<PersistentVolumeClaim>> {
    children.iter().find_map(|child| match child {
        Child::PersistentVolumeClaim(claim) => Some(Arc::clone(claim)),
        _ => None,
    })
}

fn class_of(claim: &PersistentVolumeClaim) -> Option<String> {
    claim.spec.as_ref()?.storage_class_name.clone()
}

/// Whether it is this one's turn. Decided for the whole fleet, and only for one that has a move to
/// make: everybody else costs nothing.
fn may_move(context: &Context, environment: &Environment) -> bool {
    let uid = environment.uid().unwrap_or_default();
    match movement(context, environment) {
        None | Some(Movement::Arrived) => true,
        Some(_) => {
            let fleet: Vec<Member> = context
                .stores
                .environments
                .values()
                .iter()
                .filter_map(|it| movement(context, it).map(|state| Member { uid: it.uid().unwrap_or_default(), state }))
                .collect();
            fleet::may_move(&fleet, &context.rollout).contains(&uid)
        }
    }
}

/// Nothing: it chooses its own version, never ran any, or is switched off, and so is not of the fleet.
fn movement(context: &Context, environment: &Environment) -> Option<Movement> {
    let status = environment.status.as_ref()?;
    let runs = status.version.as_ref()?;
    if environment.spec.data_plane.version.is_some() || environment.spec.suspended {
        return None;
    }
    if *runs == context.release.version {
        return Some(Movement::Arrived);
    }
    let place = Place::of(environment);
    let deployment = context.stores.children.get(&(Kind::Deployment, place));
    let told = deployment.and_then(|it| it.image_tag).is_some_and(|tag| *tag == context.release.version);
    let late = status.conditions.iter().any(|condition| condition.reason == Reason::RolloutTimedOut);
    Some(match (told, late) {
        (true, true) => Movement::Failed,
        (true, false) => Movement::Moving,
        (false, _) => Movement::Waiting,
    })
}
