use std::time::Duration;

use controlplane::domain::api_keys::resource::{self, KeySpec};
use controlplane::server::kubernetes::KEY_REVISION;
use kube::ResourceExt;
use kube::api::Api;
use kubernetes::until;
use reqwest::Method;
use serde_json::{Value, json};

use super::Platform;

async fn environment(platform: &Platform) -> String {
    let body = json!({"name": "Dev", "slug": "dev"});
    let made = platform.expect(201, Method::POST, &platform.path("/environments"), body).await;
    made["env_id"].as_str().unwrap().to_owned()
}

fn revision(key: &crds::ApiKey) -> String {
    key.annotations().get(KEY_REVISION).cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_key_of_rest_becomes_a_resource_without_its_text() {
    let platform = Platform::start("key").await;
    let keys = format!("/v1/environments/{}/api-keys", environment(&platform).await);
    let body = json!({"name": "ci", "scopes": ["query:read"], "ip_allowlist": ["10.0.0.0/8"], "expires_in_days": 30});
    let made = platform.expect(201, Method::POST, &keys, body).await;
    let key_id = made["key_id"].as_str().unwrap();
    let objects: Api<crds::ApiKey> = platform.world.api();
    let name = format!("key-{key_id}");
    let object = until(&objects, &name, "there", |_| true).await;
    assert_eq!((object.spec.key_id.as_deref(), object.spec.expires_in_days), (Some(key_id), Some(30)));
    assert_eq!((object.spec.environment_ref.name.as_str(), object.spec.scopes.len()), ("ada-dev", 1));
    let text = made["key"].as_str().unwrap();
    assert!(!serde_json::to_string(&object).unwrap().contains(text), "a text is in no resource");
    platform.expect(200, Method::DELETE, &format!("{keys}/{key_id}"), Value::Null).await;
    until(&objects, &name, "revised", |now| revision(now) == format!("{}-revoked", revision(&object))).await;
    platform.done().await;
}

#[tokio::test]
async fn a_key_of_kubectl_is_looked_at_again_when_rest_rotates_it() {
    let platform = Platform::start("rotated").await;
    let env_id = environment(&platform).await;
    rotated_by_rest(&platform, &env_id).await;
    let updates = "select count(*)::text from iam_events where event_type = 'key.updated'";
    assert_eq!(platform.row(updates).await, "0", "a clock that goes on changes no expiry");
    platform.done().await;
}

/// A key that somebody applied; waits until its resource tells of the rotation.
pub async fn rotated_by_rest(platform: &Platform, env_id: &str) {
    let spec = json!({"environmentRef": {"name": "ada-dev"}, "name": "applied", "scopes": ["query:read"], "secretRef": {"name": "ci"}});
    let object =
        json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "ApiKey", "metadata": {"name": "ci"}, "spec": spec});
    let uid = platform.world.apply(object).await.uid().unwrap();
    // As the operator does when it sees the resource.
    let wanted = KeySpec {
        resource_uid: uid,
        env_id: env_id.into(),
        name: "applied".to_owned(),
        scopes: vec!["query:read".to_owned()],
        ip_allowlist: Vec::new(),
        expires_in_days: Some(30),
        user_id: None,
        key_id: None,
        rotation_id: None,
        grace_period_hours: 72,
        text_wanted: true,
    };
    let made = resource::put(platform.app(), &wanted).await.unwrap().unwrap();
    resource::put(platform.app(), &KeySpec { text_wanted: false, ..wanted }).await.unwrap().unwrap();
    let path = format!("/v1/environments/{env_id}/api-keys/{}/rotate", made.row.key_id);
    let rotated = platform.expect(200, Method::POST, &path, Value::Null).await;
    let objects: Api<crds::ApiKey> = platform.world.api();
    let prefix = rotated["new_prefix"].as_str().unwrap();
    let revised = until(&objects, "ci", "revised", |now| revision(now) == prefix).await;
    assert_eq!(revised.spec.secret_ref.unwrap().name, "ci", "nothing else of it has changed");
}

#[tokio::test]
async fn a_revocation_does_not_wait_for_the_api_server() {
    let platform = Platform::start("revoked").await;
    let keys = format!("/v1/environments/{}/api-keys", environment(&platform).await);
    let made = platform.expect(201, Method::POST, &keys, json!({"name": "ci", "scopes": ["key:*"]})).await;
    let text = made["key"].as_str().unwrap().to_owned();
    let path = format!("{keys}/{}", made["key_id"].as_str().unwrap());
    let took = tokio::time::timeout(Duration::from_secs(5), platform.expect(200, Method::DELETE, &path, Value::Null));
    took.await.unwrap();
    let address = platform.address();
    let asked = platform.http.get(format!("http://{address}/v1/auth/me")).header("x-api-key", text);
    assert_eq!(asked.send().await.unwrap().status().as_u16(), 401);
    platform.done().await;
}
