//! Storage integrations whose credentials come from a Secret beside their environment.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::storage_integration::StorageCredentials;
use contract::{Redacted, StorageIntegration};
use platform::resources::{SecretRead, SecretValues};
use serde_json::{Value, json};

use super::rest::Kept;
use crate::domain::storage_integrations::{governed, reread};
use crate::testing::{TestApp, bearer};

const INTEGRATIONS: &str = "/v1/environments/dev-uid/storage-integrations";

/// A control plane that reads the Secret `lake`, with an organization and its environment `lives-dev`.
struct Installed {
    kept: Arc<Kept>,
    app: TestApp,
    ada: Value,
    owner: String,
}

impl Installed {
    async fn new() -> Self {
        let kept = Arc::new(Kept::default());
        let named = |config: &mut platform::Config| config.storage.storage_secrets = vec!["lake".to_owned()];
        let app = TestApp::with(named, Arc::<Kept>::clone(&kept)).await;
        let ada = app.signup("ada", "9 Lives").await;
        let body = json!({"name": "Dev", "slug": "dev"});
        app.post(&app.org(&ada, "/environments"), &bearer(&ada), body).await.expect(201);
        Self { kept, owner: bearer(&ada), ada, app }
    }

    /// One for `db.example.com`, whose key `id`, if it has that, is said to be that of the access key.
    fn holds(&self, environments: &[&str], values_given: &[(&str, &str)]) {
        let given = values_given.iter().map(|(key, value)| ((*key).to_owned(), Redacted::new((*value).to_owned())));
        let values = given.collect();
        let environments = environments.iter().map(|name| (*name).to_owned()).collect();
        let said = values_given.iter().filter(|(key, _)| *key == "id");
        let keys = said.map(|(key, _)| ("access_key_id".to_owned(), (*key).to_owned())).collect();
        let hosts = vec!["db.example.com".to_owned()];
        self.answers(SecretRead::There(SecretValues { environments, hosts, keys, values }));
    }

    fn answers(&self, read: SecretRead) {
        self.kept.secrets.lock().unwrap().insert("lake".to_owned(), read);
    }

    async fn refused(&self, credentials: Value) -> String {
        self.refuses(lake(&credentials)).await
    }

    async fn refuses(&self, body: Value) -> String {
        let answer = self.app.post(INTEGRATIONS, &self.owner, body).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{}", answer.body);
        answer.body["error"]["message"].as_str().unwrap().to_owned()
    }

    /// What a data plane is told of it.
    async fn carried(&self) -> StorageIntegration {
        let mut conn = self.app.app.pool().acquire().await.unwrap();
        governed(&mut conn, self.app.app.keyring(), &"dev-uid".into()).await.unwrap().remove(0)
    }

    async fn version(&self) -> i64 {
        sqlx::query_scalar("select governance_version from environments").fetch_one(self.app.app.pool()).await.unwrap()
    }

    /// Reads Secrets again, and shows the integration.
    async fn reread(&self, path: &str) -> Value {
        self.app.advance(chrono::Duration::minutes(1));
        reread(&self.app.app).await.unwrap();
        self.app.get(path, &self.owner).await.expect(200)
    }
}

fn lake(credentials: &Value) -> Value {
    json!({
        "name": "lake", "kind": "s3", "region": "eu-central-1", "allowed_prefixes": ["s3://lake/raw/"],
        "credentials": credentials,
    })
}

fn shop(credentials: &Value) -> Value {
    json!({
        "name": "shop", "kind": "postgres", "host": "db.example.com", "database": "shop",
        "allowed_prefixes": ["postgres://public/"], "credentials": credentials,
    })
}

fn secret_of(integration: &StorageIntegration) -> Option<&str> {
    match &integration.credentials {
        StorageCredentials::AccessKey(key) => Some(key.secret_access_key.expose().as_str()),
        StorageCredentials::Password(user) => Some(user.password.expose().as_str()),
        StorageCredentials::SasToken(token) => Some(token.sas_token.expose().as_str()),
        _ => None,
    }
}

#[tokio::test]
async fn a_secret_that_gives_no_access_key_is_named_with_what_it_lacks() {
    let world = Installed::new().await;
    let named = || json!({"type": "kubernetes_secret", "name": "lake"});
    assert!(world.refused(named()).await.contains("no Secret `lake`"));
    let whole = [("access_key_id", "AKIDHUSH"), ("secret_access_key", "hush")];
    world.holds(&["lives-prod"], &whole);
    assert!(world.refused(named()).await.contains("`lives-dev`"), "it is another environment's");
    world.holds(&["lives-dev"], &whole[..1]);
    assert!(world.refused(named()).await.contains("no key `secret_access_key`"));
    world.holds(&["lives-dev"], &whole);
    let other = json!({"type": "kubernetes_secret", "name": "sluice-controlplane-secret"});
    assert!(world.refused(other).await.contains("whoever runs the installation does not name the Secret"));
    let keys = json!({"type": "kubernetes_secret", "name": "lake", "keys": {"access_key_id": "../id"}});
    assert!(world.refused(keys).await.contains("`keys`"));
    let mut folder = lake(&named());
    (folder["kind"], folder["folder"]) = (json!("file"), json!("/srv"));
    let answer = world.app.post(INTEGRATIONS, &world.owner, folder).await;
    assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{}", answer.body);
}

#[tokio::test]
async fn an_access_key_of_a_secret_is_carried_rotated_withheld_and_never_told() {
    let world = Installed::new().await;
    world.holds(&["lives-dev"], &[("id", "AKIDHUSH"), ("secret_access_key", "hush1")]);
    let credentials = json!({"type": "kubernetes_secret", "name": "lake", "keys": {"access_key_id": "id"}});
    let made = world.app.post(INTEGRATIONS, &world.owner, lake(&credentials)).await.expect(201);
    assert_eq!(made["credentials"]["type"], "kubernetes_secret");
    let secret = &made["credentials"]["secret"];
    assert_eq!((&secret["name"], &secret["problem"]), (&json!("lake"), &json!(null)));
    assert_eq!(secret_of(&world.carried().await), Some("hush1"));
    let path = format!("{INTEGRATIONS}/{}", made["id"].as_str().unwrap());
    let version = world.version().await;
    let same = world.reread(&path).await;
    assert_eq!((world.version().await, &same), (version, &made), "what is the same moves nothing");

    world.holds(&["lives-dev"], &[("id", "AKIDHUSH"), ("secret_access_key", "hush2")]);
    let rotated = world.reread(&path).await;
    assert_ne!(rotated["credentials"]["since"], made["credentials"]["since"]);
    assert_eq!(secret_of(&world.carried().await), Some("hush2"));
    assert!(world.version().await > version, "a data plane learns of it without a restart");

    world.kept.secrets.lock().unwrap().clear();
    let gone = world.reread(&path).await;
    assert!(gone["credentials"]["secret"]["problem"].as_str().unwrap().contains("no Secret `lake`"), "{gone}");
    let withheld = world.carried().await;
    assert!(!withheld.enabled && secret_of(&withheld).is_none());
    assert_eq!(gone["enabled"], true, "it is enabled again as soon as the Secret is there");
    let moved = world.app.put(&path, &world.owner, json!({"endpoint": "https://s3.elsewhere.example"})).await;
    assert_eq!(moved.code(), (400, "VALIDATION_ERROR"), "the credentials do not follow");

    world.holds(&["lives-dev"], &[("id", "AKIDHUSH"), ("secret_access_key", "hush3")]);
    let back = world.reread(&path).await;
    assert_eq!((back["credentials"]["secret"]["problem"].clone(), world.carried().await.enabled), (json!(null), true));
    world.answers(SecretRead::Denied);
    let denied = world.reread(&path).await;
    assert!(denied["credentials"]["secret"]["problem"].as_str().unwrap().contains("does not let"), "{denied}");
    assert!(secret_of(&world.carried().await).is_none(), "the key that was read last does not stay in force");
    let events = world.app.events(&world.ada).await;
    let told = format!("{made}{rotated}{gone}{back}{denied}{events:?}").to_lowercase();
    assert!(!told.contains("hush"), "{told}");

    let own = json!({"credentials": {"type": "access_key", "access_key_id": "AKID", "secret_access_key": "own"}});
    let given = world.app.put(&path, &world.owner, own).await.expect(200);
    assert_eq!((&given["credentials"]["type"], given["credentials"].get("secret")), (&json!("access_key"), None));
    world.reread(&path).await;
    assert_eq!(secret_of(&world.carried().await), Some("own"), "the Secret is its own no more");
}

#[tokio::test]
async fn a_password_of_a_secret_is_carried_and_rotated_for_the_hosts_that_the_secret_names_alone() {
    let world = Installed::new().await;
    world.holds(&["lives-dev"], &[("user", "reader"), ("password", "hush1")]);
    let named = json!({"type": "kubernetes_secret", "name": "lake"});
    let made = world.app.post(INTEGRATIONS, &world.owner, shop(&named)).await.expect(201);
    let secret = &made["credentials"]["secret"];
    assert_eq!(secret["keys"], json!({"user": "user", "password": "password"}));
    assert_eq!((&secret["host"], &secret["problem"]), (&json!("db.example.com:5432"), &json!(null)));
    assert_eq!(secret_of(&world.carried().await), Some("hush1"));
    let path = format!("{INTEGRATIONS}/{}", made["id"].as_str().unwrap());
    world.holds(&["lives-dev"], &[("user", "reader"), ("password", "hush2")]);
    let rotated = world.reread(&path).await;
    assert_eq!(secret_of(&world.carried().await), Some("hush2"));

    for elsewhere in [json!({"host": "other.example.com"}), json!({"host": "other.example.com", "credentials": named})]
    {
        let moved = world.app.put(&path, &world.owner, elsewhere).await;
        assert_eq!(moved.code(), (400, "VALIDATION_ERROR"), "a password does not follow: {}", moved.body);
    }
    let mut other = shop(&named);
    (other["name"], other["host"]) = (json!("other"), json!("other.example.com"));
    let refused = world.refuses(other).await;
    assert!(refused.contains("sluice.dev/hosts") && refused.contains("`other.example.com:5432`"), "{refused}");
    let keys = json!({"type": "kubernetes_secret", "name": "lake", "keys": {"session_token": "password"}});
    assert!(world.refuses(shop(&keys)).await.contains("`keys`"));

    world.holds(&["lives-dev"], &[("user", "reader")]);
    let broken = world.reread(&path).await;
    assert!(broken["credentials"]["secret"]["problem"].as_str().unwrap().contains("no key `password`"), "{broken}");
    let withheld = world.carried().await;
    assert!(!withheld.enabled && secret_of(&withheld).is_none());
    let events = world.app.events(&world.ada).await;
    let told = format!("{made}{rotated}{refused}{broken}{events:?}");
    assert!(!told.contains("hush"), "{told}");
}

#[tokio::test]
async fn a_signature_of_a_secret_is_carried_and_rotated_for_the_hosts_that_the_secret_names_alone() {
    let world = Installed::new().await;
    let signed = |signature: &str, host: &str| {
        world.answers(SecretRead::There(SecretValues {
            environments: vec!["lives-dev".to_owned()],
            hosts: vec![host.to_owned()],
            values: BTreeMap::from([("sas_token".to_owned(), Redacted::new(format!("sv=1&sig={signature}")))]),
            ..SecretValues::default()
        }));
    };
    let named = json!({"type": "kubernetes_secret", "name": "lake", "keys": {"sas_token": "sas_token"}});
    let account = json!({
        "name": "lake", "kind": "azure", "account": "lake1",
        "allowed_prefixes": ["azure://lake1.blob.core.windows.net/load/"], "credentials": named,
    });
    signed("hush1", "db.example.com");
    let refused = world.refuses(account.clone()).await;
    assert!(refused.contains("sluice.dev/hosts") && refused.contains("`lake1.blob.core.windows.net:443`"), "{refused}");

    signed("hush1", "lake1.blob.core.windows.net");
    let made = world.app.post(INTEGRATIONS, &world.owner, account).await.expect(201);
    assert_eq!(made["credentials"]["secret"]["host"], "lake1.blob.core.windows.net:443");
    assert_eq!(secret_of(&world.carried().await), Some("sv=1&sig=hush1"));
    let path = format!("{INTEGRATIONS}/{}", made["id"].as_str().unwrap());
    signed("hush2", "lake1.blob.core.windows.net");
    let rotated = world.reread(&path).await;
    assert_eq!(secret_of(&world.carried().await), Some("sv=1&sig=hush2"));

    let elsewhere = json!({"endpoint": "https://store.example.com", "credentials": named});
    for moved in [json!({"endpoint": "https://store.example.com"}), elsewhere] {
        let moved = world.app.put(&path, &world.owner, moved).await;
        assert_eq!(moved.code(), (400, "VALIDATION_ERROR"), "a signature does not follow: {}", moved.body);
    }
    signed("hush2", "db.example.com");
    let withdrawn = world.reread(&path).await;
    let problem = withdrawn["credentials"]["secret"]["problem"].as_str().unwrap();
    assert!(problem.contains("sluice.dev/hosts"), "{problem}");
    let withheld = world.carried().await;
    assert!(!withheld.enabled && secret_of(&withheld).is_none());
    let events = world.app.events(&world.ada).await;
    let told = format!("{made}{rotated}{refused}{withdrawn}{events:?}");
    assert!(!told.contains("hush"), "{told}");
}
