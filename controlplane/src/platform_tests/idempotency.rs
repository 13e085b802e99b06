use axum::body::Body;
use axum::http::Request;
use chrono::Duration;
use contract::OrgId;
use platform::http::idempotency;
use serde_json::{Value, json};

use crate::domain::environments;
use crate::testing::{Answer, TestApp, bearer};
use crate::worlds::World;

async fn post(app: &TestApp, path: &str, authorization: &str, key: &str, body: Value) -> Answer {
    let request = Request::post(path)
        .header("authorization", authorization)
        .header("content-type", "application/json")
        .header("idempotency-key", key)
        .body(Body::from(body.to_string()));
    app.send(request.unwrap()).await
}

fn environment(slug: &str) -> Value {
    json!({"name": slug, "slug": slug})
}

#[tokio::test]
async fn a_repeated_post_is_answered_again_and_done_once() {
    let app = TestApp::start().await;
    let owner = app.signup("ann", "Acme").await;
    let (path, as_owner) = (app.org(&owner, "/environments"), bearer(&owner));
    let first = post(&app, &path, &as_owner, "k-1", environment("one")).await;
    assert!(!first.headers.contains_key("idempotent-replayed"));
    let again = post(&app, &path, &as_owner, "k-1", environment("one")).await;
    assert_eq!((again.status, &again.body), (first.status, &first.body));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(app.get(&path, &as_owner).await.expect(200)["pagination"]["total"], 1);
}

#[tokio::test]
async fn many_at_once_with_one_key_have_one_effect() {
    let app = TestApp::start().await;
    let owner = app.signup("ann", "Acme").await;
    app.set_tier("enterprise").await;
    let (path, as_owner) = (app.org(&owner, "/environments"), bearer(&owner));
    let all = (0..20).map(|_| post(&app, &path, &as_owner, "k-1", environment("one")));
    let mut first = 0;
    for answer in futures::future::join_all(all).await {
        let replayed = answer.headers.contains_key("idempotent-replayed");
        match answer.status.as_u16() {
            201 => first += u32::from(!replayed),
            _ => assert_eq!(answer.expect(409)["error"]["details"]["reason"], "in_progress"),
        }
    }
    assert_eq!((first, app.get(&path, &as_owner).await.expect(200)["pagination"]["total"].as_u64()), (1, Some(1)));
}

#[tokio::test]
async fn a_repetition_is_told_where_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap().to_owned();
    let world = World::of(TestApp::configured(|config| config.audit_store = Some(place)).await).await;
    let body = json!({"type": "query", "format": "jsonl", "start_date": "2026-09-01", "end_date": "2026-09-30"});
    let mut told = Vec::new();
    for _ in 0..2 {
        let answer = post(&world.app, &world.env("audit/export"), &world.owner, "k-1", body.clone()).await;
        told.push(answer.headers["location"].to_str().unwrap().to_owned());
        answer.expect(202);
    }
    assert_eq!(told[0], told[1]);
    world.app.get(&told[1], &world.owner).await.expect(200);
}

#[tokio::test]
async fn a_key_stands_for_one_body() {
    let app = TestApp::start().await;
    let owner = app.signup("ann", "Acme").await;
    let (path, as_owner) = (app.org(&owner, "/environments"), bearer(&owner));
    post(&app, &path, &as_owner, "k-1", environment("one")).await.expect(201);
    let other = post(&app, &path, &as_owner, "k-1", environment("two")).await.expect(409);
    assert_eq!(other["error"]["details"]["reason"], "idempotency_mismatch");
}

#[tokio::test]
async fn another_identity_and_another_path_have_keys_of_their_own() {
    let app = TestApp::start().await;
    let (ann, bob) = (app.signup("ann", "Acme").await, app.signup("bob", "Bell").await);
    for (owner, path) in [(&ann, "/environments"), (&bob, "/environments")] {
        let answer = post(&app, &app.org(owner, path), &bearer(owner), "k-1", environment("one")).await;
        assert!(!answer.headers.contains_key("idempotent-replayed"));
        answer.expect(201);
    }
    let invited = json!({"email": "carl@example.com", "role": "analyst"});
    for path in ["/users", "/users/invite"] {
        let answer = post(&app, &app.org(&ann, path), &bearer(&ann), "k-1", invited.clone()).await;
        assert!(!answer.headers.contains_key("idempotent-replayed"), "{path}");
        assert_eq!(answer.status.as_u16(), if path == "/users" { 201 } else { 409 }, "{path}: {}", answer.body);
    }
}

#[tokio::test]
async fn what_failed_may_be_tried_again_with_the_same_key() {
    let app = TestApp::start().await;
    let owner = app.signup("ann", "Acme").await;
    let (path, as_owner) = (app.org(&owner, "/environments"), bearer(&owner));
    post(&app, &path, &as_owner, "k-1", environment("Not A Slug")).await.expect(400);
    post(&app, &path, &as_owner, "k-1", environment("one")).await.expect(201);
}

#[tokio::test]
async fn a_replay_holds_no_secret() {
    let app = TestApp::start().await;
    let owner = app.signup("ann", "Acme").await;
    let (path, as_owner) = (app.org(&owner, "/users/invite"), bearer(&owner));
    let body = json!({"email": "bob@example.com", "role": "analyst"});
    let first = post(&app, &path, &as_owner, "k-1", body.clone()).await.expect(201);
    let mut again = post(&app, &path, &as_owner, "k-1", body).await.expect(201);
    assert_eq!(again.get("invitation_token"), None);
    let told = again.as_object_mut().unwrap().remove("secret_withheld").unwrap();
    assert!(told.as_str().unwrap().starts_with("`invitation_token` was told in the first answer alone"), "{told}");
    again["invitation_token"] = first["invitation_token"].clone();
    assert_eq!(again, first);
    let stored: Vec<u8> =
        sqlx::query_scalar("select body from idempotency_keys").fetch_one(app.app.pool()).await.unwrap();
    assert!(!String::from_utf8(stored).unwrap().contains(first["invitation_token"].as_str().unwrap()));
}

#[tokio::test]
async fn an_unfinished_request_is_not_done_a_second_time() {
    let app = TestApp::start().await;
    let owner = app.signup("ann", "Acme").await;
    let (path, as_owner) = (app.org(&owner, "/environments"), bearer(&owner));
    post(&app, &path, &as_owner, "k-1", environment("one")).await.expect(201);
    sqlx::query("update idempotency_keys set status = null, body = null").execute(app.app.pool()).await.unwrap();
    let again = post(&app, &path, &as_owner, "k-1", environment("one")).await.expect(409);
    assert_eq!(again["error"]["details"]["reason"], "in_progress");
}

/// A key counts for every POST that changes something: what ignores it is written down here.
#[test]
fn the_posts_that_ignore_a_key_are_these() {
    let posts = crate::server::endpoints::rows().iter().filter(|row| row.method == axum::http::Method::POST);
    let ignoring = posts.filter(|row| !idempotency::counts(row)).map(|row| row.path);
    let beyond: Vec<_> = ignoring.filter(|path| !path.starts_with("/v1/auth/")).collect();
    assert_eq!(
        beyond,
        [
            // A file streams, and is not kept to be compared.
            "/v1/environments/{env_id}/tables/{name}/load",
            // These read.
            "/v1/environments/{env_id}/transpile",
            "/v1/transpile",
            "/v1/environments/{env_id}/format",
            "/v1/environments/{env_id}/shadow-mode/upload",
            // Nobody is known, and what it answers opens a session.
            "/v1/signup",
        ]
    );
}

/// Whatever the endpoint: the key is looked at before its handler runs.
#[tokio::test]
async fn every_post_that_a_key_counts_for_names_one_that_cannot_be_one() {
    let app = TestApp::start().await;
    let owner = app.signup("ann", "Acme").await;
    app.set_tier("enterprise").await;
    let org_id = owner["org"]["id"].as_str().unwrap();
    let demo = environments::EnvironmentSeed { name: "Demo".to_owned(), slug: "demo".to_owned(), test_mode: true };
    let env_id = environments::record(&app.app, &OrgId::from(org_id), &demo).await.unwrap();
    let posts = crate::server::endpoints::rows()
        .iter()
        .filter(|row| row.method == axum::http::Method::POST && idempotency::counts(row));
    for row in posts {
        let path = row.path.replace("{org_id}", org_id).replace("{env_id}", env_id.as_str()).replace(['{', '}'], "");
        let refused = post(&app, &path, &bearer(&owner), &"k".repeat(256), json!({})).await;
        assert_eq!(refused.status.as_u16(), 400, "{path}: {}", refused.body);
        assert!(refused.body.to_string().contains("`Idempotency-Key` is "), "{path}: {}", refused.body);
    }
}

#[tokio::test]
async fn every_answer_with_a_secret_says_in_its_replay_that_it_is_not_told_again() {
    let world = World::start().await;
    let body = json!({"name": "k", "scopes": ["query:read"]});
    let first = post(&world.app, &world.env("api-keys"), &world.owner, "k-1", body.clone()).await.expect(201);
    let again = post(&world.app, &world.env("api-keys"), &world.owner, "k-1", body).await.expect(201);
    assert_eq!((&again["key_id"], again.get("key")), (&first["key_id"], None));
    assert!(again["secret_withheld"].as_str().unwrap().ends_with("rotate the key, which tells another"), "{again}");
    assert_eq!(first.get("secret_withheld"), None);
}

#[tokio::test]
async fn a_day_later_the_key_is_new() {
    let app = TestApp::start().await;
    let owner = app.signup("ann", "Acme").await;
    app.set_tier("enterprise").await;
    let path = app.org(&owner, "/environments");
    post(&app, &path, &bearer(&owner), "k-1", environment("one")).await.expect(201);
    app.advance(Duration::hours(24));
    let as_owner = bearer(&app.login("ann").await);
    let again = post(&app, &path, &as_owner, "k-1", environment("one")).await.expect(409);
    assert_eq!(again["error"]["details"]["reason"], "slug_taken");
    idempotency::sweep(&app.app).await.unwrap();
    let left: i64 =
        sqlx::query_scalar("select count(*) from idempotency_keys").fetch_one(app.app.pool()).await.unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn an_unusable_key_is_named() {
    let app = TestApp::start().await;
    let owner = app.signup("ann", "Acme").await;
    let (path, as_owner) = (app.org(&owner, "/environments"), bearer(&owner));
    for key in ["", &"k".repeat(256)] {
        let refused = post(&app, &path, &as_owner, key, environment("one")).await.expect(400);
        assert_eq!(refused["error"]["details"]["field"], "Idempotency-Key");
    }
}

#[tokio::test]
async fn an_answer_of_nothing_is_answered_again_as_nothing() {
    let app = TestApp::start().await;
    let as_owner = bearer(&app.signup("ann", "Acme").await);
    let wish = || json!({"agent_id": "worker"});
    for replayed in [false, true] {
        let answer = post(&app, "/v2/runtime/tasks/claim-next", &as_owner, "k-1", wish()).await;
        assert_eq!((answer.status.as_u16(), answer.headers.contains_key("idempotent-replayed")), (204, replayed));
    }
}
