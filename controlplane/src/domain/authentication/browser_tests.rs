//! The session of a browser, through HTTP.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::testing::{Answer, TestApp};

const CSRF: &str = "__Host-sluice_csrf";

/// The cookies of a browser.
#[derive(Default)]
struct Jar(BTreeMap<String, String>);

impl Jar {
    /// Holds what an answer sets, and every cookie to what a cookie of ours is.
    fn keep(&mut self, answer: &Answer) {
        for line in answer.headers.get_all("set-cookie") {
            let line = line.to_str().unwrap();
            let (pair, rest) = line.split_once("; ").unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            assert!(name.starts_with("__Host-") && rest.starts_with("Path=/; Secure; SameSite=Strict; "), "{line}");
            assert_eq!(rest.contains("HttpOnly"), name != CSRF || value.is_empty(), "{line}");
            self.0.insert(name.to_owned(), value.to_owned());
        }
        self.0.retain(|_, value| !value.is_empty());
    }

    fn csrf(&self) -> &str {
        &self.0[CSRF]
    }

    /// A request of a page: with the cookies, and these headers.
    async fn ask(&self, app: &TestApp, method: Method, path: &str, headers: &[(&str, &str)], body: Value) -> Answer {
        let cookies: Vec<_> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::builder().method(method).uri(path).header("cookie", cookies.join("; "));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.header("content-type", "application/json");
        app.send(request.body(Body::from(body.to_string())).unwrap()).await
    }
}

const DASHBOARD: (&str, &str) = ("x-requested-with", "sluice-dashboard");

async fn signed_in(app: &TestApp) -> Jar {
    app.signup("ada", "Acme").await;
    let mut jar = Jar::default();
    let body = json!({"email": "ada@example.com", "password": app.password()});
    let answer = jar.ask(app, Method::POST, "/v1/auth/login", &[DASHBOARD], body).await;
    jar.keep(&answer);
    answer.expect(200);
    jar
}

#[tokio::test]
async fn only_who_asks_for_cookies_is_given_some() {
    let app = TestApp::start().await;
    assert_eq!(signed_in(&app).await.0.len(), 3);
    let body = json!({"email": "ada@example.com", "password": app.password()});
    let answer = app.post("/v1/auth/login", "", body).await;
    assert!(!answer.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn a_change_by_cookie_needs_the_second_cookie_repeated() {
    let app = TestApp::start().await;
    let jar = signed_in(&app).await;
    jar.ask(&app, Method::GET, "/v1/auth/me", &[], Value::Null).await.expect(200);
    let found = |headers: Vec<(&'static str, String)>| {
        let (app, jar) = (&app, &jar);
        async move {
            let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let body = json!({"name": "Beta", "slug": "beta", "billing_email": "ada@example.com"});
            jar.ask(app, Method::POST, "/v1/organizations", &headers, body).await.status.as_u16()
        }
    };
    assert_eq!(found(vec![]).await, 403);
    assert_eq!(found(vec![("x-csrf-token", String::new())]).await, 403);
    assert_eq!(found(vec![("x-csrf-token", "x".repeat(43))]).await, 403);
    assert_eq!(found(vec![("x-csrf-token", jar.csrf().to_owned())]).await, 201);
}

#[tokio::test]
async fn what_authorization_says_counts_before_a_cookie() {
    let app = TestApp::start().await;
    let jar = signed_in(&app).await;
    let bad = jar.ask(&app, Method::GET, "/v1/auth/me", &[("authorization", "Bearer x.y.z")], Value::Null).await;
    assert_eq!(bad.status.as_u16(), 401);
}

#[tokio::test]
async fn a_session_is_refreshed_by_its_cookie_for_the_dashboard_alone() {
    let app = TestApp::start().await;
    let mut jar = signed_in(&app).await;
    app.advance(chrono::Duration::hours(2));
    assert_eq!(jar.ask(&app, Method::GET, "/v1/auth/me", &[], Value::Null).await.status.as_u16(), 401);
    let csrf = jar.csrf().to_owned();
    for (headers, status) in [
        (vec![], 400),
        (vec![("x-csrf-token", csrf.as_str())], 400),
        (vec![DASHBOARD], 403),
        (vec![DASHBOARD, ("x-csrf-token", csrf.as_str())], 200),
    ] {
        let answer = jar.ask(&app, Method::POST, "/v1/auth/token/refresh", &headers, json!({})).await;
        assert_eq!(answer.status.as_u16(), status, "{headers:?}: {}", answer.body);
        jar.keep(&answer);
    }
    jar.ask(&app, Method::GET, "/v1/auth/me", &[], Value::Null).await.expect(200);
}

#[tokio::test]
async fn signing_out_ends_the_session_and_empties_the_jar() {
    let app = TestApp::start().await;
    let mut jar = signed_in(&app).await;
    let csrf = jar.csrf().to_owned();
    let headers = [DASHBOARD, ("x-csrf-token", csrf.as_str())];
    let old = jar.0.clone();
    let answer = jar.ask(&app, Method::POST, "/v1/auth/logout", &headers, json!({})).await;
    jar.keep(&answer);
    assert!(jar.0.is_empty(), "{:?}", jar.0.keys());
    let again = Jar(old).ask(&app, Method::GET, "/v1/auth/me", &[], Value::Null).await;
    assert_eq!(again.status.as_u16(), 401);
}

#[tokio::test]
async fn a_link_leads_to_a_page_of_the_dashboard_where_there_is_one() {
    for (app, has_form) in
        [(TestApp::with_dashboard(&[("index.html", b"<!doctype html>")]).await, false), (TestApp::start().await, true)]
    {
        for path in ["magic-link/callback", "verify-email", "reset-password", "accept-invitation"] {
            let answer = app.get(&format!("/v1/auth/{path}?token={}", "x".repeat(43)), "").await;
            assert_eq!(answer.headers["cache-control"], "no-store", "{path}");
            assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8", "{path}");
            let shown = answer.body.as_str().unwrap();
            assert_eq!(shown.contains("<form method=\"post\""), has_form, "{path}: {shown}");
        }
    }
}

#[tokio::test]
async fn a_form_of_another_site_signs_nobody_in() {
    let app = TestApp::with_dashboard(&[("index.html", b"<!doctype html>")]).await;
    let owner = app.signup("olga", "Acme").await;
    let body = json!({"email": "ada@example.com", "role": "analyst"});
    let invited = app.post(&app.org(&owner, "/users/invite"), &crate::testing::bearer(&owner), body).await.expect(201);
    let token = invited["invitation_token"].as_str().unwrap();
    let form = Request::post("/v1/auth/accept-invitation")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "cross-site")
        .body(Body::from(format!("token={token}&password=correct+horse+battery")));
    let answer = app.send(form.unwrap()).await;
    assert_eq!(answer.status.as_u16(), 200, "{}", answer.body);
    assert!(!answer.headers.contains_key("set-cookie"));
}
