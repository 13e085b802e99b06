use std::sync::Arc;

use platform::provisioner::{Placement, Provision, ProvisionError, Provisioner};
use serde_json::{Value, json};

use super::placement;
use crate::server::jobs;
use crate::testing::{TestApp, bearer};
use crate::worlds::World;

/// Places every data plane at one real listener.
#[derive(Debug)]
struct AtListener(std::net::TcpListener);

impl AtListener {
    fn placement(&self) -> Placement {
        let internal = self.0.local_addr().unwrap();
        let address = ("127.0.0.1".to_owned(), internal.port());
        Placement { internal: internal.to_string(), pg: address.clone(), tools: address, database: "demo".to_owned() }
    }
}

#[async_trait::async_trait]
impl Provisioner for AtListener {
    async fn provision(&self, _: &Provision) -> Result<Placement, ProvisionError> {
        Ok(self.placement())
    }
}

async fn placed() -> World {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    World::of(TestApp::with(|_| {}, Arc::new(AtListener(listener))).await).await
}

#[tokio::test]
async fn a_new_environment_is_provisioning_until_its_data_plane_is_placed() {
    let world = placed().await;
    world.app.advance(chrono::Duration::seconds(1));
    let body = json!({"name": "Sales", "slug": "sales", "settings": {"query_timeout_ms": 5000}});
    let made = world.app.post(&world.org("environments"), &world.owner, body).await.expect(201);
    assert_eq!((made["status"].as_str(), &made["connection"]), (Some("provisioning"), &json!(null)));
    assert_eq!(made["settings"]["query_timeout_ms"], 5000);
    assert_eq!(made["settings"]["max_concurrent_queries"], 100);
    assert_eq!(made["id"], made["env_id"]);
    assert_eq!(jobs::run_due(&world.app.app).await.unwrap(), 1);
    let listed = world.app.get(&world.org("environments"), &world.owner).await.expect(200);
    assert_eq!(listed["data"][0]["status"], "active");
    assert_eq!(listed["data"][0]["connection"]["database"], "sales");
    assert_eq!(listed["pagination"]["total"], 2);
}

#[tokio::test]
async fn a_slug_is_taken_once_and_has_a_form() {
    let world = World::start().await;
    for (slug, code) in
        [("demo", (409, "CONFLICT")), ("Demo", (400, "VALIDATION_ERROR")), ("-a", (400, "VALIDATION_ERROR"))]
    {
        let answer = world.app.post(&world.org("environments"), &world.owner, json!({"name": "x", "slug": slug})).await;
        assert_eq!(answer.code(), code, "{slug}");
    }
}

#[tokio::test]
async fn a_tier_has_so_many_environments() {
    let world = World::start().await;
    world.set_tier("free").await;
    let answer = world.app.post(&world.org("environments"), &world.owner, json!({"name": "x", "slug": "x"})).await;
    assert_eq!(answer.code(), (403, "FORBIDDEN"));
    assert_eq!(answer.body["error"]["details"]["quota"], "max_environments");
}

#[tokio::test]
async fn settings_change_within_bounds_and_move_the_version() {
    let world = World::start().await;
    let path = world.org(&format!("environments/{}", world.env_id));
    let before = world.version().await;
    assert_eq!(world.app.get(&path, &world.owner).await.expect(200)["settings"]["heal"], "safe");
    let body = json!({"settings": {"query_timeout_ms": 300_000, "cache_enabled": false, "heal": "off"}});
    let changed = world.app.put(&path, &world.owner, body).await.expect(200);
    assert_eq!((&changed["settings"]["cache_enabled"], &changed["settings"]["heal"]), (&json!(false), &json!("off")));
    assert_eq!(changed["settings"]["max_concurrent_queries"], 100);
    assert!(world.version().await > before);
    let told = "select changes::text from iam_events where event_type = 'environment.updated'";
    let told: Vec<String> = sqlx::query_scalar(told).fetch_all(world.app.app.pool()).await.unwrap();
    let [told] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(
        serde_json::from_str::<Value>(told).unwrap(),
        json!({"before": {"query_timeout_ms": 30_000, "cache_enabled": true, "heal": "safe"},
               "after": {"query_timeout_ms": 300_000, "cache_enabled": false, "heal": "off"}})
    );
    world.app.put(&path, &world.owner, json!({"settings": {"cache_enabled": false}})).await.expect(200);
    let told = world.count("select count(*) from iam_events where event_type = 'environment.updated'").await;
    assert_eq!(told, 1, "nothing changes");
    for (settings, field) in [
        (json!({"query_timeout_ms": 300_001}), "settings.query_timeout_ms"),
        (json!({"query_timeout_ms": 0}), "settings.query_timeout_ms"),
        (json!({"max_concurrent_queries": 0}), "settings.max_concurrent_queries"),
        (json!({"heal": "always"}), "settings.heal"),
        (json!({"test_mode": false}), "settings.test_mode"),
        (json!({"colour": 1}), "settings.colour"),
    ] {
        let answer = world.app.put(&path, &world.owner, json!({"settings": settings})).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.body["error"]["details"]["field"], field);
    }
}

#[tokio::test]
async fn each_setting_is_a_column_that_moves_the_version() {
    let world = World::start().await;
    let settings = json!(contract::EnvironmentSettings::default());
    for (name, value) in settings.as_object().unwrap() {
        let other = match value {
            Value::Bool(_) => format!("not {name}"),
            Value::Number(_) => format!("{name} + 1"),
            _ => "'off'".to_owned(),
        };
        let before = world.version().await;
        let update = format!("update environments set {name} = {other}");
        let update = sqlx::query(sqlx::AssertSqlSafe(update)).execute(world.app.app.pool()).await;
        assert_eq!(update.map(|done| done.rows_affected()).ok(), Some(1), "environments has no column {name}");
        assert!(world.version().await > before, "the trigger environments_governance does not name {name}");
    }
}

#[tokio::test]
async fn connection_info_says_where_and_never_a_key() {
    let world = placed().await;
    let path = world.org(&format!("environments/{}/connection-info", world.env_id));
    assert_eq!(world.app.get(&path, &world.owner).await.code(), (409, "CONFLICT"));
    placement::provision(&world.app.app, &world.env_id).await.unwrap();
    let answer = world.app.get(&path, &world.owner).await;
    assert!(answer.headers.contains_key("deprecation"));
    let info = answer.expect(200);
    let port = info["port"].as_i64().unwrap();
    assert_eq!(info["psql"], format!("postgresql://agent:<API_KEY>@127.0.0.1:{port}/demo?sslmode=prefer"));
    assert_eq!(info["dbt"]["dbname"], "demo");
}

/// An owner who is signed in: no key of theirs goes with an environment.
async fn signed_in() -> (TestApp, Value) {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "Acme").await;
    app.set_tier("enterprise").await;
    (app, ada)
}

#[tokio::test]
async fn names_differ_within_an_organization_whatever_their_case() {
    let (app, ada) = signed_in().await;
    let (all, by) = (app.org(&ada, "/environments"), bearer(&ada));
    let made = async |name: &str, slug: &str| app.post(&all, &by, json!({"name": name, "slug": slug})).await;
    let one = |made: &Value| format!("{all}/{}", made["env_id"].as_str().unwrap());
    let (sales, demo) = (made("Sales", "sales").await.expect(201), made("Demo", "demo").await.expect(201));
    let refused = made(" sALES", "other").await;
    assert_eq!(
        (refused.code(), &refused.body["error"]["details"]["reason"]),
        ((409, "CONFLICT"), &json!("name_taken"))
    );
    assert_eq!(app.put(&one(&demo), &by, json!({"name": "sales"})).await.code(), (409, "CONFLICT"));
    app.put(&one(&sales), &by, json!({"name": "SALES"})).await.expect(200);
    app.delete(&format!("{}?confirm=SALES", one(&sales)), &by).await.expect(200);
    app.put(&one(&demo), &by, json!({"name": "sales"})).await.expect(200);
}

#[tokio::test]
async fn an_environment_is_suspended_and_resumed_and_each_is_told_once() {
    let world = placed().await;
    placement::provision(&world.app.app, &world.env_id).await.unwrap();
    let path = world.org(&format!("environments/{}", world.env_id));
    let act = async |what: &str| world.app.post(&format!("{path}/{what}"), &world.owner, Value::Null).await.expect(200);
    let version = world.version().await;
    for _ in 0..2 {
        assert_eq!(act("suspend").await["status"], "suspended");
    }
    assert!(world.version().await > version, "its data plane learns of it");
    let asked = json!({"sql": "select 1"});
    world.app.expect_5xx(1);
    let refused = world.app.post(&world.env("query"), &world.owner, asked).await;
    assert_eq!(refused.status, 503, "{:?}", refused.body);
    jobs::run_due(&world.app.app).await.unwrap();
    assert_eq!(act("resume").await["status"], "provisioning");
    jobs::run_due(&world.app.app).await.unwrap();
    assert_eq!(act("resume").await["status"], "active");
    for (kind, count) in [("suspended", 1), ("resumed", 1)] {
        let told = format!("select count(*) from iam_events where event_type = 'environment.{kind}'");
        assert_eq!(world.count(&told).await, count, "{kind}");
    }
}

#[tokio::test]
async fn an_environment_goes_when_its_name_is_said_and_its_record_stays() {
    let (app, ada) = signed_in().await;
    let (all, by) = (app.org(&ada, "/environments"), bearer(&ada));
    let wish = json!({"name": "Dev", "slug": "dev"});
    let made = app.post(&all, &by, wish.clone()).await.expect(201);
    let env_id = made["env_id"].as_str().unwrap();
    let one = format!("{all}/{env_id}");
    let keys = format!("/v1/environments/{env_id}/api-keys");
    app.post(&keys, &by, json!({"name": "ci", "scopes": ["query:read"]})).await.expect(201);
    for path in [one.clone(), format!("{one}?confirm=other"), format!("{one}?confirmed=Dev")] {
        assert_eq!(app.delete(&path, &by).await.status, 400, "{path}");
    }
    let gone = format!("{one}?confirm=Dev");
    assert_eq!(app.delete(&gone, &by).await.expect(200)["status"], "decommissioning");
    let kinds: Vec<String> = app.events(&ada).await.into_iter().skip(2).map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["key.created", "key.revoked", "environment.removed"]);
    assert_eq!(app.get(&all, &by).await.expect(200)["pagination"]["total"], 0);
    assert_eq!(app.get(&one, &by).await.expect(200)["status"], "decommissioning");
    for act in [format!("{one}/suspend"), format!("{one}/resume")] {
        assert_eq!(app.post(&act, &by, Value::Null).await.code(), (409, "CONFLICT"), "{act}");
    }
    assert_eq!(app.delete(&gone, &by).await.code(), (409, "CONFLICT"));
    app.post(&all, &by, wish).await.expect(201);
}
