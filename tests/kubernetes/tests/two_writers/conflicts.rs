use kube::api::Api;
use reqwest::Method;
use serde_json::json;

use super::Platform;
use super::platform::managed;

#[tokio::test]
async fn rest_takes_nothing_from_another_manager_and_names_it() {
    let platform = Platform::start("conflict").await;
    let object = platform.kubectl_applies("dev", json!({"settings": {"queryTimeoutMs": 5}})).await;
    let path = platform.path(&format!("/environments/{}", object["metadata"]["uid"].as_str().unwrap()));
    platform.shows("dev", |_| true).await;
    for (change, field) in [
        (json!({"name": "Taken"}), "name"),
        (json!({"settings": {"query_timeout_ms": 6}}), "settings.query_timeout_ms"),
    ] {
        let refused = platform.expect(409, Method::PUT, &path, change).await;
        let error = &refused["error"];
        assert_eq!((&error["code"], &error["details"]["reason"]), (&json!("CONFLICT"), &json!("field_managed")));
        assert_eq!(error["message"], format!("`{field}` is managed by test: change it there"));
    }
    let kept = platform.shows("dev", |_| true).await;
    assert_eq!((&kept["name"], &kept["settings"]["query_timeout_ms"]), (&json!("Applied"), &json!(5)));
    platform.done().await;
}

#[tokio::test]
async fn each_manager_keeps_what_it_decides() {
    let platform = Platform::start("shared").await;
    let object = platform.kubectl_applies("dev", json!({})).await;
    let path = platform.path(&format!("/environments/{}", object["metadata"]["uid"].as_str().unwrap()));
    platform.shows("dev", |_| true).await;
    for change in [json!({"max_concurrent_queries": 9}), json!({"cache_enabled": false})] {
        platform.expect(200, Method::PUT, &path, json!({"settings": change})).await;
    }
    platform.kubectl_applies("dev", json!({"name": "Renamed"})).await;
    let shown = platform.shows("dev", |shown| shown["name"] == "Renamed").await;
    let settings = &shown["settings"];
    assert_eq!((&settings["max_concurrent_queries"], &settings["cache_enabled"]), (&json!(9), &json!(false)));
    let environments: Api<crds::Environment> = platform.world.api();
    let object = serde_json::to_value(environments.get("ada-dev").await.unwrap()).unwrap();
    let ours: Vec<String> = managed(&object, "sluice-controlplane").into_keys().collect();
    assert_eq!(ours, ["f:settings"]);
    platform.done().await;
}
