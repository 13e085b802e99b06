use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::Duration;
use platform::clouds::Clouds;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::domain::authentication::sso::provider::Provider;
use crate::testing::{Answer, TestApp, bearer};

const TENANT: &str = "11111111-2222-3333-4444-555555555555";
const ROLE_ARN: &str = "arn:aws:iam::123456789012:role/teams/etl";

/// Acme believes a cloud: an OpenID issuer, or an STS, of this machine.
struct Acme {
    app: TestApp,
    owner: Value,
    issuer: Provider,
    sts: Sts,
}

impl Acme {
    async fn start() -> Self {
        let (issuer, sts) = (Provider::start(1_790_000_000).await, Sts::start().await);
        let (url, sts_url) = (issuer.issuer(), format!("http://{}/", sts.address));
        let app = TestApp::configured(|config| {
            config.webhook_loopback = true;
            config.clouds = Clouds { gcp_issuer: url.clone(), azure_issuer: url, aws_sts: sts_url };
        });
        let app = app.await;
        let owner = app.signup("ada", "Acme").await;
        app.set_tier("cloud").await;
        Self { app, owner, issuer, sts }
    }

    async fn send(&self, body: Value) -> Answer {
        self.app.post(&self.app.org(&self.owner, "/federation/providers"), &bearer(&self.owner), body).await
    }

    async fn provider(&self, body: Value) -> Value {
        self.send(body).await.expect(201)
    }

    /// A request as whoever has this token.
    async fn me(&self, token: &str) -> Answer {
        self.app.get("/v1/auth/me", &format!("Bearer {token}")).await
    }

    /// What a role of AWS sends, changed.
    fn aws(&self, provider: &Value, change: impl FnOnce(&mut Value)) -> String {
        let mut signed = json!({"region": "eu-central-1", "headers": {
            "Authorization": "AWS4-HMAC-SHA256 Credential=AKIA/20260921/eu-central-1/sts/aws4_request, \
                SignedHeaders=host;x-amz-date;x-amz-security-token;x-sluice-external-id;x-sluice-server-id, Signature=00",
            "X-Amz-Date": self.app.app.now().format("%Y%m%dT%H%M%SZ").to_string(),
            "X-Amz-Security-Token": "token",
            "X-Sluice-Server-Id": provider["provider_id"],
            "X-Sluice-External-Id": "acme-7",
        }});
        change(&mut signed);
        format!("aws-sts.{}", URL_SAFE_NO_PAD.encode(signed.to_string()))
    }
}

fn gcp() -> Value {
    json!({"type": "gcp_workload_identity", "config": {"project_id": "acme-prod-1", "workload_identity_pool": "pool",
        "provider": "sluice", "subjects": [{"match": "etl@acme-prod-1.iam.gserviceaccount.com", "role": "developer"}]}})
}

fn azure() -> Value {
    json!({"type": "azure_ad", "config": {"tenant_id": TENANT, "audience": "api://acme",
        "subjects": [{"match": "*", "role": "analyst"}]}})
}

fn aws() -> Value {
    json!({"type": "aws_sts", "config": {"role_arn": ROLE_ARN, "external_id": "acme-7",
        "subjects": [{"match": ROLE_ARN, "role": "analyst"}]}})
}

/// What it says, and what it was asked.
type Asked = (Value, Vec<(HeaderMap, String)>);

/// AWS STS, as far as it says who somebody is. Shows what it was asked.
struct Sts {
    address: SocketAddr,
    shared: Arc<Mutex<Asked>>,
    server: tokio::task::JoinHandle<()>,
}

impl Sts {
    #[expect(clippy::disallowed_methods, reason = "ends with the server")]
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let identity = json!({"Account": "123456789012", "UserId": "AROA:pod-1",
            "Arn": "arn:aws:sts::123456789012:assumed-role/etl/pod-1"});
        let shared = Arc::new(Mutex::new((identity, Vec::new())));
        let answer = async |State(shared): State<Arc<Mutex<Asked>>>, headers: HeaderMap, body: String| {
            let mut shared = shared.lock().unwrap();
            shared.1.push((headers, body));
            axum::Json(json!({"GetCallerIdentityResponse": {"GetCallerIdentityResult": shared.0.clone(),
                "ResponseMetadata": {"RequestId": "x"}}}))
        };
        let router = Router::new().route("/", post(answer)).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, server }
    }

    fn says(&self, arn: &str, account: &str) {
        self.shared.lock().unwrap().0 = json!({"Account": account, "Arn": arn, "UserId": "x"});
    }

    fn asked(&self) -> Vec<(HeaderMap, String)> {
        std::mem::take(&mut self.shared.lock().unwrap().1)
    }
}

impl Drop for Sts {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[tokio::test]
async fn a_service_account_of_the_project_comes_as_its_role_and_is_one_user() {
    let acme = Acme::start().await;
    let provider = acme.provider(gcp()).await;
    let email = "etl@acme-prod-1.iam.gserviceaccount.com";
    let token = |jti: i32| acme.issuer.signed(&json!({"aud": provider["audience"], "email": email, "jti": jti}));
    let me = acme.me(&token(1)).await.expect(200);
    assert_eq!(
        (&me["role"], &me["name"], &me["org_id"]),
        (&json!("developer"), &json!(email), &acme.owner["org"]["id"])
    );
    assert_eq!(acme.me(&token(2)).await.expect(200)["user_id"], me["user_id"]);
    let kinds: Vec<_> = acme.app.events(&acme.owner).await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["org.created", "federation_provider.created", "user.accepted"]);
}

#[tokio::test]
async fn a_token_is_good_for_its_provider_subject_and_time_alone() {
    let acme = Acme::start().await;
    let (one, other) = (acme.provider(gcp()).await, acme.provider(gcp()).await);
    let email = "etl@acme-prod-1.iam.gserviceaccount.com";
    for claims in [
        json!({"aud": "https://elsewhere.example/nothing", "email": email}),
        json!({"aud": format!("https://elsewhere.example/{}", one["provider_id"].as_str().unwrap()), "email": email}),
        json!({"aud": one["audience"], "email": "other@acme-prod-1.iam.gserviceaccount.com"}),
        json!({"aud": one["audience"], "email": "etl@acme-prod-2.iam.gserviceaccount.com"}),
        json!({"aud": one["audience"], "email": "etl@acme-prod-1.iam.gserviceaccount.com.evil.example"}),
        json!({"aud": one["audience"], "email": email, "email_verified": false}),
        json!({"aud": one["audience"], "email": email, "exp": 1_790_000_000}),
        json!({"aud": one["audience"], "email": email, "iss": "https://accounts.google.com"}),
    ] {
        assert_eq!(acme.me(&acme.issuer.signed(&claims)).await.code(), (401, "UNAUTHORIZED"), "{claims}");
    }
    let token = acme.issuer.signed(&json!({"aud": other["audience"], "email": email}));
    acme.me(&token).await.expect(200);
    acme.app.advance(Duration::minutes(10));
    assert_eq!(acme.me(&token).await.code(), (401, "UNAUTHORIZED"));
}

#[tokio::test]
async fn who_is_suspended_or_whose_provider_changed_is_refused_at_once() {
    let acme = Acme::start().await;
    let provider = acme.provider(gcp()).await;
    let email = "etl@acme-prod-1.iam.gserviceaccount.com";
    let token = acme.issuer.signed(&json!({"aud": provider["audience"], "email": email}));
    let me = acme.me(&token).await.expect(200);
    let user = acme.app.org(&acme.owner, &format!("/users/{}", me["user_id"].as_str().unwrap()));
    let path = format!("{}/{}", acme.app.org(&acme.owner, "/federation/providers"), provider["id"].as_str().unwrap());
    acme.app.post(&format!("{user}/suspend"), &bearer(&acme.owner), Value::Null).await.expect(200);
    assert_eq!(acme.me(&token).await.code(), (401, "UNAUTHORIZED"));
    acme.app.post(&format!("{user}/reactivate"), &bearer(&acme.owner), Value::Null).await.expect(200);
    let fresh = acme.issuer.signed(&json!({"aud": provider["audience"], "email": email, "jti": 2}));
    acme.me(&fresh).await.expect(200);
    let mut changed = gcp();
    changed["config"]["subjects"][0]["role"] = json!("auditor");
    acme.app.put(&path, &bearer(&acme.owner), changed).await.expect(200);
    assert_eq!(acme.me(&fresh).await.code(), (401, "UNAUTHORIZED"));
    let third = acme.issuer.signed(&json!({"aud": provider["audience"], "email": email, "jti": 3}));
    assert_eq!(acme.me(&third).await.expect(200)["role"], "auditor");
    acme.app.delete(&path, &bearer(&acme.owner)).await.expect(200);
    assert_eq!(acme.me(&third).await.code(), (401, "UNAUTHORIZED"));
    let kinds: Vec<_> = acme.app.events(&acme.owner).await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(
        kinds[kinds.len() - 3..],
        ["federation_provider.updated", "user.role_changed", "federation_provider.deleted"]
    );
}

#[tokio::test]
async fn a_directory_is_pinned_and_its_audience_means_one_provider() {
    let acme = Acme::start().await;
    acme.provider(azure()).await;
    let again = acme.send(azure()).await;
    assert_eq!(again.body["error"]["details"]["reason"], "audience_taken");
    let token = |claims: Value| acme.issuer.signed(&claims);
    let good = json!({"aud": "api://acme", "tid": TENANT, "oid": "object-1"});
    assert_eq!(acme.me(&token(good)).await.expect(200)["role"], "analyst");
    for bad in [
        json!({"aud": "api://acme", "tid": "99999999-2222-3333-4444-555555555555", "oid": "object-1"}),
        json!({"aud": "api://other", "tid": TENANT, "oid": "object-1"}),
        json!({"aud": "api://acme", "tid": TENANT}),
    ] {
        assert_eq!(acme.me(&token(bad.clone())).await.code(), (401, "UNAUTHORIZED"), "{bad}");
    }
}

#[tokio::test]
async fn aws_says_who_signed_and_is_asked_only_what_we_made() {
    let acme = Acme::start().await;
    let provider = acme.provider(aws()).await;
    let token = acme.aws(&provider, |signed| signed["headers"]["X-Evil"] = json!("1"));
    assert_eq!(acme.me(&token).await.expect(200)["name"], ROLE_ARN);
    acme.me(&token).await.expect(200);
    let asked = acme.sts.asked();
    assert_eq!(asked.len(), 1);
    let (headers, body) = &asked[0];
    assert_eq!(body, "Action=GetCallerIdentity&Version=2011-06-15");
    assert!(headers.contains_key("authorization") && headers.contains_key("x-amz-security-token"));
    assert!(!headers.contains_key("x-evil") && headers["accept"] == "application/json");
    acme.app.advance(Duration::minutes(15));
    assert_eq!(acme.me(&token).await.code(), (401, "UNAUTHORIZED"));
}

type Change = fn(&mut Value);

#[tokio::test]
async fn a_request_that_was_not_signed_for_us_is_not_even_asked_about() {
    let acme = Acme::start().await;
    let provider = acme.provider(aws()).await;
    let changes: [Change; 9] = [
        |signed| signed["region"] = json!("evil.example/"),
        |signed| signed["region"] = json!("us-east-1"),
        |signed| signed["headers"]["X-Amz-Date"] = json!("20260921T135000Z"),
        |signed| signed["headers"]["X-Amz-Date"] = json!("20260921T143000Z"),
        |signed| signed["headers"]["X-Sluice-Server-Id"] = json!("another"),
        |signed| signed["headers"]["X-Sluice-External-Id"] = json!("acme-8"),
        |signed| signed["headers"]["x-amz-date"] = json!("20260921T141320Z"),
        |signed| signed["method"] = json!("GET"),
        |signed| {
            let without = signed["headers"]["Authorization"].as_str().unwrap().replace(";x-sluice-server-id", "");
            signed["headers"]["Authorization"] = json!(without);
        },
    ];
    for (n, change) in changes.into_iter().enumerate() {
        assert_eq!(acme.me(&acme.aws(&provider, change)).await.code(), (401, "UNAUTHORIZED"), "change {n}");
    }
    assert_eq!(acme.sts.asked().len(), 0);
    for token in ["aws-sts.", "aws-sts.e30", "aws-sts.%%%"] {
        assert_eq!(acme.me(token).await.code(), (401, "UNAUTHORIZED"), "{token}");
    }
}

#[tokio::test]
async fn who_has_not_assumed_the_role_stays_outside() {
    let acme = Acme::start().await;
    let provider = acme.provider(aws()).await;
    for (arn, account) in [
        ("arn:aws:sts::123456789012:assumed-role/other/pod-1", "123456789012"),
        ("arn:aws:sts::999999999999:assumed-role/etl/pod-1", "999999999999"),
        ("arn:aws:sts::123456789012:assumed-role/etl/pod-1", "999999999999"),
        ("arn:aws:iam::123456789012:user/etl", "123456789012"),
        ("arn:aws:sts::123456789012:federated-user/etl", "123456789012"),
        ("arn:aws:sts::123456789012:assumed-role/etl", "123456789012"),
    ] {
        acme.sts.says(arn, account);
        assert_eq!(acme.me(&acme.aws(&provider, |_| {})).await.code(), (401, "UNAUTHORIZED"), "{arn}");
    }
}

#[tokio::test]
async fn a_config_that_cannot_work_is_refused_by_name() {
    let acme = Acme::start().await;
    for (mut body, member, value) in [
        (aws(), "role_arn", json!("arn:aws:iam::1:role/x")),
        (aws(), "role_arn", json!("arn:aws:iam::123456789012:user/x")),
        (gcp(), "project_id", json!("A")),
        (gcp(), "workload_identity_pool", json!("")),
        (azure(), "tenant_id", json!("common")),
        (azure(), "audience", json!(" ")),
    ] {
        body["config"][member] = value.clone();
        let answer = acme.send(body).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{member} = {value}");
        assert_eq!(answer.body["error"]["details"]["field"], format!("config.{member}"), "{value}");
    }
    for role in ["owner", "admin", "service_account", "root"] {
        let mut body = gcp();
        body["config"]["subjects"][0]["role"] = json!(role);
        assert_eq!(acme.send(body).await.code(), (400, "VALIDATION_ERROR"), "{role}");
    }
}

#[tokio::test]
async fn another_organizations_provider_is_absent() {
    let acme = Acme::start().await;
    let provider = acme.provider(gcp()).await;
    let bob = acme.app.signup("bob", "Base").await;
    let path = format!("{}/{}", acme.app.org(&bob, "/federation/providers"), provider["id"].as_str().unwrap());
    assert_eq!(acme.app.delete(&path, &bearer(&bob)).await.code(), (404, "NOT_FOUND"));
    assert_eq!(acme.app.put(&path, &bearer(&bob), gcp()).await.code(), (404, "NOT_FOUND"));
    let own = acme.app.get(&acme.app.org(&acme.owner, "/federation/providers"), &bearer(&acme.owner)).await.expect(200);
    assert_eq!((&own["pagination"]["total"], &own["data"][0]["type"]), (&json!(1), &json!("gcp_workload_identity")));
}

#[tokio::test]
async fn a_provider_without_subjects_lets_nobody_in() {
    let acme = Acme::start().await;
    let mut body = gcp();
    body["config"].as_object_mut().unwrap().remove("subjects");
    let provider = acme.provider(body).await;
    let claims = json!({"aud": provider["audience"], "email": "etl@acme-prod-1.iam.gserviceaccount.com"});
    assert_eq!(acme.me(&acme.issuer.signed(&claims)).await.code(), (401, "UNAUTHORIZED"));
}
