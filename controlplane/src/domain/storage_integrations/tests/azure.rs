//! Accounts of Azure as storage integrations.

use contract::storage_integration::{StorageCredentials, StorageKind};
use platform::Config;
use serde_json::{Value, json};

use super::{carried, made, path, secret_of};
use crate::testing::TestApp;
use crate::worlds::World;

/// `hush` in Base64.
const KEY: &str = "aHVzaA==";

fn lake() -> Value {
    json!({
        "name": "lake", "kind": "azure", "account": "lake1",
        "allowed_prefixes": ["azure://lake1.blob.core.windows.net/load/in/"],
        "credentials": {"type": "access_key", "access_key_id": "lake1", "secret_access_key": KEY},
    })
}

#[tokio::test]
async fn an_account_is_made_shown_carried_and_its_key_never_told() {
    let world = World::start().await;
    let integration = made(&world, lake()).await;
    assert_eq!((&integration["kind"], &integration["account"]), (&json!("azure"), &json!("lake1")));
    assert_eq!((&integration["path_style"], &integration["region"]), (&json!(false), &Value::Null));
    let one = path(&world, &integration);
    let shown = world.app.get(&one, &world.owner).await.expect(200);
    let events = world.app.events(&json!({"org": {"id": world.org_id}})).await;
    assert!(!format!("{integration}{shown}{events:?}").contains(KEY));
    let all = carried(&world).await;
    let [kept] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(secret_of(kept).as_deref(), Some(KEY));
    assert_eq!(kept.kind, StorageKind::Azure { account: "lake1".to_owned(), endpoint: None, path_style: false });
    assert!(kept.permits("azure://lake1.blob.core.windows.net/load/in/a.csv").is_ok());
    let changed = world.app.put(&one, &world.owner, json!({"enabled": false})).await.expect(200);
    assert_eq!((&changed["account"], &changed["enabled"]), (&json!("lake1"), &json!(false)));
    for elsewhere in [json!({"account": "lake2"}), json!({"endpoint": "https://lake1.blob.core.chinacloudapi.cn"})] {
        let moved = world.app.put(&one, &world.owner, elsewhere).await;
        assert_eq!(moved.body["error"]["details"]["field"], "credentials", "a key does not follow: {}", moved.body);
    }
}

#[tokio::test]
async fn each_member_of_an_account_that_is_not_in_order_is_named() {
    let world = World::start().await;
    let keyed = |id: &str, key: &str, token: Value| {
        let mut credentials = lake()["credentials"].clone();
        (credentials["access_key_id"], credentials["secret_access_key"]) = (json!(id), json!(key));
        credentials["session_token"] = token;
        credentials
    };
    for (member, value, field) in [
        ("account", json!("Lake"), "account"),
        ("account", json!("a/b"), "account"),
        ("account", Value::Null, "account"),
        ("endpoint", json!("http://127.0.0.1:10000"), "endpoint"),
        ("endpoint", json!("https://lake1.blob.example.com/load"), "endpoint"),
        ("endpoint", json!("https://lake2.blob.core.windows.net"), "endpoint"),
        ("endpoint", json!("https://lake2.blob.core.windows.net:8443"), "endpoint"),
        ("endpoint", json!("https://lake2.blob.core.windows.net."), "endpoint"),
        ("endpoint", json!("https://LAKE2.blob.core.windows.net"), "endpoint"),
        ("endpoint", json!("https://lake2-secondary.blob.core.windows.net"), "endpoint"),
        ("path_style", json!(true), "path_style"),
        ("region", json!("eu-central-1"), "region"),
        ("folder", json!("/srv"), "folder"),
        ("host", json!("db.example.com"), "host"),
        ("allowed_prefixes", json!(["s3://load/in/"]), "allowed_prefixes[0]"),
        ("allowed_prefixes", json!(["azure://lake1/load/"]), "allowed_prefixes[0]"),
        ("credentials", json!({"type": "ambient"}), "credentials"),
        ("credentials", json!({"type": "password", "user": "u", "password": "p"}), "credentials"),
        ("credentials", keyed("lake2", KEY, Value::Null), "credentials.access_key_id"),
        ("credentials", keyed("lake1", "no Base64", Value::Null), "credentials.secret_access_key"),
        ("credentials", keyed("lake1", "noBase64!", Value::Null), "credentials.secret_access_key"),
        ("credentials", keyed("lake1", KEY, json!("token")), "credentials.session_token"),
        ("credentials", json!({"type": "sas_token", "sas_token": "sv=1&sp=r"}), "credentials.sas_token"),
        ("credentials", json!({"type": "sas_token", "sas_token": "sv&sig=hush"}), "credentials.sas_token"),
        ("credentials", json!({"type": "sas_token", "sas_token": "sv=1 &sig=hush"}), "credentials.sas_token"),
    ] {
        let mut body = lake();
        body[member] = value.clone();
        let answer = world.app.post(&world.env("storage-integrations"), &world.owner, body).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{member} {value}");
        assert_eq!(answer.body["error"]["details"]["field"], field, "{}", answer.body);
    }
    assert!(carried(&world).await.is_empty());
}

#[tokio::test]
async fn a_private_endpoint_and_the_surroundings_are_for_whom_the_operator_allows_them() {
    let allow = |config: &mut Config| {
        config.storage.storage_hosts = vec!["127.0.0.1:10000".to_owned()];
        config.storage.storage_ambient = true;
    };
    let world = World::of(TestApp::configured(allow).await).await;
    let mut near = lake();
    (near["endpoint"], near["path_style"]) = (json!("http://127.0.0.1:10000/"), json!(true));
    near["credentials"] = json!({"type": "ambient"});
    let integration = made(&world, near).await;
    assert_eq!(integration["endpoint"], "http://127.0.0.1:10000");
    assert_eq!(integration["credentials"]["type"], "ambient");
    // a token is sent as it is, so it goes to nobody else
    let mut elsewhere = lake();
    (elsewhere["name"], elsewhere["endpoint"]) = (json!("other"), json!("https://store.example.com"));
    elsewhere["credentials"] = json!({"type": "ambient"});
    let refused = world.app.post(&world.env("storage-integrations"), &world.owner, elsewhere).await;
    assert_eq!(refused.body["error"]["details"]["field"], "credentials", "{}", refused.body);
    let moved = json!({"endpoint": "https://store.example.com", "path_style": false});
    let moved = world.app.put(&path(&world, &integration), &world.owner, moved).await;
    assert_eq!(moved.body["error"]["details"]["field"], "enabled", "{}", moved.body);
}

#[tokio::test]
async fn a_shared_access_signature_is_sealed_carried_and_never_told() {
    let world = World::start().await;
    let mut body = lake();
    body["credentials"] = json!({"type": "sas_token", "sas_token": "?sv=2023-11-03&sp=rl&sig=hush"});
    let integration = made(&world, body.clone()).await;
    assert_eq!(integration["credentials"]["type"], "sas_token");
    let all = carried(&world).await;
    let [kept] = all.as_slice() else { panic!("{all:?}") };
    let StorageCredentials::SasToken(token) = &kept.credentials else { panic!("{kept:?}") };
    assert_eq!(token.sas_token.expose(), "?sv=2023-11-03&sp=rl&sig=hush");
    let events = world.app.events(&json!({"org": {"id": world.org_id}})).await;
    assert!(!format!("{integration}{events:?}{kept:?}").contains("hush"));
    (body["name"], body["kind"], body["account"]) = (json!("other"), json!("s3"), Value::Null);
    (body["region"], body["allowed_prefixes"]) = (json!("eu-central-1"), json!(["*"]));
    let answer = world.app.post(&world.env("storage-integrations"), &world.owner, body).await;
    assert_eq!(answer.body["error"]["details"]["field"], "credentials", "{}", answer.body);
}
