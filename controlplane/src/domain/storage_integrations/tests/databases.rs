//! Databases as storage integrations.

use contract::storage_integration::{SslMode, StorageCredentials, StorageKind};
use platform::Config;
use serde_json::{Value, json};

use super::{carried, made, path};
use crate::testing::TestApp;
use crate::worlds::World;

fn shop() -> Value {
    json!({
        "name": "shop", "kind": "postgres", "host": "DB.example.com", "database": "shop",
        "allowed_prefixes": ["postgres://public/"], "blocked_prefixes": ["postgres://public/secret"],
        "credentials": {"type": "password", "user": "reader_hush", "password": "hush hush"},
    })
}

#[tokio::test]
async fn a_database_is_made_and_its_password_is_sealed_carried_and_never_told() {
    let world = World::start().await;
    let integration = made(&world, shop()).await;
    assert_eq!((&integration["kind"], &integration["port"]), (&json!("postgres"), &json!(5432)));
    assert_eq!((&integration["host"], &integration["ssl_mode"]), (&json!("db.example.com"), &json!("verify-full")));
    let one = path(&world, &integration);
    let shown = world.app.get(&one, &world.owner).await.expect(200);
    let events = world.app.events(&json!({"org": {"id": world.org_id}})).await;
    assert!(!format!("{integration}{shown}{events:?}").contains("hush"));
    let all = carried(&world).await;
    let [kept] = all.as_slice() else { panic!("{all:?}") };
    let StorageCredentials::Password(user) = &kept.credentials else { panic!("{kept:?}") };
    assert_eq!((user.user.expose().as_str(), user.password.expose().as_str()), ("reader_hush", "hush hush"));
    let kind = StorageKind::Postgres {
        host: "db.example.com".to_owned(),
        port: 5432,
        database: "shop".to_owned(),
        ssl_mode: SslMode::VerifyFull,
    };
    assert_eq!(kept.kind, kind);
    let changed = world.app.put(&one, &world.owner, json!({"enabled": false, "name": "store"})).await.expect(200);
    assert_eq!((&changed["name"], &changed["host"]), (&json!("store"), &integration["host"]));
    let moved = world.app.put(&one, &world.owner, json!({"host": "other.example.com"})).await;
    assert_eq!(moved.body["error"]["details"]["field"], "credentials", "a password does not follow: {}", moved.body);
}

#[tokio::test]
async fn each_member_of_a_database_that_is_not_in_order_is_named() {
    let world = World::start().await;
    for (member, value, field) in [
        ("name", json!("main"), "name"),
        ("name", json!("pg_catalog"), "name"),
        ("host", json!("localhost"), "host"),
        ("host", json!("10.0.0.1"), "host"),
        ("host", json!("db.example.com:5432"), "host"),
        ("host", json!("u@db.example.com"), "host"),
        ("host", Value::Null, "host"),
        ("port", json!(0), "host"),
        ("database", json!(""), "database"),
        ("ssl_mode", json!("disable"), "ssl_mode"),
        ("region", json!("eu-central-1"), "region"),
        ("folder", json!("/srv"), "folder"),
        ("allowed_prefixes", json!(["s3://public/"]), "allowed_prefixes[0]"),
        ("credentials", json!({"type": "anonymous"}), "credentials"),
        ("credentials", Value::Null, "credentials"),
        ("credentials", json!({"type": "password", "user": "", "password": "x"}), "credentials.user"),
        ("credentials", json!({"type": "kubernetes_secret", "name": "shop"}), "credentials"),
    ] {
        let mut body = shop();
        body[member] = value.clone();
        let answer = world.app.post(&world.env("storage-integrations"), &world.owner, body).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{member} {value}");
        assert_eq!(answer.body["error"]["details"]["field"], field, "{}", answer.body);
    }
    assert!(carried(&world).await.is_empty());
}

#[tokio::test]
async fn a_private_host_and_a_plain_connection_are_for_hosts_that_the_operator_names() {
    let allow = |config: &mut Config| config.storage.storage_hosts = vec!["127.0.0.1:5433".to_owned()];
    let world = World::of(TestApp::configured(allow).await).await;
    let mut near = shop();
    (near["host"], near["port"], near["ssl_mode"]) = (json!("127.0.0.1"), json!(5433), json!("disable"));
    made(&world, near.clone()).await;
    (near["name"], near["port"]) = (json!("other"), json!(5432));
    let answer = world.app.post(&world.env("storage-integrations"), &world.owner, near).await;
    assert_eq!(answer.body["error"]["details"]["field"], "host", "{}", answer.body);
}
