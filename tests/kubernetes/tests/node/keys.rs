//! Keys on their way: by kubectl, by REST, replaced, revoked.

use std::time::{Duration, Instant};

use crds::{ApiKey, ApiKeyPhase, Environment, EnvironmentPhase};
use k8s_openapi::api::core::v1::Secret;
use kube::api::DeleteParams;
use kubernetes::{absent, figure, ready, until};
use reqwest::Method;
use serde_json::{Value, json};

use super::installation::{Rest, Tenant, entry, eventually, shared};
use super::wire_client::WireClient;

/// Three times the goal: the API server that the deletion goes through has the machine with other tests.
const REVOKED_WITHIN: Duration = Duration::from_secs(3);

#[tokio::test]
async fn a_deleted_key_is_refused_at_once_and_its_secret_goes() {
    let tenant = Tenant::ready("revoked").await;
    let wire = tenant.wire("app").await;
    let open = wire.connect().await.unwrap();
    let name = tenant.key_name("app");
    let began = Instant::now();
    let gone = DeleteParams::default();
    tenant.world.api::<ApiKey>().delete(&name, &gone).await.unwrap();
    eventually("refused", async || wire.connect().await.is_err()).await;
    let refused = began.elapsed();
    open.client.simple_query("select 1").await.expect_err("a session of that key has ended");
    let told = wire.psql("select 1").await;
    assert!(!told.success && told.err.contains("FATAL"), "{told:?}");
    absent(&tenant.world.api::<ApiKey>(), &name).await;
    absent(&tenant.world.api::<Secret>(), &name).await;
    figure(13, format_args!("a key is refused {refused:?} after its resource was deleted"));
    assert!(refused < REVOKED_WITHIN, "{refused:?}");
}

#[tokio::test]
async fn a_rotation_gives_another_text_and_the_old_one_has_its_grace() {
    let tenant = Tenant::ready("rotated").await;
    let old = tenant.wire("app").await;
    let pods = tenant.pods().await;
    let began = Instant::now();
    tenant.key("app", json!({"rotation": {"id": "second", "gracePeriodHours": 1}})).await;
    let new = tenant.wire("app").await;
    assert_ne!(old.key, new.key);
    assert_eq!(new.ask("select 1").await, "1");
    figure(
        12,
        format_args!("a new text of a key answers {:?} after the change, and no pod has restarted", began.elapsed()),
    );
    assert_eq!(tenant.pods().await, pods, "nothing restarts for a key");
    for wire in [&new, &old] {
        assert_eq!(wire.ask("select 1").await, "1");
    }
    tenant.key("app", json!({"rotation": {"id": "third", "gracePeriodHours": 0}})).await;
    let third = tenant.wire("app").await;
    assert_eq!(third.ask("select 1").await, "1");
    assert!(!new.psql("select 1").await.success, "without a grace it is over");
}

#[tokio::test]
async fn what_is_made_by_rest_is_there_by_kubectl_and_works() {
    let world = shared().await;
    let visitor = Rest::of(&world, String::new()).await;
    let body =
        json!({"name": "Ada", "email": "ada@example.com", "password": "correct horse battery", "org_name": "Ada"});
    let opened = visitor.ok(Method::POST, "/v1/signup", body).await;
    let rest = visitor.bearing(opened["token"].as_str().unwrap());
    let environments = format!("/v1/organizations/{}/environments", opened["org"]["id"].as_str().unwrap());
    let made = rest.ok(Method::POST, &environments, json!({"name": "Dev", "slug": "dev"})).await;
    let name = format!("{}-dev", opened["org"]["slug"].as_str().unwrap());
    let object = ready(&world.api::<Environment>(), &name).await;
    assert_eq!(object.metadata.uid.as_deref(), made["env_id"].as_str());
    assert_eq!(object.status.unwrap().phase, Some(EnvironmentPhase::Active));

    let keys = format!("/v1/environments/{}/api-keys", made["env_id"].as_str().unwrap());
    let key = rest.ok(Method::POST, &keys, json!({"name": "ci", "scopes": ["query:read"]})).await;
    let key_id = key["key_id"].as_str().unwrap();
    let (objects, key_name) = (world.api::<ApiKey>(), format!("key-{key_id}"));
    assert_eq!(ready(&objects, &key_name).await.spec.key_id.as_deref(), Some(key_id));
    let wire = WireClient::open(&world, &name, "dev", key["key"].as_str().unwrap().to_owned()).await;
    assert_eq!(wire.ask("select 1").await, "1");

    rest.ok(Method::DELETE, &format!("{keys}/{key_id}"), Value::Null).await;
    until(&objects, &key_name, "revoked", |key: &ApiKey| {
        key.status.as_ref().is_some_and(|status| status.phase == Some(ApiKeyPhase::Revoked))
    })
    .await;
    assert!(!wire.psql("select 1").await.success);
    assert!(world.api::<Secret>().get_opt(&key_name).await.unwrap().is_none(), "its text is in no Secret");
    assert!(!entry(&world, &format!("{name}-tls"), "ca.crt").await.is_empty());
}
