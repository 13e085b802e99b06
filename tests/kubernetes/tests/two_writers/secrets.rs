use contract::EnvId;
use contract::storage_integration::StorageCredentials;
use controlplane::domain::storage_integrations;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams};
use reqwest::Method;
use serde_json::{Value, json};

use super::Platform;
use super::platform::{NAMED_SECRET, as_control_plane};

/// A Secret for `ada-dev`, whose access key ends in this character of base64.
async fn holds(platform: &Platform, name: &str, end: char) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "annotations": {"sluice.dev/environments": "ada-dev"}},
        "data": {"access_key_id": "QUtJRDE=", "secret_access_key": format!("aHVzaD{end}=")},
    });
    platform.world.apply(secret).await;
}

/// The secret access key that a data plane is told.
async fn carried(platform: &Platform, env_id: &EnvId) -> Option<String> {
    let app = platform.app();
    let mut conn = app.pool().acquire().await.unwrap();
    let integration = storage_integrations::governed(&mut conn, app.keyring(), env_id).await.unwrap().remove(0);
    match integration.credentials {
        StorageCredentials::AccessKey(key) => Some(key.secret_access_key.expose().clone()),
        _ => None,
    }
}

#[tokio::test]
async fn an_access_key_comes_from_the_secret_that_the_role_names_and_from_no_other() {
    let platform = Platform::start("secrets").await;
    let body = json!({"name": "Dev", "slug": "dev"});
    let made = platform.expect(201, Method::POST, &platform.path("/environments"), body).await;
    let env_id = EnvId::from(made["env_id"].as_str().unwrap().to_owned());
    let path = format!("/v1/environments/{env_id}/storage-integrations");
    let lake = json!({
        "name": "lake", "kind": "s3", "region": "eu-central-1", "allowed_prefixes": ["s3://lake/"],
        "credentials": {"type": "kubernetes_secret", "name": NAMED_SECRET},
    });
    let refused = platform.expect(400, Method::POST, &path, lake.clone()).await;
    assert!(refused.to_string().contains("no Secret"), "{refused}");
    holds(&platform, NAMED_SECRET, 'E').await;
    let integration = platform.expect(201, Method::POST, &path, lake).await;
    assert_eq!(carried(&platform, &env_id).await.as_deref(), Some("hush1"));
    holds(&platform, NAMED_SECRET, 'I').await;
    storage_integrations::reread(platform.app()).await.unwrap();
    assert_eq!(carried(&platform, &env_id).await.as_deref(), Some("hush2"));
    let secrets: Api<Secret> = platform.world.api();
    secrets.delete(NAMED_SECRET, &DeleteParams::default()).await.unwrap();
    storage_integrations::reread(platform.app()).await.unwrap();
    let one = format!("{path}/{}", integration["id"].as_str().unwrap());
    let gone = platform.expect(200, Method::GET, &one, Value::Null).await;
    assert!(gone["credentials"]["secret"]["problem"].as_str().unwrap().contains("no Secret"), "{gone}");
    assert_eq!(carried(&platform, &env_id).await, None);

    holds(&platform, "other", 'E').await;
    let client = as_control_plane(&platform.world).await;
    let secrets: Api<Secret> = Api::namespaced(client, &platform.world.namespace);
    let denied = secrets.get("other").await.unwrap_err();
    assert!(matches!(&denied, kube::Error::Api(status) if status.code == 403), "{denied}");
    platform.done().await;
}
