//! Obstacles of a rollout, and the fate of the replica that it replaces.

use crds::{Condition, ConditionStatus, ConditionType, Reason};
use serde_json::json;

use super::fixtures::environment;
use super::world::World;
use crate::controllers::environment::workload::makes_place_by_ending;
use crate::objects::child::Kind;
use crate::objects::observed::PodFacts;

/// What is said while a successor waits on another pool of nodes than the pod that it replaces.
const ANOTHER_POOL: &str = "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, \
                            2 node(s) didn't match pod affinity rules.";
const NO_NODE: &str = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.";
const QUOTA: &str = "exceeded quota: tenants, requested: memory=2Gi, used: memory=8Gi, limited: memory=8Gi";

fn running() -> World {
    let mut world = World::with(environment(&json!({})));
    world.settle();
    world
}

/// With a change that replaces its pods, after one step of the cluster.
fn rolled(mut world: World) -> World {
    world.environment_mut(|it| it.spec.data_plane.version = Some("0.2.0".to_owned()));
    for _ in 0..2 {
        world.reconcile();
        world.controllers();
    }
    world
}

fn conditions(world: &mut World) -> impl Fn(ConditionType) -> Condition + use<> {
    let conditions = world.reconcile().unwrap().status.conditions;
    move |type_| conditions.iter().find(|it| it.type_ == type_).unwrap().clone()
}

fn strategy(world: &World) -> (i64, i64) {
    let deployment = serde_json::to_value(world.deployment().unwrap()).unwrap();
    let of = |name: &str| deployment["spec"]["strategy"]["rollingUpdate"][name].as_i64().unwrap();
    (of("maxSurge"), of("maxUnavailable"))
}

#[test]
fn a_successor_without_a_place_beside_the_old_pod_takes_that_ones_and_the_status_says_so() {
    let mut world = running();
    world.no_place = Some(ANOTHER_POOL);
    world = rolled(world);
    assert_eq!(strategy(&world), (1, 0), "nobody has seen it yet");
    let said = conditions(&mut world);
    assert_eq!(strategy(&world), (0, 1));
    for (type_, status, reason) in [
        (ConditionType::Ready, ConditionStatus::Unknown, Reason::Unschedulable),
        (ConditionType::Progressing, ConditionStatus::True, Reason::RollingOut),
        (ConditionType::Degraded, ConditionStatus::True, Reason::Unschedulable),
    ] {
        let said = said(type_);
        assert_eq!((said.status, said.reason), (status, reason), "{type_:?}");
        assert!(said.message.contains("the old one first") && said.message.contains(ANOTHER_POOL), "{}", said.message);
    }
    world.settle();
    assert_eq!(strategy(&world), (1, 0), "the next rollout begins as each does");
    let said = conditions(&mut world);
    assert_eq!(said(ConditionType::Ready).status, ConditionStatus::True);
    assert_eq!(world.serving()[0]["spec"]["containers"][0]["image"], "registry.example/sluice/dataplane:0.2.0");
}

#[test]
fn the_old_pod_goes_on_where_its_end_would_make_no_place() {
    let mut world = running();
    world.no_place = Some(NO_NODE);
    world = rolled(world);
    world.settle();
    assert_eq!((strategy(&world), world.serving().len()), ((1, 0), 1));
    let said = conditions(&mut world);
    let ready = said(ConditionType::Ready);
    assert_eq!((ready.status, ready.reason), (ConditionStatus::Unknown, Reason::Unschedulable));
    assert_eq!(ready.message, format!("replicas are being replaced: {NO_NODE}"));
    assert_eq!(said(ConditionType::WorkloadAvailable).status, ConditionStatus::True);
    world.edit(Kind::Deployment, |object| {
        object["status"]["conditions"] =
            json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]);
    });
    let said = conditions(&mut world);
    for type_ in [ConditionType::Ready, ConditionType::Progressing, ConditionType::Degraded] {
        let said = said(type_);
        assert_eq!(said.reason, Reason::RolloutTimedOut, "{type_:?}");
        assert!(said.message.ends_with(NO_NODE), "{}", said.message);
    }
}

#[test]
fn what_a_pods_end_makes_place_for_is_told_from_what_it_does_not() {
    let pod = |unschedulable: Option<&str>, ready| PodFacts {
        name: String::new(),
        ready,
        ending: false,
        waiting: None,
        unschedulable: unschedulable.map(str::to_owned),
    };
    for (message, expected) in [
        (ANOTHER_POOL, true),
        ("0/1 nodes are available: 1 Insufficient memory.", true),
        ("0/2 nodes are available: 1 Too many pods, 1 node(s) had untolerated taint {dedicated: other}.", true),
        ("0/2 nodes are available: 2 node(s) exceed max volume count.", true),
        (NO_NODE, false),
        ("0/2 nodes are available: 2 node(s) had volume node affinity conflict.", false),
        ("0/2 nodes are available: 2 node(s) were unschedulable.", false),
        ("", false),
    ] {
        let (old, successor) = (pod(None, true), pod(Some(message), false));
        assert_eq!(makes_place_by_ending(&[old.clone(), successor.clone()]), expected, "{message}");
        assert!(!makes_place_by_ending(&[successor]), "the first pod of all: {message}");
        let ending = PodFacts { ending: true, ready: false, ..old };
        assert_eq!(
            makes_place_by_ending(&[ending, pod(Some(message), false)]),
            expected,
            "until it is gone: {message}"
        );
    }
}

#[test]
fn who_refuses_to_make_a_pod_is_told_in_its_words_in_each_state() {
    let refusal =
        |name: &'static str| -> &'static str { format!("pods \"acme-sales-{name}\" is forbidden: {QUOTA}").leak() };
    let told = format!("a pod is forbidden: {QUOTA}");
    let mut world = World::with(environment(&json!({})));
    world.no_pods = Some(refusal("6d5f-x7k2p"));
    world.settle();
    let said = conditions(&mut world);
    for type_ in [ConditionType::Ready, ConditionType::WorkloadAvailable, ConditionType::Degraded] {
        assert_eq!((said(type_).reason, said(type_).message), (Reason::ReplicaFailure, told.clone()), "{type_:?}");
    }
    let before = world.log.len();
    world.no_pods = Some(refusal("6d5f-9qqzt"));
    world.settle();
    assert_eq!(world.log.len(), before, "each attempt has another name, and the status stays");

    let mut world = running();
    world.no_pods = Some(refusal("7c88-aaaaa"));
    world = rolled(world);
    let said = conditions(&mut world);
    assert_eq!(said(ConditionType::Degraded).reason, Reason::ReplicaFailure);
    assert_eq!(said(ConditionType::Ready).message, format!("replicas are being replaced: {told}"));
    assert_eq!(world.serving().len(), 1, "the old one goes on");
    world.no_pods = None;
    world.settle();
    assert_eq!(conditions(&mut world)(ConditionType::Ready).status, ConditionStatus::True);
}
