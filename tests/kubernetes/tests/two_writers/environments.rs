use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kubernetes::absent;
use reqwest::Method;
use serde_json::{Value, json};

use super::Platform;

#[tokio::test]
async fn what_rest_makes_is_a_resource_and_both_show_the_same() {
    let platform = Platform::start("rest").await;
    let organizations: Api<crds::Organization> = platform.world.api();
    let tier = Patch::Merge(json!({"spec": {"tier": "cloud"}}));
    organizations.patch("ada", &PatchParams::default(), &tier).await.unwrap();
    platform.organization(|org| org["tier"] == "cloud").await;
    let body = json!({"name": "Dev", "slug": "dev", "settings": {"query_timeout_ms": 7000, "test_mode": true}});
    let made = platform.expect(201, Method::POST, &platform.path("/environments"), body.clone()).await;
    let environments: Api<crds::Environment> = platform.world.api();
    let object = environments.get("ada-dev").await.unwrap();
    assert_eq!(object.uid().as_deref(), made["env_id"].as_str());
    assert_eq!((object.spec.settings.query_timeout_ms, object.spec.settings.test_mode), (7000, true));
    let path = platform.path(&format!("/environments/{}", made["env_id"].as_str().unwrap()));
    let change = json!({"settings": {"max_concurrent_queries": 9}});
    let changed = platform.expect(200, Method::PUT, &path, change).await;
    assert_eq!(changed["settings"]["max_concurrent_queries"], 9);
    assert_eq!(platform.expect(200, Method::GET, &path, Value::Null).await, changed, "what was written is read");
    let object = environments.get("ada-dev").await.unwrap();
    let settings = &object.spec.settings;
    assert_eq!((settings.query_timeout_ms, settings.max_concurrent_queries), (7000, 9), "one change keeps the others");
    platform.expect(409, Method::POST, &platform.path("/environments"), body).await;
    platform.done().await;
}

#[tokio::test]
async fn what_kubectl_makes_and_changes_rest_shows() {
    let platform = Platform::start("kubectl").await;
    let object = platform.kubectl_applies("dev", json!({})).await;
    let shown = platform.shows("dev", |_| true).await;
    assert_eq!((&shown["env_id"], &shown["status"]), (&object["metadata"]["uid"], &json!("provisioning")));
    platform.kubectl_applies("dev", json!({"settings": {"queryTimeoutMs": 5}})).await;
    platform.shows("dev", |shown| shown["settings"]["query_timeout_ms"] == 5).await;
    let environments: Api<crds::Environment> = platform.world.api();
    let connection = json!({"host": "ada-dev.x.svc", "port": 5439, "database": "dev"});
    let status = json!({"status": {"phase": "active", "connection": connection, "conditions": []}});
    environments.patch_status("ada-dev", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    let shown = platform.shows("dev", |shown| shown["status"] == "active").await;
    assert_eq!(shown["connection"], connection);
    platform.kubectl_applies("dev", json!({"suspended": true})).await;
    platform.shows("dev", |shown| shown["status"] == "suspended").await;
    platform.done().await;
}

#[tokio::test]
async fn what_kubectl_deletes_gives_its_slug_back() {
    let platform = Platform::start("deleted").await;
    let first = platform.kubectl_applies("dev", json!({})).await;
    platform.shows("dev", |_| true).await;
    let environments: Api<crds::Environment> = platform.world.api();
    environments.delete("ada-dev", &DeleteParams::default()).await.unwrap();
    absent(&environments, "ada-dev").await;
    platform.shows("dev", |shown| shown["status"] == "decommissioning").await;
    let body = json!({"name": "Dev", "slug": "dev"});
    let made = platform.expect(201, Method::POST, &platform.path("/environments"), body).await;
    assert_ne!(made["env_id"], first["metadata"]["uid"]);
    platform.done().await;
}

#[tokio::test]
async fn what_happened_while_the_control_plane_was_away_is_made_up_for() {
    let mut platform = Platform::start("meanwhile").await;
    for slug in ["gone", "kept", "again"] {
        platform.kubectl_applies(slug, json!({})).await;
        platform.shows(slug, |_| true).await;
    }
    platform.pause().await;
    let environments: Api<crds::Environment> = platform.world.api();
    for name in ["ada-gone", "ada-again"] {
        environments.delete(name, &DeleteParams::default()).await.unwrap();
        absent(&environments, name).await;
    }
    let again = platform.kubectl_applies("again", json!({"name": "Again"})).await;
    platform.kubectl_applies("new", json!({})).await;
    platform.resume().await;
    platform.shows("gone", |shown| shown["status"] == "decommissioning").await;
    platform.shows("new", |shown| shown["status"] == "provisioning").await;
    platform.shows("again", |shown| shown["env_id"] == again["metadata"]["uid"]).await;
    platform.shows("again", |shown| shown["status"] == "decommissioning").await;
    let kept = platform.shows("kept", |_| true).await;
    assert_eq!(kept["status"], "provisioning");
    platform.done().await;
}
