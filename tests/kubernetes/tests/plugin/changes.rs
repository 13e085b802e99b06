//! Commands that write: what is stored, by whom, and what they wait for.

use ::crds::{ApiKey, Environment};
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use serde_json::json;

use super::{environment, kubectl_sluice, status};
use kubernetes::World;

use crate::objects::{create, set_status};

#[tokio::test]
async fn suspend_and_resume_change_one_field_under_their_own_name() {
    let world = World::new("plugin").await;
    create::<Environment>(&world, environment()).await;
    for (command, suspended) in [("suspend", true), ("resume", false)] {
        let said = kubectl_sluice(&world, &[command, "acme-prod", "--no-wait"]).await;
        assert_eq!(said.code, 0, "{}", said.err);
        let stored = world.api::<Environment>().get("acme-prod").await.unwrap();
        assert_eq!(stored.spec.suspended, suspended);
        let manager = stored.managed_fields().iter().find(|fields| fields.manager.as_deref() == Some("kubectl-sluice"));
        let owned = serde_json::to_value(&manager.unwrap().fields_v1).unwrap();
        assert_eq!(owned, json!({"f:spec": {"f:suspended": {}}}));
    }
}

/// It returns when the operator has said so of the generation that the command made, not before.
#[tokio::test]
async fn suspend_waits_for_the_operators_word() {
    let world = World::new("plugin").await;
    create::<Environment>(&world, environment()).await;
    set_status::<Environment>(&world, "acme-prod", status(1, "active", "True", "AsSpecified")).await;
    let early = kubectl_sluice(&world, &["suspend", "acme-prod", "--timeout", "1"]).await;
    assert_eq!((early.code, early.err.as_str()), (6, "kubectl sluice: not suspended after 1 s\n"));
    let (said, ()) = tokio::join!(kubectl_sluice(&world, &["suspend", "acme-prod", "--timeout", "60"]), async {
        set_status::<Environment>(&world, "acme-prod", status(2, "suspended", "False", "SuspendedBySpec")).await;
    });
    assert_eq!((said.code, said.out.as_str()), (0, "environment acme-prod suspended\n"), "{}", said.err);
}

#[tokio::test]
async fn restart_marks_the_pod_template_of_the_deployment() {
    let world = World::new("plugin").await;
    create::<Environment>(&world, environment()).await;
    let before = kubectl_sluice(&world, &["restart", "acme-prod"]).await;
    assert_eq!(before.code, 3, "{}", before.err);
    let container = json!({"name": "dataplane", "image": "none"});
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}});
    let spec = json!({"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    create::<Deployment>(&world, json!({"metadata": {"name": "acme-prod"}, "spec": spec})).await;
    let said = kubectl_sluice(&world, &["restart", "acme-prod"]).await;
    assert_eq!(said.code, 0, "{}", said.err);
    let stored = world.api::<Deployment>().get("acme-prod").await.unwrap();
    let annotations = stored.spec.unwrap().template.metadata.unwrap().annotations.unwrap();
    assert!(annotations["kubectl.kubernetes.io/restartedAt"].parse::<jiff::Timestamp>().is_ok());
}

fn key(name: &str, world: &World) -> serde_json::Value {
    json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "ApiKey", "metadata": {"name": name, "namespace": world.namespace},
        "spec": {"environmentRef": {"name": "acme-prod"}, "name": name, "scopes": ["query:read"], "secretRef": {"name": "ci-key"}},
    })
}

#[tokio::test]
async fn rotate_key_asks_for_a_new_value_and_a_key_of_rest_has_none() {
    let world = World::new("plugin").await;
    create::<ApiKey>(&world, key("ci", &world)).await;
    let said = kubectl_sluice(&world, &["rotate-key", "ci", "--grace-period-hours", "1", "--no-wait"]).await;
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(said.out, "a new value will be put in secret ci-key; the old one opens for 1 more hours\n");
    let first = world.api::<ApiKey>().get("ci").await.unwrap().spec.rotation.unwrap();
    assert_eq!(first.grace_period_hours, 1);
    kubectl_sluice(&world, &["rotate-key", "ci", "--no-wait"]).await;
    let second = world.api::<ApiKey>().get("ci").await.unwrap().spec.rotation.unwrap();
    assert!(second.id != first.id && second.grace_period_hours == 1, "{second:?}");
    let mut rest = key("rest", &world);
    rest["spec"]["secretRef"] = serde_json::Value::Null;
    rest["spec"]["keyId"] = json!("key_1");
    create::<ApiKey>(&world, rest).await;
    let refused = kubectl_sluice(&world, &["rotate-key", "rest"]).await;
    assert!(refused.code == 2 && refused.err.contains("made over REST"), "{}", refused.err);
}
