//! Findings of a red team around grants and policies: ways that named no table, or told more than is verified.

use contract::capability::{Capabilities, Grant};
use contract::{Code, Role, Timestamp};
use dataplane::DeclaredAgent;
use dataplane::testing::{self, analyst_id, demo_key, denying, filtering};
use futures::StreamExt;
use serde_json::json;

use crate::agents_router::{router, tool_as};
use crate::memory::done;
use crate::world::{World, world};

impl World {
    async fn as_framework(&self, framework: Option<&str>, sql: &str) -> String {
        let mut ask = self.ask(analyst_id(), sql);
        let framework = framework.map(str::to_owned);
        ask.agent = DeclaredAgent::told(("agent_id", None), ("framework", framework)).unwrap();
        self.whole(ask).await.unwrap_or_else(|error| panic!("{sql}: {error}")).json
    }

    fn bind(&self, framework: Option<&str>) {
        self.change(|rules| {
            for key in &mut rules.keys {
                key.agent_id = Some("bot".to_owned());
                key.agent_framework = framework.map(str::to_owned);
            }
        });
    }
}

/// "A filter that names them is false unless verified."
#[tokio::test]
async fn a_framework_that_is_only_declared_opens_no_filter() {
    let world = world().await;
    world.run("create table fw (id integer, framework varchar)").await.unwrap();
    world.run("insert into fw values (1, 'langchain'), (2, 'crewai'), (3, '')").await.unwrap();
    world.change(|rules| rules.policies = vec![filtering("fw", "framework = {agent_framework}")]);
    world.bind(None);
    for declared in [None, Some("langchain"), Some("crewai")] {
        assert_eq!(world.as_framework(declared, "select id from fw").await, "", "{declared:?}");
    }
    world.bind(Some("crewai"));
    assert_eq!(world.as_framework(None, "select id from fw").await, "[2]");
    world.stop().await;
}

/// They stand outside tables, but not outside policies.
#[tokio::test]
async fn sequences_and_schemas_are_judged_by_their_names() {
    let world = world().await;
    for sql in [
        "create schema hr",
        "create sequence hr.badge",
        "create sequence open_to_all",
        "create view hr.seen as select 1 as one",
        "create table people (id integer autoincrement)",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    world.change(|rules| {
        rules.abac_policies = vec![denying("hr.*", &[Role::Admin])];
    });
    for sql in [
        "select hr.badge.nextval",
        "select nextval('hr.badge')",
        "select nextval('demo.hr.badge')",
        "select currval('hr.badge')",
        "drop schema hr cascade",
        "create schema if not exists hr",
    ] {
        let refused = world.run(sql).await.err().unwrap_or_else(|| panic!("{sql}"));
        assert_eq!(refused.code(), Code::TableDenied, "{sql}: {refused}");
    }
    assert_eq!(world.run("select nextval('open_to_all'), open_to_all.nextval").await.unwrap().json, "[1,2]");
    for (sql, code) in [
        ("select nextval('_sv' || 'c_6_people_id')", Code::UnsupportedSql),
        ("select nextval(s) from (select 'open_to_all' as s)", Code::UnsupportedSql),
        ("select nextval('_svc_6_people_id')", Code::UnsupportedSql),
        ("select nextval('nowhere')", Code::TableNotFound),
    ] {
        let refused = world.run(sql).await.err().unwrap_or_else(|| panic!("{sql}"));
        assert_eq!(refused.code(), code, "{sql}: {refused}");
    }
    world.stop().await;
}

/// Not only the next statement is refused.
#[tokio::test]
async fn a_key_that_is_revoked_gets_no_more_rows_of_an_answer_that_runs() {
    let world = world().await;
    let mut answer = world.pipeline.run(world.ask(testing::owner_id(), "select * from range(1000000)")).await.unwrap();
    assert!(answer.rows.next().await.unwrap().is_ok());
    world.change(|rules| rules.keys.clear());
    let next = answer.rows.next().await.unwrap();
    assert_eq!(next.unwrap_err().code(), Code::InvalidKey);
    assert!(answer.rows.next().await.is_none());
    world.stop().await;
}

/// "`max_rows_per_query`" of a grant, for what a tool reads as for a statement.
#[tokio::test]
async fn a_tool_tells_no_more_records_than_the_agent_was_granted() {
    let world = world().await;
    let router = router(&world);
    for content in ["the first of three", "the second of three", "the third of three"] {
        done(&router, "store_memory", json!({"content": content})).await;
        done(&router, "log_reasoning_step", json!({"session_id": content, "content": content})).await;
    }
    let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let capabilities = Capabilities {
        allowed_tables: text(&["svc_memory.memories", "svc_thoughts.steps"]),
        allowed_operations: text(&["select"]),
        max_queries_per_hour: None,
        max_rows_per_query: Some(2),
        column_restrictions: [].into(),
    };
    let grant = Grant { grant_id: "g".into(), capabilities, expires_at: Timestamp::MAX_UTC };
    world.change(|rules| {
        rules.agent_capabilities.insert("bot".to_owned(), vec![grant]);
    });
    for (name, few, many) in [
        ("list_memories", json!({"limit": 2}), json!({})),
        ("search_memory", json!({"query": "of three", "top_k": 2}), json!({"query": "of three"})),
        ("get_session_history", json!({"limit": 2}), json!({})),
    ] {
        let (told, is_error) = tool_as(&router, (demo_key(), Some("bot")), name, few).await;
        assert!(!is_error, "{name}: {told}");
        let (refused, _) = tool_as(&router, (demo_key(), Some("bot")), name, many).await;
        assert_eq!(refused["error"]["status"], 403, "{name}: {refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains('2'), "{name}: {refused}");
    }
    world.stop().await;
}
