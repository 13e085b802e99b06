//! What becomes of an environment while it lives: as tables.

use crds::{Condition, ConditionStatus, ConditionType, EnvironmentPhase, EnvironmentStatus, Reason};
use serde_json::json;

use super::fixtures::environment;
use super::world::World;
use crate::environment::child::Kind;
use crate::environment::plan::Plan;

fn said(plan: &Plan, type_: ConditionType) -> (ConditionStatus, Reason) {
    let found: Vec<&Condition> = plan.status.conditions.iter().filter(|it| it.type_ == type_).collect();
    assert_eq!(found.len(), 1, "{type_:?}");
    (found[0].status, found[0].reason)
}

fn status(world: &World) -> EnvironmentStatus {
    world.environment.as_ref().unwrap().status.clone().unwrap()
}

fn running() -> World {
    let mut world = World::with(environment(&json!({})));
    world.settle();
    world
}

#[test]
fn an_environment_comes_up_in_twelve_writes() {
    let world = running();
    let expected = [
        "finalizer",
        "ServiceAccount/acme-sales",
        "PersistentVolumeClaim/acme-sales-data",
        "ConfigMap/acme-sales-config",
        "Secret/acme-sales-identity",
        "Secret/acme-sales-tls",
        "Service/acme-sales",
        "NetworkPolicy/acme-sales",
        "Deployment/acme-sales",
        "status",
        "status",
    ];
    assert_eq!(world.log, expected);
    let status = status(&world);
    assert_eq!(status.phase, Some(EnvironmentPhase::Active));
    let connection = status.connection.unwrap();
    assert_eq!((connection.host.as_str(), connection.port), ("acme-sales.tenants.svc.cluster.local", 5439));
    assert_eq!((connection.database.as_str(), status.version.as_deref()), ("sales", Some("0.1.0")));
    assert_eq!((status.replicas, status.suspended_replicas), (Some(1), None));
}

#[test]
fn a_settled_environment_is_left_alone() {
    let mut world = running();
    let (before, plan) = (world.log.len(), world.reconcile().unwrap());
    assert_eq!(world.log.len(), before);
    assert!(plan.writes.is_empty() && plan.deletes.is_empty() && plan.events.is_empty());
    let minutes = plan.requeue.as_secs() / 60;
    assert!((54..=66).contains(&minutes), "{minutes}");
}

#[test]
fn every_condition_carries_the_generation() {
    let mut world = running();
    world.environment_mut(|it| it.spec.name = "Other".to_owned());
    let plan = world.reconcile().unwrap();
    assert_eq!(plan.status.observed_generation, Some(2));
    assert_eq!(plan.status.conditions.len(), 12);
    assert!(plan.status.conditions.iter().all(|it| it.observed_generation == 2));
    assert_eq!(said(&plan, ConditionType::Ready), (ConditionStatus::True, Reason::AsSpecified));
}

#[test]
fn a_change_that_restarts_costs_three_writes_and_ready_waits_for_it() {
    let mut world = running();
    let before = world.log.len();
    world.environment_mut(|it| it.spec.data_plane.version = Some("0.2.0".to_owned()));
    let first = world.reconcile().unwrap();
    assert_eq!(said(&first, ConditionType::Ready), (ConditionStatus::Unknown, Reason::NewGeneration));
    assert_eq!(said(&first, ConditionType::Progressing), (ConditionStatus::True, Reason::RollingOut));
    assert_eq!(first.status.phase, Some(EnvironmentPhase::Active));
    assert_eq!(first.status.version.as_deref(), Some("0.1.0"));
    world.settle();
    assert_eq!(world.log[before..], ["Deployment/acme-sales", "status", "status"]);
    assert_eq!(status(&world).version.as_deref(), Some("0.2.0"));
}

#[test]
fn a_change_of_one_child_costs_two_writes() {
    let mut world = running();
    let before = world.log.len();
    world.environment_mut(|it| it.spec.network.allowed_cidrs = vec!["10.0.0.0/8".to_owned()]);
    world.settle();
    assert_eq!(world.log[before..], ["NetworkPolicy/acme-sales", "status"]);
}

#[test]
fn what_somebody_changed_is_put_right_and_nothing_else_is_written() {
    let edits: [(Kind, &str, serde_json::Value); 5] = [
        (Kind::Service, "/spec/ports/0/port", json!(1)),
        (Kind::ConfigMap, "/data/SLUICE_STATE", json!("/elsewhere")),
        (Kind::NetworkPolicy, "/spec/egress", json!([])),
        (Kind::ServiceAccount, "/automountServiceAccountToken", json!(true)),
        (Kind::Deployment, "/spec/template/spec/securityContext/runAsNonRoot", json!(false)),
    ];
    for (kind, place, value) in edits {
        let mut world = running();
        world.edit(kind, |object| *object.pointer_mut(place).unwrap() = value);
        let plan = world.reconcile().unwrap();
        assert_eq!(plan.writes.len(), 1, "{kind}");
        assert_eq!(plan.writes[0].key().kind, kind);
        world.settle();
    }
}

#[test]
fn what_is_no_longer_wanted_is_deleted() {
    let mut world = World::with(environment(&json!({
        "storage": {"format": "lake", "objectStore": {"url": "s3://b/p"}}, "dataPlane": {"replicas": 3}})));
    world.settle();
    assert!(world.remains().contains(&Kind::PodDisruptionBudget));
    world.environment_mut(|it| it.spec.data_plane.replicas = 1);
    world.settle();
    assert!(!world.remains().contains(&Kind::PodDisruptionBudget));
    assert!(!world.remains().contains(&Kind::PersistentVolumeClaim));
}

#[test]
fn suspend_and_resume_keep_everything_but_the_pods() {
    let mut world = running();
    let before = world.remains();
    world.environment_mut(|it| it.spec.suspended = true);
    let first = world.reconcile().unwrap();
    assert_eq!(said(&first, ConditionType::Draining), (ConditionStatus::True, Reason::WaitingForQueries));
    assert_eq!(first.status.phase, Some(EnvironmentPhase::Active));
    world.settle();
    let suspended = status(&world);
    assert_eq!((suspended.phase, suspended.suspended_replicas), (Some(EnvironmentPhase::Suspended), Some(1)));
    assert_eq!((suspended.replicas, world.serving().len()), (Some(0), 0));
    world.environment_mut(|it| it.spec.suspended = false);
    assert_eq!(world.reconcile().unwrap().status.phase, Some(EnvironmentPhase::Active));
    world.settle();
    assert_eq!((status(&world).suspended_replicas, world.serving().len()), (None, 1));
    assert_eq!(world.remains(), before);
}

#[test]
fn an_organization_that_is_suspended_suspends_its_environments() {
    let mut world = running();
    world.organization.as_mut().unwrap().spec.suspended = true;
    world.settle();
    let plan = world.reconcile().unwrap();
    assert_eq!(said(&plan, ConditionType::Suspended), (ConditionStatus::True, Reason::OrganizationNotActive));
    assert_eq!(said(&plan, ConditionType::OrganizationActive).0, ConditionStatus::False);
    assert_eq!(plan.status.phase, Some(EnvironmentPhase::Suspended));
}

#[test]
fn an_invalid_environment_is_suspended_with_its_organization_all_the_same() {
    let mut world = running();
    world.environment_mut(|it| it.spec.data_plane.replicas = 2);
    world.organization.as_mut().unwrap().spec.suspended = true;
    world.settle();
    assert!(world.serving().is_empty());
}

#[test]
fn a_rollout_that_does_not_come_up_is_halted_and_said_to_be() {
    let mut world = running();
    world.broken_version = Some("0.2.0".to_owned());
    world.environment_mut(|it| it.spec.data_plane.version = Some("0.2.0".to_owned()));
    world.settle();
    let plan = world.reconcile().unwrap();
    assert_eq!(said(&plan, ConditionType::Ready), (ConditionStatus::False, Reason::RolloutTimedOut));
    assert_eq!(said(&plan, ConditionType::Degraded), (ConditionStatus::True, Reason::RolloutTimedOut));
    assert_eq!(said(&plan, ConditionType::WorkloadAvailable).0, ConditionStatus::True);
    assert_eq!((plan.status.phase, plan.status.version.as_deref()), (Some(EnvironmentPhase::Active), Some("0.1.0")));
    world.environment_mut(|it| it.spec.data_plane.version = Some("0.1.0".to_owned()));
    world.settle();
    let plan = world.reconcile().unwrap();
    assert_eq!(said(&plan, ConditionType::Ready), (ConditionStatus::True, Reason::AsSpecified));
}

#[test]
fn a_volume_grows_where_its_class_lets_it_and_says_so_where_not() {
    for (allowed, size, ready) in [(true, "20Gi", ConditionStatus::True), (false, "10Gi", ConditionStatus::False)] {
        let mut world = running();
        world.surroundings.cluster.volume_may_grow = Some(allowed);
        world.environment_mut(|it| it.spec.storage.size.0 = "20Gi".to_owned());
        world.settle();
        let claim = world.volume().unwrap().spec.unwrap().resources.unwrap().requests.unwrap();
        assert_eq!(claim["storage"].0, size);
        let plan = world.reconcile().unwrap();
        assert_eq!(said(&plan, ConditionType::Ready).0, ready);
        assert_eq!(said(&plan, ConditionType::Degraded).1 == Reason::ExpansionNotAllowed, !allowed);
    }
}

#[test]
fn a_pause_writes_the_status_and_nothing_else() {
    let mut world = running();
    world.environment_mut(|it| {
        it.metadata.annotations = Some([("sluice.dev/paused".to_owned(), "true".to_owned())].into());
        it.spec.data_plane.version = Some("0.2.0".to_owned());
    });
    let before = world.log.len();
    let plan = world.reconcile().unwrap();
    assert_eq!(world.log[before..], ["status"]);
    assert_eq!(said(&plan, ConditionType::Paused).0, ConditionStatus::True);
    assert_eq!(said(&plan, ConditionType::Ready), (ConditionStatus::Unknown, Reason::PausedByAnnotation));
    world.environment_mut(|it| it.metadata.annotations = None);
    world.settle();
    assert_eq!(status(&world).version.as_deref(), Some("0.2.0"));
}

#[test]
fn a_dry_run_says_what_it_would_do() {
    let mut world = running();
    world.environment_mut(|it| {
        it.metadata.annotations = Some([("sluice.dev/dry-run".to_owned(), "true".to_owned())].into());
        it.spec.data_plane.version = Some("0.2.0".to_owned());
    });
    let before = world.log.len();
    let plan = world.reconcile().unwrap();
    assert_eq!(world.log[before..], ["status"]);
    assert_eq!(plan.status.planned_changes.len(), 1);
    assert!(plan.status.planned_changes[0].starts_with("change Deployment/acme-sales: "), "{plan:?}");
    world.environment_mut(|it| it.metadata.annotations = None);
    world.settle();
    assert!(status(&world).planned_changes.is_empty());
}

#[test]
fn events_tell_of_changes_only() {
    let mut world = World::with(environment(&json!({})));
    let reasons = |plan: &Plan| plan.events.iter().map(|event| event.reason.clone()).collect::<Vec<_>>();
    assert_eq!(reasons(&world.reconcile().unwrap()), ["Provisioning"]);
    assert_eq!(reasons(&world.reconcile().unwrap()), Vec::<String>::new());
    world.controllers();
    world.controllers();
    assert_eq!(reasons(&world.reconcile().unwrap()), ["Active", "Ready"]);
    assert_eq!(reasons(&world.reconcile().unwrap()), Vec::<String>::new());
}

#[test]
fn what_an_earlier_environment_left_is_cleared_before_it_is_made_anew() {
    let mut world = running();
    world.environment.as_mut().unwrap().metadata.uid = Some("another".to_owned());
    world.environment.as_mut().unwrap().status = None;
    let plan = world.reconcile().unwrap();
    assert_eq!(plan.deletes.len(), 5, "{:?}", plan.deletes);
    assert_ne!(said(&plan, ConditionType::Ready).0, ConditionStatus::True);
    world.settle();
    assert_eq!(status(&world).phase, Some(EnvironmentPhase::Active));
    let owner = world.deployment().unwrap().metadata.owner_references.unwrap();
    assert_eq!(owner[0].uid, "another");
}
