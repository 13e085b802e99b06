use chrono::Duration;
use serde_json::{Value, json};

use super::sso::provider;
use crate::testing::{TestApp, bearer};

const PASSWORD: &str = "correct horse battery";

fn credentials(email: &str, password: &str) -> Value {
    json!({"email": email, "password": password})
}

#[tokio::test]
async fn signing_up_makes_an_organization_and_its_owner() {
    let app = TestApp::start().await;
    let body = json!({"name": "Ada", "email": "Ada@Example.com", "password": PASSWORD, "org_name": "Engines & Co"});
    let opened = app.post("/v1/signup", "", body.clone()).await.expect(201);
    assert_eq!((&opened["user"]["role"], &opened["user"]["email"]), (&json!("owner"), &json!("ada@example.com")));
    assert_eq!((&opened["org"]["slug"], &opened["org"]["tier"]), (&json!("engines-co"), &json!("free")));
    assert_eq!((&opened["token_type"], &opened["expires_in"]), (&json!("Bearer"), &json!(3600)));
    let me = app.get("/v1/auth/me", &bearer(&opened)).await.expect(200);
    assert_eq!(
        (&me["user_id"], &me["org_id"], &me["name"]),
        (&opened["user"]["id"], &opened["org"]["id"], &json!("Ada"))
    );
    assert_eq!(app.post("/v1/auth/signup", "", body).await.code(), (409, "CONFLICT"));
}

#[tokio::test]
async fn two_organizations_of_one_name_get_two_slugs() {
    let app = TestApp::start().await;
    let slugs: Vec<_> = [app.signup("ada", "Acme").await, app.signup("bob", "Acme").await]
        .iter()
        .map(|opened| opened["org"]["slug"].as_str().unwrap().to_owned())
        .collect();
    assert!(slugs[0] == "acme" && slugs[1].starts_with("acme-"), "{slugs:?}");
}

#[tokio::test]
async fn signing_up_can_be_closed() {
    let app =
        TestApp::with(|config| config.signup = false, std::sync::Arc::new(platform::provisioner::Unattended)).await;
    let body = json!({"name": "Ada", "email": "ada@example.com", "password": PASSWORD, "org_name": "Acme"});
    let answer = app.post("/v1/signup", "", body).await;
    assert_eq!(
        (answer.code(), &answer.body["error"]["details"]["reason"]),
        ((403, "FORBIDDEN"), &json!("signup_closed"))
    );
}

#[tokio::test]
async fn what_a_signup_lacks_is_named() {
    let app = TestApp::start().await;
    let good = json!({"name": "Ada", "email": "ada@example.com", "password": PASSWORD, "org_name": "Acme"});
    for (field, value) in [
        ("name", json!("")),
        ("email", json!("ada")),
        ("email", json!(1)),
        ("password", json!("short")),
        ("password", json!("password123")),
        ("org_name", json!("  ")),
        ("org_name", json!("a\u{0}b")),
        ("role", json!("owner")),
        ("tier", json!("cloud")),
        ("tier", json!("gold")),
    ] {
        let mut body = good.clone();
        body[field] = value.clone();
        let answer = app.post("/v1/signup", "", body).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{field} = {value}");
        assert_eq!(answer.body["error"]["details"]["field"], field, "{value}");
    }
    let mut body = good;
    body["tier"] = json!("free");
    assert_eq!(app.post("/v1/signup", "", body).await.expect(201)["org"]["tier"], "free");
}

#[tokio::test]
async fn a_login_needs_the_right_password_and_says_no_more() {
    let app = TestApp::start().await;
    app.signup("ada", "Acme").await;
    let login = |email, password| app.post("/v1/auth/login", "", credentials(email, password));
    let opened = login("ADA@example.com", PASSWORD).await.expect(200);
    app.get("/v1/auth/me", &bearer(&opened)).await.expect(200);
    let wrong = login("ada@example.com", "wrong password").await;
    let unknown = login("bob@example.com", "wrong password").await;
    let nonsense = login("bob", "").await;
    assert_eq!(wrong.code(), (401, "UNAUTHORIZED"));
    for other in [unknown, nonsense] {
        assert_eq!((other.code(), &other.body["error"]["message"]), (wrong.code(), &wrong.body["error"]["message"]));
    }
}

#[tokio::test]
async fn passwords_are_guessed_ten_times_a_minute_and_nobody_else_is_locked_out() {
    let app = TestApp::start().await;
    app.signup("ada", "Acme").await;
    app.signup("bob", "Base").await;
    for _ in 0..10 {
        assert_eq!(app.post("/v1/auth/login", "", credentials("ada@example.com", "guess")).await.code().0, 401);
    }
    let refused = app.post("/v1/auth/login", "", credentials("ada@example.com", PASSWORD)).await;
    assert_eq!(refused.code(), (429, "RATE_LIMITED"));
    assert!(refused.headers.contains_key("retry-after"));
    app.post("/v1/auth/login", "", credentials("bob@example.com", PASSWORD)).await.expect(200);
    app.advance(Duration::seconds(6));
    // Logins that succeed are not counted.
    for _ in 0..20 {
        app.login("ada").await;
    }
}

#[tokio::test]
async fn an_access_token_ends_after_an_hour_and_a_refresh_token_renews_it() {
    let app = TestApp::start().await;
    let opened = app.signup("ada", "Acme").await;
    app.advance(Duration::hours(1));
    let expired = app.get("/v1/auth/me", &bearer(&opened)).await;
    assert_eq!(expired.body["error"]["details"]["stable_code"], "SVC_ERR_401_EXPIRED_TOKEN");
    for path in ["/v1/auth/token/refresh", "/v1/auth/refresh"] {
        let opened = app.login("ada").await;
        let fresh = app.post(path, "", json!({"refresh_token": opened["refresh_token"]})).await.expect(200);
        assert_ne!(fresh["refresh_token"], opened["refresh_token"]);
        app.get("/v1/auth/me", &bearer(&fresh)).await.expect(200);
    }
}

#[tokio::test]
async fn a_refresh_token_sent_again_at_once_answers_the_same_successor() {
    let app = TestApp::start().await;
    let opened = app.signup("ada", "Acme").await;
    let refresh = |token: &Value| app.post("/v1/auth/refresh", "", json!({"refresh_token": token}));
    let three = futures::join!(
        refresh(&opened["refresh_token"]),
        refresh(&opened["refresh_token"]),
        refresh(&opened["refresh_token"])
    );
    app.advance(Duration::seconds(9));
    let late = refresh(&opened["refresh_token"]).await;
    let answers = [three.0, three.1, three.2, late].map(|answer| answer.expect(200));
    for answer in &answers {
        assert_eq!(answer["refresh_token"], answers[0]["refresh_token"]);
        app.get("/v1/auth/me", &bearer(answer)).await.expect(200);
    }
    let stored: i64 =
        sqlx::query_scalar("select count(*) from refresh_tokens").fetch_one(app.app.pool()).await.unwrap();
    assert_eq!(stored, 2, "the first and its successor");
    refresh(&answers[0]["refresh_token"]).await.expect(200);
}

#[tokio::test]
async fn a_refresh_token_used_again_later_ends_the_session_for_both_holders() {
    let app = TestApp::start().await;
    let stolen = app.signup("ada", "Acme").await;
    let refresh = |token: &Value| app.post("/v1/auth/refresh", "", json!({"refresh_token": token}));
    let fresh = refresh(&stolen["refresh_token"]).await.expect(200);
    app.advance(Duration::seconds(10));
    let reused = refresh(&stolen["refresh_token"]).await;
    assert_eq!(reused.code(), (401, "UNAUTHORIZED"));
    assert!(reused.body["error"]["message"].as_str().unwrap().contains("was used before"), "{}", reused.body);
    assert_eq!(refresh(&fresh["refresh_token"]).await.code(), (401, "UNAUTHORIZED"));
    for opened in [&stolen, &fresh] {
        assert_eq!(app.get("/v1/auth/me", &bearer(opened)).await.code(), (401, "UNAUTHORIZED"));
    }
}

/// Who signs out within the ten seconds is signed out.
#[tokio::test]
async fn a_refresh_token_of_an_ended_session_answers_no_successor() {
    let app = TestApp::start().await;
    let opened = app.signup("ada", "Acme").await;
    let refresh = |token: &Value| app.post("/v1/auth/refresh", "", json!({"refresh_token": token}));
    let fresh = refresh(&opened["refresh_token"]).await.expect(200);
    app.post("/v1/auth/logout", &bearer(&fresh), Value::Null).await.expect(200);
    let again = refresh(&opened["refresh_token"]).await;
    assert_eq!(again.code(), (401, "UNAUTHORIZED"));
    assert!(again.body["error"]["message"].as_str().unwrap().contains("has ended"), "{}", again.body);
}

#[tokio::test]
async fn refreshing_ends_after_seven_idle_days_and_thirty_in_all() {
    let app = TestApp::start().await;
    let idle = app.signup("ada", "Acme").await;
    app.advance(Duration::days(7));
    let answer = app.post("/v1/auth/refresh", "", json!({"refresh_token": idle["refresh_token"]})).await;
    assert_eq!(answer.body["error"]["details"]["stable_code"], "SVC_ERR_401_EXPIRED_TOKEN");
    let mut opened = app.login("ada").await;
    for _ in 0..5 {
        app.advance(Duration::days(5));
        opened = app.post("/v1/auth/refresh", "", json!({"refresh_token": opened["refresh_token"]})).await.expect(200);
    }
    app.advance(Duration::days(5));
    assert_eq!(app.post("/v1/auth/refresh", "", json!({"refresh_token": opened["refresh_token"]})).await.code().0, 401);
}

#[tokio::test]
async fn logging_out_ends_the_session_and_only_this_one() {
    let app = TestApp::start().await;
    let one = app.signup("ada", "Acme").await;
    let two = app.login("ada").await;
    let listed = app.get("/v1/auth/sessions", &bearer(&one)).await.expect(200);
    assert_eq!(listed["data"].as_array().unwrap().len(), 2);
    assert_eq!(listed["data"].as_array().unwrap().iter().filter(|session| session["current"] == true).count(), 1);
    app.post("/v1/auth/logout", &bearer(&one), Value::Null).await.expect(200);
    assert_eq!(app.get("/v1/auth/me", &bearer(&one)).await.code().0, 401);
    assert_eq!(app.post("/v1/auth/refresh", "", json!({"refresh_token": one["refresh_token"]})).await.code().0, 401);
    let left = app.get("/v1/auth/sessions", &bearer(&two)).await.expect(200);
    let path = format!("/v1/auth/sessions/{}", left["data"][0]["id"].as_str().unwrap());
    app.delete(&path, &bearer(&two)).await.expect(200);
    assert_eq!(app.get("/v1/auth/me", &bearer(&two)).await.code().0, 401);
}

#[tokio::test]
async fn nobody_ends_another_ones_session() {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "Acme").await;
    let bob = app.signup("bob", "Base").await;
    let sessions = app.get("/v1/auth/sessions", &bearer(&ada)).await.expect(200);
    let path = format!("/v1/auth/sessions/{}", sessions["data"][0]["id"].as_str().unwrap());
    assert_eq!(app.delete(&path, &bearer(&bob)).await.code(), (404, "NOT_FOUND"));
    app.get("/v1/auth/me", &bearer(&ada)).await.expect(200);
}

#[tokio::test]
async fn enforced_sign_on_closes_login_and_refresh() {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "Acme").await;
    let org = format!("/v1/organizations/{}", ada["org"]["id"].as_str().unwrap());
    provider::stands_for(&app, &ada).await;
    app.put(&org, &bearer(&ada), json!({"settings": {"enforce_sso": true}})).await.expect(200);
    let login = app.post("/v1/auth/login", "", credentials("ada@example.com", PASSWORD)).await;
    assert_eq!((login.code(), &login.body["error"]["details"]["reason"]), ((403, "FORBIDDEN"), &json!("sso_enforced")));
    let refresh = app.post("/v1/auth/refresh", "", json!({"refresh_token": ada["refresh_token"]})).await;
    assert_eq!(refresh.code(), (403, "FORBIDDEN"));
}

#[tokio::test]
async fn the_published_key_checks_the_tokens() {
    let app = TestApp::start().await;
    let opened = app.signup("ada", "Acme").await;
    let set: jsonwebtoken::jwk::JwkSet =
        serde_json::from_value(app.get("/.well-known/jwks.json", "").await.expect(200)).unwrap();
    let token = opened["token"].as_str().unwrap();
    let kid = jsonwebtoken::decode_header(token).unwrap().kid.unwrap();
    let key = jsonwebtoken::DecodingKey::from_jwk(set.find(&kid).unwrap()).unwrap();
    let mut rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::EdDSA);
    rules.set_audience(&["http://localhost:8080"]);
    rules.validate_exp = false;
    let claims: Value = jsonwebtoken::decode(token, &key, &rules).unwrap().claims;
    assert_eq!((&claims["org_id"], &claims["role"]), (&opened["org"]["id"], &json!("owner")));
}

#[tokio::test]
async fn an_answer_shows_no_password_and_the_database_holds_none() {
    let app = TestApp::start().await;
    let opened = app.signup("ada", "Acme").await;
    let rows: Vec<String> = sqlx::query_scalar(
        "select accounts::text from accounts union all select sessions::text from sessions
         union all select refresh_tokens::text from refresh_tokens union all select iam_events::text from iam_events",
    )
    .fetch_all(app.app.pool())
    .await
    .unwrap();
    assert!(rows.len() >= 4);
    for secret in [PASSWORD, opened["refresh_token"].as_str().unwrap(), opened["token"].as_str().unwrap()] {
        assert!(rows.iter().all(|row| !row.contains(secret)));
    }
}
