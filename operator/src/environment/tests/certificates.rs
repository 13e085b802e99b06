//! When certificates are signed anew.

use jiff::SignedDuration;
use serde_json::json;

use super::fixtures::environment;
use super::world::World;
use crate::environment::observed::AuthorityFacts;
use crate::environment::plan::{CertificateOrder, Write};

fn running() -> World {
    let mut world = World::with(environment(&json!({})));
    world.settle();
    world
}

/// The orders of the next plan, and nothing else may be in it.
fn orders(world: &mut World) -> Vec<CertificateOrder> {
    let plan = world.reconcile().unwrap();
    let order = |write: Write| match write {
        Write::Issue(order) => order,
        other => panic!("{other:?}"),
    };
    plan.writes.into_iter().map(order).collect()
}

#[test]
fn a_certificate_is_renewed_at_two_thirds_of_its_life() {
    let mut world = running();
    let begun = world.now;
    world.now = begun + SignedDuration::from_mins(60 * 24 * 60 - 20);
    let plan = world.reconcile().unwrap();
    assert!(plan.writes.is_empty());
    assert!(plan.requeue.as_secs() == 20 * 60, "it comes back in time: {:?}", plan.requeue);
    world.now = begun + SignedDuration::from_hours(60 * 24);
    let orders = orders(&mut world);
    assert_eq!(orders.len(), 2);
    assert!(orders.iter().all(|order| order.why == "due for renewal" && !order.keep_certificate));
    assert!(world.reconcile().unwrap().writes.is_empty(), "and once only");
}

#[test]
fn a_new_authority_is_trusted_first_and_signs_then() {
    let mut world = running();
    let internal = |id: &str, bundle: &str| Some(AuthorityFacts { id: id.to_owned(), bundle: bundle.to_owned() });
    world.authorities.internal = internal("internal", "both");
    let first = orders(&mut world);
    assert!(first.len() == 1 && first[0].keep_certificate, "{first:?}");
    world.authorities.internal = internal("next", "both");
    let second = orders(&mut world);
    assert!(second.len() == 1 && !second[0].keep_certificate, "{second:?}");
    world.authorities.internal = internal("next", "next alone");
    let third = orders(&mut world);
    assert!(third.len() == 1 && third[0].keep_certificate, "{third:?}");
}

#[test]
fn an_authority_that_is_not_known_changes_nothing() {
    let mut world = running();
    world.authorities = crate::environment::observed::Authorities::default();
    assert!(orders(&mut world).is_empty());
}

#[test]
fn the_identity_names_the_uid_and_nothing_that_can_be_chosen() {
    let mut world = World::with(environment(&json!({})));
    let plan = world.reconcile().unwrap();
    let identity = plan.writes.iter().find_map(|write| match write {
        Write::Issue(order) if order.metadata.name.as_deref() == Some("acme-sales-identity") => Some(order),
        _ => None,
    });
    assert_eq!(identity.unwrap().dns_names, ["0c0ffee0-0000-4000-8000-000000000001.env.sluice.internal"]);
}
