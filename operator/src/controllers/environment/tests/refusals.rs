//! A spec that cannot be carried out makes nothing, and the status says why.

use std::sync::Arc;

use crds::{ConditionStatus, ConditionType, OrganizationPhase, Reason};
use serde_json::{Value, json};

use super::fixtures::{environment, observed};
use crate::controllers::environment::plan::plan;
use crate::objects::observed::{Observed, Sibling};
use crate::objects::plan::Finalizer;

type Situation = (&'static str, Value, fn(&mut Observed), Reason, &'static str);

fn nothing(_: &mut Observed) {}

fn four_older(it: &mut Observed) {
    let older = |number: i64| Sibling { created: jiff::Timestamp::from_second(number).ok(), uid: number.to_string() };
    it.siblings = (1..=5).map(older).collect();
}

fn organization(it: &mut Observed) -> &mut crds::Organization {
    Arc::make_mut(it.organization.as_mut().unwrap())
}

fn situations() -> Vec<Situation> {
    let lake = json!({"storage": {"format": "lake", "objectStore": {"url": "s3://b/p"}}});
    vec![
        ("no organization", json!({}), |it| it.organization = None, Reason::ReferenceNotFound, "no Organization acme"),
        (
            "not looked at yet",
            json!({}),
            |it| organization(it).status = None,
            Reason::OrganizationNotActive,
            "not active yet",
        ),
        (
            "being provisioned",
            json!({}),
            |it| organization(it).status.as_mut().unwrap().phase = Some(OrganizationPhase::Provisioning),
            Reason::OrganizationNotActive,
            "not active yet",
        ),
        ("five older of five", json!({}), four_older, Reason::QuotaExceeded, "may have 5 environments"),
        (
            "an override of none",
            json!({}),
            |it| organization(it).spec.quotas.max_environments = Some(0),
            Reason::QuotaExceeded,
            "may have 0 environments",
        ),
        ("two writers", json!({"dataPlane": {"replicas": 2}}), nothing, Reason::Invalid, "one writer"),
        ("no size", json!({"storage": {"size": "lots"}}), nothing, Reason::Invalid, "spec.storage.size"),
        (
            "little memory",
            json!({"dataPlane": {"resources": {"limits": {"memory": "100Mi"}}}}),
            nothing,
            Reason::Invalid,
            "384Mi",
        ),
        ("a tag that is none", json!({"dataPlane": {"version": "a/b:c"}}), nothing, Reason::Invalid, "tag of an image"),
        ("no range", json!({"network": {"allowedCidrs": ["10.0.0.0/33"]}}), nothing, Reason::Invalid, "10.0.0.0/33"),
        (
            "a range of both kinds of addresses",
            json!({"network": {"allowedCidrs": ["10.0.0.0/8", "::ffff:0:0/95"]}}),
            nothing,
            Reason::Invalid,
            "::ffff:0:0/95",
        ),
        ("another name", json!({"slug": "other"}), nothing, Reason::Invalid, "metadata.name"),
        (
            "no cert-manager",
            json!({"tls": {"mode": "CertManager", "issuerRef": {"name": "ca"}}}),
            |it| it.cluster.has_cert_manager = false,
            Reason::Invalid,
            "needs cert-manager",
        ),
        ("no lake", lake, |it| Arc::make_mut(&mut it.release).serves_lake = false, Reason::Invalid, "does not serve"),
    ]
}

/// Bounds of plans outside of the ranges that the schema has.
fn wrong_plans() -> [Situation; 3] {
    let plans = |given: Value| json!({"dataPlane": {"plans": given}});
    let invalid =
        |name, given: Value, message| -> Situation { (name, plans(given), nothing, Reason::Invalid, message) };
    [
        invalid("at once", json!({"idleSecs": 0}), "spec.dataPlane.plans.idleSecs must be 1 to 86400"),
        invalid("below zero", json!({"bytes": -1}), "spec.dataPlane.plans.bytes must be 0 to 1073741824"),
        invalid("too many", json!({"inEngine": 1001}), "spec.dataPlane.plans.inEngine must be 0 to 1000"),
    ]
}

#[test]
fn what_cannot_be_carried_out_makes_nothing_and_says_why() {
    for (name, spec, arrange, reason, message) in situations().into_iter().chain(wrong_plans()) {
        let mut observed = observed(environment(&spec));
        arrange(&mut observed);
        let plan = plan(&observed);
        assert!(plan.writes.is_empty() && plan.deletes.is_empty(), "{name}: {:?}", plan.writes);
        assert_eq!(plan.finalizer, Finalizer::Keep, "{name}");
        let ready = plan.status.conditions.iter().find(|it| it.type_ == ConditionType::Ready).unwrap();
        assert_eq!((ready.status, ready.reason), (ConditionStatus::False, reason), "{name}");
        assert!(ready.message.contains(message), "{name}: {}", ready.message);
    }
}

#[test]
fn the_oldest_environments_have_the_places() {
    let mut observed = observed(environment(&json!({})));
    four_older(&mut observed);
    observed.siblings.pop();
    assert!(!plan(&observed).writes.is_empty(), "four are older, five may be");
    organization(&mut observed).spec.quotas.max_environments = Some(4);
    assert!(plan(&observed).writes.is_empty(), "an override counts");
    organization(&mut observed).spec.tier = crds::Tier::Enterprise;
    organization(&mut observed).spec.quotas.max_environments = None;
    assert!(!plan(&observed).writes.is_empty(), "no limit");
}

#[test]
fn a_running_environment_keeps_running_when_it_becomes_invalid() {
    let mut world = super::world::World::with(environment(&json!({})));
    world.settle();
    let before = world.log.len();
    world.environment_mut(|it| it.spec.data_plane.replicas = 5);
    world.settle();
    assert_eq!(world.log[before..], ["status"]);
    assert_eq!(world.serving().len(), 1);
    let plan = world.reconcile().unwrap();
    let degraded = plan.status.conditions.iter().find(|it| it.type_ == ConditionType::Degraded).unwrap();
    assert_eq!((degraded.status, degraded.reason), (ConditionStatus::True, Reason::Invalid));
}

#[test]
fn a_volume_of_another_organization_is_not_taken_over() {
    let mut world = super::world::World::with(environment(&json!({})));
    world.settle();
    world.delete_environment();
    world.settle();
    assert!(world.environment.is_none() && world.volume().is_some());
    world.organization.as_mut().unwrap().metadata.uid = Some("another".to_owned());
    world.restore_environment();
    let plan = world.reconcile().unwrap();
    assert!(plan.writes.is_empty());
    let valid = plan.status.conditions.iter().find(|it| it.type_ == ConditionType::SpecValid).unwrap();
    assert!(valid.message.contains("holds data of another organization"), "{}", valid.message);
}
