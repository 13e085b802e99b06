use chrono::Duration;
use contract::{Role, UserId};
use serde_json::{Value, json};

use crate::server::jobs;
use crate::server::snapshots::load;
use crate::testing::Answer;
use crate::worlds::World;

/// A world with an analyst; the id, and the `Authorization` of a key that acts for them.
async fn analyst() -> (World, UserId, String) {
    let world = World::start().await;
    let (user_id, key) = acting(&world, "ana@acme.example", "analyst").await;
    (world, user_id, key)
}

async fn acting(world: &World, email: &str, role: &str) -> (UserId, String) {
    let user_id = world.user(email, role).await;
    let scopes: Vec<_> = contract::Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    let made = world.create_key(json!({"name": email, "scopes": scopes, "user_id": user_id})).await;
    (user_id, format!("ApiKey {}", made["key"].as_str().unwrap()))
}

async fn ask(world: &World, by: &str, role: &str) -> Answer {
    let body = json!({"requested_role": role, "reason": "fix the nightly load", "duration_minutes": 30});
    world.app.post(&world.env("jit-access"), by, body).await
}

async fn decide(world: &World, by: &str, request: &Value, verb: &str) -> Answer {
    let path = world.env(&format!("jit-access/{}/{verb}", request["request_id"].as_str().unwrap()));
    let body = if verb == "deny" { json!({"reason": "not today"}) } else { Value::Null };
    world.app.post(&path, by, body).await
}

/// The role that data planes give the user now.
async fn role_at_the_proxy(world: &World, user_id: &UserId) -> Role {
    let app = &world.app.app;
    let rules = load::load(app.pool(), app.keyring(), &world.env_id).await.unwrap().unwrap();
    rules.caller_of_user(user_id, "s".into(), app.now()).unwrap().role
}

#[tokio::test]
async fn a_request_by_the_organizations_path_is_one_of_its_environment() {
    let (world, _, key) = analyst().await;
    let path = world.org("jit/request");
    let body = json!({"target_role": "developer", "reason": "fix the nightly load", "duration_hours": 2});
    let asked = world.app.post(&path, &key, body).await.expect(201);
    assert_eq!((&asked["status"], &asked["duration_minutes"]), (&json!("pending"), &json!(120)), "{asked}");
    let in_environment = world.app.get(&world.env("jit-access"), &world.owner).await.expect(200);
    let bare = world.app.get(&world.org("jit"), &world.owner).await.expect(200);
    assert_eq!((&bare, bare[0]["request_id"] == asked["request_id"]), (&in_environment["data"], true));
    assert_eq!(world.app.get(&world.org("jit"), &key).await.status, 403, "an analyst does not see the requests");
    for (change, field) in [
        (json!({"duration_hours": 9}), "duration_hours"),
        (json!({"target_role": "owner"}), "target_role"),
        (json!({"reason": ""}), "reason"),
    ] {
        let mut body = json!({"target_role": "admin", "reason": "because"});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let refused = world.app.post(&path, &key, body).await;
        let told = (refused.status.as_u16(), &refused.body["error"]["details"]["field"]);
        assert_eq!(told, (400, &json!(field)), "{}", refused.body);
    }
    let two = json!({"target_role": "admin", "reason": "because"});
    world.app.post(&path, &key, two).await.expect(201);
    let page = world.app.get(&world.org("jit?limit=1"), &world.owner).await;
    let next = |answer: &Answer| {
        let links = answer.headers.get_all("link").iter().map(|link| link.to_str().unwrap());
        let next = links.filter_map(|link| link.strip_suffix(">; rel=\"next\"")?.strip_prefix('<'));
        next.map(str::to_owned).next()
    };
    let rest = world.app.get(&next(&page).unwrap(), &world.owner).await;
    assert_eq!((rest.body.as_array().unwrap().len(), next(&rest)), (1, None), "{}", rest.body);
}

#[tokio::test]
async fn an_approved_request_raises_the_role_until_its_end() {
    let (world, user_id, key) = analyst().await;
    let asked = ask(&world, &key, "developer").await.expect(201);
    assert_eq!((asked["status"].as_str(), asked["current_role"].as_str()), (Some("pending"), Some("analyst")));
    assert!(asked["expires_at"].is_null() && asked["requester_email"] == "ana@acme.example");
    assert_eq!(role_at_the_proxy(&world, &user_id).await, Role::Analyst);

    let approved = decide(&world, &world.owner, &asked, "approve").await.expect(200);
    assert_eq!(
        (approved["status"].as_str(), approved["elevated_role"].as_str()),
        (Some("approved"), Some("developer"))
    );
    assert_eq!(approved["approved_by"], world.owner_id.as_str());
    assert_eq!(role_at_the_proxy(&world, &user_id).await, Role::Developer);
    world.app.advance(Duration::minutes(30) - Duration::microseconds(1));
    assert_eq!(
        (jobs::run_due(&world.app.app).await.unwrap(), role_at_the_proxy(&world, &user_id).await),
        (0, Role::Developer)
    );
    world.app.advance(Duration::microseconds(1));
    // The clock alone ends it, before anybody has said so.
    assert_eq!(role_at_the_proxy(&world, &user_id).await, Role::Analyst);
    let before = world.version().await;
    assert_eq!(jobs::run_due(&world.app.app).await.unwrap(), 1);
    assert!(world.version().await > before);
    let trail = world.app.get(&world.env("audit/admin?limit=1"), &world.owner).await.expect(200);
    assert_eq!(
        (&trail["data"][0]["event_type"], &trail["data"][0]["resource_id"]),
        (&json!("jit.expired"), &asked["request_id"])
    );
}

#[tokio::test]
async fn a_revoked_elevation_ends_before_its_time_and_is_not_said_to_expire() {
    let (world, user_id, key) = analyst().await;
    let asked = ask(&world, &key, "developer").await.expect(201);
    let approved = decide(&world, &world.owner, &asked, "approve").await.expect(200);
    let revoked = decide(&world, &world.owner, &asked, "revoke").await.expect(200);
    assert_eq!((revoked["status"].as_str(), &revoked["original_expiry"]), (Some("revoked"), &approved["expires_at"]));
    assert_eq!(role_at_the_proxy(&world, &user_id).await, Role::Analyst);
    world.app.advance(Duration::minutes(30));
    assert_eq!(jobs::run_due(&world.app.app).await.unwrap(), 1);
    assert_eq!(world.count("select count(*) from iam_events where event_type = 'jit.expired'").await, 0);
}

#[tokio::test]
async fn a_request_moves_only_as_the_table_of_states_says() {
    let (world, _, key) = analyst().await;
    for (walked, refused) in [
        (&[][..], &["revoke"][..]),
        (&["approve"], &["approve", "deny"]),
        (&["deny"], &["approve", "deny", "revoke"]),
        (&["approve", "revoke"], &["approve", "deny", "revoke"]),
    ] {
        world.sql("delete from jit_requests").await;
        let asked = ask(&world, &key, "developer").await.expect(201);
        for verb in walked {
            decide(&world, &world.owner, &asked, verb).await.expect(200);
        }
        for verb in refused {
            let answer = decide(&world, &world.owner, &asked, verb).await;
            assert_eq!(answer.code(), (409, "CONFLICT"), "{walked:?}, then {verb}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn an_elevation_that_has_ended_is_not_revoked() {
    let (world, _, key) = analyst().await;
    let asked = ask(&world, &key, "developer").await.expect(201);
    decide(&world, &world.owner, &asked, "approve").await.expect(200);
    world.app.advance(Duration::minutes(30));
    let answer = decide(&world, &world.owner, &asked, "revoke").await;
    assert_eq!(answer.body["error"]["details"]["reason"], "expired", "{}", answer.body);
}

#[tokio::test]
async fn nobody_decides_on_their_own_request_and_only_the_owner_makes_an_admin() {
    let (world, _, analyst) = analyst().await;
    let (_, admin) = acting(&world, "adam@acme.example", "admin").await;
    let (_, developer) = acting(&world, "dora@acme.example", "developer").await;
    let to_admin = ask(&world, &developer, "admin").await.expect(201);
    let to_developer = ask(&world, &analyst, "developer").await.expect(201);
    for (by, request, verb, status) in [
        (&developer, &to_admin, "approve", 403),
        (&analyst, &to_developer, "deny", 403),
        (&admin, &to_admin, "approve", 403),
        (&admin, &to_developer, "approve", 200),
        (&world.owner, &to_admin, "approve", 200),
        // An admin for a while decides on nobody's elevation.
        (&developer, &to_developer, "revoke", 403),
    ] {
        let answer = decide(&world, by, request, verb).await;
        assert_eq!(answer.status, status, "{verb}: {}", answer.body);
    }
}

#[tokio::test]
async fn what_is_asked_for_is_checked() {
    let (world, _, key) = analyst().await;
    for (change, status, field) in [
        (json!({"requested_role": "owner"}), 400, "requested_role"),
        (json!({"requested_role": "auditor"}), 400, "requested_role"),
        (json!({"reason": "  "}), 400, "reason"),
        (json!({"reason": "x".repeat(1_001)}), 400, "reason"),
        (json!({"duration_minutes": 0}), 400, "duration_minutes"),
        (json!({"duration_minutes": 481}), 400, "duration_minutes"),
        (json!({"duration_minutes": 1.5}), 400, "duration_minutes"),
        (json!({"until": "friday"}), 400, "until"),
        (json!({"requested_role": "analyst"}), 409, ""),
        (json!({"duration_minutes": 480}), 201, ""),
        (json!({}), 409, ""),
    ] {
        let mut body = json!({"requested_role": "developer", "reason": "r", "duration_minutes": 30});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = world.app.post(&world.env("jit-access"), &key, body).await;
        assert_eq!(answer.status, status, "{change} {}", answer.body);
        assert_eq!(answer.body["error"]["details"]["field"].as_str().unwrap_or_default(), field, "{change}");
    }
    let nobody = world.key(&[]).await;
    assert_eq!(ask(&world, &nobody, "admin").await.code(), (403, "FORBIDDEN"));
    let (_, machine) = acting(&world, "ci@acme.example", "service_account").await;
    assert_eq!(ask(&world, &machine, "admin").await.code(), (403, "FORBIDDEN"));
}

#[tokio::test]
async fn whoever_has_left_is_not_raised() {
    let (world, user_id, key) = analyst().await;
    let asked = ask(&world, &key, "developer").await.expect(201);
    world.app.delete(&world.org(&format!("users/{user_id}")), &world.owner).await.expect(200);
    let answer = decide(&world, &world.owner, &asked, "approve").await;
    assert_eq!(answer.body["error"]["details"]["reason"], "requester_gone", "{}", answer.body);
}

#[tokio::test]
async fn an_elevated_admin_manages_the_environment_and_makes_nothing_that_outlives_it() {
    let (world, _, key) = analyst().await;
    let see = async || world.app.get(&world.env("api-keys"), &key).await.status.as_u16();
    assert_eq!(see().await, 403);
    let asked = ask(&world, &key, "admin").await.expect(201);
    decide(&world, &world.owner, &asked, "approve").await.expect(200);
    assert_eq!(see().await, 200);
    let made = world.app.post(&world.env("api-keys"), &key, json!({"name": "k", "scopes": ["query:read"]})).await;
    assert_eq!(made.code(), (403, "FORBIDDEN"));
    let mask = world.mask("before").await;
    let one = |of: &str| world.env(&format!("{of}/{}", mask["policy_id"].as_str().unwrap_or("any")));
    for of in ["policies", "abac-policies", "agent-capabilities", "storage-integrations"] {
        assert_eq!(world.app.get(&world.env(of), &key).await.status, 200, "{of}");
        assert_eq!(world.app.post(&world.env(of), &key, json!({})).await.code(), (403, "FORBIDDEN"), "{of}");
        let changes: &[&str] = if of == "agent-capabilities" { &["DELETE"] } else { &["PUT", "DELETE"] };
        for method in changes {
            let method = axum::http::Method::from_bytes(method.as_bytes()).unwrap();
            let answer = world.app.call(method.clone(), &one(of), &key, json!({})).await;
            assert_eq!(answer.code(), (403, "FORBIDDEN"), "{method} {of}");
        }
    }
    let changed = json!({"query_timeout_ms": 1_000});
    let path = world.org(&format!("environments/{}", world.env_id));
    assert_eq!(world.app.put(&path, &key, changed).await.code(), (403, "FORBIDDEN"));
    // Elsewhere in the organization it is worth nothing.
    assert_eq!(world.app.get(&world.org("users"), &key).await.code(), (403, "FORBIDDEN"));
    world.app.advance(Duration::minutes(30));
    assert_eq!(see().await, 403);
}

#[tokio::test]
async fn requests_are_listed_newest_first_with_what_became_of_them() {
    let (world, _, key) = analyst().await;
    let denied = ask(&world, &key, "admin").await.expect(201);
    decide(&world, &world.owner, &denied, "deny").await.expect(200);
    world.app.advance(Duration::seconds(1));
    ask(&world, &key, "developer").await.expect(201);
    let listed = world.app.get(&world.env("jit-access"), &world.owner).await.expect(200);
    let states: Vec<_> = listed["data"].as_array().unwrap().iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["pending", "denied"]);
    let row = &listed["data"][1];
    assert_eq!((&row["reason"], &row["denial_reason"]), (&json!("fix the nightly load"), &json!("not today")));
    assert_eq!(row["denied_by"], world.owner_id.as_str());
    assert_eq!(world.app.get(&world.env("jit-access"), &key).await.code(), (403, "FORBIDDEN"));
}

#[tokio::test]
async fn every_step_is_an_event_of_the_chain() {
    let (world, _, key) = analyst().await;
    for (role, verbs) in [("developer", &["approve", "revoke"][..]), ("admin", &["deny"])] {
        let asked = ask(&world, &key, role).await.expect(201);
        for verb in verbs {
            decide(&world, &world.owner, &asked, verb).await.expect(200);
        }
    }
    let told: Vec<String> = sqlx::query_scalar(
        "select event_type from iam_events where resource_type = 'jit_request' and env_id = $1 order by sequence",
    )
    .bind(world.env_id.as_str())
    .fetch_all(world.app.app.pool())
    .await
    .unwrap();
    assert_eq!(told, ["jit.requested", "jit.approved", "jit.revoked", "jit.requested", "jit.denied"]);
}
