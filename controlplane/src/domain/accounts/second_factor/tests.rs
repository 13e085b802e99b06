use chrono::Duration;
use serde_json::{Value, json};
use test_servers::mail::MailServer;

use super::{totp, wait_after};
use crate::testing::{Answer, TestApp, bearer};

const PASSWORD: &str = "correct horse battery";

/// Ada, with an authenticator and recovery codes.
struct Ada {
    app: TestApp,
    opened: Value,
    secret: String,
    recovery: Vec<String>,
}

impl Ada {
    async fn enrolled(app: TestApp) -> Self {
        let opened = app.signup("ada", "Acme").await;
        let (secret, recovery) = enrol(&app, &opened).await;
        app.advance(Duration::seconds(30));
        Self { app, opened, secret, recovery }
    }

    fn code(&self) -> String {
        totp::code(&self.secret, self.app.app.now())
    }

    async fn login(&self, factor: Value) -> Answer {
        let mut body = json!({"email": "ada@example.com", "password": PASSWORD});
        body.as_object_mut().unwrap().extend(factor.as_object().unwrap().clone());
        self.app.post("/v1/auth/login", "", body).await
    }
}

async fn enrol(app: &TestApp, opened: &Value) -> (String, Vec<String>) {
    let begun = app.post("/v1/auth/mfa/totp", &bearer(opened), Value::Null).await.expect(201);
    let secret = begun["secret"].as_str().unwrap().to_owned();
    assert!(begun["otpauth_uri"].as_str().unwrap().contains(&secret));
    let body = json!({"code": totp::code(&secret, app.app.now())});
    let confirmed = app.post("/v1/auth/mfa/totp/confirm", &bearer(opened), body).await.expect(200);
    (secret, serde_json::from_value(confirmed["recovery_codes"].clone()).unwrap())
}

fn reason(answer: &Answer) -> (u16, &str) {
    (answer.status.as_u16(), answer.body["error"]["details"]["reason"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn a_login_asks_for_a_code_once_there_is_an_authenticator() {
    let ada = Ada::enrolled(TestApp::start().await).await;
    assert_eq!(reason(&ada.login(json!({})).await), (401, "mfa_required"));
    assert_eq!(reason(&ada.login(json!({"totp": ""})).await), (401, "mfa_required"));
    assert_eq!(reason(&ada.login(json!({"totp": "000000"})).await), (401, "wrong_code"));
    let opened = ada.login(json!({"totp": ada.code()})).await.expect(200);
    let users = ada.app.get(&ada.app.org(&opened, "/users"), &bearer(&opened)).await.expect(200);
    assert_eq!(users["data"][0]["mfa_enabled"], true);
    assert_eq!(ada.app.get("/v1/auth/me", &bearer(&opened)).await.expect(200)["mfa_enabled"], true);
    let events = ada.app.events(&ada.opened).await;
    assert!(
        events.iter().any(|(kind, changes)| kind == "auth.mfa_enrolled" && changes["after"]["mfa_enabled"] == true)
    );
}

#[tokio::test]
async fn a_code_is_worth_something_once_and_no_older_one_after_it() {
    let ada = Ada::enrolled(TestApp::start().await).await;
    let before = ada.code();
    ada.app.advance(Duration::seconds(30));
    let now = ada.code();
    ada.login(json!({"totp": now})).await.expect(200);
    for used in [now, before] {
        assert_eq!(reason(&ada.login(json!({"totp": used})).await), (401, "wrong_code"));
    }
    ada.app.advance(Duration::seconds(30));
    ada.login(json!({"totp": ada.code()})).await.expect(200);
}

#[tokio::test]
async fn of_two_who_show_the_same_code_at_once_one_is_let_in() {
    let ada = Ada::enrolled(TestApp::start().await).await;
    let code = json!({"totp": ada.code()});
    let answers = futures::future::join_all((0..4).map(|_| ada.login(code.clone()))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status.is_success()).count(), 1);
}

#[tokio::test]
async fn a_recovery_code_opens_once_however_it_is_typed() {
    let ada = Ada::enrolled(TestApp::start().await).await;
    assert_eq!(ada.recovery.len(), 10);
    let typed = ada.recovery[3].to_uppercase().replace('-', "");
    ada.login(json!({"recovery_code": typed})).await.expect(200);
    assert_eq!(reason(&ada.login(json!({"recovery_code": ada.recovery[3]})).await), (401, "wrong_code"));
    ada.login(json!({"recovery_code": ada.recovery[4]})).await.expect(200);
}

#[tokio::test]
async fn guessing_codes_waits_longer_and_longer_and_a_right_code_waits_too() {
    let ada = Ada::enrolled(TestApp::start().await).await;
    for _ in 0..5 {
        assert_eq!(reason(&ada.login(json!({"totp": "000000"})).await), (401, "wrong_code"));
    }
    assert_eq!(ada.login(json!({"totp": ada.code()})).await.code(), (429, "RATE_LIMITED"));
    ada.app.advance(Duration::minutes(1));
    assert_eq!(reason(&ada.login(json!({"totp": "000000"})).await), (401, "wrong_code"));
    ada.app.advance(Duration::minutes(1));
    assert_eq!(ada.login(json!({"totp": ada.code()})).await.code().0, 429);
    ada.app.advance(Duration::minutes(1));
    ada.login(json!({"totp": ada.code()})).await.expect(200);
    let minutes: Vec<_> = (4..15).map(|n| wait_after(n).map(|wait| wait.num_minutes())).collect();
    let expected = [0_i64, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60].map(|wait| Some(wait).filter(|wait| *wait > 0));
    assert_eq!(minutes, expected);
}

#[tokio::test]
async fn a_wrong_code_is_recorded_as_a_failed_sign_in() {
    let ada = Ada::enrolled(TestApp::start().await).await;
    ada.login(json!({"totp": "000000"})).await;
    ada.app.settled().await;
    crate::server::jobs::run_due(&ada.app.app).await.unwrap();
    let events = ada.app.events(&ada.opened).await;
    let failed: Vec<_> = events.iter().filter(|(kind, _)| kind == "auth.failed").collect();
    assert_eq!((failed.len(), &failed[0].1["after"]["reason"]), (1, &json!("second_factor")));
}

#[tokio::test]
async fn confirming_ends_the_sessions_that_showed_no_code_and_cannot_be_done_twice() {
    let app = TestApp::start().await;
    let (here, elsewhere) = (app.signup("ada", "Acme").await, app.login("ada").await);
    let wrong = app.post("/v1/auth/mfa/totp/confirm", &bearer(&here), json!({"code": "000000"})).await;
    assert_eq!(reason(&wrong), (409, "mfa_not_begun"));
    app.post("/v1/auth/mfa/totp", &bearer(&here), Value::Null).await.expect(201);
    let wrong = app.post("/v1/auth/mfa/totp/confirm", &bearer(&here), json!({"code": "000000"})).await;
    assert_eq!(wrong.body["error"]["details"]["field"], "code");
    enrol(&app, &here).await;
    app.get("/v1/auth/me", &bearer(&here)).await.expect(200);
    assert_eq!(app.get("/v1/auth/me", &bearer(&elsewhere)).await.code().0, 401);
    assert_eq!(reason(&app.post("/v1/auth/mfa/totp", &bearer(&here), Value::Null).await), (409, "mfa_enrolled"));
}

#[tokio::test]
async fn a_mailed_link_asks_for_the_code_too_and_stays_good_until_it_is_right() {
    let mut server = MailServer::start().await;
    let ada = Ada::enrolled(TestApp::mailing(&server).await).await;
    ada.app.post_mail().await;
    server.got();
    ada.app.post("/v1/auth/magic-link", "", json!({"email": "ada@example.com"})).await.expect(202);
    ada.app.post_mail().await;
    let token = server.one().token();
    let follow = |totp: Value| {
        let body = json!({"token": token, "totp": totp});
        ada.app.post("/v1/auth/magic-link/callback", "", body)
    };
    assert_eq!(reason(&follow(Value::Null).await), (401, "mfa_required"));
    assert_eq!(reason(&follow(json!("000000")).await), (401, "wrong_code"));
    follow(json!(ada.code())).await.expect(200);
}

#[tokio::test]
async fn an_organization_that_requires_it_is_closed_to_who_has_none_until_they_enrol() {
    let app = TestApp::start().await;
    let opened = app.signup("ada", "Acme").await;
    let org = app.org(&opened, "");
    app.put(&org, &bearer(&opened), json!({"settings": {"mfa_required": true}})).await.expect(200);
    for path in [org.as_str(), &app.org(&opened, "/users"), "/v1/webhooks"] {
        assert_eq!(reason(&app.get(path, &bearer(&opened)).await), (403, "mfa_enrollment_required"), "{path}");
    }
    app.get("/v1/auth/me", &bearer(&opened)).await.expect(200);
    enrol(&app, &opened).await;
    app.get(&org, &bearer(&opened)).await.expect(200);
}

#[tokio::test]
async fn what_cannot_easily_be_undone_asks_for_a_code_of_the_last_minutes() {
    let ada = Ada::enrolled(TestApp::start().await).await;
    let session = bearer(&ada.opened);
    ada.app.advance(Duration::minutes(15));
    let removed = ada.app.delete("/v1/auth/mfa/totp", &session).await;
    assert_eq!(reason(&removed), (401, "step_up_required"));
    let transfer = ada.app.org(&ada.opened, "/transfer-ownership");
    assert_eq!(reason(&ada.app.post(&transfer, &session, json!({"user_id": "x"})).await), (401, "step_up_required"));
    let wrong = ada.app.post("/v1/auth/mfa/verify", &session, json!({"totp": "000000"})).await;
    assert_eq!(reason(&wrong), (401, "wrong_code"));
    ada.app.post("/v1/auth/mfa/verify", &session, json!({"totp": ada.code()})).await.expect(200);
    assert_eq!(ada.app.post(&transfer, &session, json!({"user_id": "x"})).await.code().0, 404);
    ada.app.delete("/v1/auth/mfa/totp", &session).await.expect(200);
    ada.login(json!({})).await.expect(200);
    let events = ada.app.events(&ada.opened).await;
    assert_eq!(events.last().unwrap().0, "auth.mfa_removed");
    let again = ada.app.post("/v1/auth/mfa/verify", &session, json!({"totp": "000000"})).await;
    assert_eq!(reason(&again), (409, "mfa_not_enrolled"));
}

#[tokio::test]
async fn an_invitation_of_somebody_with_an_authenticator_asks_for_its_code() {
    let ada = Ada::enrolled(TestApp::start().await).await;
    let bob = ada.app.signup("bob", "Base").await;
    ada.app.advance(Duration::seconds(1));
    let body = json!({"email": "ada@example.com", "role": "analyst"});
    let invited = ada.app.post(&ada.app.org(&bob, "/users/invite"), &bearer(&bob), body).await.expect(201);
    let accept = |totp: Value| {
        let body = json!({"token": invited["invitation_token"], "password": PASSWORD, "totp": totp});
        ada.app.post("/v1/auth/accept-invitation", "", body)
    };
    assert_eq!(reason(&accept(Value::Null).await), (401, "mfa_required"));
    let opened = accept(json!(ada.code())).await.expect(200);
    let users = ada.app.get(&ada.app.org(&opened, "/users"), &bearer(&bob)).await.expect(200);
    let enabled: Vec<_> = users["data"].as_array().unwrap().iter().map(|user| &user["mfa_enabled"]).collect();
    assert_eq!(enabled, [false, true]);
}

#[tokio::test]
async fn neither_secret_nor_recovery_codes_can_be_read_in_the_database() {
    let ada = Ada::enrolled(TestApp::start().await).await;
    let rows: Vec<String> = sqlx::query_scalar(
        "select account_totp::text from account_totp union all
         select account_recovery_codes::text from account_recovery_codes",
    )
    .fetch_all(ada.app.app.pool())
    .await
    .unwrap();
    let bare = |code: &String| code.replace('-', "");
    assert_eq!(rows.len(), 11);
    for secret in ada.recovery.iter().map(bare).chain([ada.secret.clone()]) {
        assert!(rows.iter().all(|row| !row.contains(&secret)), "{secret}");
    }
}
