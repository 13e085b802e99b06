//! The page as it is printed, for environments in different straits.

use expect_test::{Expect, expect};
use k8s_openapi::api::core::v1::{Event, Pod};
use operator::objects::child::Kind;
use serde_json::{Value, json};

use super::*;
use crate::kubectl::gather::child;

const MADE: &str = "2026-11-21T12:00:00Z";

fn now() -> Timestamp {
    "2026-11-21T12:05:00Z".parse().unwrap()
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message, "observedGeneration": 2,
        "lastTransitionTime": "2026-11-21T12:04:30Z",
    })
}

fn seen(status: &Value) -> Seen {
    let environment = json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "Environment",
        "metadata": {"name": "acme-prod", "generation": 2, "creationTimestamp": MADE},
        "spec": {"organizationRef": {"name": "acme"}, "slug": "prod", "name": "Production"},
        "status": status,
    });
    let environment = serde_json::from_value(environment).unwrap();
    Seen { environment, keys: vec![], children: vec![], pods: vec![], events: vec![], unread: vec![] }
}

fn pod(name: &str, status: &Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"name": name, "creationTimestamp": MADE}, "status": status})).unwrap()
}

fn check(seen: &Seen, expected: &Expect) {
    expected.assert_eq(&page(seen, now()));
}

#[test]
fn a_ready_environment_is_a_short_page() {
    let mut seen = seen(&json!({
        "observedGeneration": 2, "phase": "active", "version": "0.1.0", "replicas": 1, "lastStep": "publish",
        "connection": {"host": "acme-prod.acme.svc.cluster.local", "port": 5439, "database": "prod"},
        "conditions": [condition("Ready", "True", "AsSpecified", "serves")],
    }));
    let deployment = json!({
        "metadata": {"name": "acme-prod", "creationTimestamp": MADE}, "spec": {"replicas": 1},
        "status": {"readyReplicas": 1, "updatedReplicas": 1},
    });
    let service = json!({
        "metadata": {"name": "acme-prod", "creationTimestamp": MADE},
        "spec": {"clusterIP": "10.96.0.7", "ports": [{"port": 5439}, {"port": 5440}]},
    });
    seen.children = vec![child(Kind::Service, service), child(Kind::Deployment, deployment)];
    seen.pods =
        vec![pod("acme-prod-1", &json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}))];
    check(
        &seen,
        &expect![[r"
        Environment   acme-prod
        Organization  acme
        Phase         active
        Ready         True (AsSpecified)
        Generation    2, observed 2
        Version       0.1.0, 1 of 1 replicas
        Connection    acme-prod.acme.svc.cluster.local:5439/prod
        Last step     publish

        CONDITION   STATUS   REASON        AGE   MESSAGE
        Ready       True     AsSpecified   30s   serves

        CHILD        NAME        STATE                  AGE
        Service      acme-prod   10.96.0.7:5439,5440    5m
        Deployment   acme-prod   1/1 ready, 1 updated   5m

        POD           STATE     READY   RESTARTS   AGE
        acme-prod-1   Running   true    0          5m
    "]],
    );
}

#[test]
fn a_page_says_why_an_environment_is_not_ready() {
    let mut seen = seen(&json!({
        "observedGeneration": 2, "phase": "provisioning",
        "conditions": [
            condition("Ready", "False", "CrashLooping", "replicas start and end again"),
            condition("SpecValid", "True", "AsSpecified", "can be carried out"),
            condition("WorkloadAvailable", "False", "CrashLooping", "0 of 1 replicas answer"),
        ],
    }));
    let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}});
    let ended = json!({"terminated": {"exitCode": 1, "reason": "Error"}});
    let container = json!({
        "name": "dataplane", "image": "i", "imageID": "", "ready": false, "restartCount": 4,
        "state": waiting, "lastState": ended,
    });
    seen.pods = vec![pod("acme-prod-1", &json!({"phase": "Running", "containerStatuses": [container]}))];
    let claim =
        json!({"metadata": {"name": "acme-prod-data", "creationTimestamp": MADE}, "status": {"phase": "Pending"}});
    seen.children = vec![child(Kind::PersistentVolumeClaim, claim)];
    let event = json!({
        "metadata": {"name": "e", "creationTimestamp": MADE}, "reason": "BackOff", "type": "Warning", "count": 3,
        "message": "restarting\nwith svc_live_ABCDEFGHIJKLsecret", "lastTimestamp": "2026-11-21T12:04:50Z",
        "involvedObject": {"kind": "Pod", "name": "acme-prod-1"},
    });
    seen.events = vec![serde_json::from_value::<Event>(event).unwrap()];
    seen.unread = vec!["refused: secrets is forbidden".to_owned()];
    check(
        &seen,
        &expect![[r"
        Environment   acme-prod
        Organization  acme
        Phase         provisioning
        Ready         False (CrashLooping)
        Generation    2, observed 2

        Why it is not ready
          - WorkloadAvailable is False (CrashLooping): 0 of 1 replicas answer
          - pod acme-prod-1: container dataplane waits: CrashLoopBackOff (back-off 40s); it ended 4 times, last with status 1 (Error)
          - volume claim acme-prod-data is Pending: no volume was given to it yet

        CONDITION           STATUS   REASON         AGE   MESSAGE
        Ready               False    CrashLooping   30s   replicas start and end again
        SpecValid           True     AsSpecified    30s   can be carried out
        WorkloadAvailable   False    CrashLooping   30s   0 of 1 replicas answer

        CHILD                   NAME             STATE        AGE
        PersistentVolumeClaim   acme-prod-data   Pending, -   5m

        POD           STATE              READY   RESTARTS   AGE
        acme-prod-1   CrashLoopBackOff   false   4          5m

        EVENT     TYPE      OBJECT            AGE   MESSAGE
        BackOff   Warning   Pod/acme-prod-1   10s   restarting with svc_live_ABCDEFGHIJKL[redacted] (×3)

        Could not be read
          - refused: secrets is forbidden
    "]],
    );
}

#[test]
fn an_environment_that_nobody_has_looked_at_says_so() {
    check(
        &seen(&Value::Null),
        &expect![[r"
        Environment   acme-prod
        Organization  acme
        Phase         -
        Ready         -
        Generation    2, observed -

        Why it is not ready
          - the operator has not looked at it yet: does it run, and does it watch this namespace?
    "]],
    );
}

#[test]
fn a_generation_that_was_not_seen_yet_is_not_ready() {
    let mut seen =
        seen(&json!({"observedGeneration": 2, "conditions": [condition("Ready", "True", "AsSpecified", "serves")]}));
    assert!(describe::is_ready(&seen.environment));
    seen.environment.metadata.generation = Some(3);
    assert!(!describe::is_ready(&seen.environment));
    assert_eq!(describe::why(&seen), ["the operator has seen generation 2, and the object is at 3"]);
}

#[test]
fn a_suspended_environment_says_that_it_is_on_purpose() {
    let seen = seen(&json!({
        "observedGeneration": 2, "phase": "suspended",
        "conditions": [
            condition("Ready", "False", "SuspendedBySpec", "suspended"),
            condition("Suspended", "True", "SuspendedBySpec", "spec.suspended is set"),
        ],
    }));
    assert_eq!(describe::why(&seen), ["Suspended is True (SuspendedBySpec): spec.suspended is set"]);
}

#[test]
fn a_pod_that_has_no_place_says_what_the_scheduler_said() {
    let mut seen = seen(&json!({"observedGeneration": 2}));
    let unplaced = json!([{"type": "PodScheduled", "status": "False", "message": "0/1 nodes: insufficient memory"}]);
    seen.pods = vec![pod("acme-prod-1", &json!({"phase": "Pending", "conditions": unplaced}))];
    assert_eq!(describe::why(&seen), ["pod acme-prod-1: 0/1 nodes: insufficient memory"]);
}

#[test]
fn all_environments_are_a_line_each() {
    let ready = seen(&json!({
        "observedGeneration": 2, "phase": "active", "version": "0.1.0", "replicas": 1,
        "conditions": [condition("Ready", "True", "AsSpecified", "serves")],
    }));
    let new = seen(&Value::Null);
    expect![[r"
        ENVIRONMENT   ORGANIZATION   PHASE    READY   REASON        REPLICAS   VERSION   AGE
        acme-prod     acme           active   true    AsSpecified   1          0.1.0     5m
        acme-prod     acme           -        false   -             -          -         5m
    "]]
    .assert_eq(&overview(&[ready.environment, new.environment], now()));
    assert_eq!(overview(&[], now()), "no environments in this namespace");
}

#[test]
fn programs_are_told_the_same() {
    let seen = seen(&json!({
        "observedGeneration": 2, "phase": "active",
        "conditions": [condition("Ready", "True", "AsSpecified", "serves")],
    }));
    let told = json(&seen, now());
    assert_eq!(told["ready"], true);
    assert_eq!(told["why"], json!([]));
    assert_eq!(told["environment"]["status"]["phase"], "active");
}
