//! A kind of ours as the API server serves it.

use ::crds::{Environment, EnvironmentSpec};
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use kubernetes::World;

use crate::objects::{create, set_status};

fn environment(organization: &str, slug: &str) -> Value {
    json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "Environment",
        "metadata": {"name": format!("{organization}-{slug}")},
        "spec": {"organizationRef": {"name": organization}, "slug": slug, "name": slug},
    })
}

#[tokio::test]
async fn the_api_server_fills_in_what_the_type_does() {
    let world = World::new("crds").await;
    let sent = environment("acme", "prod");
    let stored: Environment = create(&world, sent.clone()).await;
    let typed: EnvironmentSpec = serde_json::from_value(sent["spec"].clone()).unwrap();
    assert_eq!(stored.spec, typed);
}

#[tokio::test]
async fn environments_are_found_by_their_organization_and_phase() {
    let world = World::new("crds").await;
    for (organization, slug) in [("acme", "a"), ("acme", "b"), ("other", "a")] {
        create::<Environment>(&world, environment(organization, slug)).await;
    }
    set_status::<Environment>(&world, "acme-b", json!({"phase": "active"})).await;
    let named = async |selector: &str| {
        let found = world.api::<Environment>().list(&ListParams::default().fields(selector)).await.unwrap();
        found.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
    };
    assert_eq!(named("spec.organizationRef.name=acme").await, ["acme-a", "acme-b"]);
    assert_eq!(named("status.phase=active").await, ["acme-b"]);
}

#[tokio::test]
async fn an_environment_scales_by_its_subresource_and_within_its_rules() {
    let world = World::new("crds").await;
    let mut lake = environment("acme", "lake");
    lake["spec"]["storage"] = json!({"format": "lake", "objectStore": {"url": "s3://bucket"}});
    create::<Environment>(&world, lake).await;
    create::<Environment>(&world, environment("acme", "native")).await;
    let environments = world.api::<Environment>();
    let scale = Patch::Merge(json!({"spec": {"replicas": 4}}));
    environments.patch_scale("acme-lake", &PatchParams::default(), &scale).await.unwrap();
    assert_eq!(environments.get("acme-lake").await.unwrap().spec.data_plane.replicas, 4);
    let refused = environments.patch_scale("acme-native", &PatchParams::default(), &scale).await.unwrap_err();
    assert!(refused.to_string().contains("a native file has one writer"), "{refused}");
}

#[tokio::test]
async fn a_status_is_written_apart_and_moves_no_generation() {
    let world = World::new("crds").await;
    let made: Environment = create(&world, environment("acme", "prod")).await;
    let patch = Patch::Merge(json!({"spec": {"suspended": true}, "status": {"phase": "active"}}));
    let environments = world.api::<Environment>();
    let changed = environments.patch("acme-prod", &PatchParams::default(), &patch).await.unwrap();
    assert!(changed.spec.suspended && changed.status.is_none(), "{changed:?}");
    let spoken: Environment = set_status(&world, "acme-prod", json!({"phase": "suspended"})).await;
    let generation = |environment: &Environment| environment.metadata.generation.unwrap();
    assert_eq!((generation(&made), generation(&changed), generation(&spoken)), (1, 2, 2));
}

/// Without `observedGeneration` a condition is refused: nobody could tell what it speaks of.
#[tokio::test]
async fn a_condition_says_of_which_generation_it_is() {
    let world = World::new("crds").await;
    create::<Environment>(&world, environment("acme", "prod")).await;
    let condition = json!({
        "type": "Ready", "status": "True", "reason": "AsSpecified", "message": "",
        "lastTransitionTime": "2026-11-21T00:00:00Z",
    });
    let mut complete = condition.clone();
    complete["observedGeneration"] = json!(1);
    let environments = world.api::<Environment>();
    let write = async |condition: &Value| {
        let patch = Patch::Merge(json!({"status": {"conditions": [condition]}}));
        environments.patch_status("acme-prod", &PatchParams::default(), &patch).await
    };
    let refused = write(&condition).await.unwrap_err().to_string();
    assert!(refused.contains("observedGeneration: Required value"), "{refused}");
    write(&complete).await.unwrap();
}
