use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::testing::TestApp;
use crate::worlds::World;

#[tokio::test]
async fn every_answer_carries_a_request_id_and_its_rate_limit() {
    let app = TestApp::start().await;
    for (path, status) in [("/health", 200), ("/ready", 200), ("/v1/auth/me", 401), ("/nowhere", 404)] {
        let answer = app.get(path, "").await;
        assert_eq!(answer.status.as_u16(), status, "{path}");
        for name in ["x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
            assert!(answer.headers.contains_key(name), "{path} without {name}");
        }
    }
}

#[tokio::test]
async fn a_well_formed_request_id_is_kept_and_shown_in_the_error() {
    let app = TestApp::start().await;
    let ask = |id: &'static str| Request::get("/nowhere").header("x-request-id", id).body(Body::empty()).unwrap();
    let kept = app.send(ask("mine-1")).await;
    assert_eq!(
        (&kept.headers["x-request-id"], &kept.body["error"]["request_id"]),
        (&"mine-1".parse().unwrap(), &Value::from("mine-1"))
    );
    let replaced = app.send(ask("not mine")).await;
    assert!(replaced.body["error"]["request_id"].as_str().unwrap().starts_with("req_"));
}

#[tokio::test]
async fn an_error_has_the_specified_members() {
    let app = TestApp::start().await;
    let body = app.get("/nowhere", "").await.expect(404);
    let members: Vec<_> = body["error"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["code", "message", "details", "request_id"]);
}

#[tokio::test]
async fn a_path_has_only_its_methods() {
    let app = TestApp::start().await;
    assert_eq!(app.delete("/health", "").await.code(), (405, "VALIDATION_ERROR"));
}

#[tokio::test]
async fn a_bad_credential_of_any_kind_is_401() {
    let app = TestApp::start().await;
    for authorization in
        ["Bearer x", "Bearer a.b.c", "Bearer", "ApiKey", "ApiKey svc_live_x", "Bearer svc_live_x", "Basic eDp5"]
    {
        assert_eq!(app.get("/v1/auth/me", authorization).await.code(), (401, "UNAUTHORIZED"), "{authorization}");
    }
}

#[tokio::test]
async fn while_shutting_down_routes_refuse_and_readiness_says_so() {
    let app = TestApp::start().await;
    app.app.shutdown().cancel();
    let answer = app.get("/v1/auth/me", "").await;
    assert_eq!(answer.body["error"]["details"]["stable_code"], "SVC_ERR_503_SHUTTING_DOWN");
    assert!(answer.headers.contains_key("retry-after"));
    app.get("/health", "").await.expect(200);
    assert_eq!(app.get("/ready", "").await.expect(503)["ready"], false);
    app.expect_5xx(2);
}

#[tokio::test]
async fn a_body_of_another_shape_is_told_what_it_should_be() {
    let world = World::start().await;
    let path = world.org("users/invite");
    for (body, field) in [
        (json!(["a@acme.example", "developer"]), "body"),
        (json!("a@acme.example"), "body"),
        (json!({"email": "a@acme.example", "role": 1}), "role"),
        (json!({"email": "a@acme.example", "role": ["developer"]}), "role"),
        (json!({"email": 1, "role": "developer"}), "email"),
    ] {
        let answer = world.app.post(&path, &world.owner, body.clone()).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{body}: {}", answer.body);
        let details = &answer.body["error"]["details"];
        assert_eq!((&details["field"], &details["constraint"]), (&json!(field), &json!("type")), "{body}");
    }
}

#[tokio::test]
async fn a_body_that_is_compressed_is_called_so() {
    let app = TestApp::start().await;
    for (path, encoding, status) in [
        ("/v1/auth/login", "gzip", 415),
        ("/v1/auth/login", "br", 415),
        ("/v1/auth/login", "identity", 401),
        ("/v1/auth/verify-email", "deflate", 415),
    ] {
        let body = json!({"email": "ada@example.com", "password": "correct horse battery"}).to_string();
        let request =
            Request::post(path).header("content-type", "application/json").header("content-encoding", encoding);
        let answer = app.send(request.body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status.as_u16(), status, "{path} {encoding}: {}", answer.body);
        if status == 415 {
            let message = answer.body["error"]["message"].as_str().unwrap();
            assert!(
                message.contains(&format!("`{encoding}`")) && message.contains("without `Content-Encoding`"),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn a_long_answer_is_compressed_for_who_takes_that() {
    let app = TestApp::start().await;
    let encoding = async |path: &str, accepted: &str| {
        let request = Request::get(path).header("accept-encoding", accepted).body(Body::empty()).unwrap();
        let answer = crate::server::router::router(&app.app).oneshot(request).await.unwrap();
        answer.headers().get("content-encoding").map(|encoding| encoding.to_str().unwrap().to_owned())
    };
    assert_eq!(encoding("/openapi.json", "gzip, br").await.as_deref(), Some("gzip"));
    assert_eq!(encoding("/openapi.json", "identity").await, None);
    assert_eq!(encoding("/health", "gzip").await, None, "it is shorter than what it would cost");
}
