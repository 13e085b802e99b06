use serde_json::{Value, json};

use crate::worlds::World;

async fn made(world: &World, body: Value) -> Value {
    world.app.post(&world.org("agent-keys"), &world.owner, body).await.expect(201)
}

#[tokio::test]
async fn a_key_of_an_agent_is_made_told_changed_and_revoked() {
    let world = World::start().await;
    let body = json!({"agent_name": "clerk", "framework": "langchain", "description": "counts", "expires_in_days": 30});
    let new = made(&world, body).await;
    assert!(new["raw_key"].as_str().unwrap().starts_with(new["key_prefix"].as_str().unwrap()), "{new}");
    assert_eq!(
        (&new["agent_id"], &new["status"], &new["plan"]),
        (&json!("clerk"), &json!("active"), &json!("enterprise"))
    );
    assert_eq!((&new["allowed_tables"], new["scopes"].as_array().unwrap().len()), (&Value::Null, 3), "{new}");
    world.create_key(json!({"name": "of nobody", "scopes": ["query:read"]})).await;
    let listed = world.app.get(&world.org("agent-keys?limit=1"), &world.owner).await.expect(200);
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["description"]), (1, &json!("counts")), "{listed}");
    assert!(listed[0].get("raw_key").is_none());
    let one = world.org(&format!("agent-keys/{}", new["id"].as_str().unwrap()));
    let told = world.app.get(&one, &world.owner).await.expect(200);
    assert!(told["effective_limits"].is_object() && told["framework"] == "langchain", "{told}");
    let change = json!({"agent_name": "The clerk", "description": ""});
    let changed = world.app.put(&one, &world.owner, change).await.expect(200);
    assert_eq!((&changed["agent_name"], &changed["agent_id"]), (&json!("The clerk"), &json!("clerk")));
    assert_eq!(changed["description"], Value::Null);
    let rotated = world.app.post(&format!("{one}/rotate"), &world.owner, json!({})).await.expect(200);
    assert_eq!((&rotated["old_key_id"], &rotated["grace_period_hours"]), (&new["id"], &json!(72)));
    let used = world.app.get(&format!("{one}/usage"), &world.owner).await.expect(200);
    assert_eq!((&used["total_queries"], &used["total_credits"]), (&json!(0), &json!(0.0)), "{used}");
    assert_eq!(world.app.delete(&one, &world.owner).await.expect(200)["revoked"], true);
    assert_eq!(world.app.get(&one, &world.owner).await.expect(200)["status"], "revoked");
}

#[tokio::test]
async fn what_an_agent_may_reach_is_its_one_grant() {
    let world = World::start().await;
    let body = json!({"agent_name": "clerk", "allowed_tables": ["orders"], "allowed_schemas": ["hr"]});
    let new = made(&world, body).await;
    assert_eq!((&new["allowed_tables"], &new["allowed_schemas"]), (&json!(["orders"]), &json!(["hr"])));
    let grants =
        || async { world.app.get(&world.env("agent-capabilities?agent_id=clerk"), &world.owner).await.expect(200) };
    let granted = json!(["orders", "hr.*", "svc_memory.memories", "svc_thoughts.steps"]);
    assert_eq!(grants().await["data"][0]["capabilities"]["allowed_tables"], granted);
    let one = world.org(&format!("agent-keys/{}", new["id"].as_str().unwrap()));
    let changed = world.app.put(&one, &world.owner, json!({"allowed_schemas": []})).await.expect(200);
    assert_eq!((&changed["allowed_tables"], &changed["allowed_schemas"]), (&json!(["orders"]), &json!([])));
    let grants = grants().await;
    let is = |status: &str| grants["data"].as_array().unwrap().iter().filter(|grant| grant["status"] == status).count();
    assert_eq!((is("active"), is("revoked")), (1, 1), "{grants}");
}

#[tokio::test]
async fn what_is_no_agents_key_is_none_and_what_cannot_be_is_refused() {
    let world = World::start().await;
    let other = world.create_key(json!({"name": "of nobody", "scopes": ["query:read"]})).await;
    let one = world.org(&format!("agent-keys/{}", other["key_id"].as_str().unwrap()));
    assert_eq!(world.app.get(&one, &world.owner).await.status, 404);
    assert_eq!(world.app.delete(&one, &world.owner).await.status, 404);
    assert_eq!(world.app.post(&format!("{one}/rotate"), &world.owner, json!({})).await.status, 404);
    for (change, field) in [
        (json!({"agent_name": " "}), "agent_name"),
        (json!({"plan": "free"}), "plan"),
        (json!({"expires_in_days": 0}), "expires_in_days"),
        (json!({"allowed_tables": ["hr.peo*"]}), "capabilities.allowed_tables[0]"),
    ] {
        let mut body = json!({"agent_name": "clerk"});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = world.app.post(&world.org("agent-keys"), &world.owner, body).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["error"]["details"]["field"]),
            (400, &json!(field)),
            "{change}"
        );
    }
    let limited = json!({"name": "limited", "scopes": ["key:*", "query:*", "agent:*"], "user_id": world.owner_id});
    let keys = format!("ApiKey {}", world.create_key(limited).await["key"].as_str().unwrap());
    let plain = world.app.post(&world.org("agent-keys"), &keys, json!({"agent_name": "plain"})).await;
    assert_eq!(plain.status, 201, "{}", plain.body);
    let confined = json!({"agent_name": "bound", "allowed_tables": ["orders"]});
    let refused = world.app.post(&world.org("agent-keys"), &keys, confined).await;
    assert_eq!(refused.status, 403, "it may not write policies: {}", refused.body);
}
