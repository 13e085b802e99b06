use contract::EnvId;
use serde_json::{Value, json};

use crate::domain::environments::{EnvironmentSeed, record};
use crate::testing::Answer;
use crate::worlds::World;

/// A world with policies, and an environment that has none of them.
async fn two() -> (World, EnvId) {
    let world = World::start().await;
    world.mask("ssn").await;
    let filter = json!({"table": "customers", "filter": "region = 'EU'", "exempt_roles": []});
    policy(&world, &world.env_id, json!({"name": "eu", "type": "row_level_security", "rules": [filter]})).await;
    let rule = json!({"condition": "OperationIs", "values": ["drop"], "action": "deny"});
    let body = json!({"name": "no drops", "rules": [rule], "priority": 3});
    world.app.post(&world.env("abac-policies"), &world.owner, body).await.expect(201);
    let seed = EnvironmentSeed { name: "Live".to_owned(), slug: "live".to_owned(), test_mode: false };
    let live = record(&world.app.app, &world.org_id, &seed).await.unwrap();
    (world, live)
}

async fn session(world: &World) -> String {
    let body = json!({"email": "olga@acme.example", "password": "a password that is long enough 7"});
    crate::testing::bearer(&world.app.post("/v1/auth/login", "", body).await.expect(200))
}

async fn policy(world: &World, env_id: &EnvId, body: Value) -> Value {
    let path = format!("/v1/environments/{env_id}/policies");
    world.app.post(&path, &session(world).await, body).await.expect(201)
}

async fn promote(world: &World, by: &str, body: Value) -> Answer {
    world.app.post(&world.org(&format!("environments/{}/promote", world.env_id)), by, body).await
}

async fn names(world: &World, env_id: &EnvId, kind: &str) -> Vec<String> {
    let listed = world.app.get(&format!("/v1/environments/{env_id}/{kind}"), &session(world).await).await.expect(200);
    let mut names: Vec<_> =
        listed["data"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn changes(promoted: &Value) -> Vec<String> {
    let told = |change: &Value| ["kind", "name", "action"].map(|member| change[member].as_str().unwrap()).join(" ");
    let mut changes: Vec<_> = promoted["changes"].as_array().unwrap().iter().map(told).collect();
    // made at one moment of the test's clock, they have no order among themselves
    changes.sort();
    changes
}

const ALL: [&str; 3] = ["abac_policies no drops create", "masking_rules ssn create", "rls_filters eu create"];

#[tokio::test]
async fn a_dry_run_shows_what_a_promotion_then_does() {
    let (world, live) = two().await;
    let by = session(&world).await;
    let tried = promote(&world, &by, json!({"target_env_id": live, "dry_run": true})).await.expect(200);
    assert_eq!((tried["status"].as_str(), changes(&tried)), (Some("dry_run"), ALL.map(str::to_owned).to_vec()));
    assert!(names(&world, &live, "policies").await.is_empty());
    assert_eq!(world.count("select count(*) from iam_events where event_type = 'environment.promoted'").await, 0);

    let done = promote(&world, &by, json!({"target_env_id": live})).await.expect(200);
    assert_eq!((done["status"].as_str(), changes(&done)), (Some("completed"), ALL.map(str::to_owned).to_vec()));
    assert_eq!((&done["source_env"], &done["target_env"]), (&json!(world.env_id), &json!(live)));
    assert_eq!(done["promoted_by"], world.owner_id.as_str());
    assert_eq!(names(&world, &live, "policies").await, ["eu", "ssn"]);
    assert_eq!(names(&world, &live, "abac-policies").await, ["no drops"]);
    assert_eq!(world.count("select count(*) from iam_events where event_type = 'environment.promoted'").await, 1);
    let again = promote(&world, &by, json!({"target_env_id": live})).await.expect(200);
    assert_eq!(again["changes"], json!([]));
}

#[tokio::test]
async fn how_far_statements_are_healed_goes_with_the_policies() {
    let (world, live) = two().await;
    let by = session(&world).await;
    let heal = |env_id: &EnvId| world.org(&format!("environments/{env_id}"));
    world.app.put(&heal(&world.env_id), &by, json!({"settings": {"heal": "off"}})).await.expect(200);
    let masks = json!({"target_env_id": live, "include": ["masking_rules", "rls_filters", "abac_policies"]});
    promote(&world, &by, masks).await.expect(200);
    assert_eq!(world.app.get(&heal(&live), &by).await.expect(200)["settings"]["heal"], "safe");
    for (dry_run, after) in [(true, "safe"), (false, "off")] {
        let done = promote(&world, &by, json!({"target_env_id": live, "dry_run": dry_run})).await.expect(200);
        assert_eq!(changes(&done), ["settings heal update"]);
        assert_eq!(world.app.get(&heal(&live), &by).await.expect(200)["settings"]["heal"], after);
    }
    let told = "select count(*) from iam_events where event_type = 'environment.updated' and env_id = '";
    assert_eq!(world.count(&format!("{told}{live}'")).await, 1);
    assert_eq!(promote(&world, &by, json!({"target_env_id": live})).await.expect(200)["changes"], json!([]));
}

#[tokio::test]
async fn what_differs_is_brought_over_and_what_only_the_target_has_stays() {
    let (world, live) = two().await;
    let by = session(&world).await;
    let mask = json!({"table": "customers", "column": "ssn", "function": "full", "exempt_roles": []});
    let other = json!({"name": "ssn", "type": "column_masking", "rules": [mask], "enabled": false});
    let there = policy(&world, &live, other).await;
    policy(&world, &live, json!({"name": "own", "type": "column_masking", "rules": [mask]})).await;
    let done = promote(&world, &by, json!({"target_env_id": live, "include": ["masking_rules"]})).await.expect(200);
    assert_eq!(changes(&done), ["masking_rules ssn update"]);
    assert_eq!(done["changes"][0]["policy_id"], there["policy_id"]);
    assert_eq!(names(&world, &live, "policies").await, ["own", "ssn"]);
    let trail = "select count(*) from iam_events where event_type = 'policy.updated' and env_id = '";
    assert_eq!(world.count(&format!("{trail}{live}'")).await, 1);
}

#[tokio::test]
async fn a_promotion_goes_where_its_caller_may_and_nowhere_else() {
    let (world, live) = two().await;
    let by = session(&world).await;
    let stranger = world.app.signup("sven", "Elsewhere").await;
    let key = world.key(&[]).await;
    let own = world.env_id.clone();
    for (by, body, status, named) in [
        (&by, json!({}), 400, "target_env_id"),
        (&by, json!({"target_env_id": own}), 400, "target_env_id"),
        (&by, json!({"target_env_id": live, "include": []}), 400, "include"),
        (&by, json!({"target_env_id": live, "include": ["data"]}), 400, "include[0]"),
        (&by, json!({"target_env_id": "nowhere"}), 404, ""),
        (&key, json!({"target_env_id": live}), 403, ""),
        (&world.owner, json!({"target_env_id": live}), 403, ""),
        (&world.owner, json!({"target_env_id": live, "dry_run": true}), 403, ""),
        (&crate::testing::bearer(&stranger), json!({"target_env_id": live}), 404, ""),
    ] {
        let answer = promote(&world, by, body).await;
        let field = answer.body["error"]["details"]["field"].as_str().unwrap_or_default();
        assert_eq!((answer.status.as_u16(), field), (status, named), "{}", answer.body);
    }
    let filter = json!({"table": "orders", "filter": "region = 'EU'", "exempt_roles": []});
    policy(&world, &live, json!({"name": "ssn", "type": "row_level_security", "rules": [filter]})).await;
    assert_eq!(promote(&world, &by, json!({"target_env_id": live})).await.code(), (409, "CONFLICT"));
    assert_eq!(names(&world, &live, "policies").await, ["ssn"], "nothing of it was done");
}
