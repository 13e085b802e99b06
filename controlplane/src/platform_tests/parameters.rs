use axum::http::Method;
use platform::http::parameters::Parameters;
use serde_json::{Value, json};

use crate::server::endpoints;
use crate::testing::{TestApp, bearer};

#[tokio::test]
async fn every_endpoint_refuses_a_parameter_that_it_does_not_know() {
    let app = TestApp::start().await;
    let owner = app.signup("olga", "Acme").await;
    app.set_tier("enterprise").await;
    let demo = json!({"name": "Demo", "slug": "demo"});
    let demo = app.post(&app.org(&owner, "/environments"), &bearer(&owner), demo).await.expect(201);
    let (org_id, env_id) = (owner["org"]["id"].as_str().unwrap(), demo["env_id"].as_str().unwrap());
    let mut asked = 0;
    for row in endpoints::rows().iter().filter(|row| Parameters::are_checked(row)) {
        let path = row.path.replace("{org_id}", org_id).replace("{env_id}", env_id).replace(['{', '}'], "");
        let method = Method::from_bytes(row.method.as_str().as_bytes()).unwrap();
        let answer = app.call(method, &format!("{path}?xyzzy=1"), &bearer(&owner), Value::Null).await;
        assert_eq!(answer.code().0, 400, "{} {path}: {}", row.method, answer.body);
        let told =
            if path.ends_with("/query/arrow") { &answer.body["message"] } else { &answer.body["error"]["message"] };
        assert!(told.as_str().unwrap().starts_with("`xyzzy` is not a parameter"), "{} {path}: {told}", row.method);
        asked += 1;
    }
    assert!(asked > 150, "{asked} endpoints");
}

#[tokio::test]
async fn what_is_no_endpoint_for_programs_takes_what_it_is_given() {
    let app = TestApp::start().await;
    for path in ["/health", "/ready", "/docs", "/openapi.json", "/.well-known/jwks.json"] {
        app.get(&format!("{path}?xyzzy=1"), "").await.expect(200);
    }
    let link = format!("/v1/auth/verify-email?utm_source=mail&token={}", "t".repeat(43));
    app.get(&link, "").await.expect(200);
    app.get(&format!("/v1/auth/magic-link/callback?token={}&fbclid=1", "t".repeat(43)), "").await.expect(200);
}

/// Which those are is written down here: another one needs a decision.
#[test]
fn the_linked_endpoints_are_these() {
    let linked: Vec<_> =
        endpoints::rows().iter().filter(|row| row.linked).map(|row| (row.method.as_str(), row.path)).collect();
    assert_eq!(
        linked,
        [
            ("GET", "/v1/auth/magic-link/callback"),
            ("GET", "/v1/auth/verify-email"),
            ("GET", "/v1/auth/reset-password"),
            ("GET", "/v1/auth/accept-invitation"),
            ("GET", "/v1/auth/sso/callback"),
        ]
    );
}
