//! Everything that a plan depends on, from the stores alone: a settled environment costs no request.

use std::sync::Arc;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use super::fleet::{self, Member, Movement};
use crate::context::Context;
use crate::controllers::release;
use crate::objects::child::{Child, Kind};
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::observed::{Authorities, ClusterFacts, GivenCertificate, Observed, Sibling};
use crate::stores::{KnownEnvironment, PackedChild, SecretOf, organization_of};

/// Nothing: the environment is gone.
pub fn gather(context: &Context, place: &NamespacedName) -> Option<Observed> {
    let _step = context.step("Environment", "gather");
    let stores = &context.stores;
    let known = stores.environments.get(place)?;
    // to read what was written there a moment ago does not fail, here and below
    let whole = known.whole().inspect_err(|error| tracing::error!(%error, ?place, "an environment cannot be read"));
    let environment = whole.ok()?;
    let organization = organization_of(&environment);
    let secrets = stores.secrets.group(place);
    let children = children(context, place);
    let authority = |place: &NamespacedName| stores.secrets.get(place).and_then(|known| known.authority.clone());
    let signer = NamespacedName::new(place.namespace(), &format!("{}-ca", organization.name()));
    Some(Observed {
        organization: stores.organizations.get(&organization),
        siblings: siblings(context, &organization, &children),
        secrets: secrets
            .iter()
            .filter(|known| matches!(known.of, SecretOf::Environment(_)))
            .filter_map(|known| known.facts())
            .collect(),
        // not in any store; see `super::given`
        given_certificate: GivenCertificate::Unseen,
        pods: stores.pods.group(place),
        keys: stores.api_keys.group(place),
        authorities: Authorities {
            internal: authority(&release::authority(&context.release)),
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
        may_move: may_move(context, place, &known),
        agreed: context.agreed.get(place),
        contests: context.contested.get(place),
        now: context.now(),
        children,
        environment,
    })
}

fn children(context: &Context, place: &NamespacedName) -> Vec<Child> {
    let read = |it: PackedChild| it.child().inspect_err(|error| tracing::error!(%error, "a child cannot be read")).ok();
    context.stores.children.group(place).into_iter().filter_map(read).collect()
}

/// Nobody, where nobody asks: an environment that runs keeps its place, whatever the quota.
fn siblings(context: &Context, organization: &NamespacedName, children: &[Child]) -> Vec<Sibling> {
    if children.iter().any(|child| child.kind() == Kind::Deployment) {
        return Vec::new();
    }
    context.stores.environments.group(organization).iter().map(|it| sibling(it)).collect()
}

fn sibling(environment: &KnownEnvironment) -> Sibling {
    Sibling { created: environment.created, uid: environment.uid.to_string() }
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
fn may_move(context: &Context, place: &NamespacedName, environment: &KnownEnvironment) -> bool {
    match movement(context, place, environment) {
        None | Some(Movement::Arrived) => true,
        Some(_) => {
            let member = |(place, it): &(NamespacedName, Arc<KnownEnvironment>)| {
                movement(context, place, it).map(|state| Member { uid: it.uid.to_string(), state })
            };
            let fleet: Vec<Member> = context.stores.environments.all().iter().filter_map(member).collect();
            fleet::may_move(&fleet, &context.rollout).contains(&*environment.uid)
        }
    }
}

/// Where it stands on its way to what the release says; nothing: it is not of the fleet.
fn movement(context: &Context, place: &NamespacedName, environment: &KnownEnvironment) -> Option<Movement> {
    let deployment = context.stores.children.get(&(Kind::Deployment, place.clone()));
    let deployed = deployment.and_then(|it| it.deployed);
    Movement::of(environment, deployed.as_deref(), &context.release)
}
