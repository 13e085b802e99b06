use serde_json::json;

use crate::worlds::World;

#[tokio::test]
async fn a_policy_is_made_changed_and_deleted() {
    let world = World::start().await;
    let tick = || world.app.advance(chrono::Duration::seconds(1));
    tick();
    let made = world.mask("ssn").await;
    assert_eq!((made["type"].as_str(), made["enabled"].as_bool()), (Some("column_masking"), Some(true)));
    assert_eq!(made["rules"][0]["visible_chars"], 4);
    let path = world.env(&format!("policies/{}", made["policy_id"].as_str().unwrap()));
    tick();
    let changed = world.app.put(&path, &world.owner, json!({"enabled": false})).await.expect(200);
    assert_eq!((&changed["enabled"], &changed["rules"]), (&json!(false), &made["rules"]));
    assert_ne!(changed["updated_at"], made["updated_at"]);
    tick();
    let deleted = world.app.delete(&path, &world.owner).await.expect(200);
    assert_eq!((&deleted["policy_id"], &deleted["deleted"]), (&made["policy_id"], &json!(true)));
    assert_eq!(world.app.put(&path, &world.owner, json!({})).await.code(), (404, "NOT_FOUND"));
    let trail = world.app.get(&world.env("audit/admin"), &world.owner).await.expect(200);
    let types: Vec<_> =
        trail["data"].as_array().unwrap().iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    assert_eq!(types.get(..3).unwrap(), ["policy.deleted", "policy.updated", "policy.created"]);
}

#[tokio::test]
async fn a_name_is_taken_once_in_an_environment() {
    let world = World::start().await;
    world.mask("ssn").await;
    let other = world.mask("other").await;
    let body = json!({"name": "ssn", "type": "column_masking", "rules": other["rules"]});
    assert_eq!(world.app.post(&world.env("policies"), &world.owner, body).await.code(), (409, "CONFLICT"));
    let path = world.env(&format!("policies/{}", other["policy_id"].as_str().unwrap()));
    assert_eq!(world.app.put(&path, &world.owner, json!({"name": "ssn"})).await.code(), (409, "CONFLICT"));
    let retyped = world.app.put(&path, &world.owner, json!({"type": "row_level_security"})).await;
    assert_eq!(retyped.code(), (400, "VALIDATION_ERROR"));
}

#[tokio::test]
async fn a_filter_may_ask_what_somebody_carries_now() {
    let world = World::start().await;
    let body = json!({"name": "own region", "type": "row_level_security", "rules": [
        {"table": "customers", "filter": "region = '{region}'", "exempt_roles": []}
    ]});
    let path = world.env("policies");
    assert_eq!(world.app.post(&path, &world.owner, body.clone()).await.code(), (422, "INVALID_RULE"));
    world.create_key(json!({"name": "eu", "scopes": ["query:read"], "attributes": {"region": "EU"}})).await;
    let made = world.app.post(&path, &world.owner, body.clone()).await.expect(201);
    let warning = made["warnings"][0].as_str().unwrap();
    assert!(warning.contains("no user has a value for `{region}`") && warning.contains("customers"), "{warning}");
    let again = world.env(&format!("policies/{}", made["policy_id"].as_str().unwrap()));
    let named = world.app.put(&again, &world.owner, json!({"name": "named"})).await.expect(200);
    assert_eq!(named.get("warnings"), None, "of rules that were not sent nothing is said");
    world.sql("update users set attributes = '{\"region\": \"EU\"}'").await;
    assert_eq!(world.app.post(&path, &world.owner, body).await.expect(201).get("warnings"), None);
}

#[tokio::test]
async fn any_member_reads_policies_and_few_write_them() {
    let world = World::start().await;
    world.mask("ssn").await;
    let reader = world.key(&["policy:read"]).await;
    assert_eq!(world.app.get(&world.env("policies"), &reader).await.expect(200)["pagination"]["total"], 1);
    assert_eq!(world.app.post(&world.env("policies"), &reader, json!({})).await.code(), (403, "FORBIDDEN"));
}
