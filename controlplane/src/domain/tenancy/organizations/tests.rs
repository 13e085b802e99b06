use contract::Tier;
use serde_json::{Value, json};

use crate::domain::tenancy::organizations::{AdministrativeChange, OrganizationSeed, OrganizationStatus, change, seed};
use crate::server::callbacks::CALLBACKS;
use crate::testing::{TestApp, bearer};
use crate::worlds::World;

fn acme() -> Value {
    json!({"name": "Acme", "slug": "acme-2", "billing_email": "bills@acme.example"})
}

#[tokio::test]
async fn whoever_creates_an_organization_owns_it() {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "First").await;
    let org = app.post("/v1/organizations", &bearer(&ada), acme()).await.expect(201);
    assert_eq!(
        (&org["tier"], &org["status"], &org["cloud_region"]),
        (&json!("free"), &json!("active"), &json!("us-east-1"))
    );
    assert_eq!(org["id"], org["org_id"]);
    let body = json!({"email": "ada@example.com", "password": app.password(), "org_id": org["id"]});
    let opened = app.post("/v1/auth/login", "", body).await.expect(200);
    assert_eq!((&opened["org"]["id"], &opened["user"]["role"]), (&org["id"], &json!("owner")));
    // The next login is to the organization of the last.
    assert_eq!(app.login("ada").await["org"]["id"], org["id"]);
}

#[tokio::test]
async fn a_name_that_is_a_path_of_sign_on_gets_another_slug() {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "Callback").await;
    let org = app.get(&app.org(&ada, ""), &bearer(&ada)).await.expect(200);
    let slug = org["slug"].as_str().unwrap();
    assert!(slug.starts_with("callback-"), "{slug}");
    assert_eq!(app.get(&format!("/v1/auth/sso/{slug}"), "").await.code(), (404, "NOT_FOUND"));
}

/// "With `enforce_sso` password login is disabled": without a provider nobody could come in.
#[tokio::test]
async fn sign_on_is_not_enforced_without_a_provider() {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "Acme").await;
    let reason = |answer: crate::testing::Answer| {
        (answer.status.as_u16(), answer.body["error"]["details"]["reason"].as_str().unwrap().to_owned())
    };
    let enforced = json!({"settings": {"enforce_sso": true}});
    let changed = app.put(&app.org(&ada, ""), &bearer(&ada), enforced.clone()).await;
    assert_eq!(reason(changed), (409, "no_sso_provider".to_owned()));
    let mut body = acme();
    body["settings"] = enforced["settings"].clone();
    assert_eq!(reason(app.post("/v1/organizations", &bearer(&ada), body).await), (409, "no_sso_provider".to_owned()));
    app.login("ada").await;
}

#[tokio::test]
async fn a_slug_is_taken_once() {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "First").await;
    app.post("/v1/organizations", &bearer(&ada), acme()).await.expect(201);
    assert_eq!(app.post("/v1/organizations", &bearer(&ada), acme()).await.code(), (409, "CONFLICT"));
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_its_field() {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "First").await;
    for (field, value) in [
        ("name", json!("")),
        ("name", json!("x".repeat(101))),
        ("slug", json!("")),
        ("slug", json!("Acme")),
        ("slug", json!("-acme")),
        ("slug", json!("acme/2")),
        ("slug", json!("callback")),
        ("slug", json!("x".repeat(64))),
        ("billing_email", json!("bills")),
        ("cloud_region", json!("US East")),
        ("tier", json!("enterprise")),
    ] {
        let mut body = acme();
        body[field] = value.clone();
        let answer = app.post("/v1/organizations", &bearer(&ada), body).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{field} = {value}");
        assert_eq!(answer.body["error"]["details"]["field"], field, "{value}");
    }
    for field in ["name", "slug", "billing_email"] {
        let mut body = acme();
        body.as_object_mut().unwrap().remove(field);
        let answer = app.post("/v1/organizations", &bearer(&ada), body).await;
        let details = &answer.body["error"]["details"];
        assert_eq!((&details["field"], &details["constraint"]), (&json!(field), &json!("required")));
    }
}

#[tokio::test]
async fn a_member_sees_the_organization_with_its_quotas() {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "Acme").await;
    let org = app.get(&app.org(&ada, ""), &bearer(&ada)).await.expect(200);
    assert_eq!(org["settings"], json!({"mfa_required": false, "enforce_sso": false, "sso_provider": null}));
    let quotas = &org["quotas"];
    assert_eq!(quotas["used"], json!(0.0));
    assert_eq!(
        (&quotas["monthly_credit_limit"], &quotas["max_concurrent_queries"], &quotas["storage_limit_gb"]),
        (&json!(1000), &json!(10), &json!(10))
    );
}

#[tokio::test]
async fn slug_and_region_never_change() {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "Acme").await;
    let path = app.org(&ada, "");
    for (field, other) in [("slug", "other"), ("cloud_region", "eu-west-1")] {
        let answer = app.put(&path, &bearer(&ada), json!({field: other})).await;
        assert_eq!(
            (answer.code(), &answer.body["error"]["details"]["constraint"]),
            ((400, "VALIDATION_ERROR"), &json!("immutable"))
        );
    }
    app.put(&path, &bearer(&ada), json!({"slug": "acme", "cloud_region": "us-east-1"})).await.expect(200);
}

#[tokio::test]
async fn changed_settings_are_recorded_and_unchanged_ones_are_not() {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "Acme").await;
    let path = app.org(&ada, "");
    app.put(&path, &bearer(&ada), json!({"name": "Acme", "settings": {"mfa_required": false}})).await.expect(200);
    let org =
        app.put(&path, &bearer(&ada), json!({"name": "Acme 2", "settings": {"mfa_required": true}})).await.expect(200);
    assert_eq!((&org["name"], &org["settings"]["mfa_required"]), (&json!("Acme 2"), &json!(true)));
    let events = app.events(&ada).await;
    let types: Vec<_> = events.iter().map(|(event_type, _)| event_type.as_str()).collect();
    assert_eq!(types, ["org.created", "org.settings_updated", "org.mfa_enforced"]);
    let (_, changes) = &events[1];
    assert_eq!(
        *changes,
        json!({"before": {"name": "Acme", "mfa_required": false}, "after": {"name": "Acme 2", "mfa_required": true}})
    );
}

#[tokio::test]
async fn another_tenants_organization_is_as_absent_as_one_that_is_not() {
    let app = TestApp::start().await;
    let ada = app.signup("ada", "Acme").await;
    let bob = app.signup("bob", "Base").await;
    let foreign = app.get(&app.org(&ada, ""), &bearer(&bob)).await;
    let absent = app.get("/v1/organizations/nothing", &bearer(&bob)).await;
    assert_eq!(foreign.code(), (404, "NOT_FOUND"));
    assert_eq!((foreign.code(), &foreign.body["error"]["message"]), (absent.code(), &absent.body["error"]["message"]));
}

#[tokio::test]
async fn seeding_twice_finds_what_the_first_made() {
    let app = TestApp::start().await;
    let demo = OrganizationSeed {
        name: "Demo".to_owned(),
        slug: "demo".to_owned(),
        tier: contract::Tier::Enterprise,
        owner_email: "owner@demo.example".to_owned(),
        owner_name: "Olga".to_owned(),
        owner_password: contract::Redacted::new(app.password().to_owned()),
    };
    let first = seed(&app.app, &demo).await.unwrap();
    assert_eq!(seed(&app.app, &demo).await.unwrap(), first);
    let body = json!({"email": demo.owner_email, "password": app.password()});
    let opened = app.post("/v1/auth/login", "", body).await.expect(200);
    assert_eq!((&opened["user"]["role"], &opened["org"]["tier"]), (&json!("owner"), &json!("enterprise")));
}

#[test]
fn a_status_moves_only_as_the_table_says() {
    const TIER: AdministrativeChange = AdministrativeChange::Tier(Tier::Cloud);
    for (from, change, to) in [
        (OrganizationStatus::Active, AdministrativeChange::Suspend, Some(OrganizationStatus::Suspended)),
        (OrganizationStatus::PendingPayment, AdministrativeChange::Suspend, Some(OrganizationStatus::Suspended)),
        (OrganizationStatus::Provisioning, AdministrativeChange::Suspend, Some(OrganizationStatus::Suspended)),
        (OrganizationStatus::Suspended, AdministrativeChange::Suspend, None),
        (OrganizationStatus::Cancelled, AdministrativeChange::Suspend, None),
        (OrganizationStatus::Suspended, AdministrativeChange::Resume, Some(OrganizationStatus::Active)),
        (OrganizationStatus::Active, AdministrativeChange::Resume, None),
        (OrganizationStatus::PendingPayment, AdministrativeChange::Resume, None),
        (OrganizationStatus::Provisioning, AdministrativeChange::Resume, None),
        (OrganizationStatus::Cancelled, AdministrativeChange::Resume, None),
        (OrganizationStatus::Active, TIER, Some(OrganizationStatus::Active)),
        (OrganizationStatus::PendingPayment, TIER, Some(OrganizationStatus::PendingPayment)),
        (OrganizationStatus::Provisioning, TIER, Some(OrganizationStatus::Provisioning)),
        (OrganizationStatus::Suspended, TIER, Some(OrganizationStatus::Suspended)),
        (OrganizationStatus::Cancelled, TIER, None),
    ] {
        assert_eq!(from.after(change), to, "{from:?} {change:?}");
    }
}

#[tokio::test]
async fn a_tier_and_a_suspension_are_recorded_and_told_as_a_subscription() {
    let world = World::start().await;
    let hook = json!({"url": "https://hooks.example.com/b", "secret": "s".repeat(32), "events": ["billing.subscription_updated"]});
    world.app.post("/v1/webhooks", &world.owner, hook).await.expect(201);
    for (asked, tier, status) in [
        (AdministrativeChange::Tier(Tier::Growth), "growth", "active"),
        (AdministrativeChange::Suspend, "growth", "suspended"),
        (AdministrativeChange::Resume, "growth", "active"),
    ] {
        world.app.advance(chrono::Duration::seconds(1));
        let standing = change(&world.app.app, "acme", asked).await.unwrap();
        assert_eq!((standing.tier.as_str(), standing.status.as_str()), (tier, status), "{asked:?}");
    }
    let tiers: Vec<(Value, Value)> = sqlx::query_as(
        "select convert_from(body, 'utf8')::jsonb -> 'previous_tier', convert_from(body, 'utf8')::jsonb -> 'new_tier'
         from webhook_deliveries order by created_at, delivery_id",
    )
    .fetch_all(world.app.app.pool())
    .await
    .unwrap();
    let (enterprise, growth) = (json!("enterprise"), json!("growth"));
    assert_eq!(tiers, [(enterprise, growth.clone()), (growth.clone(), growth.clone()), (growth.clone(), growth)]);
    assert_eq!(world.count("select count(*) from iam_events where actor_id = 'system:cli'").await, 3);
}

#[tokio::test]
async fn a_suspension_reaches_the_data_planes_and_what_is_not_there_is_refused() {
    let world = World::start().await;
    let version = world.version().await;
    change(&world.app.app, world.org_id.as_str(), AdministrativeChange::Suspend).await.unwrap();
    assert!(world.version().await > version);
    for (organization, asked, code) in [
        ("acme", AdministrativeChange::Suspend, contract::Code::Conflict),
        ("nobody", AdministrativeChange::Resume, contract::Code::NotFound),
    ] {
        assert_eq!(change(&world.app.app, organization, asked).await.unwrap_err().code(), code);
    }
}

#[tokio::test]
async fn another_installations_secrets_change_nothing() {
    let world = World::start().await;
    let mut config = platform::Config::new(world.app.database_url(), contract::Keyring::new([8; 32]));
    config.database_max_connections = 2;
    let stranger = platform::App::new(config, world.app.parts(), CALLBACKS, world.app.app.pool().clone()).unwrap();
    let refused = change(&stranger, "acme", AdministrativeChange::Suspend).await.unwrap_err();
    assert_eq!(refused.code(), contract::Code::Conflict);
    assert_eq!(world.count("select count(*) from organizations where status = 'suspended'").await, 0);
}
