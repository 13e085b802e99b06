//! The ledger of reasoning, through the tools: order, chain, tampering, whose it is.

use std::collections::BTreeSet;

use axum::Router;
use dataplane::testing::{analyst_id, analyst_key, demo_key};
use serde_json::{Value, json};

use crate::agents_router::{router, tool};
use crate::memory::{done, refused};
use crate::world::world;

async fn log(router: &Router, session: &str, content: &str) -> Value {
    done(router, "log_reasoning_step", json!({"session_id": session, "content": content})).await
}

async fn verified(router: &Router, session: &str) -> Value {
    done(router, "replay_decision", json!({"session_id": session, "verify_chain": true})).await
}

#[tokio::test]
async fn steps_are_a_chain_in_the_order_they_were_written() {
    let world = world().await;
    let router = router(&world);
    let more = json!({"session_id": "s", "content": "first", "step_type": "thought", "input": {"x": 1.50}, "output": [null],
        "model_name": "m", "token_count": 12, "latency_ms": 30, "importance": 0.9, "metadata": {"k": "ü"}});
    let first = done(&router, "log_reasoning_step", more).await;
    let second = log(&router, "s", "second").await;
    assert_eq!((&first["step_number"], &second["step_number"]), (&json!(0), &json!(1)));
    assert_eq!(second["prev_hash"], first["hash"]);
    assert!(first["prev_hash"].as_str().unwrap().ends_with("0000000000000000"));
    let told = verified(&router, "s").await;
    assert_eq!((&told["chain_valid"], &told["step_count"]), (&json!(true), &json!(2)), "{told}");
    assert_eq!(told["steps"][0]["input"].to_string(), r#"{"x":1.5}"#);
    assert_eq!((&told["steps"][0]["step_type"], &told["steps"][1]["content"]), (&json!("thought"), &json!("second")));
    let rest = done(&router, "replay_decision", json!({"session_id": "s", "from_step": 1, "limit": 5})).await;
    assert_eq!((rest["steps"].as_array().unwrap().len(), &rest["chain_valid"]), (1, &Value::Null));
    assert_eq!(world.last().0.sql, "CALL replay_decision");
    world.stop().await;
}

#[tokio::test]
async fn steps_that_come_at_once_make_no_fork_and_no_gap() {
    let world = world().await;
    let router = router(&world);
    let steps = (0..20).map(|number| {
        let router = router.clone();
        async move { log(&router, "busy", &format!("step {number}")).await["step_number"].as_i64().unwrap() }
    });
    let numbers: BTreeSet<_> = futures::future::join_all(steps).await.into_iter().collect();
    assert_eq!(numbers, (0..20).collect());
    assert_eq!(verified(&router, "busy").await["chain_valid"], true);
    world.stop().await;
}

#[tokio::test]
async fn a_ledger_changed_behind_our_back_names_the_step() {
    let world = world().await;
    let router = router(&world);
    let changes = [
        ("update raw._svc_thoughts.steps set content = 'never said' where step_number = 1", 1),
        ("update raw._svc_thoughts.steps set input = '{}' where step_number = 2", 2),
        ("delete from raw._svc_thoughts.steps where step_number = 1", 2),
        ("update raw._svc_thoughts.steps set step_number = 9 where step_number = 2", 9),
    ];
    for (place, (change, at)) in changes.into_iter().enumerate() {
        let session = format!("s{place}");
        for content in ["a", "b", "c"] {
            log(&router, &session, content).await;
        }
        assert_eq!(verified(&router, &session).await["chain_valid"], true);
        world.behind_our_back(&format!("{change} and session_id = '{session}'")).await;
        let told = verified(&router, &session).await;
        assert_eq!(
            (&told["chain_valid"], &told["break_detected_at"]["step_number"]),
            (&json!(false), &json!(at)),
            "{change}"
        );
    }
    world.stop().await;
}

#[tokio::test]
async fn no_statement_reaches_the_ledger() {
    let world = world().await;
    let router = router(&world);
    log(&router, "s", "said").await;
    for sql in [
        "update _svc_thoughts.steps set content = 'x'",
        "delete from raw._svc_thoughts.steps",
        "truncate table _svc_thoughts.steps",
        "drop schema _svc_thoughts",
        "insert or replace into _svc_thoughts.steps (content) values ('x')",
    ] {
        let (result, is_error) = tool(&router, demo_key(), "run_sql", json!({"sql": sql})).await;
        assert!(is_error, "{sql}: {result}");
    }
    assert_eq!(world.count("select count(*) from raw._svc_thoughts.steps where content = 'said'").await, 1);
    world.stop().await;
}

#[tokio::test]
async fn sessions_are_listed_and_another_agents_is_not_there() {
    let world = world().await;
    let router = router(&world);
    for session in ["one", "two", "three"] {
        log(&router, session, "begun").await;
    }
    log(&router, "one", "went on").await;
    let first = done(&router, "get_session_history", json!({"limit": 2})).await;
    let listed = |page: &Value| -> Vec<String> {
        let sessions = page["sessions"].as_array().unwrap().iter();
        sessions.map(|session| session["session_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((listed(&first), &first["has_more"]), (vec!["one".to_owned(), "three".to_owned()], &json!(true)));
    let second = done(&router, "get_session_history", json!({"limit": 2, "cursor": first["cursor"]})).await;
    assert_eq!((listed(&second), &second["cursor"]), (vec!["two".to_owned()], &Value::Null));
    world.change(|rules| {
        let key = rules.keys.iter_mut().find(|key| key.key_id == analyst_id()).unwrap();
        key.agent_id = Some("agent-7".to_owned());
    });
    let ask = |name: &'static str, arguments: Value| tool(&router, analyst_key(), name, arguments);
    assert_eq!(ask("get_session_history", json!({})).await.0["sessions"], json!([]));
    let (error, _) = ask("replay_decision", json!({"session_id": "one"})).await;
    assert_eq!(error["error"]["code"], "NOT_FOUND");
    let (error, _) = ask("log_reasoning_step", json!({"session_id": "one", "content": "me too"})).await;
    assert_eq!(error["error"]["code"], "POLICY_DENIED");
    world.stop().await;
}

#[tokio::test]
async fn bad_steps_name_their_field() {
    let world = world().await;
    let router = router(&world);
    let cases = [
        ("log_reasoning_step", json!({"session_id": "", "content": "x"}), "session_id"),
        ("log_reasoning_step", json!({"session_id": "s", "content": "x".repeat(65_537)}), "content"),
        ("log_reasoning_step", json!({"session_id": "s", "content": "x", "importance": -0.1}), "importance"),
        ("log_reasoning_step", json!({"session_id": "s", "content": "x", "token_count": -1}), "token_count"),
        ("replay_decision", json!({"session_id": "s", "limit": 0}), "limit"),
        ("get_session_history", json!({"since": "today"}), "since"),
        ("get_session_history", json!({"cursor": "!"}), "cursor"),
    ];
    for (name, arguments, field) in cases {
        let error = refused(&router, name, arguments.clone()).await;
        assert_eq!((&error["status"], &error["details"]["field"]), (&json!(400), &json!(field)), "{name} {arguments}");
    }
    assert_eq!(refused(&router, "replay_decision", json!({"session_id": "nowhere"})).await["code"], "NOT_FOUND");
    world.stop().await;
}
