//! Plans of an environment while it lives: as tables.

use std::sync::Arc;

use crds::{
    CollectorSecret, Condition, ConditionStatus, ConditionType, EnvironmentPhase, EnvironmentStatus, Reason, SecretKey,
};
use jiff::SignedDuration;
use serde_json::json;

use super::fixtures::environment;
use super::world::World;
use crate::controllers::environment::plan::{interrupted, plan};
use crate::controllers::environment::volume;
use crate::objects::child::Kind;
use crate::objects::contest::Contests;
use crate::objects::observed::Release;
use crate::objects::plan::Plan;
use crate::objects::pods::Pods;
use crate::objects::source::Source;

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
fn a_volume_that_cannot_grow_says_the_way_back_and_grows_once_its_class_lets_it() {
    let mut world = running();
    assert_eq!(status(&world).volume_size.unwrap().0, "10Gi");
    world.surroundings.cluster.volume_may_grow = Some(false);
    world.environment_mut(|it| {
        it.spec.storage.size.0 = "20Gi".to_owned();
        it.spec.network.allowed_cidrs = vec!["10.0.0.0/8".to_owned()];
    });
    let before = world.log.len();
    world.settle();
    assert_eq!(
        world.log[before..],
        ["ConfigMap/acme-sales-config", "NetworkPolicy/acme-sales", "status"],
        "the rest is carried out"
    );
    let resizing = status(&world).conditions.into_iter().find(|it| it.type_ == ConditionType::StorageResizing).unwrap();
    assert!(resizing.message.contains("spec.storage.size back to 10Gi"), "{}", resizing.message);
    assert_eq!(status(&world).volume_size.unwrap().0, "10Gi");
    let mut back = running();
    back.surroundings.cluster.volume_may_grow = Some(false);
    for size in ["20Gi", "10Gi"] {
        back.environment_mut(|it| it.spec.storage.size.0 = size.to_owned());
        back.settle();
    }
    assert_eq!(said(&back.reconcile().unwrap(), ConditionType::Ready).0, ConditionStatus::True);
    world.surroundings.cluster.volume_may_grow = Some(true);
    world.settle();
    assert_eq!(said(&world.reconcile().unwrap(), ConditionType::Ready).0, ConditionStatus::True);
    assert_eq!(status(&world).volume_size.unwrap().0, "20Gi");
}

#[test]
fn a_volume_has_the_smaller_of_what_was_asked_for_and_what_is_there() {
    for (asked, there, held) in [("20Gi", "10Gi", "10Gi"), ("10Gi", "1Ti", "10Gi"), ("1Gi", "1024Mi", "1Gi")] {
        let mut world = running();
        world.edit(Kind::PersistentVolumeClaim, |claim| {
            claim["spec"]["resources"]["requests"]["storage"] = json!(asked);
            claim["status"]["capacity"]["storage"] = json!(there);
        });
        assert_eq!(volume::held(&world.observe().unwrap()).as_deref(), Some(held));
    }
}

#[test]
fn a_refusal_to_make_the_volume_larger_says_the_way_back() {
    let mut world = running();
    world.environment_mut(|it| it.spec.storage.size.0 = "20Gi".to_owned());
    let plan = world.reconcile_until(0).unwrap();
    let key = plan.writes[0].key();
    assert_eq!(key.kind, Kind::PersistentVolumeClaim);
    let status = interrupted(&world.observe().unwrap(), &plan, &key, "forbidden: no expansion");
    let ready = status.conditions.iter().find(|it| it.type_ == ConditionType::Ready).unwrap();
    assert_eq!(ready.message, "forbidden: no expansion; spec.storage.size may go back to 10Gi");
}

#[test]
fn what_the_installation_gives_waits_for_its_turn() {
    let changes: [fn(&mut Release); 6] = [
        |it| it.source.image.name = "mirror.example/sluice/dataplane".to_owned(),
        |it| it.source.image.pull_policy = "Always".to_owned(),
        |it| it.source.image.pull_secrets = vec!["another".to_owned()],
        |it| it.source.secrets.model = Some(SecretKey { name: "model".to_owned(), key: "key".to_owned() }),
        |it| it.source.pods = Pods::parse(r#"{"env": [{"name": "HTTPS_PROXY", "value": "proxy"}]}"#).unwrap(),
        |it| {
            let (name, ca_key) = ("watch".to_owned(), Some("authority".to_owned()));
            it.source.secrets.collector = Some(CollectorSecret { name, headers_key: None, ca_key });
        },
    ];
    for change in changes {
        let mut world = running();
        let was = Source::of_status(&status(&world)).unwrap();
        change(Arc::make_mut(&mut world.surroundings.release));
        assert!(world.reconcile().unwrap().writes.is_empty(), "the rest of the fleet is before it");
        world.surroundings.may_move = true;
        let before = world.log.len();
        world.settle();
        let written: Vec<_> = world.log[before..].iter().filter(|line| !line.starts_with("ConfigMap/")).collect();
        assert_eq!(written, ["Deployment/acme-sales", "status", "status"]);
        let source = Source::of_status(&status(&world)).unwrap();
        assert!(source != was && source == world.surroundings.release.source, "{source:?}");
    }
}

#[test]
fn nobody_waits_to_be_told_where_the_control_plane_is() {
    let mut world = running();
    Arc::make_mut(&mut world.surroundings.release).control_plane = "moved.sluice.svc:8081".to_owned();
    let before = world.log.len();
    world.settle();
    let written: Vec<_> = world.log[before..].iter().filter(|line| *line != "status").collect();
    assert_eq!(written, ["ConfigMap/acme-sales-config", "Deployment/acme-sales"]);
}

#[test]
fn what_somebody_added_to_settings_variables_or_arguments_is_taken_away() {
    let container = "/spec/template/spec/containers/0";
    let edits: [(Kind, String, serde_json::Value, &str); 3] = [
        (Kind::ConfigMap, "/data".to_owned(), json!("1"), "ADDED"),
        (Kind::Deployment, container.to_owned(), json!([{"name": "ADDED", "value": "1"}]), "env"),
        (Kind::Deployment, container.to_owned(), json!(["--debug"]), "args"),
    ];
    for (kind, place, value, name) in edits {
        let mut world = running();
        let before = world.log.len();
        world.edit(kind, |object| object.pointer_mut(&place).unwrap()[name] = value);
        world.settle();
        assert_eq!(
            world.log[before..].iter().filter(|line| *line != "status").count(),
            1,
            "{:?}",
            &world.log[before..]
        );
        world.edit(kind, |object| {
            let left = object.pointer(&place).unwrap().get(name);
            assert!(left.is_none_or(|it| it == &json!([])), "{left:?}");
        });
    }
}

#[test]
fn a_contest_is_told_while_pods_are_in_trouble() {
    let mut world = running();
    for _ in 0..20 {
        world.now += SignedDuration::from_secs(1);
        world.edit(Kind::Deployment, |object| {
            object["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": "ADDED", "value": "1"}]);
        });
        world.reconcile();
        world.controllers();
    }
    world.edit(Kind::Deployment, |object| object["status"]["availableReplicas"] = json!(0));
    let mut observed = world.observe().unwrap();
    for pod in &mut observed.pods {
        (pod.ready, pod.waiting) = (false, Some("ErrImageNeverPull".to_owned()));
    }
    let plan = plan(&observed);
    assert_eq!(said(&plan, ConditionType::Ready), (ConditionStatus::False, Reason::CrashLooping));
    assert_eq!(said(&plan, ConditionType::Degraded), (ConditionStatus::True, Reason::DriftContested));
}

#[test]
fn what_is_made_for_the_first_time_is_no_repair() {
    let mut world = World::with(environment(&json!({})));
    let made = world.reconcile().unwrap();
    assert!(made.writes.len() > 5 && made.contests == Contests::default(), "{made:?}");
    world.settle();
    world.environment_mut(|it| it.spec.data_plane.version = Some("0.2.0".to_owned()));
    let changed = world.reconcile().unwrap();
    assert_eq!((changed.writes.len(), changed.contests), (1, Contests::default()));
}

#[test]
fn what_is_undone_each_time_is_set_right_ever_more_seldom_and_told_once() {
    let mut world = running();
    let variables = |object: &mut serde_json::Value| {
        object["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": "ADDED", "value": "1"}]);
    };
    let (before, mut told, mut plan) = (world.log.len(), 0, world.reconcile().unwrap());
    for _ in 0..3_600 {
        world.now += SignedDuration::from_secs(1);
        world.edit(Kind::Deployment, variables);
        plan = world.reconcile().unwrap();
        world.controllers();
        told += plan.events.iter().filter(|event| event.reason == "DriftContested" && event.warning).count();
    }
    let repairs = world.log[before..].iter().filter(|line| line.starts_with("Deployment/")).count();
    assert!((15..30).contains(&repairs), "{repairs} in an hour");
    assert_eq!(told, 1);
    assert_eq!(status(&world).phase, Some(EnvironmentPhase::Active));
    for (type_, status) in
        [(ConditionType::Ready, ConditionStatus::False), (ConditionType::Degraded, ConditionStatus::True)]
    {
        assert_eq!(said(&plan, type_), (status, Reason::DriftContested));
    }
    let message = plan.status.conditions.into_iter().find(|it| it.type_ == ConditionType::Ready).unwrap().message;
    assert!(
        message.contains("spec.template.spec.containers.dataplane.env.ADDED of Deployment/acme-sales"),
        "{message}"
    );
    world.now += SignedDuration::from_secs(600);
    world.settle();
    world.now += SignedDuration::from_secs(601);
    world.settle();
    let ready = status(&world).conditions.into_iter().find(|it| it.type_ == ConditionType::Ready).unwrap();
    assert_eq!(ready.status, ConditionStatus::True, "{ready:?}");
    world.edit(Kind::Deployment, variables);
    assert_eq!(world.reconcile().unwrap().writes.len(), 1, "what comes after is set right at once");
}

fn key(name: &str, status: &str, reason: Reason) -> Arc<crds::ApiKey> {
    let condition = json!({"type": "CredentialsSynced", "status": status, "reason": reason, "message": "",
                           "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    Arc::new(
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "tenants"},
            "spec": {"environmentRef": {"name": "acme-sales"}, "name": name, "scopes": ["query:read"]},
            "status": {"conditions": [condition]},
        }))
        .unwrap(),
    )
}

#[test]
fn a_key_that_is_refused_is_named_and_is_no_control_plane_that_is_away() {
    let synced = |keys: &[Arc<crds::ApiKey>]| {
        let mut world = running();
        world.keys = keys.iter().map(|key| (key.metadata.name.clone().unwrap(), Arc::clone(key))).collect();
        let plan = world.reconcile().unwrap();
        let (_, reason) = said(&plan, ConditionType::CredentialsSynced);
        assert_eq!(said(&plan, ConditionType::Degraded).1, reason);
        let found = plan.status.conditions.into_iter().find(|it| it.type_ == ConditionType::CredentialsSynced).unwrap();
        (reason, found.message)
    };
    let good = key("good", "True", Reason::AsSpecified);
    let away = key("away", "False", Reason::ControlPlaneUnreachable);
    let refused = key("loader", "False", Reason::Invalid);
    assert_eq!(synced(std::slice::from_ref(&good)).0, Reason::AsSpecified);
    let (reason, message) = synced(&[good.clone(), away.clone()]);
    assert_eq!(
        (reason, message.as_str()),
        (Reason::ControlPlaneUnreachable, "not confirmed by the control plane: away")
    );
    let (reason, message) = synced(&[good, away, refused]);
    assert_eq!(reason, Reason::KeyNotSynced);
    assert!(message.contains("ApiKey loader is not (Invalid)") && !message.contains("good"), "{message}");
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
