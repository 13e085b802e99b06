use axum::body::Body;
use axum::http::{Method, Request};
use chrono::Duration;
use serde_json::{Value, json};
use test_servers::mail::MailServer;

use crate::domain::authentication::sso::provider;
use crate::testing::{Answer, TestApp, bearer};

const PASSWORD: &str = "correct horse battery";
const NEW_PASSWORD: &str = "staple and another battery";

/// Ada has signed up and confirmed nothing; her first mail has been read.
async fn ada() -> (TestApp, MailServer, Value) {
    let mut server = MailServer::start().await;
    let app = TestApp::mailing(&server).await;
    let opened = app.signup("ada", "Acme").await;
    app.post_mail().await;
    server.one();
    (app, server, opened)
}

/// Asks for a link as anybody can.
async fn ask(app: &TestApp, what: &str, email: &str) -> Value {
    app.post(&format!("/v1/auth/{what}"), "", json!({"email": email})).await.expect(202)
}

/// The token of the mail that was asked for.
async fn token(app: &TestApp, server: &mut MailServer, what: &str) -> String {
    ask(app, what, "ada@example.com").await;
    app.post_mail().await;
    server.one().token()
}

async fn login(app: &TestApp, password: &str) -> Answer {
    app.post("/v1/auth/login", "", json!({"email": "ada@example.com", "password": password})).await
}

#[tokio::test]
async fn a_mailed_link_signs_in_once() {
    let (app, mut server, _) = ada().await;
    app.advance(Duration::seconds(1));
    let body = json!({"token": token(&app, &mut server, "magic-link").await});
    let opened = app.post("/v1/auth/magic-link/callback", "", body.clone()).await.expect(200);
    assert_eq!(app.get("/v1/auth/me", &bearer(&opened)).await.expect(200)["email"], "ada@example.com");
    let sessions = app.get("/v1/auth/sessions", &bearer(&opened)).await.expect(200);
    let methods: Vec<_> = sessions["data"].as_array().unwrap().iter().map(|session| &session["method"]).collect();
    assert_eq!(methods, ["magic_link", "password"]);
    assert_eq!(app.post("/v1/auth/magic-link/callback", "", body).await.code(), (401, "UNAUTHORIZED"));
}

#[tokio::test]
async fn who_follows_a_link_that_is_over_is_told_why_and_what_to_do() {
    let (app, mut server, _) = ada().await;
    let follow = async |token: &str| {
        let answer = app.post("/v1/auth/magic-link/callback", "", json!({"token": token})).await;
        assert!(answer.status == 200 || answer.code() == (401, "UNAUTHORIZED"), "{}", answer.body);
        answer.body["error"]["message"].as_str().unwrap_or_default().to_owned()
    };
    app.advance(Duration::seconds(1));
    let first = token(&app, &mut server, "magic-link").await;
    app.advance(Duration::seconds(1));
    let second = token(&app, &mut server, "magic-link").await;
    assert!(follow(&first).await.contains("a newer one has taken its place"));
    assert_eq!(follow(&second).await, "");
    assert!(follow(&second).await.starts_with("this link was used"));
    let third = token(&app, &mut server, "magic-link").await;
    app.advance(Duration::minutes(15));
    assert!(follow(&third).await.ends_with("which are over: ask for another"));
    assert!(follow(&third[1..]).await.contains("not whole"));
    let body = json!({"token": "x".repeat(43), "password": PASSWORD});
    let gone = app.post("/v1/auth/accept-invitation", "", body).await.expect(401);
    assert!(gone["error"]["message"].as_str().unwrap().contains("ask whoever invited you"), "{gone}");
}

/// What an invitation of somebody is answered.
async fn invite(app: &TestApp, by: &Value, email: &str) -> Answer {
    app.post(&app.org(by, "/users/invite"), &bearer(by), json!({"email": email, "role": "analyst"})).await
}

#[tokio::test]
async fn who_has_not_confirmed_their_address_has_us_send_no_mail() {
    let (app, mut server, ada) = ada().await;
    app.advance(Duration::seconds(1));
    let refused = invite(&app, &ada, "bob@example.com").await;
    assert_eq!((refused.code().0, &refused.body["error"]["details"]["reason"]), (403, &json!("email_unconfirmed")));
    app.set_tier("cloud").await;
    assert_eq!(invite(&app, &ada, "bob@example.com").await.code().0, 403, "a tier confirms nobody");
    app.post_mail().await;
    assert!(server.got().is_empty());
    let body = json!({"token": token(&app, &mut server, "verify-email/resend").await});
    app.post("/v1/auth/verify-email", "", body).await.expect(200);
    invite(&app, &ada, "bob@example.com").await.expect(201);
    app.post_mail().await;
    assert_eq!(server.one().header("Subject"), "Invitation to Acme");
}

#[tokio::test]
async fn the_name_of_an_organization_is_no_link_in_a_mail() {
    let mut server = MailServer::start().await;
    let app = TestApp::mailing(&server).await;
    let ada = app.signup("ada", "Win a prize https://evil.example ->").await;
    app.confirm("ada").await;
    invite(&app, &ada, "bob@example.com").await.expect(201);
    app.post_mail().await;
    let mail = server.got().into_iter().find(|mail| mail.to == "bob@example.com").unwrap();
    assert_eq!(mail.header("Subject"), "Invitation to Win a prize https evil example -");
    assert!(!mail.text.contains("evil.example"), "{}", mail.text);
}

#[tokio::test]
async fn an_organization_that_has_invited_many_is_told_to_wait() {
    let server = MailServer::start().await;
    let app = TestApp::mailing(&server).await;
    let ada = app.signup("ada", "Acme").await;
    app.set_tier("enterprise").await;
    app.confirm("ada").await;
    for n in 0..100 {
        invite(&app, &ada, &format!("u{n}@example.com")).await.expect(201);
    }
    let refused = invite(&app, &ada, "last@example.com").await;
    assert_eq!(refused.code(), (429, "RATE_LIMITED"));
    assert!(refused.headers.contains_key("retry-after"));
    app.advance(Duration::days(1));
    let ada = app.login("ada").await;
    invite(&app, &ada, "last@example.com").await.expect(201);
}

#[tokio::test]
async fn fetching_a_link_shows_a_button_and_does_nothing() {
    let (app, mut server, _) = ada().await;
    for (what, path) in [
        ("magic-link", "/v1/auth/magic-link/callback"),
        ("verify-email/resend", "/v1/auth/verify-email"),
        ("forgot-password", "/v1/auth/reset-password"),
    ] {
        let token = token(&app, &mut server, what).await;
        let page = app.get(&format!("{path}?token={token}"), "").await;
        let text = page.body.as_str().unwrap();
        assert!(text.contains(&format!("action=\"{path}\"")) && text.contains(&token), "{text}");
        assert!(page.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
        let odd = app.get(&format!("{path}?token=%22%3E%3Cscript%3E"), "").await;
        assert_eq!((odd.code(), &odd.body["error"]["details"]["field"]), ((400, "VALIDATION_ERROR"), &json!("token")));
        let form = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
        let form = form.body(Body::from(format!("token={token}&password=a+new+password+7"))).unwrap();
        let answer = app.send(form).await;
        // Only a reset takes a password.
        assert_eq!(answer.status.as_u16(), if what == "forgot-password" { 200 } else { 400 }, "{}", answer.body);
    }
}

/// Scanners of mail open every link before people do, and some only ask what there is.
#[tokio::test]
async fn a_link_that_a_scanner_has_opened_is_as_good_as_before() {
    for (what, path, mut body) in [
        ("magic-link", "/v1/auth/magic-link/callback", json!({})),
        ("verify-email/resend", "/v1/auth/verify-email", json!({})),
        ("forgot-password", "/v1/auth/reset-password", json!({"password": NEW_PASSWORD})),
    ] {
        let (app, mut server, _) = ada().await;
        let token = token(&app, &mut server, what).await;
        for method in [Method::HEAD, Method::GET, Method::HEAD, Method::GET] {
            let opened =
                Request::builder().method(&method).uri(format!("{path}?token={token}")).header("accept", "*/*");
            let opened = app.open(opened.body(Body::empty()).unwrap()).await;
            assert_eq!(opened.status(), 200, "{method} {path}");
        }
        body["token"] = json!(token);
        app.post(path, "", body).await.expect(200);
    }
}

#[tokio::test]
async fn a_program_that_asks_for_json_is_signed_in_by_the_link_itself() {
    let (app, mut server, _) = ada().await;
    let token = token(&app, &mut server, "magic-link").await;
    let path = format!("/v1/auth/magic-link/callback?token={token}");
    let fetch = || Request::get(&path).header("accept", "application/json").body(Body::empty()).unwrap();
    let opened = app.send(fetch()).await.expect(200);
    app.get("/v1/auth/me", &bearer(&opened)).await.expect(200);
    assert_eq!(app.send(fetch()).await.code(), (401, "UNAUTHORIZED"));
}

#[tokio::test]
async fn a_link_ends_after_fifteen_minutes_and_when_another_takes_its_place() {
    let (app, mut server, _) = ada().await;
    let first = token(&app, &mut server, "magic-link").await;
    let second = token(&app, &mut server, "magic-link").await;
    let post = |token: &str| app.post("/v1/auth/magic-link/callback", "", json!({"token": token}));
    assert_eq!(post(&first).await.code(), (401, "UNAUTHORIZED"));
    app.advance(Duration::minutes(15));
    let late = post(&second).await;
    assert_eq!(late.body["error"]["details"]["stable_code"], "SVC_ERR_401_EXPIRED_TOKEN");
}

#[tokio::test]
async fn a_link_is_good_for_its_own_purpose_alone() {
    let (app, mut server, _) = ada().await;
    let token = token(&app, &mut server, "verify-email/resend").await;
    for (path, body) in [
        ("/v1/auth/magic-link/callback", json!({"token": token})),
        ("/v1/auth/reset-password", json!({"token": token, "password": NEW_PASSWORD})),
    ] {
        assert_eq!(app.post(path, "", body).await.code(), (401, "UNAUTHORIZED"), "{path}");
    }
    let verified = app.post("/v1/auth/verify-email", "", json!({"token": token})).await.expect(200);
    assert_eq!((&verified["email"], &verified["verified"]), (&json!("ada@example.com"), &json!(true)));
}

#[tokio::test]
async fn a_confirmed_address_is_not_asked_again() {
    let (app, mut server, opened) = ada().await;
    assert_eq!(app.get("/v1/auth/me", &bearer(&opened)).await.expect(200)["email_verified"], false);
    let body = json!({"token": token(&app, &mut server, "verify-email/resend").await});
    app.post("/v1/auth/verify-email", "", body).await.expect(200);
    assert_eq!(app.get("/v1/auth/me", &bearer(&opened)).await.expect(200)["email_verified"], true);
    ask(&app, "verify-email/resend", "ada@example.com").await;
    app.post_mail().await;
    assert!(server.got().is_empty());
}

#[tokio::test]
async fn a_reset_password_rules_and_ends_every_session() {
    let (app, mut server, opened) = ada().await;
    let token = token(&app, &mut server, "forgot-password").await;
    let reset = |password: &str| app.post("/v1/auth/reset-password", "", json!({"token": token, "password": password}));
    assert_eq!(reset("password123").await.body["error"]["details"]["field"], "password");
    let done = reset(NEW_PASSWORD).await.expect(200);
    assert_eq!((&done["reset"], &done["sessions_terminated"]), (&json!(true), &json!(1)));
    assert_eq!(app.get("/v1/auth/me", &bearer(&opened)).await.code().0, 401);
    assert_eq!(login(&app, PASSWORD).await.code().0, 401);
    login(&app, NEW_PASSWORD).await.expect(200);
    assert_eq!(reset(NEW_PASSWORD).await.code(), (401, "UNAUTHORIZED"));
    let events = app.events(&opened).await;
    assert!(
        events
            .iter()
            .any(|(kind, changes)| { kind == "auth.password_reset" && changes["after"]["email"] == "ada@example.com" })
    );
}

/// What a request answers, and what it writes, is the same whoever the address belongs to.
#[tokio::test]
async fn nobody_learns_from_asking_whether_an_address_has_an_account() {
    let (app, mut server, _) = ada().await;
    for what in ["magic-link", "forgot-password", "verify-email/resend"] {
        let answers = [ask(&app, what, "ada@example.com").await, ask(&app, what, "bob@example.com").await];
        assert_eq!(answers[0], answers[1], "{what}");
        let jobs: i64 = sqlx::query_scalar("select count(*) from jobs where job ->> 'kind' = 'mail_link'")
            .fetch_one(app.app.pool())
            .await
            .unwrap();
        assert_eq!(jobs, 2, "{what}");
        app.post_mail().await;
        assert_eq!(server.one().to, "ada@example.com", "{what}");
    }
    let nonsense = app.post("/v1/auth/magic-link", "", json!({"email": "ada"})).await;
    assert_eq!(nonsense.body["error"]["details"]["field"], "email");
}

#[tokio::test]
async fn an_address_is_mailed_six_links_an_hour_and_a_visitor_asks_for_ten_a_minute() {
    let (app, mut server, _) = ada().await;
    for _ in 0..10 {
        ask(&app, "magic-link", "ada@example.com").await;
    }
    assert_eq!(
        app.post("/v1/auth/magic-link", "", json!({"email": "ada@example.com"})).await.code(),
        (429, "RATE_LIMITED")
    );
    app.post_mail().await;
    // The first went out when she signed up.
    assert_eq!(server.got().len(), 5);
    app.advance(Duration::hours(1));
    token(&app, &mut server, "magic-link").await;
}

#[tokio::test]
async fn enforced_sign_on_closes_links_that_are_on_their_way_and_sends_no_more() {
    let (app, mut server, opened) = ada().await;
    let (link, reset) =
        (token(&app, &mut server, "magic-link").await, token(&app, &mut server, "forgot-password").await);
    provider::stands_for(&app, &opened).await;
    app.put(&app.org(&opened, ""), &bearer(&opened), json!({"settings": {"enforce_sso": true}})).await.expect(200);
    for (path, body) in [
        ("/v1/auth/magic-link/callback", json!({"token": link})),
        ("/v1/auth/reset-password", json!({"token": reset, "password": NEW_PASSWORD})),
    ] {
        let refused = app.post(path, "", body).await;
        assert_eq!(refused.body["error"]["details"]["reason"], "sso_enforced", "{path}");
    }
    for what in ["magic-link", "forgot-password"] {
        ask(&app, what, "ada@example.com").await;
    }
    app.post_mail().await;
    assert!(server.got().is_empty());
}

#[tokio::test]
async fn an_installation_without_mail_says_so_to_everybody() {
    let app = TestApp::start().await;
    app.expect_5xx(3);
    for what in ["magic-link", "forgot-password", "verify-email/resend"] {
        let refused = app.post(&format!("/v1/auth/{what}"), "", json!({"email": "ada@example.com"})).await;
        assert_eq!(refused.code(), (503, "SERVICE_UNAVAILABLE"), "{what}");
        assert_eq!(refused.body["error"]["details"]["reason"], "no_mail");
    }
}

#[tokio::test]
async fn neither_tokens_nor_mails_can_be_read_in_the_database() {
    let (app, mut server, _) = ada().await;
    ask(&app, "magic-link", "ada@example.com").await;
    crate::server::jobs::run_due(&app.app).await.unwrap();
    let rows: Vec<String> =
        sqlx::query_scalar("select account_links::text from account_links union all select mails::text from mails")
            .fetch_all(app.app.pool())
            .await
            .unwrap();
    app.post_mail().await;
    let token = server.one().token();
    assert!(rows.len() >= 4 && rows.iter().all(|row| !row.contains(&token)), "{rows:?}");
}

#[tokio::test]
async fn a_failed_login_is_recorded_where_the_account_belongs() {
    let (app, _server, opened) = ada().await;
    assert_eq!(login(&app, "a wrong password").await.code().0, 401);
    app.post("/v1/auth/login", "", json!({"email": "bob@example.com", "password": "guess"})).await;
    app.settled().await;
    crate::server::jobs::run_due(&app.app).await.unwrap();
    let failed: Vec<_> = app.events(&opened).await.into_iter().filter(|(kind, _)| kind == "auth.failed").collect();
    assert_eq!(failed.len(), 1);
    let after = &failed[0].1["after"];
    assert_eq!((&after["email"], &after["reason"]), (&json!("ada@example.com"), &json!("password")));
}

#[tokio::test]
async fn an_invitation_is_mailed_and_its_page_accepts_it() {
    let (app, mut server, opened) = ada().await;
    app.confirm("ada").await;
    let body = json!({"email": "bob@example.com", "role": "analyst"});
    app.post(&app.org(&opened, "/users/invite"), &bearer(&opened), body).await.expect(201);
    app.post_mail().await;
    let mail = server.one();
    assert_eq!((mail.to.as_str(), mail.header("Subject")), ("bob@example.com", "Invitation to Acme"));
    let page = app.get(&format!("/v1/auth/accept-invitation?token={}", mail.token()), "").await;
    assert!(page.body.as_str().unwrap().contains("action=\"/v1/auth/accept-invitation\""), "{}", page.body);
    let form = format!("token={}&name=&totp=&password=correct+horse+battery", mail.token());
    let request =
        Request::post("/v1/auth/accept-invitation").header("content-type", "application/x-www-form-urlencoded");
    let opened = app.send(request.body(Body::from(form)).unwrap()).await.expect(200);
    assert_eq!((&opened["user"]["email"], &opened["user"]["role"]), (&json!("bob@example.com"), &json!("analyst")));
}
