//! Whoever has made a thing may change and end it; others of a developer's role may; nobody else.

use axum::Router;
use chrono::Duration;
use contract::Role;
use contract::governance::Elevation;
use dataplane::testing::{analyst_id, analyst_key, demo_key, owner_id};
use serde_json::{Value, json};

use crate::agents_router::{router, tool_as};
use crate::memory::done;
use crate::world::world;

/// A memory, a trigger and a branch of the owner's.
struct OwnersThings {
    memory_id: Value,
    trigger_id: Value,
    branch_id: Value,
}

async fn made(router: &Router) -> OwnersThings {
    let memory = done(router, "store_memory", json!({"content": "pay on friday", "memory_key": "plan"})).await;
    let trigger = done(router, "register_trigger", json!({"name": "refunds", "concept": "a refund"})).await;
    let branch = done(router, "create_branch", json!({"tables": ["customer"]})).await;
    OwnersThings {
        memory_id: memory["memory_id"].clone(),
        trigger_id: trigger["trigger_id"].clone(),
        branch_id: branch["branch_id"].clone(),
    }
}

/// Everything that changes or ends it.
fn attempts(theirs: &OwnersThings) -> Vec<(&'static str, Value)> {
    vec![
        ("store_memory", json!({"content": "pay never", "memory_key": "plan"})),
        ("delete_memory", json!({"memory_id": theirs.memory_id})),
        ("delete_memory", json!({"memory_id": theirs.memory_id, "mode": "forget"})),
        ("register_trigger", json!({"name": "refunds", "concept": "nothing at all"})),
        ("delete_trigger", json!({"trigger_id": theirs.trigger_id})),
        ("merge_branch", json!({"branch_id": theirs.branch_id})),
        ("discard_branch", json!({"branch_id": theirs.branch_id})),
    ]
}

/// As the analyst's key, saying to be this agent.
async fn analyst(router: &Router, agent: Option<&str>, name: &str, arguments: Value) -> (Value, bool) {
    tool_as(router, (analyst_key(), agent), name, arguments).await
}

async fn is_untouched(router: &Router, theirs: &OwnersThings) {
    let memory = done(router, "load_memory_exact", json!({"key": "plan"})).await;
    assert_eq!((&memory["content"], &memory["version"]), (&json!("pay on friday"), &json!(1)));
    let trigger = &done(router, "list_triggers", json!({})).await["triggers"][0];
    assert_eq!((&trigger["concept"], &trigger["enabled"]), (&json!("a refund"), &json!(true)));
    let branch = done(router, "branch_get", json!({"branch_id": theirs.branch_id})).await;
    assert_eq!(branch["status"], "active");
}

#[tokio::test]
async fn an_analyst_changes_and_ends_nothing_of_others_whatever_agent_they_say_to_be() {
    let world = world().await;
    let router = router(&world);
    let theirs = made(&router).await;
    // the owner's memories are kept for `u-owner`: who says to be that agent is not
    for agent in [None, Some("u-owner")] {
        for (name, arguments) in attempts(&theirs) {
            if agent.is_none() && name == "store_memory" {
                continue; // a key of their own
            }
            let (refused, is_error) = analyst(&router, agent, name, arguments.clone()).await;
            let error = &refused["error"];
            assert!(
                is_error && error["code"] == "FORBIDDEN" && error["status"] == 403,
                "{name} {arguments}: {refused}"
            );
            assert_eq!(world.last().1.outcome.as_str(), "refused", "{name}");
        }
    }
    is_untouched(&router, &theirs).await;
    for (name, arguments) in [
        ("search_memory", json!({"query": "pay"})),
        ("list_triggers", json!({})),
        ("branch_diff", json!({"branch_id": theirs.branch_id})),
        ("branch_changes", json!({"branch_id": theirs.branch_id, "table": "customer"})),
        ("merge_branch", json!({"branch_id": theirs.branch_id, "dry_run": true})),
    ] {
        let (read, is_error) = analyst(&router, None, name, arguments).await;
        assert!(!is_error, "reading is everybody's: {name} {read}");
    }
    world.stop().await;
}

#[tokio::test]
async fn what_an_analyst_has_made_is_theirs_whatever_agent_they_say_to_be_and_a_developers() {
    let world = world().await;
    let router = router(&world);
    let ask = async |agent: Option<&str>, name: &str, arguments: Value| {
        let (result, is_error) = analyst(&router, agent, name, arguments).await;
        assert!(!is_error, "{name}: {result}");
        result
    };
    ask(None, "store_memory", json!({"content": "one", "memory_key": "k"})).await;
    let second = ask(None, "store_memory", json!({"content": "two", "memory_key": "k"})).await;
    assert_eq!(second["version"], 2);
    ask(Some("other"), "delete_memory", json!({"memory_id": second["memory_id"]})).await;
    let trigger = ask(Some("mine"), "register_trigger", json!({"name": "n", "concept": "c"})).await;
    assert_eq!(ask(Some("other"), "register_trigger", json!({"name": "n", "concept": "d"})).await["created"], false);
    ask(Some("mine"), "delete_trigger", json!({"trigger_id": trigger["trigger_id"]})).await;
    done(&router, "register_trigger", json!({"name": "n", "concept": "e"})).await;
    let (result, _) = analyst(&router, None, "delete_trigger", json!({"trigger_id": trigger["trigger_id"]})).await;
    assert_eq!(result["deleted"], true, "whoever changed it since, it is still theirs: {result}");
    world.stop().await;
}

#[tokio::test]
async fn in_an_agents_name_leaves_its_own_key_and_a_developer_and_nobody_else() {
    let world = world().await;
    let router = router(&world);
    let left = [
        ("store_memory", json!({"content": "a note"})),
        ("log_reasoning_step", json!({"session_id": "s", "content": "a step"})),
        ("evaluate_triggers", json!({"content": "a text", "dry_run": false})),
    ];
    let role = |role| world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = role);
    let bound = |agent: Option<&str>| {
        world.change(|rules| {
            let key = rules.keys.iter_mut().find(|key| key.key_id == analyst_id()).unwrap();
            key.agent_id = agent.map(str::to_owned);
        });
    };
    for (name, arguments) in left {
        let (refused, is_error) = analyst(&router, Some("bot"), name, arguments.clone()).await;
        let error = &refused["error"];
        assert_eq!((is_error, &error["details"]["reason"]), (true, &json!("not_that_agent")), "{name}: {refused}");
        assert!(error["message"].as_str().unwrap().contains("`bot`"), "{error}");
        let (own, is_error) = analyst(&router, None, name, arguments.clone()).await;
        assert!(!is_error, "{name} for themselves: {own}");
        role(Role::Developer);
        let (theirs, is_error) = analyst(&router, Some("bot"), name, arguments.clone()).await;
        assert!(!is_error, "{name} as a developer: {theirs}");
        role(Role::Analyst);
        bound(Some("bot"));
        let fresh = if name == "log_reasoning_step" { json!({"session_id": "t", "content": "x"}) } else { arguments };
        let (its, is_error) = analyst(&router, None, name, fresh).await;
        assert!(!is_error, "{name} by the agent's key: {its}");
        bound(None);
    }
    world.stop().await;
}

#[tokio::test]
async fn a_developer_may_and_so_may_who_was_lent_that_role() {
    let world = world().await;
    let router = router(&world);
    let theirs = made(&router).await;
    let now = world.pipeline.clock.now();
    let lent = Elevation {
        request_id: "jit-1".into(),
        user_id: "u-analyst".into(),
        role: Role::Developer,
        effective_at: now,
        expires_at: now + Duration::hours(1),
    };
    world.change(|rules| rules.elevations.push(lent.clone()));
    for (name, arguments) in attempts(&theirs) {
        if name == "merge_branch" || arguments["mode"] == "forget" {
            continue; // one end is enough
        }
        let (result, is_error) = analyst(&router, Some("u-owner"), name, arguments.clone()).await;
        // a new version has another id
        let is_gone = name == "delete_memory" && result["error"]["code"] == "NOT_FOUND";
        assert!(!is_error || is_gone, "{name} {arguments}: {result}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_key_made_for_an_agent_ends_what_is_that_agents_and_nothing_else_whatever_its_role() {
    let world = world().await;
    let router = router(&world);
    let theirs = made(&router).await;
    let arguments = json!({"content": "kept for it", "memory_key": "note"});
    let (kept, _) = tool_as(&router, (demo_key(), Some("agent-7")), "store_memory", arguments).await;
    world.change(|rules| {
        let key = rules.keys.iter_mut().find(|key| key.key_id == owner_id()).unwrap();
        key.agent_id = Some("agent-7".to_owned());
    });
    let refusals = [
        ("delete_trigger", json!({"trigger_id": theirs.trigger_id}), "FORBIDDEN"),
        ("register_trigger", json!({"name": "refunds", "concept": "x"}), "FORBIDDEN"),
        ("discard_branch", json!({"branch_id": theirs.branch_id}), "SVC_ERR_404_BRANCH_NOT_FOUND"),
        ("delete_memory", json!({"memory_id": theirs.memory_id}), "NOT_FOUND"),
    ];
    for (name, arguments, code) in refusals {
        let (refused, is_error) = tool_as(&router, (demo_key(), None), name, arguments).await;
        assert!(is_error && refused["error"]["code"] == code, "{name}: {refused}");
    }
    let own = done(&router, "register_trigger", json!({"name": "own", "concept": "x"})).await;
    assert_eq!(done(&router, "delete_trigger", json!({"trigger_id": own["trigger_id"]})).await["deleted"], true);
    assert_eq!(done(&router, "delete_memory", json!({"memory_id": kept["memory_id"]})).await["deleted"], true);
    world.stop().await;
}

#[tokio::test]
async fn what_was_made_before_makers_were_written_down_is_a_developers() {
    let world = world().await;
    let first = router(&world);
    let (trigger, _) = analyst(&first, None, "register_trigger", json!({"name": "old", "concept": "x"})).await;
    world.behind_our_back("update raw._svc_triggers.triggers set made_by = null, action_config = null").await;
    done(&first, "register_trigger", json!({"name": "other", "concept": "y"})).await; // the table is read again
    let named = json!({"trigger_id": trigger["trigger_id"]});
    let (refused, is_error) = analyst(&first, None, "delete_trigger", named.clone()).await;
    assert!(is_error && refused["error"]["details"]["reason"] == "not_yours", "{refused}");
    assert_eq!(done(&first, "delete_trigger", named).await["deleted"], true);
    world.stop().await;
}
