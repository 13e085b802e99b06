//! When certificates are signed anew.

use crds::{ConditionStatus, ConditionType, Reason};
use jiff::SignedDuration;
use serde_json::json;

use super::fixtures::environment;
use super::world::World;
use crate::objects::observed::{AuthorityFacts, CertificateFacts, GivenCertificate};
use crate::objects::plan::{CertificateOrder, Write};

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
    world.authorities = crate::objects::observed::Authorities::default();
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

fn given(name: &str) -> World {
    let mut world = running();
    world.environment_mut(|it| {
        it.spec.tls = serde_json::from_value(json!({"mode": "Secret", "secretRef": {"name": name}})).unwrap();
    });
    world
}

#[test]
fn a_secret_that_the_specification_names_is_the_users_and_is_not_deleted() {
    for (named, deleted) in [("acme-sales-tls", false), ("mine", true)] {
        let mut world = given(named);
        let before = world.log.len();
        world.settle();
        let log = &world.log[before..];
        assert_eq!(log.contains(&"delete Secret/acme-sales-tls".to_owned()), deleted, "{log:?}");
        // released once, and not by the deletion of what owned it either
        assert_eq!(
            log.iter().filter(|line| *line == "Secret/acme-sales-tls").count(),
            usize::from(!deleted),
            "{log:?}"
        );
    }
    let mut world = given("acme-sales-identity");
    let before = world.log.len();
    world.settle();
    assert!(!world.log[before..].contains(&"Secret/acme-sales-identity".to_owned()), "that one is ours");
}

#[test]
fn a_given_certificate_that_is_missing_unusable_or_expired_is_told() {
    let ready = |given_certificate| {
        let mut world = given("mine");
        world.surroundings.given_certificate = given_certificate;
        world.settle();
        let plan = world.reconcile().unwrap();
        let find = |type_| plan.status.conditions.iter().find(|it| it.type_ == type_).unwrap().clone();
        assert_eq!(find(ConditionType::Ready).status, find(ConditionType::CertificateReady).status);
        (find(ConditionType::CertificateReady), plan.requeue.as_secs())
    };
    let until = |hours: i64| {
        let now = super::fixtures::now();
        GivenCertificate::There(CertificateFacts {
            not_before: now - SignedDuration::from_hours(48),
            not_after: now + SignedDuration::from_mins(hours * 60 - 30),
            dns_names: Vec::new(),
            issuer: String::new(),
            bundle: String::new(),
        })
    };
    let (fine, again) = ready(until(1));
    assert_eq!((fine.reason, again), (Reason::AsSpecified, 30 * 60), "it is looked at when it ends");
    for (given, reason, says) in [
        (GivenCertificate::Missing, Reason::ReferenceNotFound, "there is no Secret mine"),
        (GivenCertificate::Unusable, Reason::Invalid, "Secret mine holds no certificate"),
        (until(0), Reason::CertificatePending, "Secret mine has expired"),
    ] {
        let (condition, again) = ready(given);
        assert_eq!((condition.status, condition.reason), (ConditionStatus::False, reason));
        assert!(condition.message.contains(says) && again == 60, "{again} {}", condition.message);
    }
}
