use serde_json::{Value, json};

use crate::worlds::World;

fn no_payroll() -> Value {
    let rule = json!({"condition": "TableIs", "values": ["payroll"], "action": "deny", "exempt_roles": ["owner"]});
    json!({"name": "no payroll", "description": "not for you", "rules": [rule], "priority": 10, "enabled": true})
}

async fn made(world: &World, body: Value) -> Value {
    world.app.post(&world.env("abac-policies"), &world.owner, body).await.expect(201)
}

#[tokio::test]
async fn a_policy_is_made_changed_and_deleted() {
    let world = World::start().await;
    let tick = || world.app.advance(chrono::Duration::seconds(1));
    tick();
    let policy = made(&world, no_payroll()).await;
    assert_eq!((&policy["priority"], &policy["description"]), (&json!(10), &json!("not for you")));
    let path = world.env(&format!("abac-policies/{}", policy["policy_id"].as_str().unwrap()));
    tick();
    let change = json!({"enabled": false, "description": ""});
    let changed = world.app.put(&path, &world.owner, change).await.expect(200);
    assert_eq!((&changed["enabled"], &changed["rules"]), (&json!(false), &policy["rules"]));
    assert_eq!(changed.get("description"), None);
    tick();
    let deleted = world.app.delete(&path, &world.owner).await.expect(200);
    assert_eq!((&deleted["policy_id"], &deleted["deleted"]), (&policy["policy_id"], &json!(true)));
    assert_eq!(world.app.put(&path, &world.owner, json!({})).await.code(), (404, "NOT_FOUND"));
    let trail = world.app.get(&world.env("audit/admin"), &world.owner).await.expect(200);
    let types: Vec<_> =
        trail["data"].as_array().unwrap().iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    assert_eq!(types.get(..3).unwrap(), ["abac_policy.deleted", "abac_policy.updated", "abac_policy.created"]);
}

#[tokio::test]
async fn the_list_is_marked_deprecated_and_keeps_working() {
    let world = World::start().await;
    made(&world, no_payroll()).await;
    let answer = world.app.get(&world.env("abac-policies"), &world.key(&["policy:read"]).await).await;
    assert!(answer.headers.contains_key("deprecation"));
    let list = answer.expect(200);
    assert_eq!((&list["pagination"]["total"], &list["data"][0]["name"]), (&json!(1), &json!("no payroll")));
}

#[tokio::test]
async fn a_rule_for_somebody_asks_for_a_user_of_the_organization() {
    let world = World::start().await;
    let ann = world.user("ann@acme.example", "analyst").await;
    let stranger = world.app.signup("sven", "Elsewhere").await;
    let rule = |who: &Value| {
        let rule = json!({"condition": "UserIs", "values": [ann, who], "action": "deny"});
        json!({"name": "not them", "rules": [rule]})
    };
    for nobody in [&json!("ann@acme.example"), &stranger["user"]["id"]] {
        let answer = world.app.post(&world.env("abac-policies"), &world.owner, rule(nobody)).await;
        assert_eq!(answer.code(), (422, "INVALID_RULE"), "it would deny them nothing");
        assert_eq!(answer.body["error"]["details"]["field"], "rules[0].values");
    }
    let policy = made(&world, rule(&json!(world.owner_id))).await;
    let path = world.env(&format!("abac-policies/{}", policy["policy_id"].as_str().unwrap()));
    let rules = json!({"rules": rule(&json!("bob"))["rules"]});
    assert_eq!(world.app.put(&path, &world.owner, rules).await.code(), (422, "INVALID_RULE"));
    world.app.put(&path, &world.owner, json!({"enabled": false})).await.expect(200);
}

#[tokio::test]
async fn a_name_is_taken_once_in_an_environment() {
    let world = World::start().await;
    made(&world, no_payroll()).await;
    let again = world.app.post(&world.env("abac-policies"), &world.owner, no_payroll()).await;
    assert_eq!(again.code(), (409, "CONFLICT"));
    let mut other = no_payroll();
    other["name"] = json!("other");
    let other = made(&world, other).await;
    let path = world.env(&format!("abac-policies/{}", other["policy_id"].as_str().unwrap()));
    assert_eq!(world.app.put(&path, &world.owner, json!({"name": "no payroll"})).await.code(), (409, "CONFLICT"));
}

#[tokio::test]
async fn a_rule_may_ask_for_attributes_that_somebody_carries() {
    let world = World::start().await;
    let rule = json!({"condition": "AttributeIs:region", "values": ["EU"], "action": "deny_outside"});
    let body = json!({"name": "eu", "rules": [rule]});
    let path = world.env("abac-policies");
    assert_eq!(world.app.post(&path, &world.owner, body.clone()).await.code(), (422, "INVALID_RULE"));
    world.create_key(json!({"name": "eu", "scopes": ["query:read"], "attributes": {"region": "EU"}})).await;
    made(&world, body).await;
}

#[tokio::test]
async fn a_data_plane_learns_of_it() {
    let world = World::start().await;
    made(&world, no_payroll()).await;
    let app = &world.app.app;
    let snapshot =
        crate::server::snapshots::load::load(app.pool(), app.keyring(), &world.env_id).await.unwrap().unwrap();
    assert_eq!(snapshot.abac_policies[0].name, "no payroll");
}

#[tokio::test]
async fn a_simulation_decides_for_whom_the_context_describes() {
    let world = World::start().await;
    made(&world, no_payroll()).await;
    let night = json!({"condition": "TimeOfDay", "start": "20:00", "end": "06:00", "timezone": "Asia/Tokyo", "action": "deny", "message": "go to bed"});
    let agents = json!({"condition": "AgentFrameworkIs", "values": ["langchain"], "action": "read_only"});
    made(&world, json!({"name": "agents", "rules": [night, agents], "priority": 1})).await;
    let noon = |context: Value| {
        let mut context = context;
        context["time_of_day"] = context.get("time_of_day").cloned().unwrap_or(json!("12:00"));
        context
    };
    for (context, query, decision, reason) in [
        (json!({}), "select * from payroll", "allow", "no policy matches"),
        (json!({"user_role": "analyst"}), "select * from payroll", "deny", "table denied by policy"),
        (json!({"user_role": "analyst"}), "select * from orders", "allow", "no policy matches"),
        (json!({"time_of_day": "23:30"}), "select 1", "deny", "go to bed"),
        (json!({"agent_framework": "langchain"}), "select 1", "read_only", "policy lets you only read here"),
        (json!({"agent_framework": "langchain"}), "delete from orders", "deny", "policy lets you only read here"),
    ] {
        let body = json!({"context": noon(context), "query": query});
        let found = world.app.post(&world.env("abac-policies/simulate"), &world.owner, body.clone()).await.expect(200);
        assert_eq!((&found["decision"], &found["reason"]), (&json!(decision), &json!(reason)), "{body}");
        assert!(found["evaluation_time_ms"].is_f64(), "{found}");
    }
}

#[tokio::test]
async fn a_simulation_of_nothing_sensible_is_refused() {
    let world = World::start().await;
    for (body, field) in [
        (json!({"context": {}}), "query"),
        (json!({"context": {}, "query": "selec"}), "query"),
        (json!({"context": {"user_role": "emperor"}, "query": "select 1"}), "context.user_role"),
        (json!({"context": {"time_of_day": "25:00"}, "query": "select 1"}), "context.time_of_day"),
        (json!({"context": {"day_of_week": "someday"}, "query": "select 1"}), "context.day_of_week"),
        (json!({"context": {"moon": "full"}, "query": "select 1"}), "context.moon"),
    ] {
        let answer = world.app.post(&world.env("abac-policies/simulate"), &world.owner, body.clone()).await;
        assert_eq!(answer.body["error"]["details"]["field"], field, "{body}");
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{body}");
    }
}

#[tokio::test]
async fn the_summary_knows_the_frameworks_that_policies_and_keys_name() {
    let world = World::start().await;
    let rule = json!({"condition": "AgentFrameworkIs", "values": ["langchain"], "action": "allow"});
    made(&world, json!({"name": "agents", "rules": [rule]})).await;
    world
        .create_key(json!({"name": "a", "scopes": ["query:read"], "agent_id": "a1", "agent_framework": "crewai"}))
        .await;
    let found = world.app.get(&world.env("abac-policies/agent-summary"), &world.owner).await.expect(200);
    let allowed = |name: &str| found["frameworks"][name]["allowed"].as_bool();
    assert_eq!((allowed("langchain"), allowed("crewai")), (Some(true), Some(false)));
}
