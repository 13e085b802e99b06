mod azure;
mod databases;

use chrono::Duration;
use contract::StorageIntegration;
use contract::storage_integration::StorageCredentials;
use platform::events::Origin;
use serde_json::{Value, json};

use super::{confine, governed};
use crate::domain::environments;
use crate::testing::TestApp;
use crate::worlds::World;

const SECRET: &str = "hush+hush/hush";

fn lake() -> Value {
    json!({
        "name": "lake", "kind": "s3", "region": "eu-central-1", "endpoint": "https://s3.example.com",
        "allowed_prefixes": ["s3://lake/raw/"], "blocked_prefixes": ["s3://lake/raw/secret/"],
        "credentials": {"type": "access_key", "access_key_id": "AKIDHUSH", "secret_access_key": SECRET},
    })
}

async fn made(world: &World, body: Value) -> Value {
    world.app.post(&world.env("storage-integrations"), &world.owner, body).await.expect(201)
}

fn path(world: &World, made: &Value) -> String {
    world.env(&format!("storage-integrations/{}", made["storage_integration_id"].as_str().unwrap()))
}

async fn carried(world: &World) -> Vec<StorageIntegration> {
    let mut conn = world.app.app.pool().acquire().await.unwrap();
    governed(&mut conn, world.app.app.keyring(), &world.env_id).await.unwrap()
}

fn secret_of(integration: &StorageIntegration) -> Option<String> {
    match &integration.credentials {
        StorageCredentials::AccessKey(key) => Some(key.secret_access_key.expose().clone()),
        StorageCredentials::Anonymous
        | StorageCredentials::Ambient
        | StorageCredentials::Password(_)
        | StorageCredentials::SasToken(_)
        | StorageCredentials::Sealed { .. } => None,
    }
}

#[tokio::test]
async fn an_integration_is_made_shown_changed_and_deleted() {
    let world = World::start().await;
    let integration = made(&world, lake()).await;
    assert_eq!((&integration["kind"], &integration["path_style"]), (&json!("s3"), &json!(false)));
    assert_eq!(integration["credentials"]["type"], "access_key");
    let one = path(&world, &integration);
    assert_eq!(world.app.get(&one, &world.owner).await.expect(200), integration);
    let listed = world.app.get(&world.env("storage-integrations"), &world.owner).await.expect(200);
    assert_eq!(listed["data"], json!([integration]));
    world.app.advance(Duration::seconds(1));
    let changed = world.app.put(&one, &world.owner, json!({"enabled": false, "path_style": true})).await.expect(200);
    assert_eq!((&changed["enabled"], &changed["path_style"]), (&json!(false), &json!(true)));
    assert_eq!((&changed["region"], &changed["credentials"]), (&integration["region"], &integration["credentials"]));
    let deleted = world.app.delete(&one, &world.owner).await.expect(200);
    assert_eq!((&deleted["id"], &deleted["deleted"]), (&integration["id"], &json!(true)));
    assert_eq!(world.app.get(&one, &world.owner).await.code(), (404, "NOT_FOUND"));
    let events = world.app.events(&json!({"org": {"id": world.org_id}})).await;
    let kinds: Vec<_> = events.iter().rev().take(3).map(|(kind, _)| kind.as_str()).collect();
    let expected = ["storage_integration.deleted", "storage_integration.updated", "storage_integration.created"];
    assert_eq!(kinds, expected);
}

#[tokio::test]
async fn credentials_are_sealed_carried_rotated_and_never_told_again() {
    let world = World::start().await;
    let integration = made(&world, lake()).await;
    let one = path(&world, &integration);
    assert_eq!(carried(&world).await.iter().map(secret_of).collect::<Vec<_>>(), [Some(SECRET.to_owned())]);
    let version = world.version().await;
    let other =
        json!({"credentials": {"type": "access_key", "access_key_id": "AKIDHUSH", "secret_access_key": "hush2"}});
    world.app.advance(Duration::seconds(1));
    let rotated = world.app.put(&one, &world.owner, other).await.expect(200);
    assert_ne!(rotated["credentials"]["since"], integration["credentials"]["since"]);
    assert!(world.version().await > version, "a data plane learns of it without a restart");
    assert_eq!(carried(&world).await.iter().map(secret_of).collect::<Vec<_>>(), [Some("hush2".to_owned())]);
    let shown = world.app.get(&one, &world.owner).await.expect(200);
    let listed = world.app.get(&world.env("storage-integrations"), &world.owner).await.expect(200);
    let events = world.app.events(&json!({"org": {"id": world.org_id}})).await;
    let told = format!("{integration}{rotated}{shown}{listed}{events:?}").to_lowercase();
    assert!(!told.contains("hush"), "{told}");
    let stored = world.count(
        "select count(*) from storage_integrations
         where position('hush' in lower(encode(credentials, 'escape'))) > 0 or position('hush' in kind::text) > 0",
    );
    assert_eq!(stored.await, 0);
    world.app.put(&one, &world.owner, json!({"credentials": {"type": "anonymous"}})).await.expect(200);
    assert_eq!(carried(&world).await.iter().map(secret_of).collect::<Vec<_>>(), [None]);
}

#[tokio::test]
async fn credentials_that_cannot_be_opened_disable_the_integration_and_nothing_else() {
    let world = World::start().await;
    made(&world, lake()).await;
    world.sql("update storage_integrations set credentials = '\\x00'").await;
    let carried = carried(&world).await;
    let [integration] = carried.as_slice() else { panic!("{carried:?}") };
    assert!(!integration.enabled && integration.permits("s3://lake/raw/x").is_err());
}

#[tokio::test]
async fn credentials_do_not_follow_to_another_endpoint() {
    let world = World::start().await;
    let one = path(&world, &made(&world, lake()).await);
    let elsewhere = json!({"endpoint": "https://s3.elsewhere.example"});
    let answer = world.app.put(&one, &world.owner, elsewhere.clone()).await;
    assert_eq!(answer.code(), (400, "VALIDATION_ERROR"));
    assert_eq!(answer.body["error"]["details"]["field"], "credentials");
    let mut anew = elsewhere;
    anew["credentials"] = lake()["credentials"].clone();
    world.app.put(&one, &world.owner, anew).await.expect(200);
}

#[tokio::test]
async fn a_name_is_taken_once_whatever_its_case() {
    let world = World::start().await;
    made(&world, lake()).await;
    let mut again = lake();
    again["name"] = json!("LAKE");
    let answer = world.app.post(&world.env("storage-integrations"), &world.owner, again).await;
    assert_eq!(answer.code(), (409, "CONFLICT"));
}

#[tokio::test]
async fn each_member_that_is_not_in_order_is_named() {
    let world = World::start().await;
    for (member, value, field) in [
        ("name", json!("la-ke"), "name"),
        ("name", json!("1lake"), "name"),
        ("region", json!("EU central"), "region"),
        ("endpoint", json!("http://s3.example.com"), "endpoint"),
        ("endpoint", json!("https://169.254.169.254"), "endpoint"),
        ("endpoint", json!("https://10.0.0.1"), "endpoint"),
        ("endpoint", json!("https://s3.example.com/bucket"), "endpoint"),
        ("folder", json!("/srv"), "folder"),
        ("allowed_prefixes", json!(["s3://lake/../x"]), "allowed_prefixes[0]"),
        ("allowed_prefixes", json!(["*", "file:///srv/"]), "allowed_prefixes[1]"),
        ("blocked_prefixes", json!(["s3://lake/%2e%2e/"]), "blocked_prefixes[0]"),
        ("credentials", json!({"type": "ambient"}), "credentials"),
        ("credentials", json!({"type": "kubernetes_secret", "name": "lake"}), "credentials"),
    ] {
        let mut body = lake();
        body[member] = value;
        let answer = world.app.post(&world.env("storage-integrations"), &world.owner, body).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{member}");
        assert_eq!(answer.body["error"]["details"]["field"], field, "{}", answer.body);
    }
    let folder = json!({"name": "disk", "kind": "file", "folder": "/srv", "allowed_prefixes": ["*"]});
    let answer = world.app.post(&world.env("storage-integrations"), &world.owner, folder).await;
    assert_eq!(answer.body["error"]["details"]["field"], "kind", "no folder was named: {}", answer.body);
    assert!(carried(&world).await.is_empty());
}

#[tokio::test]
async fn whoever_runs_the_installation_names_folders_hosts_and_ambient_credentials() {
    let allow = |config: &mut platform::Config| {
        config.storage.storage_folder = Some("/srv/data".into());
        config.storage.storage_hosts = vec!["127.0.0.1:9000".to_owned()];
        config.storage.storage_ambient = true;
    };
    let world = World::of(TestApp::configured(allow).await).await;
    let mut own = lake();
    own["endpoint"] = json!("http://127.0.0.1:9000");
    own["credentials"] = json!({"type": "ambient"});
    made(&world, own).await;
    let folder = |folder: &str| json!({"name": "disk", "kind": "file", "folder": folder, "allowed_prefixes": ["*"]});
    for outside in ["/srv", "/srv/database", "/srv/data/../x", "srv/data", "/etc"] {
        let answer = world.app.post(&world.env("storage-integrations"), &world.owner, folder(outside)).await;
        assert_eq!(answer.body["error"]["details"]["field"], "folder", "{outside}");
    }
    let mut keyed = folder("/srv/data");
    keyed["credentials"] = lake()["credentials"].clone();
    let answer = world.app.post(&world.env("storage-integrations"), &world.owner, keyed).await;
    assert_eq!(answer.body["error"]["details"]["field"], "credentials");
    made(&world, folder("/srv/data/in")).await;
    let carried = carried(&world).await;
    assert!(carried.iter().any(|one| one.permits("file:///srv/data/in/a.csv").is_ok()));
    assert!(carried.iter().all(|one| one.permits("file:///srv/data/out/a.csv").is_err()));
}

#[tokio::test]
async fn owners_and_admins_alone_manage_them() {
    let world = World::start().await;
    for (role, status) in [("admin", 201), ("developer", 403), ("analyst", 403), ("auditor", 403)] {
        let user_id = world.user(&format!("{role}@acme.example"), role).await;
        let key = world.key_of(&user_id).await;
        let mut body = lake();
        body["name"] = json!(role);
        let answer = world.app.post(&world.env("storage-integrations"), &key, body).await;
        assert_eq!(answer.status.as_u16(), status, "{role}");
        let listed = world.app.get(&world.env("storage-integrations"), &key).await;
        assert_eq!(listed.status.is_success(), status == 201, "{role}");
    }
    let reads = world.key(&["schema:read"]).await;
    assert_eq!(world.app.get(&world.env("storage-integrations"), &reads).await.status, 200);
    let answer = world.app.post(&world.env("storage-integrations"), &reads, lake()).await;
    assert_eq!(answer.body["error"]["details"]["stable_code"], "SVC_ERR_403_SCOPE_VIOLATION", "{}", answer.body);
}

#[tokio::test]
async fn what_the_installation_takes_back_is_disabled_at_the_next_start_and_stays_so() {
    let world = World::start().await;
    let one = path(&world, &made(&world, lake()).await);
    let beyond = [
        ("disk", r#"{"kind": "file", "folder": "/srv/data"}"#, "anonymous"),
        ("near", r#"{"kind": "s3", "endpoint": "http://127.0.0.1:9000", "region": "x"}"#, "anonymous"),
        ("around", r#"{"kind": "s3", "endpoint": null, "region": "x"}"#, "ambient"),
    ];
    for (name, kind, credentials) in beyond {
        world
            .sql(&format!(
                "insert into storage_integrations
                     (storage_integration_id, env_id, name, kind, allowed_prefixes, blocked_prefixes, enabled,
                      credential_type, created_at, updated_at)
                 values ('{name}', '{}', '{name}', '{kind}', '{{*}}', '{{}}', true, '{credentials}', now(), now())",
                world.env_id
            ))
            .await;
    }
    let version = world.version().await;
    confine(&world.app.app).await.unwrap();
    assert!(world.version().await > version, "data planes learn of it");
    let enabled: Vec<_> = carried(&world).await.into_iter().filter(|one| one.enabled).map(|one| one.name).collect();
    assert_eq!(enabled, ["lake"]);
    for (name, ..) in beyond {
        let again = world.env(&format!("storage-integrations/{name}"));
        let refused = world.app.put(&again, &world.owner, json!({"enabled": true})).await;
        assert_eq!(refused.body["error"]["details"]["field"], "enabled", "{name}: {}", refused.body);
    }
    world.app.put(&one, &world.owner, json!({"enabled": false})).await.expect(200);
}

#[tokio::test]
async fn nothing_of_an_integration_is_kept_of_an_environment_that_is_removed() {
    let world = World::start().await;
    made(&world, lake()).await;
    let app = &world.app.app;
    let mut tx = app.pool().begin().await.unwrap();
    let origin = || Origin::system(app, world.org_id.clone());
    environments::removal::remove(app, &mut tx, &world.env_id, &origin).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(world.count("select count(*) from storage_integrations").await, 0);
}
