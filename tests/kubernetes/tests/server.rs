//! The API server that the tests stand on.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{Resource, ResourceExt, api::DeleteParams};
use kubernetes::{World, absent, audit::Audit, until};
use serde_json::json;

#[tokio::test]
async fn our_kinds_are_served() {
    let world = World::new("kinds").await;
    for kind in ["organizations", "environments", "apikeys"] {
        let listed = world.kubectl(&["get", &format!("{kind}.sluice.dev"), "--output", "name"]).await;
        assert_eq!(listed, "", "{kind}");
    }
}

#[tokio::test]
async fn controllers_work_and_a_deleted_owner_takes_its_children() {
    let world = World::new("owner").await;
    let owner = world.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}})).await;
    let child = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "owned", "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid()},
        ]},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": {
            "metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "x", "image": "x:1"}]},
        }},
    });
    world.apply(child).await;
    let deployments = world.api::<Deployment>();
    let seen = |deployment: &Deployment| {
        deployment.status.as_ref().is_some_and(|status| status.observed_generation == Some(1))
    };
    until(&deployments, "owned", "seen by its controller", seen).await;
    world.api::<ConfigMap>().delete("owner", &DeleteParams::default()).await.unwrap();
    absent(&deployments, "owned").await;
}

#[tokio::test]
async fn the_audit_log_tells_who_wrote_what() {
    let world = World::new("audit").await;
    let audit = Audit::begin();
    let object = world.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "written"}})).await;
    assert_eq!(object.meta().name.as_deref(), Some("written"));
    let requests = audit.of("admin");
    let ours: Vec<_> =
        requests.iter().filter(|request| request.namespace == world.namespace && request.is_write()).collect();
    assert_eq!(ours.len(), 1, "{ours:?}");
    assert_eq!((ours[0].verb.as_str(), ours[0].resource.as_str(), ours[0].code), ("patch", "configmaps", 201));
}
