use axum::body::Body;
use axum::http::Request;
use chrono::Duration;
use platform::egress::client;
use reqwest::Url;
use serde_json::{Value, json};

use super::provider::{CLIENT_ID, CLIENT_SECRET, Provider};
use crate::testing::{Answer, TestApp, bearer};

/// Acme, whose owner is Ada, with a provider that brings Bob.
struct Acme {
    app: TestApp,
    provider: Provider,
    owner: Value,
}

impl Acme {
    async fn start() -> Self {
        let acme = Self::without().await;
        acme.put(acme.settings()).await.expect(200);
        acme
    }

    async fn without() -> Self {
        Self::on(TestApp::configured(|config| config.webhook_loopback = true).await).await
    }

    async fn on(app: TestApp) -> Self {
        let provider = Provider::start(app.app.now().timestamp()).await;
        let owner = app.signup("ada", "Acme").await;
        app.set_tier("cloud").await;
        Self { app, provider, owner }
    }

    fn settings(&self) -> Value {
        json!({"issuer": self.provider.issuer(), "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET,
            "email_domains": ["acme.example", "example.com"], "default_role": "analyst"})
    }

    fn org(&self, rest: &str) -> String {
        self.app.org(&self.owner, rest)
    }

    async fn put(&self, body: Value) -> Answer {
        self.app.put(&self.org("/sso"), &bearer(&self.owner), body).await
    }

    /// Off to the provider: its URL, and the cookie that the browser is given.
    async fn begin(&self) -> (Url, String) {
        let answer = self.app.get("/v1/auth/sso/acme", "").await;
        assert_eq!(answer.status.as_u16(), 302, "{}", answer.body);
        let cookie = answer.headers["set-cookie"].to_str().unwrap();
        assert!(cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
        let location = answer.headers["location"].to_str().unwrap().parse().unwrap();
        (location, cookie.split(';').next().unwrap().to_owned())
    }

    /// At the provider: the path that it sends the browser back to.
    async fn at_provider(&self, location: Url) -> String {
        let browser = client::client(true, std::time::Duration::from_secs(5), "a browser").unwrap();
        let answer = browser.get(location).send().await.unwrap();
        let back: Url = answer.headers()["location"].to_str().unwrap().parse().unwrap();
        format!("{}?{}", back.path(), back.query().unwrap())
    }

    async fn back(&self, path: &str, cookie: &str) -> Answer {
        self.app.send(Request::get(path).header("cookie", cookie).body(Body::empty()).unwrap()).await
    }

    /// The whole way, as a browser goes it.
    async fn sign_on(&self) -> Answer {
        let (location, cookie) = self.begin().await;
        let path = self.at_provider(location).await;
        self.back(&path, &cookie).await
    }
}

#[tokio::test]
async fn somebody_new_is_brought_in_with_the_default_role_and_is_the_same_the_next_time() {
    let acme = Acme::start().await;
    let first = acme.sign_on().await.expect(200);
    assert_eq!(
        (&first["user"]["email"], &first["user"]["role"], &first["user"]["name"]),
        (&json!("bob@acme.example"), &json!("analyst"), &json!("Bob"))
    );
    acme.app.get("/v1/auth/me", &bearer(&first)).await.expect(200);
    // Whatever the address is by now: the subject is who it is.
    acme.provider.says(|says| says.claims = json!({"email": "robert@acme.example"}));
    assert_eq!(acme.sign_on().await.expect(200)["user"]["id"], first["user"]["id"]);
    let sessions = acme.app.get("/v1/auth/sessions", &bearer(&first)).await.expect(200);
    assert_eq!((sessions["data"].as_array().unwrap().len(), &sessions["data"][0]["method"]), (2, &json!("sso")));
    let events = acme.app.events(&acme.owner).await;
    let kinds: Vec<_> = events.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["org.created", "sso.configured", "user.accepted"]);
}

#[tokio::test]
async fn a_browser_arrives_in_the_dashboard_and_is_signed_in() {
    let app =
        TestApp::of_browsers(|config| config.webhook_loopback = true, &[("index.html", b"<!doctype html>")]).await;
    let acme = Acme::on(app).await;
    acme.put(acme.settings()).await.expect(200);
    for (accept, status) in [("text/html,application/xhtml+xml,*/*;q=0.8", 303), ("application/json", 200)] {
        let (location, cookie) = acme.begin().await;
        let path = acme.at_provider(location).await;
        let back = Request::get(path).header("cookie", cookie).header("accept", accept).body(Body::empty());
        let answer = acme.app.send(back.unwrap()).await;
        assert_eq!(answer.status.as_u16(), status, "{accept}: {}", answer.body);
        let cookies: Vec<_> = answer.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap()).collect();
        let kept = |name: &str| cookies.iter().any(|cookie| cookie.starts_with(name));
        assert_eq!(kept("__Host-sluice_session="), status == 303, "{cookies:?}");
        assert!(kept("sluice_sso=;"), "{cookies:?}");
        if status == 303 {
            assert_eq!(answer.headers["location"], "/");
            let session = cookies.iter().find(|cookie| cookie.starts_with("__Host-sluice_session=")).unwrap();
            let session = session.split(';').next().unwrap();
            let me = Request::get("/v1/auth/me").header("cookie", session).body(Body::empty()).unwrap();
            assert_eq!(acme.app.send(me).await.expect(200)["email"], "bob@acme.example");
        }
    }
}

#[tokio::test]
async fn a_browser_that_is_refused_is_led_to_the_sign_in_page() {
    let app =
        TestApp::of_browsers(|config| config.webhook_loopback = true, &[("index.html", b"<!doctype html>")]).await;
    let acme = Acme::on(app).await;
    acme.put(acme.settings()).await.expect(200);
    for (claims, code) in [
        (json!({"email_verified": false}), "SVC_ERR_401_INVALID_TOKEN"),
        (json!({"email": "bob@elsewhere.example"}), "FORBIDDEN"),
    ] {
        acme.provider.says(|says| says.claims = claims);
        let answer = acme.sign_on().await;
        assert_eq!(answer.status.as_u16(), 303, "{}", answer.body);
        assert_eq!(answer.headers["location"], format!("/?sign_on={code}"));
        assert!(!format!("{:?}", answer.headers).contains("__Host-sluice"), "{:?}", answer.headers);
    }
}

#[tokio::test]
async fn what_the_token_leaves_out_is_asked_for() {
    let acme = Acme::without().await;
    let about = json!({"sub": "subject-1", "email": "bo@acme.example", "email_verified": "true", "name": "Bo"});
    acme.provider.says(|says| (says.userinfo, says.secret_in_form) = (about, true));
    acme.put(acme.settings()).await.expect(200);
    acme.provider.says(|says| says.claims = json!({"email": null, "email_verified": null, "name": null}));
    let opened = acme.sign_on().await.expect(200);
    assert_eq!((&opened["user"]["email"], &opened["user"]["name"]), (&json!("bo@acme.example"), &json!("Bo")));
    for (about, status) in [
        (json!({"sub": "another", "email": "eve@acme.example"}), 403),
        (json!({"sub": "subject-1", "email": "bo@acme.example", "email_verified": "false"}), 401),
        (json!({"sub": "subject-1"}), 403),
    ] {
        acme.provider.says(|says| says.userinfo = about.clone());
        assert_eq!(acme.sign_on().await.code().0, status, "{about}");
    }
}

#[tokio::test]
async fn an_address_that_is_verified_in_a_text_is_verified() {
    let acme = Acme::start().await;
    for (verified, status) in [("true", 200), ("false", 401), ("perhaps", 401)] {
        acme.provider.says(|says| says.claims = json!({"email_verified": verified}));
        assert_eq!(acme.sign_on().await.status.as_u16(), status, "{verified}");
    }
}

#[tokio::test]
async fn a_user_with_the_address_is_meant_and_an_invited_one_has_come() {
    let acme = Acme::start().await;
    acme.provider.says(|says| says.claims = json!({"email": "Ada@example.com"}));
    let opened = acme.sign_on().await.expect(200);
    assert_eq!((&opened["user"]["id"], &opened["user"]["role"]), (&acme.owner["user"]["id"], &json!("owner")));
    let body = json!({"email": "carl@acme.example", "role": "developer"});
    let path = acme.org("/users/invite");
    let invited = acme.app.post(&path, &bearer(&acme.owner), body).await.expect(201);
    acme.provider.says(|says| says.claims = json!({"email": "carl@acme.example", "sub": "subject-2"}));
    let opened = acme.sign_on().await.expect(200);
    assert_eq!((&opened["user"]["id"], &opened["user"]["role"]), (&invited["user_id"], &json!("developer")));
    let body = json!({"token": invited["invitation_token"], "password": "another long password"});
    assert_eq!(acme.app.post("/v1/auth/accept-invitation", "", body).await.code(), (401, "UNAUTHORIZED"));
}

#[tokio::test]
async fn whom_the_provider_may_not_vouch_for_stays_outside() {
    let acme = Acme::start().await;
    for claims in [
        json!({"email": "bob@elsewhere.example"}),
        json!({"email": "bob@sub.acme.example"}),
        json!({"email": "bob@acme.example.evil.example"}),
        json!({"email": null}),
        json!({"email": "bob"}),
    ] {
        acme.provider.says(|says| says.claims = claims.clone());
        assert_eq!(acme.sign_on().await.code(), (403, "FORBIDDEN"), "{claims}");
    }
    acme.provider.says(|says| says.claims = json!({}));
    let opened = acme.sign_on().await.expect(200);
    let suspend = acme.org(&format!("/users/{}/suspend", opened["user"]["id"].as_str().unwrap()));
    acme.app.post(&suspend, &bearer(&acme.owner), Value::Null).await.expect(200);
    assert_eq!(acme.sign_on().await.code(), (403, "FORBIDDEN"));
}

#[tokio::test]
async fn a_token_that_is_not_exactly_right_opens_nothing() {
    let acme = Acme::start().await;
    let now = acme.app.app.now().timestamp();
    for claims in [
        json!({"nonce": "another"}),
        json!({"nonce": null}),
        json!({"iss": "http://127.0.0.1:1"}),
        json!({"aud": "another"}),
        json!({"aud": [CLIENT_ID, "another"], "azp": "another"}),
        json!({"exp": now}),
        json!({"exp": (now + 600).to_string()}),
        json!({"exp": null}),
        json!({"iat": now + 31}),
        json!({"nbf": now + 31}),
        json!({"sub": ""}),
        json!({"sub": null}),
        json!({"email_verified": false}),
    ] {
        acme.provider.says(|says| says.claims = claims.clone());
        assert_eq!(acme.sign_on().await.code(), (401, "UNAUTHORIZED"), "{claims}");
    }
    acme.provider.says(|says| says.claims = json!({"iat": now + 30, "nbf": now + 30})); // clocks differ
    acme.sign_on().await.expect(200);
    acme.provider.says(|says| (says.claims, says.key) = (json!({}), ([2; 32], "one")));
    assert_eq!(acme.sign_on().await.code(), (401, "UNAUTHORIZED"));
}

#[tokio::test]
async fn a_new_key_is_looked_for_once_a_minute() {
    let acme = Acme::start().await;
    acme.sign_on().await.expect(200);
    let asked = acme.provider.keys_asked();
    acme.provider.says(|says| says.key = ([3; 32], "two"));
    for _ in 0..3 {
        assert_eq!(acme.sign_on().await.code().0, 401);
    }
    assert_eq!(acme.provider.keys_asked(), asked);
    acme.provider.says(|says| says.published = vec![([1; 32], "one"), ([3; 32], "two")]);
    acme.app.advance(Duration::minutes(1));
    acme.sign_on().await.expect(200);
    assert_eq!(acme.provider.keys_asked(), asked + 1);
}

#[tokio::test]
async fn the_way_back_is_for_the_browser_that_set_out_once_and_within_ten_minutes() {
    let acme = Acme::start().await;
    let (location, cookie) = acme.begin().await;
    let path = acme.at_provider(location).await;
    acme.back(&path, &cookie).await.expect(200);
    assert_eq!(acme.back(&path, &cookie).await.code().0, 401);
    let (location, _) = acme.begin().await;
    let (_, another) = acme.begin().await;
    let path = acme.at_provider(location).await;
    assert_eq!(acme.back(&path, &another).await.code().0, 401);
    let (location, _) = acme.begin().await;
    let path = acme.at_provider(location).await;
    assert_eq!(acme.app.get(&path, "").await.code().0, 401);
    let (location, cookie) = acme.begin().await;
    let path = acme.at_provider(location).await;
    acme.app.advance(Duration::minutes(10));
    assert_eq!(acme.back(&path, &cookie).await.code().0, 401);
    let (location, cookie) = acme.begin().await;
    let state = location.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    let refused = format!("/v1/auth/sso/callback?state={state}&error=access_denied");
    assert_eq!(acme.back(&refused, &cookie).await.code().0, 401);
}

#[tokio::test]
async fn enforced_sign_on_leaves_this_way_open_and_only_this() {
    let acme = Acme::start().await;
    acme.app
        .put(&acme.org(""), &bearer(&acme.owner), json!({"settings": {"enforce_sso": true, "mfa_required": true}}))
        .await
        .expect(200);
    let opened = acme.sign_on().await.expect(200);
    acme.app.get(&acme.org(""), &bearer(&opened)).await.expect(200);
    let fresh = acme.app.post("/v1/auth/refresh", "", json!({"refresh_token": opened["refresh_token"]})).await;
    acme.app.get(&acme.org(""), &bearer(&fresh.expect(200))).await.expect(200);
    let old = acme.app.post("/v1/auth/refresh", "", json!({"refresh_token": acme.owner["refresh_token"]})).await;
    assert_eq!(old.body["error"]["details"]["reason"], "sso_enforced");
}

/// A provider vouches for its organization alone: what is the account's is out of reach.
#[tokio::test]
async fn who_came_by_sign_on_cannot_touch_the_account() {
    let acme = Acme::start().await;
    acme.provider.says(|says| says.claims = json!({"email": "ada@example.com"}));
    let opened = acme.sign_on().await.expect(200);
    for path in ["/v1/auth/mfa/totp", "/v1/auth/mfa/totp/confirm", "/v1/auth/mfa/verify"] {
        let answer = acme.app.post(path, &bearer(&opened), json!({"code": "000000"})).await;
        assert!([400, 403].contains(&answer.status.as_u16()), "{path}: {}", answer.body);
    }
    let accounts: i64 =
        sqlx::query_scalar("select count(*) from accounts").fetch_one(acme.app.app.pool()).await.unwrap();
    acme.provider.says(|says| says.claims = json!({"sub": "subject-2"}));
    acme.sign_on().await.expect(200);
    let after: i64 = sqlx::query_scalar("select count(*) from accounts").fetch_one(acme.app.app.pool()).await.unwrap();
    assert_eq!(accounts, after);
}

#[tokio::test]
async fn a_provider_is_the_owners_to_name_and_its_secret_is_never_shown() {
    let acme = Acme::without().await;
    let admin = acme.app.join(&acme.owner, "adam", "admin").await;
    assert_eq!(acme.app.put(&acme.org("/sso"), &bearer(&admin), acme.settings()).await.code(), (403, "FORBIDDEN"));
    assert_eq!(acme.app.get("/v1/auth/sso/acme", "").await.code(), (404, "NOT_FOUND"));
    let shown = acme.put(acme.settings()).await.expect(200);
    assert_eq!(shown["redirect_uri"], "http://localhost:8080/v1/auth/sso/callback");
    let mut body = acme.settings();
    body.as_object_mut().unwrap().remove("client_secret");
    body["default_role"] = json!("developer");
    acme.put(body).await.expect(200);
    acme.sign_on().await.expect(200);
    let got = acme.app.get(&acme.org("/sso"), &bearer(&admin)).await.expect(200);
    let organization = acme.app.get(&acme.org(""), &bearer(&admin)).await.expect(200);
    assert_eq!(
        (&got["default_role"], &organization["settings"]["sso_provider"]),
        (&json!("developer"), &got["issuer"])
    );
    let mut everything = vec![shown.to_string(), got.to_string()];
    everything.extend(
        sqlx::query_scalar::<_, String>(
            "select sso_connections::text from sso_connections union all select changes::text from iam_events",
        )
        .fetch_all(acme.app.app.pool())
        .await
        .unwrap(),
    );
    assert!(everything.iter().all(|text| !text.contains("hush")));
    let (kind, changes) =
        acme.app.events(&acme.owner).await.into_iter().find(|(kind, _)| kind == "sso.updated").unwrap();
    assert_eq!((&*kind, &changes["before"]["default_role"]), ("sso.updated", &json!("analyst")));
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_by_name() {
    let acme = Acme::without().await;
    for (field, value) in [
        ("issuer", json!("http://127.0.0.1:1")),
        ("issuer", json!("http://10.0.0.1")),
        ("issuer", json!(format!("{}/", acme.provider.issuer()))),
        ("issuer", json!("nonsense")),
        ("client_id", json!("")),
        ("client_secret", json!("  ")),
        ("client_secret", Value::Null),
        ("email_domains", json!([])),
        ("email_domains", json!(["acme"])),
        ("email_domains", json!(["a@acme.example"])),
        ("default_role", json!("admin")),
        ("default_role", json!("owner")),
        ("unknown", json!(1)),
    ] {
        let mut body = acme.settings();
        body[field] = value.clone();
        let answer = acme.put(body).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{field} = {value}: {}", answer.body);
        assert_eq!(answer.body["error"]["details"]["field"], field, "{value}");
    }
}

#[tokio::test]
async fn a_provider_that_is_let_go_takes_its_sessions_along() {
    let acme = Acme::start().await;
    let opened = acme.sign_on().await.expect(200);
    let enforce = |on: bool| json!({"settings": {"enforce_sso": on}});
    acme.app.put(&acme.org(""), &bearer(&acme.owner), enforce(true)).await.expect(200);
    let refused = acme.app.delete(&acme.org("/sso"), &bearer(&acme.owner)).await;
    assert_eq!(refused.body["error"]["details"]["reason"], "sso_enforced");
    acme.app.put(&acme.org(""), &bearer(&acme.owner), enforce(false)).await.expect(200);
    let removed = acme.app.delete(&acme.org("/sso"), &bearer(&acme.owner)).await.expect(200);
    assert_eq!((&removed["deleted"], &removed["sessions_terminated"]), (&json!(true), &json!(1)));
    assert_eq!(acme.app.get("/v1/auth/me", &bearer(&opened)).await.code().0, 401);
    assert_eq!(acme.app.get(&acme.org("/sso"), &bearer(&acme.owner)).await.code().0, 404);
    assert_eq!(acme.app.events(&acme.owner).await.last().unwrap().0, "sso.disabled");
}

#[tokio::test]
async fn who_came_by_sign_on_founds_no_organization() {
    let acme = Acme::start().await;
    acme.provider.says(|says| says.claims = json!({"email": "ada@example.com"}));
    let opened = acme.sign_on().await.expect(200);
    let body = json!({"name": "Other", "slug": "other", "billing_email": "ada@example.com"});
    assert_eq!(acme.app.post("/v1/organizations", &bearer(&opened), body.clone()).await.code(), (403, "FORBIDDEN"));
    acme.app.post("/v1/organizations", &bearer(&acme.owner), body).await.expect(201);
}

#[tokio::test]
async fn a_domain_that_is_no_longer_named_lets_nobody_in_who_came_before() {
    let acme = Acme::start().await;
    acme.sign_on().await.expect(200);
    let mut body = acme.settings();
    body["email_domains"] = json!(["elsewhere.example"]);
    acme.put(body).await.expect(200);
    assert_eq!(acme.sign_on().await.code(), (403, "FORBIDDEN"));
}

#[tokio::test]
async fn somebody_new_is_not_brought_in_beyond_the_tier() {
    let acme = Acme::start().await;
    acme.app.set_tier("free").await;
    let limit = contract::Tier::Free.limits().max_users.unwrap();
    for n in 1..limit {
        acme.provider.says(|says| says.claims = json!({"sub": n.to_string(), "email": format!("u{n}@acme.example")}));
        acme.sign_on().await.expect(200);
    }
    acme.provider.says(|says| says.claims = json!({"sub": "last", "email": "last@acme.example"}));
    assert_eq!(acme.sign_on().await.body["error"]["details"]["quota"], "users");
}

/// RFC 9207: a browser that another provider sends back is not taken.
#[tokio::test]
async fn the_way_back_names_no_other_issuer() {
    let acme = Acme::start().await;
    let (location, cookie) = acme.begin().await;
    let path = acme.at_provider(location).await;
    assert_eq!(acme.back(&format!("{path}&iss=https://evil.example"), &cookie).await.code().0, 401);
}

#[tokio::test]
async fn attempts_that_never_came_back_are_forgotten() {
    let acme = Acme::start().await;
    acme.begin().await;
    acme.app.advance(Duration::hours(1));
    crate::server::jobs::run_due(&acme.app.app).await.unwrap();
    crate::server::jobs::schedule(&acme.app.app).await.unwrap();
    crate::server::jobs::run_due(&acme.app.app).await.unwrap();
    let left: i64 =
        sqlx::query_scalar("select count(*) from sso_attempts").fetch_one(acme.app.app.pool()).await.unwrap();
    assert_eq!(left, 0);
}
