//! A memory of a branch becomes the mainline's when the branch is merged, and goes with it else.

use axum::Router;
use contract::{Clock, SystemClock, TestClock};
use dataplane::Ending;
use dataplane::protocols::agents::{AgentsContext, routes};
use dataplane::testing::{analyst_id, analyst_key, denying};
use serde_json::{Value, json};

use crate::agents_router::{served, tool};
use crate::memory::{done, refused};
use crate::world::{World, world, world_at};

/// A router that remembers what the branches know of, as a data plane's does.
fn router(world: &World) -> Router {
    routes(AgentsContext { memories: world.memories.clone(), ..served(world, Ending::default()) })
}

async fn branch(router: &Router) -> String {
    let made = done(router, "create_branch", json!({"tables": ["customer"]})).await;
    made["branch_id"].as_str().unwrap().to_owned()
}

async fn store(router: &Router, content: &str, key: Option<&str>, branch: Option<&str>) -> Value {
    let mut arguments = json!({"content": content});
    if let Some(key) = key {
        arguments["memory_key"] = json!(key);
    }
    if let Some(branch) = branch {
        arguments["branch_id"] = json!(branch);
    }
    done(router, "store_memory", arguments).await
}

async fn mainline(router: &Router, key: &str) -> (String, i64) {
    let found = done(router, "load_memory_exact", json!({"key": key})).await;
    (found["content"].as_str().unwrap().to_owned(), found["version"].as_i64().unwrap())
}

async fn found(router: &Router, query: &str) -> Vec<String> {
    let result = done(router, "search_memory", json!({"query": query})).await;
    result["results"].as_array().unwrap().iter().map(|hit| hit["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn memories_of_a_branch_become_the_mainlines_by_their_keys() {
    let world = world().await;
    let router = router(&world);
    let before = store(&router, "the limit is ten", Some("limit"), None).await;
    store(&router, "stars are far", None, None).await;
    let id = branch(&router).await;
    store(&router, "the limit is twelve", Some("limit"), Some(&id)).await;
    store(&router, "the fee is two", Some("fee"), Some(&id)).await;
    store(&router, "the moon is near", None, Some(&id)).await;
    store(&router, "stars are far", None, Some(&id)).await; // as on the mainline
    assert_eq!(found(&router, "what is the limit?").await, ["the limit is ten"], "nothing of it is seen yet");
    let merged = done(&router, "merge_branch", json!({"branch_id": id})).await;
    assert_eq!((&merged["status"], &merged["rows_affected"]), (&json!("completed"), &json!(3)), "{merged}");
    assert_eq!(merged["tables_merged"], json!(["svc_memory.memories"]));
    assert_eq!(mainline(&router, "limit").await, ("the limit is twelve".to_owned(), 2));
    assert_eq!(mainline(&router, "fee").await, ("the fee is two".to_owned(), 1));
    let live = done(&router, "load_memory_exact", json!({"key": "limit"})).await;
    assert_eq!(live["supersedes"], before["memory_id"], "{live}");
    assert_eq!(found(&router, "what is the limit?").await, ["the limit is twelve"]);
    assert_eq!(found(&router, "the moon").await, ["the moon is near"]);
    let left = "select count(*) from raw._svc_memory.memories where branch_id is not null";
    assert_eq!(world.count(left).await, 0);
    world.stop().await;
}

#[tokio::test]
async fn a_key_that_both_sides_have_changed_is_a_conflict_that_the_strategy_decides() {
    let clock = TestClock::at(SystemClock.now());
    let world = world_at(std::sync::Arc::new(clock.clone())).await;
    let router = router(&world);
    let later = || clock.advance(chrono::Duration::seconds(1));
    let cases = [
        ("fail_on_conflict", "conflicts", "ours"),
        ("main_wins", "completed", "ours"),
        ("branch_wins", "completed", "theirs"),
        ("ours", "completed", "ours"),
        ("theirs", "completed", "theirs"),
    ];
    for (case, (strategy, status, left)) in cases.into_iter().enumerate() {
        let (changed, new) = (format!("changed {case}"), format!("new {case}"));
        store(&router, "base", Some(&changed), None).await;
        later();
        let id = branch(&router).await;
        later();
        for key in [&changed, &new] {
            store(&router, "theirs", Some(key), Some(&id)).await;
            store(&router, "ours", Some(key), None).await;
        }
        let dry = done(&router, "merge_branch", json!({"branch_id": id, "dry_run": true})).await;
        let conflicts = dry["conflicts"].as_array().unwrap();
        let mut kinds: Vec<_> = conflicts.iter().map(|one| one["kind"].as_str().unwrap()).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, ["divergent_insert", "divergent_update"], "{dry}");
        let of_changed = conflicts.iter().find(|one| one["key"]["memory_key"] == changed.as_str()).unwrap();
        assert_eq!((&of_changed["base"]["content"], &of_changed["ours"]["content"]), (&json!("base"), &json!("ours")));
        let resolutions: Vec<_> =
            conflicts.iter().map(|one| json!({"conflict_id": one["conflict_id"], "take": strategy})).collect();
        let how = match strategy {
            "ours" | "theirs" => json!({"branch_id": id, "strategy": "manual", "resolutions": resolutions}),
            _ => json!({"branch_id": id, "strategy": strategy}),
        };
        let merged = done(&router, "merge_branch", how).await;
        assert_eq!(merged["status"], status, "{strategy}: {merged}");
        for key in [&changed, &new] {
            assert_eq!(mainline(&router, key).await.0, left, "{strategy}: {key}");
        }
        if status == "conflicts" {
            done(&router, "discard_branch", json!({"branch_id": id})).await;
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn what_the_mainline_has_given_up_is_a_conflict_and_base_is_no_answer() {
    let clock = TestClock::at(SystemClock.now());
    let world = world_at(std::sync::Arc::new(clock.clone())).await;
    let router = router(&world);
    let kept = store(&router, "base", Some("k"), None).await;
    clock.advance(chrono::Duration::seconds(1));
    let id = branch(&router).await;
    store(&router, "theirs", Some("k"), Some(&id)).await;
    clock.advance(chrono::Duration::seconds(1));
    done(&router, "delete_memory", json!({"memory_id": kept["memory_id"]})).await;
    let dry = done(&router, "merge_branch", json!({"branch_id": id, "dry_run": true})).await;
    let conflict = &dry["conflicts"][0];
    assert_eq!((&conflict["kind"], &conflict["ours"]), (&json!("delete_update"), &Value::Null), "{dry}");
    let resolutions = json!([{"conflict_id": conflict["conflict_id"], "take": "base"}]);
    let how = json!({"branch_id": id, "strategy": "manual", "resolutions": resolutions});
    assert_eq!(refused(&router, "merge_branch", how).await["details"]["field"], "resolutions");
    done(&router, "merge_branch", json!({"branch_id": id})).await;
    assert_eq!(mainline(&router, "k").await, ("theirs".to_owned(), 2), "versions go on");
    world.stop().await;
}

#[tokio::test]
async fn memories_of_a_branch_that_is_given_up_are_gone() {
    let world = world().await;
    let router = router(&world);
    let id = branch(&router).await;
    store(&router, "a passing thought", None, Some(&id)).await;
    let there = json!({"query": "a passing thought", "branch_id": id});
    assert_eq!(done(&router, "search_memory", there.clone()).await["results"].as_array().unwrap().len(), 1);
    done(&router, "discard_branch", json!({"branch_id": id})).await;
    assert_eq!(done(&router, "search_memory", there).await["results"], json!([]));
    assert_eq!(world.count("select count(*) from raw._svc_memory.memories").await, 0);
    world.stop().await;
}

#[tokio::test]
async fn who_may_not_know_of_memories_merges_none_and_an_agent_none_of_others() {
    let world = world().await;
    let router = router(&world);
    let id = branch(&router).await;
    store(&router, "a secret", Some("k"), Some(&id)).await;
    world.change(|rules| rules.abac_policies.push(denying("svc_memory.memories", &[])));
    let denied = refused(&router, "merge_branch", json!({"branch_id": id})).await;
    assert_eq!(denied["code"], "SVC_ERR_403_TABLE_DENIED", "{denied}");
    world.change(|rules| {
        rules.abac_policies.clear();
        for key in rules.keys.iter_mut().filter(|key| key.key_id != analyst_id()) {
            key.agent_id = Some("a".to_owned());
        }
    });
    let own = branch(&router).await; // of the agent `a`
    world.behind_our_back(&format!("update raw._svc_memory.memories set branch_id = '{own}'")).await;
    let denied = refused(&router, "merge_branch", json!({"branch_id": own})).await;
    assert_eq!(denied["code"], "POLICY_DENIED", "{denied}");
    world.stop().await;
}

#[tokio::test]
async fn an_agent_leaves_nothing_on_anothers_branch() {
    let world = world().await;
    let router = router(&world);
    world.change(|rules| {
        for key in &mut rules.keys {
            let agent = if key.key_id == analyst_id() { "other" } else { "own" };
            key.agent_id = Some(agent.to_owned());
        }
    });
    let id = branch(&router).await; // of the agent `own`
    for unreached in [id.as_str(), "0123456789abcdef0123456789abcdef"] {
        let left = json!({"content": "in your way", "branch_id": unreached});
        let (refused, is_error) = tool(&router, analyst_key(), "store_memory", left).await;
        assert!(is_error && refused["error"]["code"] == "SVC_ERR_404_BRANCH_NOT_FOUND", "{refused}");
    }
    assert_eq!(world.count("select count(*) from raw._svc_memory.memories").await, 0);
    store(&router, "my own", Some("k"), Some(&id)).await;
    assert_eq!(done(&router, "merge_branch", json!({"branch_id": id})).await["status"], "completed");
    assert_eq!(mainline(&router, "k").await.0, "my own");
    world.stop().await;
}
