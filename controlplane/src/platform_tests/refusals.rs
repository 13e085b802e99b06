//! Nobody gets in who should not: for each row of the route table, everybody who has to be
//! refused. A new endpoint is tested by being in the table.

use std::collections::BTreeMap;

use axum::http::Method;
use contract::{Access, OrgId, Role, Scope};
use platform::http::route::Route;
use serde_json::{Value, json};

use crate::domain::environments;
use crate::server::endpoints;
use crate::testing::{TestApp, bearer};
use crate::worlds::World;

/// Everybody who may ask, by their `Authorization`.
struct Cast {
    roles: BTreeMap<Role, String>,
    /// The owner of another organization.
    stranger: String,
    logged_out: String,
}

async fn cast(app: &TestApp) -> (Value, Cast) {
    let owner = app.signup("olga", "Acme").await;
    let stranger = app.signup("sven", "Elsewhere").await;
    app.set_tier("enterprise").await;
    let mut roles = BTreeMap::from([(Role::Owner, bearer(&owner))]);
    for role in Role::ALL.iter().filter(|role| **role != Role::Owner) {
        let joined = app.join(&owner, role.as_str(), role.as_str()).await;
        roles.insert(*role, bearer(&joined));
    }
    let logged_out = bearer(&app.login("olga").await);
    app.post("/v1/auth/logout", &logged_out, Value::Null).await.expect(200);
    (owner, Cast { roles, stranger: bearer(&stranger), logged_out })
}

fn path(row: &Route, owner: &Value) -> String {
    let org_id = owner["org"]["id"].as_str().unwrap();
    row.path.replace("{org_id}", org_id).replace(['{', '}'], "")
}

async fn status(app: &TestApp, row: &Route, path: &str, authorization: &str) -> u16 {
    let method = Method::from_bytes(row.method.as_str().as_bytes()).unwrap();
    app.call(method, path, authorization, Value::Null).await.status.as_u16()
}

fn guarded() -> impl Iterator<Item = &'static Route> {
    endpoints::rows().iter().filter(|row| row.access != Access::Public)
}

#[tokio::test]
async fn no_endpoint_answers_without_a_good_credential() {
    let app = TestApp::start().await;
    let (owner, cast) = cast(&app).await;
    for row in guarded() {
        let path = path(row, &owner);
        for authorization in ["", "Bearer x.y.z", "ApiKey svc_live_forged", &cast.logged_out] {
            assert_eq!(status(&app, row, &path, authorization).await, 401, "{} {path} {authorization}", row.method);
        }
    }
    app.advance(chrono::Duration::hours(1));
    for row in guarded() {
        let path = path(row, &owner);
        assert_eq!(status(&app, row, &path, &cast.roles[&Role::Owner]).await, 401, "expired: {} {path}", row.method);
    }
}

#[tokio::test]
async fn no_endpoint_answers_a_role_below_its_own() {
    let app = TestApp::start().await;
    let (owner, cast) = cast(&app).await;
    let demo = environments::EnvironmentSeed { name: "Demo".to_owned(), slug: "demo".to_owned(), test_mode: true };
    let org_id = OrgId::from(owner["org"]["id"].as_str().unwrap());
    let env_id = environments::record(&app.app, &org_id, &demo).await.unwrap();
    for row in guarded() {
        let path = path(row, &owner).replace("env_id", env_id.as_str());
        for (role, authorization) in cast.roles.iter().filter(|(role, _)| !row.access.admits(**role)) {
            assert_eq!(status(&app, row, &path, authorization).await, 403, "{role}: {} {path}", row.method);
        }
    }
}

#[tokio::test]
async fn no_endpoint_shows_another_tenant() {
    let app = TestApp::start().await;
    let (owner, cast) = cast(&app).await;
    for row in guarded().filter(|row| row.path.contains("{org_id}")) {
        let path = path(row, &owner);
        assert_eq!(status(&app, row, &path, &cast.stranger).await, 404, "{} {path}", row.method);
    }
}

/// Every row that names an environment, for the keys and sessions that have no business there.
#[tokio::test]
async fn no_endpoint_of_an_environment_answers_the_wrong_key_or_tenant() {
    let world = World::start().await;
    let elsewhere = world.elsewhere().await;
    let stranger = bearer(&world.app.signup("sven", "Elsewhere").await);
    world.app.set_tier("enterprise").await;
    let everything = world.key(&[]).await;
    for row in guarded().filter(|row| row.path.contains("{env_id}")) {
        let at = |env_id: &str| {
            let path = row.path.replace("{org_id}", world.org_id.as_str()).replace("{env_id}", env_id);
            path.replace(['{', '}'], "")
        };
        let foreign = status(&world.app, row, &at(world.env_id.as_str()), &stranger).await;
        assert_eq!(foreign, 404, "another tenant: {} {}", row.method, row.path);
        let bound = status(&world.app, row, &at(world.env_id.as_str()), &elsewhere).await;
        assert_eq!(bound, 403, "a key of another environment: {} {}", row.method, row.path);
        let absent = status(&world.app, row, &at("nothing"), &everything).await;
        assert_eq!(absent, 403, "a key where nothing is: {} {}", row.method, row.path);
    }
}

/// A key needs the row's scope: one that has all the others is refused.
#[tokio::test]
async fn no_endpoint_answers_a_key_without_its_scope() {
    let world = World::start().await;
    for scope in Scope::ALL {
        let others: Vec<&str> = Scope::ALL.iter().filter(|other| *other != scope).map(|other| other.as_str()).collect();
        let key = world.key(&others).await;
        for row in guarded().filter(|row| row.scope == Some(*scope)) {
            let path = row.path.replace("{org_id}", world.org_id.as_str()).replace("{env_id}", world.env_id.as_str());
            let answer = status(&world.app, row, &path.replace(['{', '}'], ""), &key).await;
            assert_eq!(answer, 403, "without {scope}: {} {}", row.method, row.path);
        }
    }
}

/// What has no scope family is closed to a key that acts for nobody, whatever its scopes.
#[tokio::test]
async fn no_endpoint_without_a_scope_answers_a_key_of_nobody() {
    let world = World::start().await;
    let everything = world.key(&[]).await;
    for row in guarded().filter(|row| row.scope.is_none() && row.access != Access::Authenticated) {
        let path = row.path.replace("{org_id}", world.org_id.as_str()).replace("{env_id}", world.env_id.as_str());
        let answer = status(&world.app, row, &path.replace(['{', '}'], ""), &everything).await;
        assert_eq!(answer, 403, "{} {}", row.method, row.path);
    }
}

/// Nor does it manage anything under a key that is limited, though it acts for the owner.
#[tokio::test]
async fn no_endpoint_without_a_scope_is_managed_by_a_limited_key() {
    let world = World::start().await;
    let limited = json!({"name": "limited", "scopes": ["query:*", "key:*"], "user_id": world.owner_id});
    let key = format!("ApiKey {}", world.create_key(limited).await["key"].as_str().unwrap());
    let managing = |row: &&Route| !matches!(row.access, Access::Authenticated | Access::Member);
    for row in guarded().filter(|row| row.scope.is_none()).filter(managing) {
        let path = row.path.replace("{org_id}", world.org_id.as_str()).replace("{env_id}", world.env_id.as_str());
        let answer = status(&world.app, row, &path.replace(['{', '}'], ""), &key).await;
        assert_eq!(answer, 403, "{} {}", row.method, row.path);
    }
}

/// What stands without a credential is written down here: another one needs a decision.
#[test]
fn the_public_endpoints_are_these() {
    let public: Vec<_> =
        endpoints::rows().iter().filter(|row| row.access == Access::Public).map(|row| row.path).collect();
    assert_eq!(
        public,
        [
            "/health",
            "/ready",
            "/v1/auth/login",
            "/v1/auth/token/refresh",
            "/v1/auth/refresh",
            "/v1/auth/magic-link",
            "/v1/auth/magic-link/callback",
            "/v1/auth/magic-link/callback",
            "/v1/auth/verify-email",
            "/v1/auth/verify-email",
            "/v1/auth/verify-email/resend",
            "/v1/auth/forgot-password",
            "/v1/auth/reset-password",
            "/v1/auth/reset-password",
            "/v1/signup",
            "/v1/auth/signup",
            "/v1/auth/accept-invitation",
            "/v1/auth/accept-invitation",
            "/v1/auth/sso/{org_slug}",
            "/v1/auth/sso/callback",
            "/.well-known/jwks.json",
            "/openapi.json",
            "/docs",
            "/docs/errors",
            "/",
            "/assets/{file}",
        ]
    );
}
