//! Nothing of one organization is ever seen by another.

use reqwest::Method;
use serde_json::{Value, json};
use tests::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_sees_another_organizations_records_as_absent() {
    let world = World::new().await;
    let signup = json!({"name": "Other", "email": "other@else.example", "password": "correct horse battery", "org_name": "Else"});
    let stranger = world.ok(Method::POST, "/v1/signup", "", signup).await;
    world.enterprise(stranger["org"]["org_id"].as_str().unwrap()).await;
    let stranger = format!("Bearer {}", stranger["token"].as_str().unwrap());
    for route in controlplane::server::endpoints::rows() {
        if !route.path.contains("{org_id}") && !route.path.contains("{env_id}") {
            continue;
        }
        let method = Method::from_bytes(route.method.as_str().as_bytes()).unwrap();
        let ours = route.path.replace("{org_id}", &world.org_id).replace("{env_id}", &world.env_id);
        let absent = route.path.replace("{org_id}", &world.env_id).replace("{env_id}", &world.org_id);
        let seen = world.call(method.clone(), &ours, &stranger, json!({})).await;
        let nothing = world.call(method.clone(), &absent, &stranger, json!({})).await;
        assert_eq!(seen.status, 404, "{method} {}: {}", route.path, seen.body);
        assert_eq!(shape(seen.body), shape(nothing.body), "{method} {}", route.path);
    }
    world.end().await;
}

fn shape(mut body: Value) -> Value {
    if body["error"].is_object() {
        body["error"]["request_id"] = Value::Null;
    }
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_opens_its_own_environment_only() {
    let world = World::new().await;
    let (other, pgwire) = world.environment("other").await;
    let key = world.key_for(&other, json!({"scopes": ["query:read"]})).await;
    let reply = world.query(&key.key, "select 1").await;
    assert_eq!(
        (reply.status, &reply.body["error"]["details"]["stable_code"]),
        (403, &"SVC_ERR_403_ENV_MISMATCH".into())
    );
    assert!(world.psql(&key.key).await.is_err());
    assert_ne!(pgwire, world.pgwire);
    world.end().await;
}
