use serde_json::{Value, json};

use crate::testing::{TestApp, bearer};

async fn parent() -> (TestApp, Value) {
    let app = TestApp::start().await;
    let opened = app.signup("olga", "Acme").await;
    app.set_tier("enterprise").await;
    (app, opened)
}

fn wish(slug: &str) -> Value {
    json!({"name": "Acme North", "slug": slug, "billing_email": "north@acme.example"})
}

#[tokio::test]
async fn a_tenant_is_an_organization_of_its_own_that_its_parent_counts() {
    let (app, opened) = parent().await;
    let path = app.org(&opened, "/tenants");
    let made = app.post(&path, &bearer(&opened), wish("acme-north")).await.expect(201);
    assert_eq!((made["name"].as_str(), made["status"].as_str()), (Some("Acme North"), Some("active")));
    assert_eq!(made["parent_org_id"], opened["org"]["id"]);
    sqlx::query("insert into environments (env_id, org_id, name, slug, status, query_timeout_ms, max_concurrent_queries, cache_enabled, test_mode, created_at, updated_at) values ('e', $1, 'e', 'e', 'active', 1, 1, true, true, now(), now())")
        .bind(made["tenant_id"].as_str().unwrap())
        .execute(app.app.pool())
        .await
        .unwrap();
    let mut conn = app.app.pool().acquire().await.unwrap();
    let place = (&made["tenant_id"].as_str().unwrap().into(), &"e".into());
    for (hours, queries) in [(0, 3), (1, 2), (48, 5)] {
        let hour = contract::capability::hour_of(app.app.now() - chrono::Duration::hours(hours));
        let mut used = crate::domain::billing::Used::default();
        (0..queries).for_each(|_| used.add(1, false));
        crate::domain::billing::add_usage(&mut conn, place, hour, "select", used).await.unwrap();
    }
    let listed = app.get(&path, &bearer(&opened)).await.expect(200);
    let row = &listed["data"][0];
    assert_eq!((row["user_count"].as_i64(), row["query_count_today"].as_i64()), (Some(1), Some(5)));
    // Its own routes are closed to a session of the parent.
    let inside = format!("/v1/organizations/{}", made["tenant_id"].as_str().unwrap());
    assert_eq!(app.get(&inside, &bearer(&opened)).await.code(), (404, "NOT_FOUND"));
    let body = json!({"email": "olga@example.com", "password": app.password(), "org_id": made["tenant_id"]});
    let within = app.post("/v1/auth/login", "", body).await.expect(200);
    assert_eq!(app.get(&inside, &bearer(&within)).await.expect(200)["slug"], "acme-north");
    let nested = app.post(&format!("{inside}/tenants"), &bearer(&within), wish("deeper")).await;
    assert_eq!(nested.body["error"]["details"]["reason"], "is_tenant");
}

#[tokio::test]
async fn a_tenant_is_renamed_by_its_parent_alone() {
    let (app, opened) = parent().await;
    let path = app.org(&opened, "/tenants");
    let made = app.post(&path, &bearer(&opened), wish("acme-north")).await.expect(201);
    let one = format!("{path}/{}", made["tenant_id"].as_str().unwrap());
    let renamed = app.put(&one, &bearer(&opened), json!({"name": "Acme Nord"})).await.expect(200);
    assert_eq!((renamed["name"].as_str(), &renamed["tenant_id"]), (Some("Acme Nord"), &made["tenant_id"]));
    let stranger = app.signup("sven", "Elsewhere").await;
    let theirs = format!("{}/{}", app.org(&stranger, "/tenants"), made["tenant_id"].as_str().unwrap());
    assert_eq!(app.put(&theirs, &bearer(&stranger), json!({"name": "Mine"})).await.code(), (404, "NOT_FOUND"));
    let told: Vec<String> = sqlx::query_scalar("select event_type from iam_events where org_id = $1 order by sequence")
        .bind(made["tenant_id"].as_str().unwrap())
        .fetch_all(app.app.pool())
        .await
        .unwrap();
    assert_eq!(told, ["org.created", "org.settings_updated"]);
}

#[tokio::test]
async fn what_a_tenant_is_made_of_is_checked() {
    let (app, opened) = parent().await;
    let path = app.org(&opened, "/tenants");
    for (change, status, field) in [
        (json!({"slug": "Not A Slug"}), 400, "slug"),
        (json!({"name": " "}), 400, "name"),
        (json!({"billing_email": "nobody"}), 400, "billing_email"),
        (json!({"tier": "enterprise"}), 400, "tier"),
        (json!({}), 201, ""),
        (json!({}), 409, ""),
    ] {
        let mut body = wish("acme-south");
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = app.post(&path, &bearer(&opened), body).await;
        let named = answer.body["error"]["details"]["field"].as_str().unwrap_or_default();
        assert_eq!((answer.status.as_u16(), named), (status, field), "{}", answer.body);
    }
}
