//! Objects that remain of an environment, and the policy under which none remains.

use std::sync::Arc;

use crds::{ConditionType, DeletionPolicy, EnvironmentPhase, Reason, TeardownStep};
use serde_json::json;

use super::fixtures::environment;
use super::world::World;
use crate::objects::child::Kind;
use crate::objects::plan::Finalizer;

fn running(policy: DeletionPolicy) -> World {
    let mut world = World::with(environment(&json!({})));
    world.settle();
    world.environment_mut(|it| it.spec.deletion_policy = policy);
    world
}

fn confirm(world: &mut World, slug: &str) {
    let annotation = ("sluice.dev/confirm-delete".to_owned(), slug.to_owned());
    world.environment_mut(|it| it.metadata.annotations = Some([annotation].into()));
}

fn ready(world: &World) -> Reason {
    let status = world.environment.as_ref().unwrap().status.as_ref().unwrap();
    status.conditions.iter().find(|it| it.type_ == ConditionType::Ready).unwrap().reason
}

#[test]
fn a_deletion_leaves_the_volume_and_nothing_else() {
    let mut world = running(DeletionPolicy::Retain);
    world.delete_environment();
    world.settle();
    world.controllers();
    assert!(world.environment.is_none());
    assert_eq!(world.remains(), [Kind::PersistentVolumeClaim]);
}

#[test]
fn a_volume_goes_only_when_its_environment_is_confirmed_by_name() {
    for policy in [DeletionPolicy::Delete, DeletionPolicy::Snapshot] {
        let mut world = running(policy);
        world.delete_environment();
        for slug in ["", "true", "acme-sales"] {
            confirm(&mut world, slug);
            world.settle();
            assert_eq!(ready(&world), Reason::DeletionNotConfirmed, "{slug:?}");
            assert_eq!(world.serving().len(), 1, "nothing has begun");
        }
        confirm(&mut world, "sales");
        world.settle();
        world.controllers();
        assert!(world.environment.is_none() && world.volume().is_none());
        assert_eq!(world.snapshots(), usize::from(policy == DeletionPolicy::Snapshot));
    }
}

#[test]
fn a_change_of_mind_keeps_the_volume() {
    let mut world = running(DeletionPolicy::Delete);
    world.delete_environment();
    world.settle();
    world.environment_mut(|it| it.spec.deletion_policy = DeletionPolicy::Retain);
    world.settle();
    assert!(world.environment.is_none() && world.volume().is_some());
}

#[test]
fn a_snapshot_that_cannot_be_taken_keeps_the_volume() {
    let mut world = running(DeletionPolicy::Snapshot);
    world.surroundings.cluster.has_volume_snapshots = false;
    confirm(&mut world, "sales");
    world.delete_environment();
    world.settle();
    assert_eq!(ready(&world), Reason::Invalid);
    assert!(world.volume().is_some() && world.serving().len() == 1);
}

#[test]
fn the_steps_are_taken_in_order_and_written_down() {
    let mut world = running(DeletionPolicy::Snapshot);
    confirm(&mut world, "sales");
    world.delete_environment();
    let mut seen = Vec::new();
    while world.environment.is_some() {
        let plan = world.reconcile().unwrap();
        assert_eq!(plan.status.phase, Some(EnvironmentPhase::Decommissioning));
        let removes_volume = plan.deletes.iter().any(|it| it.key.kind == Kind::PersistentVolumeClaim);
        assert!(!removes_volume || world.snapshots() == 1);
        seen.extend(plan.status.teardown.iter().filter(|step| !seen.contains(*step)).copied().collect::<Vec<_>>());
        world.controllers();
    }
    let all = [TeardownStep::Drained, TeardownStep::KeysRevoked, TeardownStep::Exported, TeardownStep::WorkloadRemoved];
    assert_eq!(seen, all);
}

#[test]
fn keys_go_before_the_environment_does() {
    let mut world = running(DeletionPolicy::Retain);
    let key = json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "ApiKey", "metadata": {"name": "k", "uid": "u"},
        "spec": {"environmentRef": {"name": "acme-sales"}, "name": "k", "scopes": ["query:read"],
                 "secretRef": {"name": "k"}}});
    world.keys.insert("k".to_owned(), Arc::new(serde_json::from_value(key).unwrap()));
    world.delete_environment();
    let first = world.reconcile().unwrap();
    assert!(first.deletes.iter().any(|it| it.key.kind == Kind::ApiKey));
    assert_eq!(first.finalizer, Finalizer::Keep);
    world.settle();
    assert!(world.environment.is_none() && world.keys.is_empty());
}

#[test]
fn a_pause_holds_a_deletion_too() {
    let mut world = running(DeletionPolicy::Retain);
    let annotation = ("sluice.dev/paused".to_owned(), "true".to_owned());
    world.environment_mut(|it| it.metadata.annotations = Some([annotation].into()));
    world.delete_environment();
    world.settle();
    assert!(world.environment.is_some());
    assert_eq!(world.serving().len(), 1);
}

#[test]
fn a_secret_of_cert_managers_goes_too() {
    let mut world = World::with(environment(&json!({"tls": {"mode": "CertManager", "issuerRef": {"name": "ca"}}})));
    world.settle();
    assert!(world.remains().contains(&Kind::Certificate));
    world.delete_environment();
    world.settle();
    world.controllers();
    assert_eq!(world.remains(), [Kind::PersistentVolumeClaim]);
}
