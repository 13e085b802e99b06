//! Triggers: what is noticed, how often, and that a write never fails of it.

use std::sync::Arc;

use axum::Router;
use chrono::Duration;
use contract::capability::{Capabilities, Grant};
use contract::report::{Body, TriggerFired};
use contract::{Clock, Role, SystemClock, TestClock, Timestamp};
use dataplane::testing::{analyst_id, analyst_key, demo_key, denying, owner_id};
use dataplane::{Ask, DeclaredAgent};
use serde_json::{Value, json};

use crate::agents_router::{router, tool, tool_as};
use crate::memory::{done, refused};
use crate::world::{World, world, world_at};

async fn register(router: &Router, more: Value) -> Value {
    let mut arguments = json!({"name": "refunds", "concept": "customer asks for a refund"});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    done(router, "register_trigger", arguments).await
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
    let router = router(&world);
    let trigger = register(&router, json!({"cooldown_secs": 0, "action_type": "flag_for_review"})).await;
    let noticed = json!([trigger["trigger_id"]]);
    let text = "the customer asked for a refund of the invoice";
    let stored = done(&router, "store_memory", json!({"content": text, "metadata": {"order": 7}})).await;
    assert_eq!(stored["triggers_fired"], noticed, "{stored}");
    let again = done(&router, "store_memory", json!({"content": text})).await;
    assert_eq!(again["triggers_fired"], json!([]), "it was there already");
    let other = done(&router, "store_memory", json!({"content": "the cluster was upgraded at midnight"})).await;
    assert_eq!(other["triggers_fired"], json!([]));
    let step = json!({"session_id": "s", "content": "a customer asks for refunds: I look up the order"});
    assert_eq!(done(&router, "log_reasoning_step", step).await["triggers_fired"], noticed);
    let told = fired(&world);
    assert_eq!(told.len(), 2);
    assert_eq!((told[0].content.as_str(), told[0].content_id.as_deref()), (text, stored["memory_id"].as_str()));
    assert_eq!(told[0].metadata, json!({"order": 7, "action_type": "flag_for_review", "source": "memory"}));
    assert!(told.iter().all(|told| told.similarity_score >= told.threshold && told.agent_id == "u-owner"));
    let listed = done(&router, "list_triggers", json!({})).await;
    assert_eq!(listed["triggers"][0]["fire_count"], 2, "{listed}");
    world.stop().await;
}

#[tokio::test]
async fn a_trigger_fires_once_in_its_cooldown_and_tells_what_it_would_do() {
    let clock = TestClock::at(SystemClock.now());
    let world = world_at(Arc::new(clock.clone())).await;
    let router = router(&world);
    let trigger = register(&router, json!({"cooldown_secs": 60, "sources": ["explicit"]})).await;
    let ask = async |dry_run: bool| {
        let question = json!({"content": "a refund is what the customer asks for", "dry_run": dry_run});
        let told = done(&router, "evaluate_triggers", question).await;
        (told["fired"].as_array().unwrap().len(), told["results"][0]["in_cooldown"].clone())
    };
    assert_eq!(ask(true).await, (0, json!(false)), "it is only asked");
    for (after, expected) in [(0, (1, json!(false))), (59, (0, json!(true))), (1, (1, json!(false)))] {
        clock.advance(Duration::seconds(after));
        assert_eq!(ask(false).await, expected, "after {after} s more");
    }
    let stored = done(&router, "store_memory", json!({"content": "the customer asks for a refund"})).await;
    assert_eq!(stored["triggers_fired"], json!([]), "memories are none of its sources");
    let gone = done(&router, "delete_trigger", json!({"trigger_id": trigger["trigger_id"]})).await;
    assert_eq!(gone["deleted"], true);
    clock.advance(Duration::seconds(60));
    assert_eq!(done(&router, "evaluate_triggers", json!({"content": "refund"})).await["evaluated"], 0);
    let again = register(&router, json!({"threshold": 0.9})).await;
    assert_eq!((&again["created"], &again["enabled"], &again["threshold"]), (&json!(false), &json!(true), &json!(0.9)));
    world.stop().await;
}

#[tokio::test]
async fn the_particulars_of_each_action_are_kept_shown_and_told() {
    let world = world().await;
    let router = router(&world);
    let cases = [
        ("flag_for_review", json!({"urgency": "high", "assigned_to": "pm"})),
        ("webhook", json!({"webhook_url": "https://hooks.example/refunds"})),
        ("agent_notify", json!({"agent_id": "clerk"})),
        ("write_event", json!({"data": {"ticket": 7}})),
        ("write_event", json!({})),
    ];
    for (action, config) in cases {
        let terms = json!({"action_type": action, "action_config": config, "cooldown_secs": 0});
        assert_eq!(register(&router, terms).await["action_config"], config, "{action}");
        let listed = done(&router, "list_triggers", json!({})).await;
        assert_eq!(listed["triggers"][0]["action_config"], config, "{action}");
        let claimed = json!({"action_config": {"webhook_url": "https://evil.example/"}, "order": 7});
        let question = json!({"content": "a customer asks for a refund", "dry_run": false, "metadata": claimed});
        done(&router, "evaluate_triggers", question).await;
        let told = fired(&world).pop().unwrap().metadata;
        let expected = if config == json!({}) { None } else { Some(&config) };
        assert_eq!((told.get("action_config"), &told["action_type"]), (expected, &json!(action)), "{told}");
        assert_eq!(told["order"], 7);
    }
    world.stop().await;
}

/// What the analyst's key is shown: names, and how often each has fired.
async fn shown(router: &Router) -> Vec<(String, u64)> {
    let (listed, _) = tool(router, analyst_key(), "list_triggers", json!({})).await;
    let each = listed["triggers"].as_array().unwrap_or_else(|| panic!("{listed}")).iter();
    each.map(|one| (one["name"].as_str().unwrap().to_owned(), one["fire_count"].as_u64().unwrap())).collect()
}

#[tokio::test]
async fn a_key_made_for_an_agent_hears_and_sees_that_agent_alone() {
    let world = world().await;
    let router = router(&world);
    let watch = register(&router, json!({"name": "watch", "cooldown_secs": 0})).await;
    world.change(|rules| {
        let key = rules.keys.iter_mut().find(|key| key.key_id == analyst_id()).unwrap();
        key.agent_id = Some("spy".to_owned());
    });
    let spy = |name: &'static str, arguments: Value| tool(&router, analyst_key(), name, arguments);
    let victim = async |content: &str| {
        let left = json!({"content": content});
        let (stored, _) = tool_as(&router, (demo_key(), Some("victim")), "store_memory", left).await;
        stored["triggers_fired"].clone()
    };
    let terms = json!({
        "name": "mine", "concept": "ninetyone", "threshold": 1.0, "cooldown_secs": 0,
        "sources": ["memory", "reasoning_step"],
    });
    let mut of_victim = terms.clone();
    of_victim["agent_filter"] = json!("victim");
    let (denied, is_error) = spy("register_trigger", of_victim).await;
    assert!(is_error && denied["error"]["code"] == "POLICY_DENIED", "{denied}");
    let (mine, _) = spy("register_trigger", terms.clone()).await;
    assert_eq!(mine["agent_filter"], "spy", "{mine}");
    assert_eq!(victim("the code is ninetyone").await, json!([]));
    assert_eq!(shown(&router).await, [("mine".to_owned(), 0)]);
    let (stored, _) = spy("store_memory", json!({"content": "ninetyone: a customer asks for a refund"})).await;
    assert_eq!(stored["triggers_fired"], json!([mine["trigger_id"]]), "of `watch` it is told nothing");
    assert_eq!(fired(&world).len(), 2, "which heard it");
    let (judged, _) = spy("evaluate_triggers", json!({"content": "a refund"})).await;
    assert_eq!((&judged["evaluated"], &judged["results"][0]["trigger_name"]), (&json!(1), &json!("mine")), "{judged}");
    let named = json!({"content": "a refund", "trigger_ids": [watch["trigger_id"]]});
    assert_eq!(spy("evaluate_triggers", named).await.0["error"]["code"], "SVC_ERR_404_TRIGGER_NOT_FOUND");
    // An administrator has it hear everybody: it is not the agent's to see any more.
    done(&router, "register_trigger", terms.clone()).await;
    assert_eq!(victim("ninetyone is the code").await, json!([mine["trigger_id"]]));
    assert_eq!(shown(&router).await, []);
    let (again, _) = spy("register_trigger", terms).await;
    assert_eq!((&again["fire_count"], &again["last_fired_at"]), (&json!(0), &Value::Null), "{again}");
    assert_ne!(again["trigger_id"], mine["trigger_id"]);
    assert_eq!(shown(&router).await, [("mine".to_owned(), 0)]);
    world.stop().await;
}

#[tokio::test]
async fn who_may_not_read_what_a_trigger_hears_neither_registers_it_nor_sees_it() {
    let world = world().await;
    let router = router(&world);
    let week = json!({"name": "watch", "sources": ["memory"], "cooldown_secs": 604_800});
    let watch = register(&router, week).await;
    let left = json!({"content": "the customer asks for a refund"});
    let (stored, _) = tool_as(&router, (demo_key(), Some("victim")), "store_memory", left).await;
    assert_eq!(stored["triggers_fired"], json!([watch["trigger_id"]]));
    world.change(|rules| {
        rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer;
        rules.abac_policies.push(denying("svc_memory.memories", &[Role::Owner]));
    });
    let developer = |name: &'static str, arguments: Value| tool(&router, analyst_key(), name, arguments);
    for terms in [json!({}), json!({"sources": ["query", "memory"]})] {
        let mut terms = terms;
        terms["name"] = json!("n");
        terms["concept"] = json!("ninetyone");
        let (denied, is_error) = developer("register_trigger", terms.clone()).await;
        assert!(is_error && denied["error"]["code"] == "SVC_ERR_403_TABLE_DENIED", "{terms}: {denied}");
        assert_eq!(denied["error"]["details"]["table"], "svc_memory.memories");
    }
    let thoughts = json!({"name": "n", "concept": "ninetyone", "sources": ["reasoning_step"]});
    assert_eq!(developer("register_trigger", thoughts).await.0["created"], true);
    assert_eq!(world.last().0.tables_accessed, ["svc_thoughts.steps"]);
    assert_eq!(shown(&router).await, [("n".to_owned(), 0)]);
    let named = json!({"content": "a refund", "trigger_ids": [watch["trigger_id"]]});
    assert_eq!(developer("evaluate_triggers", named).await.0["error"]["code"], "SVC_ERR_404_TRIGGER_NOT_FOUND");
    // Under other terms it is theirs to see, and tells nothing of before.
    let taken = json!({"name": "watch", "concept": "refund", "sources": ["explicit"], "cooldown_secs": 604_800});
    let (taken, _) = developer("register_trigger", taken).await;
    assert_eq!((&taken["created"], &taken["fire_count"]), (&json!(false), &json!(0)), "{taken}");
    let question = json!({"content": "refund", "trigger_ids": [taken["trigger_id"]]});
    let (judged, _) = tool_as(&router, (analyst_key(), Some("victim")), "evaluate_triggers", question).await;
    assert_eq!(judged["results"][0]["in_cooldown"], false, "{judged}");
    world.stop().await;
}

/// Its count tells which words the statements of others have. These are read in their log.
#[tokio::test]
async fn others_statements_are_heard_by_who_reads_their_log_and_an_agents_own_by_its_key() {
    let world = world().await;
    let router = router(&world);
    let role = |role| world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = role);
    let analysts = async |name: &str, arguments: Value| tool(&router, analyst_key(), name, arguments).await.0;
    let heard = json!({"name": "heard", "concept": "payroll", "sources": ["query"]});
    let everything = ["memory", "reasoning_step", "query", "explicit"];
    let everything = json!({"name": "all", "concept": "payroll", "sources": everything});
    let unsaid = json!({"name": "all", "concept": "payroll"});
    for reads_log in [Role::Admin, Role::Auditor, Role::Owner] {
        role(reads_log);
        assert_eq!(analysts("register_trigger", heard.clone()).await["sources"], json!(["query"]), "{reads_log}");
        assert_eq!(analysts("register_trigger", everything.clone()).await["sources"].as_array().unwrap().len(), 4);
    }
    for does_not in [Role::Developer, Role::Analyst] {
        role(does_not);
        let denied = analysts("register_trigger", heard.clone()).await;
        assert_eq!(denied["error"]["code"], "POLICY_DENIED", "{does_not}: {denied}");
        assert!(denied["error"]["message"].as_str().unwrap().contains("`query`"), "{denied}");
        assert_eq!(analysts("list_triggers", json!({})).await["triggers"], json!([]), "{does_not}");
    }
    // Under the name of one that heard more, it begins anew; where that is not said, statements are not heard.
    role(Role::Developer);
    let again = analysts("register_trigger", unsaid).await;
    assert_eq!(again["sources"], json!(["memory", "reasoning_step", "explicit"]), "{again}");
    assert_eq!(analysts("list_triggers", json!({})).await["triggers"].as_array().unwrap().len(), 1);
    world.change(|rules| {
        let key = rules.keys.iter_mut().find(|key| key.key_id == analyst_id()).unwrap();
        key.agent_id = Some("bot".to_owned());
    });
    let own = analysts("register_trigger", json!({"name": "own", "concept": "payroll", "sources": ["query"]})).await;
    assert_eq!((&own["sources"], &own["agent_filter"]), (&json!(["query"]), &json!("bot")), "{own}");
    world.stop().await;
}

#[tokio::test]
async fn a_confined_agent_registers_what_hears_the_tables_it_was_granted() {
    let world = world().await;
    let router = router(&world);
    let granted = |tables: &[&str], operations: &[&str]| {
        let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let capabilities = Capabilities {
            allowed_tables: text(tables),
            allowed_operations: text(operations),
            max_queries_per_hour: None,
            max_rows_per_query: None,
            column_restrictions: [].into(),
        };
        let grant = Grant { grant_id: "g".into(), capabilities, expires_at: Timestamp::MAX_UTC };
        world.change(|rules| {
            rules.agent_capabilities.insert("bot".to_owned(), vec![grant]);
        });
    };
    let terms = json!({"name": "n", "concept": "x", "sources": ["memory"]});
    for (tables, operations, code) in [
        (&["main.customer"], &["select", "insert"][..], json!("SVC_ERR_403_TABLE_DENIED")),
        (&["svc_memory.memories"], &["insert"], json!("POLICY_DENIED")),
        (&["svc_memory.memories"], &["select", "insert"], Value::Null),
    ] {
        granted(tables, operations);
        let (told, _) = tool_as(&router, (demo_key(), Some("bot")), "register_trigger", terms.clone()).await;
        assert_eq!(told["error"]["code"], code, "{tables:?} {operations:?}: {told}");
    }
    let listed = async || tool_as(&router, (demo_key(), Some("bot")), "list_triggers", json!({})).await.0;
    assert_eq!(listed().await["triggers"].as_array().unwrap().len(), 1);
    granted(&["main.customer"], &["select"]);
    assert_eq!(listed().await["triggers"], json!([]), "what it heard is not the agent's to know any more");
    world.stop().await;
}

#[tokio::test]
async fn a_score_is_the_better_of_meaning_and_words() {
    let world = world().await;
    let router = router(&world);
    let concept = "late payment of an invoice";
    register(&router, json!({"concept": concept})).await;
    let score = async |content: &str| {
        let told = done(&router, "evaluate_triggers", json!({"content": content})).await;
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
    let router = router(&world);
    register(&router, json!({"concept": "balances of customers", "sources": ["query"], "cooldown_secs": 0})).await;
    let mut attending = tokio::task::JoinSet::new();
    attending.spawn(dataplane::agents::triggers::attend(world.pipeline.clone(), world.triggers.clone()));
    let asked = "select balance from customer where name = 'balances of customers'";
    let agent = DeclaredAgent::told(("agent_id", Some("clerk".to_owned())), ("framework", None)).unwrap();
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
    let router = router(&world);
    register(&router, json!({"cooldown_secs": 0})).await;
    world.behind_our_back("drop table raw._svc_triggers.firings").await;
    let stored = done(&router, "store_memory", json!({"content": "the customer asks for a refund"})).await;
    assert_eq!((&stored["created"], &stored["triggers_fired"]), (&json!(true), &json!([])));
    let told = world.entries().into_iter().find_map(|entry| match entry.body {
        Body::TriggerError(told) => Some(told.trigger_name),
        _ => None,
    });
    assert_eq!((told.as_deref(), fired(&world).len()), (Some("refunds"), 0));
    assert_eq!(
        done(&router, "search_memory", json!({"query": "refund"})).await["results"].as_array().unwrap().len(),
        1
    );
    world.stop().await;
}

#[tokio::test]
async fn what_cannot_be_is_refused_by_the_name_of_its_field() {
    let world = world().await;
    let router = router(&world);
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
        let error = refused(&router, name, arguments.clone()).await;
        assert_eq!((&error["status"], &error["details"]["field"]), (&json!(400), &json!(field)), "{arguments}");
    }
    let absent = refused(&router, "delete_trigger", json!({"trigger_id": "none"})).await;
    assert_eq!(absent["code"], "SVC_ERR_404_TRIGGER_NOT_FOUND");
    world.stop().await;
}
