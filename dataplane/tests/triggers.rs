//! Triggers: what is noticed, how often, and that a write never fails of it.

use std::sync::Arc;

use axum::Router;
use chrono::Duration;
use contract::report::{Body, TriggerFired};
use contract::{Clock, SystemClock, TestClock};
use dataplane::testing::owner_id;
use dataplane::{Ask, Declared};
use serde_json::{Value, json};

use crate::door::door;
use crate::memory::{done, refused};
use crate::world::{World, world, world_at};

async fn register(door: &Router, more: Value) -> Value {
    let mut arguments = json!({"name": "refunds", "concept": "customer asks for a refund"});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    done(door, "register_trigger", arguments).await
}

fn fired(world: &World) -> Vec<TriggerFired> {
    let told = world.entries().into_iter().filter_map(|entry| match entry.body {
        Body::TriggerFired(fired) => Some(*fired),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn what_is_remembered_and_thought_is_noticed_and_nothing_else_is() {
    let world = world().await;
    let door = door(&world);
    let trigger = register(&door, json!({"cooldown_secs": 0, "action_type": "flag_for_review"})).await;
    let noticed = json!([trigger["trigger_id"]]);
    let text = "the customer asked for a refund of the invoice";
    let stored = done(&door, "store_memory", json!({"content": text, "metadata": {"order": 7}})).await;
    assert_eq!(stored["triggers_fired"], noticed, "{stored}");
    let again = done(&door, "store_memory", json!({"content": text})).await;
    assert_eq!(again["triggers_fired"], json!([]), "it was there already");
    let other = done(&door, "store_memory", json!({"content": "the cluster was upgraded at midnight"})).await;
    assert_eq!(other["triggers_fired"], json!([]));
    let step = json!({"session_id": "s", "content": "a customer asks for refunds: I look up the order"});
    assert_eq!(done(&door, "log_reasoning_step", step).await["triggers_fired"], noticed);
    let told = fired(&world);
    assert_eq!(told.len(), 2);
    assert_eq!((told[0].content.as_str(), told[0].content_id.as_deref()), (text, stored["memory_id"].as_str()));
    assert_eq!(told[0].metadata, json!({"order": 7, "action_type": "flag_for_review", "source": "memory"}));
    assert!(told.iter().all(|told| told.similarity_score >= told.threshold && told.agent_id == "u-owner"));
    let listed = done(&door, "list_triggers", json!({})).await;
    assert_eq!(listed["triggers"][0]["fire_count"], 2, "{listed}");
    world.stop().await;
}

#[tokio::test]
async fn a_trigger_fires_once_in_its_cooldown_and_tells_what_it_would_do() {
    let clock = TestClock::at(SystemClock.now());
    let world = world_at(Arc::new(clock.clone())).await;
    let door = door(&world);
    let trigger = register(&door, json!({"cooldown_secs": 60, "sources": ["explicit"]})).await;
    let ask = async |dry_run: bool| {
        let question = json!({"content": "a refund is what the customer asks for", "dry_run": dry_run});
        let told = done(&door, "evaluate_triggers", question).await;
        (told["fired"].as_array().unwrap().len(), told["results"][0]["in_cooldown"].clone())
    };
    assert_eq!(ask(true).await, (0, json!(false)), "it is only asked");
    for (after, expected) in [(0, (1, json!(false))), (59, (0, json!(true))), (1, (1, json!(false)))] {
        clock.advance(Duration::seconds(after));
        assert_eq!(ask(false).await, expected, "after {after} s more");
    }
    let stored = done(&door, "store_memory", json!({"content": "the customer asks for a refund"})).await;
    assert_eq!(stored["triggers_fired"], json!([]), "memories are none of its sources");
    let gone = done(&door, "delete_trigger", json!({"trigger_id": trigger["trigger_id"]})).await;
    assert_eq!(gone["deleted"], true);
    clock.advance(Duration::seconds(60));
    assert_eq!(done(&door, "evaluate_triggers", json!({"content": "refund"})).await["evaluated"], 0);
    let again = register(&door, json!({"threshold": 0.9})).await;
    assert_eq!((&again["created"], &again["enabled"], &again["threshold"]), (&json!(false), &json!(true), &json!(0.9)));
    world.stop().await;
}

#[tokio::test]
async fn the_particulars_of_each_action_are_kept_shown_and_told() {
    let world = world().await;
    let door = door(&world);
    let cases = [
        ("flag_for_review", json!({"urgency": "high", "assigned_to": "pm"})),
        ("webhook", json!({"webhook_url": "https://hooks.example/refunds"})),
        ("agent_notify", json!({"agent_id": "clerk"})),
        ("write_event", json!({"data": {"ticket": 7}})),
        ("write_event", json!({})),
    ];
    for (action, config) in cases {
        let terms = json!({"action_type": action, "action_config": config, "cooldown_secs": 0});
        assert_eq!(register(&door, terms).await["action_config"], config, "{action}");
        let listed = done(&door, "list_triggers", json!({})).await;
        assert_eq!(listed["triggers"][0]["action_config"], config, "{action}");
        let claimed = json!({"action_config": {"webhook_url": "https://evil.example/"}, "order": 7});
        let question = json!({"content": "a customer asks for a refund", "dry_run": false, "metadata": claimed});
        done(&door, "evaluate_triggers", question).await;
        let told = fired(&world).pop().unwrap().metadata;
        let expected = if config == json!({}) { None } else { Some(&config) };
        assert_eq!((told.get("action_config"), &told["action_type"]), (expected, &json!(action)), "{told}");
        assert_eq!(told["order"], 7);
    }
    world.stop().await;
}

#[tokio::test]
async fn a_score_is_the_better_of_meaning_and_words() {
    let world = world().await;
    let door = door(&world);
    let concept = "late payment of an invoice";
    register(&door, json!({"concept": concept})).await;
    let score = async |content: &str| {
        let told = done(&door, "evaluate_triggers", json!({"content": content})).await;
        let of = |name: &str| told["results"][0][name].as_f64().unwrap();
        (of("score"), of("lexical"), told["results"][0]["matched"] == true)
    };
    assert!(score(concept).await.2);
    let (far, near) = (score("the sun is shining").await, score("the invoice of May: payment is late").await);
    assert!(far.0 < 0.3 && !far.2 && near.2, "{far:?} {near:?}");
    assert!((near.1 - 1.0).abs() < 1e-9, "all words of the concept are there: {near:?}");
    world.stop().await;
}

#[tokio::test]
async fn what_an_agent_has_asked_is_noticed_behind_its_answer_without_its_literals() {
    let world = world().await;
    let door = door(&world);
    register(&door, json!({"concept": "balances of customers", "sources": ["query"], "cooldown_secs": 0})).await;
    let mut attending = tokio::task::JoinSet::new();
    attending.spawn(dataplane::triggers::attend(world.pipeline.clone()));
    let asked = "select balance from customer where name = 'balances of customers'";
    let agent = Declared { agent_id: Some("clerk".to_owned()), framework: None };
    let ask = |sql: &str| Ask { agent: agent.clone(), ..world.ask(owner_id(), sql) };
    world.run(asked).await.unwrap(); // nobody's agent
    world.whole(ask("select count(*) from customer where ssn = 'balances of customers'")).await.unwrap();
    world.whole(ask("select balance from customer where nowhere = 1")).await.unwrap_err();
    let last = world.whole(ask(asked)).await.unwrap().answer.query_id;
    let told = loop {
        match fired(&world) {
            told if told.is_empty() => tokio::task::yield_now().await,
            told => break told,
        }
    };
    let [told] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((told.agent_id.as_str(), told.content_id.as_deref()), ("clerk", Some(last.as_str())));
    assert!(told.content.to_lowercase().contains("select balance") && !told.content.contains("balances"), "{told:?}");
    assert_eq!(told.metadata["source"], "query");
    world.pipeline.closed.cancel();
    attending.join_all().await;
    world.stop().await;
}

#[tokio::test]
async fn a_trigger_that_fails_fails_no_write() {
    let world = world().await;
    let door = door(&world);
    register(&door, json!({"cooldown_secs": 0})).await;
    world.behind_our_back("drop table raw._svc_triggers.firings").await;
    let stored = done(&door, "store_memory", json!({"content": "the customer asks for a refund"})).await;
    assert_eq!((&stored["created"], &stored["triggers_fired"]), (&json!(true), &json!([])));
    let told = world.entries().into_iter().find_map(|entry| match entry.body {
        Body::TriggerError(told) => Some(told.trigger_name),
        _ => None,
    });
    assert_eq!((told.as_deref(), fired(&world).len()), (Some("refunds"), 0));
    assert_eq!(done(&door, "search_memory", json!({"query": "refund"})).await["results"].as_array().unwrap().len(), 1);
    world.stop().await;
}

#[tokio::test]
async fn what_cannot_be_is_refused_by_the_name_of_its_field() {
    let world = world().await;
    let door = door(&world);
    for (name, arguments, field) in [
        ("register_trigger", json!({"name": "", "concept": "x"}), "name"),
        ("register_trigger", json!({"name": "n", "concept": " "}), "concept"),
        ("register_trigger", json!({"name": "n", "concept": "x", "threshold": 2}), "threshold"),
        ("register_trigger", json!({"name": "n", "concept": "x", "sources": []}), "sources"),
        ("register_trigger", json!({"name": "n", "concept": "x", "sources": ["mail"]}), "sources[0]"),
        ("register_trigger", json!({"name": "n", "concept": "x", "cooldown_secs": -1}), "cooldown_secs"),
        (
            "register_trigger",
            json!({"name": "n", "concept": "x", "action_config": {"urgency": "soon"}}),
            "action_config.urgency",
        ),
        (
            "register_trigger",
            json!({"name": "n", "concept": "x", "action_config": {"secret": "s"}}),
            "action_config.secret",
        ),
        ("register_trigger", json!({"name": "n", "concept": "x", "action_config": {"data": {}}}), "action_config.data"),
        ("list_triggers", json!({"status": "on"}), "status"),
    ] {
        let error = refused(&door, name, arguments.clone()).await;
        assert_eq!((&error["status"], &error["details"]["field"]), (&json!(400), &json!(field)), "{arguments}");
    }
    let absent = refused(&door, "delete_trigger", json!({"trigger_id": "none"})).await;
    assert_eq!(absent["code"], "SVC_ERR_404_TRIGGER_NOT_FOUND");
    world.stop().await;
}
