//! Memories of agents, through the tools: keys and versions, search, branches, whose it is.

use axum::Router;
use dataplane::testing::{analyst_id, analyst_key, demo_key, denying};
use serde_json::{Value, json};

use crate::agents_router::{router, tool};
use crate::world::world;

pub async fn done(router: &Router, name: &str, arguments: Value) -> Value {
    let (result, is_error) = tool(router, demo_key(), name, arguments.clone()).await;
    assert!(!is_error, "{name} {arguments}: {result}");
    result
}

pub async fn refused(router: &Router, name: &str, arguments: Value) -> Value {
    let (result, is_error) = tool(router, demo_key(), name, arguments.clone()).await;
    assert!(is_error, "{name} {arguments}: {result}");
    result["error"].clone()
}

pub async fn found(router: &Router, arguments: Value) -> Vec<String> {
    let result = done(router, "search_memory", arguments).await;
    let contents = result["results"].as_array().unwrap().iter().map(|hit| hit["content"].as_str().unwrap().to_owned());
    contents.collect()
}

#[tokio::test]
async fn what_was_stored_is_found_at_once_and_after_a_restart() {
    let world = world().await;
    let first = router(&world);
    for content in [
        "the customer Acme prefers invoices by mail",
        "nightly loads of the orders table finish at four",
        "revenue is reported in euros",
    ] {
        let stored = done(&first, "store_memory", json!({"content": content})).await;
        assert_eq!((&stored["created"], &stored["embedding_status"]), (&json!(true), &json!("ready")));
    }
    let second = router(&world); // nothing is known but the table
    for router in [first, second] {
        let hits = found(&router, json!({"query": "how do customers want their invoice?", "top_k": 1})).await;
        assert_eq!(hits, ["the customer Acme prefers invoices by mail"]);
        assert_eq!(found(&router, json!({"query": "zebra"})).await, Vec::<String>::new());
    }
    let (started, finished) = world.last();
    assert_eq!(
        (started.sql.as_str(), started.tables_accessed),
        ("CALL search_memory", vec!["svc_memory.memories".to_owned()])
    );
    assert_eq!((finished.outcome.as_str(), finished.micro_credits), ("completed", 1_000_000));
    world.stop().await;
}

#[tokio::test]
async fn a_key_has_versions_and_each_can_be_loaded() {
    let world = world().await;
    let router = router(&world);
    let store = |content: &str, more: Value| {
        let mut arguments = json!({"content": content, "memory_key": "limit"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let one = done(&router, "store_memory", store("ten", json!({"value": {"n": 10}, "if_version": 0}))).await;
    let again = done(&router, "store_memory", store("ten", json!({"value": {"n": 10}}))).await;
    assert_eq!((&again["memory_id"], &again["deduplicated"]), (&one["memory_id"], &json!(true)));
    let stale = refused(&router, "store_memory", store("twenty", json!({"if_version": 7}))).await;
    assert_eq!((&stale["status"], &stale["details"]["version"]), (&json!(412), &json!(1)), "{stale}");
    let two = done(&router, "store_memory", store("twenty", json!({"if_version": 1}))).await;
    assert_eq!((&two["version"], &two["created"]), (&json!(2), &json!(false)));
    let live = done(&router, "load_memory_exact", json!({"key": "limit"})).await;
    assert_eq!((&live["content"], &live["supersedes"]), (&json!("twenty"), &one["memory_id"]));
    let before = done(&router, "load_memory_exact", json!({"key": "limit", "version": 1})).await;
    assert_eq!((&before["content"], &before["value"]["n"]), (&json!("ten"), &json!(10)));
    let then = done(&router, "load_memory_exact", json!({"key": "limit", "as_of": before["created_at"]})).await;
    assert_eq!(then["memory_id"], one["memory_id"]);
    assert_eq!(found(&router, json!({"query": "ten twenty"})).await, ["twenty"]);
    assert_eq!(refused(&router, "load_memory_exact", json!({"key": "nothing"})).await["code"], "NOT_FOUND");
    world.stop().await;
}

#[tokio::test]
async fn branches_see_what_their_visibility_says() {
    let world = world().await;
    let router = router(&world);
    for (content, key, branch) in [
        ("colour of the house is red", "house", None),
        ("colour of the house is blue", "house", Some("b1")),
        ("colour of the car is green", "car", None),
        ("colour of the boat is white", "boat", Some("b2")),
    ] {
        let mut arguments = json!({"content": content, "memory_key": key});
        if let Some(branch) = branch {
            arguments["branch_id"] = json!(branch);
        }
        done(&router, "store_memory", arguments).await;
    }
    let cases = [
        (json!({}), vec!["green", "red"]),
        (json!({"branch_id": "b1"}), vec!["blue", "green"]),
        (json!({"branch_id": "b1", "visibility": "BranchLocal"}), vec!["blue"]),
        (json!({"branch_id": "b1", "visibility": "MainOnly"}), vec!["green", "red"]),
    ];
    for (more, colours) in cases {
        let mut arguments = json!({"query": "colour"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut hits = found(&router, arguments).await;
        hits.sort_by_key(|hit| hit.rsplit(' ').next().unwrap().to_owned());
        let seen: Vec<_> = hits.iter().map(|hit| hit.rsplit(' ').next().unwrap()).collect();
        assert_eq!(seen, colours, "{more}");
    }
    let exact = json!({"key": "car", "branch_id": "b1"});
    assert_eq!(refused(&router, "load_memory_exact", exact).await["code"], "NOT_FOUND", "no fallback");
    world.stop().await;
}

#[tokio::test]
async fn a_key_made_for_an_agent_reaches_that_agents_memories_alone() {
    let world = world().await;
    let router = router(&world);
    done(&router, "store_memory", json!({"content": "the owner's secret plan", "memory_key": "plan"})).await;
    world.change(|rules| {
        let key = rules.keys.iter_mut().find(|key| key.key_id == analyst_id()).unwrap();
        key.agent_id = Some("agent-7".to_owned());
    });
    let ask = |name: &'static str, arguments: Value| tool(&router, analyst_key(), name, arguments);
    let (stored, _) = ask("store_memory", json!({"content": "the agent's own plan"})).await;
    let (hits, _) = ask("search_memory", json!({"query": "plan"})).await;
    assert_eq!(hits["results"].as_array().unwrap().len(), 1, "{hits}");
    assert_eq!(hits["results"][0]["agent_id"], "agent-7");
    let (other, is_error) = ask("search_memory", json!({"query": "plan", "agent_id": "u-owner"})).await;
    assert!(is_error && other["error"]["code"] == "POLICY_DENIED", "{other}");
    let (other, is_error) = ask("list_memories", json!({"agent_id": "u-owner"})).await;
    assert!(is_error && other["error"]["code"] == "POLICY_DENIED", "{other}");
    for (listing, count) in [(json!({}), 2), (json!({"agent_id": "agent-7"}), 1), (json!({"agent_id": "nobody"}), 0)] {
        let listed = done(&router, "list_memories", listing.clone()).await;
        assert_eq!(listed["memories"].as_array().unwrap().len(), count, "{listing}");
    }
    let mine = done(&router, "search_memory", json!({"query": "plan"})).await;
    assert_eq!(mine["results"].as_array().unwrap().len(), 2, "who is bound to no agent searches all");
    for row in mine["results"].as_array().unwrap() {
        let (gone, is_error) = ask("delete_memory", json!({"memory_id": row["memory_id"]})).await;
        assert_eq!(is_error, row["memory_id"] != stored["memory_id"], "{gone}");
    }
    world.stop().await;
}

#[tokio::test]
async fn searches_are_narrowed_by_what_is_asked_of_a_memory() {
    let world = world().await;
    let router = router(&world);
    for (content, kind, importance, team) in [
        ("deploy on monday", "fact", 0.9, "core"),
        ("deploy on friday", "preference", 0.2, "web"),
        ("deploy on sunday", "fact", 0.1, "web"),
    ] {
        let metadata = json!({"team": team});
        let arguments =
            json!({"content": content, "memory_type": kind, "importance": importance, "metadata": metadata});
        done(&router, "store_memory", arguments).await;
    }
    let cases = [
        (json!({"memory_type": "preference"}), vec!["deploy on friday"]),
        (json!({"min_importance": 0.5}), vec!["deploy on monday"]),
        (json!({"filters": {"team": "web"}, "memory_type": "fact"}), vec!["deploy on sunday"]),
        (json!({"namespace": "elsewhere"}), vec![]),
        (json!({"agent_id": "nobody"}), vec![]),
        (json!({"top_k": 1}), vec!["deploy on monday"]),
    ];
    for (more, expected) in cases {
        let mut arguments = json!({"query": "deploy"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(found(&router, arguments).await, expected, "{more}");
    }
    world.stop().await;
}

#[tokio::test]
async fn pages_hold_every_memory_once() {
    let world = world().await;
    let router = router(&world);
    for number in 0..7 {
        done(
            &router,
            "store_memory",
            json!({"content": format!("note {number}"), "memory_key": format!("n/{number}")}),
        )
        .await;
    }
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut arguments = json!({"limit": 3, "key_prefix": "n/"});
        if !cursor.is_null() {
            arguments["cursor"] = cursor;
        }
        let page = done(&router, "list_memories", arguments).await;
        seen.extend(page["memories"].as_array().unwrap().iter().map(|memory| memory["content"].to_string()));
        cursor = page["cursor"].clone();
        assert_eq!(page["has_more"], json!(!cursor.is_null()));
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen.len(), 7, "{seen:?}");
    assert_eq!(seen.iter().collect::<std::collections::BTreeSet<_>>().len(), 7);
    world.stop().await;
}

#[tokio::test]
async fn a_memory_ends_and_a_forgotten_one_leaves_no_version() {
    let world = world().await;
    let router = router(&world);
    let rows = "select count(*) from raw._svc_memory.memories";
    for (mode, left) in [("retire", 2), ("forget", 0)] {
        for content in ["first", "second"] {
            done(&router, "store_memory", json!({"content": content, "memory_key": mode, "namespace": mode})).await;
        }
        let live = done(&router, "load_memory_exact", json!({"key": mode, "namespace": mode})).await;
        let arguments = json!({"memory_id": live["memory_id"], "mode": mode});
        assert_eq!(done(&router, "delete_memory", arguments.clone()).await["deleted"], true);
        assert_eq!(refused(&router, "delete_memory", arguments).await["code"], "NOT_FOUND");
        assert_eq!(found(&router, json!({"query": "second", "namespace": mode})).await, Vec::<String>::new());
        assert_eq!(world.count(&format!("{rows} where namespace = '{mode}'")).await, left);
    }
    world.stop().await;
}

#[tokio::test]
async fn bad_input_names_its_field() {
    let world = world().await;
    let router = router(&world);
    let cases = [
        ("store_memory", json!({"content": " "}), "content"),
        ("store_memory", json!({"content": "x".repeat(65_537)}), "content"),
        ("store_memory", json!({"content": "x", "importance": 1.5}), "importance"),
        ("store_memory", json!({"content": "x", "ttl_seconds": 0}), "ttl_seconds"),
        ("store_memory", json!({"content": "x", "if_version": 1}), "if_version"),
        ("store_memory", json!({"content": "x", "memory_key": ""}), "memory_key"),
        ("search_memory", json!({"query": "x", "top_k": 101}), "top_k"),
        ("search_memory", json!({"query": "x", "visibility": "BranchLocal"}), "branch_id"),
        ("search_memory", json!({"query": "x", "visibility": "ExactKey"}), "visibility"),
        ("load_memory_exact", json!({}), "key"),
        ("load_memory_exact", json!({"key": "k", "as_of": "yesterday"}), "as_of"),
        ("list_memories", json!({"limit": 201}), "limit"),
        ("list_memories", json!({"cursor": "%"}), "cursor"),
        ("delete_memory", json!({"memory_id": "m", "mode": "burn"}), "mode"),
    ];
    for (name, arguments, field) in cases {
        let error = refused(&router, name, arguments.clone()).await;
        assert_eq!((&error["code"], &error["details"]["field"]), (&json!("SVC_ERR_400_INVALID_PARAMS"), &json!(field)));
    }
    world.stop().await;
}

#[tokio::test]
async fn policies_hold_for_memories_and_no_statement_reaches_them() {
    let world = world().await;
    let router = router(&world);
    for sql in
        ["select * from _svc_memory.memories", "delete from svc_memory.memories", "drop table raw._svc_memory.memories"]
    {
        let error = refused(&router, "run_sql", json!({"sql": sql})).await;
        assert_eq!(error["code"], "SVC_ERR_404_TABLE_NOT_FOUND", "{sql}: {error}");
    }
    world.change(|rules| rules.abac_policies.push(denying("svc_memory.memories", &[])));
    let error = refused(&router, "search_memory", json!({"query": "anything"})).await;
    assert_eq!(error["code"], "SVC_ERR_403_TABLE_DENIED", "{error}");
    assert_eq!(world.last().1.outcome.as_str(), "refused");
    world.stop().await;
}

/// How many of the two hundred pairs are found in the first place, and among the first ten, at least.
const RECALLED_MIN: [usize; 2] = [180, 196];

#[tokio::test]
async fn what_a_question_means_is_nearly_always_among_the_ten() {
    let world = world().await;
    let router = router(&world);
    let pairs: Vec<Value> =
        include_str!("questions.jsonl").lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(pairs.len(), 200);
    for pair in &pairs {
        done(&router, "store_memory", json!({"content": pair["memory"]})).await;
    }
    let mut recalled = [0, 0];
    for pair in &pairs {
        let hits = found(&router, json!({"query": pair["question"]})).await;
        assert!(hits.len() <= 10);
        let place = hits.iter().position(|hit| *hit == pair["memory"]);
        recalled[0] += usize::from(place == Some(0));
        recalled[1] += usize::from(place.is_some());
    }
    assert!(recalled.iter().zip(RECALLED_MIN).all(|(found, least)| *found >= least), "{recalled:?}");
    world.stop().await;
}
