//! Agents that are confined to what they were granted.

use contract::capability::{Capabilities, ColumnRestriction, Grant};
use contract::{Code, Timestamp};
use dataplane::testing::demo_key;
use dataplane::{DeclaredAgent, Error};
use serde_json::{Value, json};

use crate::agents_router::{router, tool_as};
use crate::world::{Got, World, world};

fn capabilities(tables: &[&str], operations: &[&str]) -> Capabilities {
    let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Capabilities {
        allowed_tables: text(tables),
        allowed_operations: text(operations),
        max_queries_per_hour: None,
        max_rows_per_query: None,
        column_restrictions: [("customer".to_owned(), ColumnRestriction { denied_columns: text(&["ssn"]) })].into(),
    }
}

fn far() -> Timestamp {
    Timestamp::MAX_UTC
}

impl World {
    fn grant(&self, grant_id: &str, capabilities: Capabilities, expires_at: Timestamp) {
        let grant = Grant { grant_id: grant_id.into(), capabilities, expires_at };
        self.change(|rules| rules.agent_capabilities.entry("bot".to_owned()).or_default().push(grant));
    }

    /// As the owner, for an agent.
    async fn agent(&self, agent_id: &str, sql: &str) -> Result<Got, Error> {
        let mut ask = self.ask(dataplane::testing::owner_id(), sql);
        ask.agent = DeclaredAgent::told(("agent_id", Some(agent_id.to_owned())), ("framework", None)).unwrap();
        self.whole(ask).await
    }

    async fn code(&self, sql: &str) -> Option<Code> {
        self.agent("bot", sql).await.err().map(|error| error.code())
    }
}

#[tokio::test]
async fn an_agent_does_what_it_was_granted_and_no_more() {
    let world = world().await;
    world.run("create table orders (id integer)").await.unwrap();
    assert!(world.agent("bot", "select * from orders, customer").await.is_ok(), "never granted anything");
    world.grant("g", capabilities(&["main.customer"], &["SELECT", "update"]), far());
    for (sql, code) in [
        ("select id, name from customer", None),
        ("select id from demo.customer", None),
        ("select 1 as one", None),
        ("update customer set name = 'Ada' where id = 1", None),
        ("select * from orders", Some(Code::TableDenied)),
        ("select * from nowhere", Some(Code::TableDenied)),
        ("select c.id from customer c join orders o on o.id = c.id", Some(Code::TableDenied)),
        ("with o as (select * from orders) select id from customer", Some(Code::TableDenied)),
        ("create table mine as select id from customer", Some(Code::TableDenied)),
        ("delete from customer", Some(Code::PolicyDenied)),
        ("select ssn from customer", Some(Code::PolicyDenied)),
        ("select * from customer", Some(Code::PolicyDenied)),
        ("select id from customer where ssn like '0%'", Some(Code::PolicyDenied)),
        ("update customer set ssn = 'x'", Some(Code::PolicyDenied)),
    ] {
        assert_eq!(world.code(sql).await, code, "{sql}");
    }
    // What it may not reach it is not told of.
    let listed = world.agent("bot", "select table_name from information_schema.tables").await.unwrap();
    assert_eq!(listed.json, r#"["customer"]"#);
    let listed =
        world.agent("bot", "select relname from pg_class where relname in ('customer', 'orders')").await.unwrap();
    assert_eq!(listed.json, r#"["customer"]"#);
    assert!(world.agent("other", "select ssn from customer").await.is_ok(), "another agent");
    assert!(world.run("select ssn from customer").await.is_ok(), "nobody's agent");
    world.stop().await;
}

#[tokio::test]
async fn a_grant_names_stages_as_it_names_tables() {
    let world = world().await;
    for sql in ["create stage files", "create stage other"] {
        world.run(sql).await.unwrap();
    }
    world.grant("g", capabilities(&["main.customer", "main.@files"], &["select"]), far());
    for (sql, code) in [
        ("list @files", None),
        ("select $1 from @files", None),
        ("list @other", Some(Code::TableDenied)),
        ("list @nowhere", Some(Code::TableDenied)),
        ("select $1 from @other", Some(Code::TableDenied)),
        ("select $1 from @files union all select $1 from @other", Some(Code::TableDenied)),
        ("copy into customer (id) from (select $1 from @files)", Some(Code::PolicyDenied)),
        ("remove @files/a", Some(Code::PolicyDenied)),
        ("drop stage files", Some(Code::PolicyDenied)),
    ] {
        assert_eq!(world.code(sql).await, code, "{sql}");
    }
    world.stop().await;
}

#[tokio::test]
async fn with_its_last_grant_gone_an_agent_may_do_nothing() {
    let world = world().await;
    let now = world.pipeline.clock.now();
    world.grant("ended", capabilities(&["customer"], &["select"]), now);
    assert_eq!(world.code("select 1 as one").await, Some(Code::PolicyDenied));
    world.change(|rules| rules.agent_capabilities.values_mut().for_each(Vec::clear));
    assert_eq!(world.code("select id from customer").await, Some(Code::PolicyDenied));
    assert_eq!(world.last().1.error_code.as_deref(), Some("POLICY_DENIED"));
    world.stop().await;
}

#[tokio::test]
async fn a_grants_rows_are_the_most_that_are_read_or_changed() {
    let world = world().await;
    let granted =
        Capabilities { max_rows_per_query: Some(2), ..capabilities(&["customer"], &["select", "update", "insert"]) };
    world.grant("g", granted, far());
    assert_eq!(world.code("select id from customer limit 2").await, None);
    assert_eq!(world.code("select id from customer").await, Some(Code::PolicyDenied));
    assert_eq!(world.last().1.rows_returned, 0);
    assert_eq!(world.code("update customer set name = 'X' where id < 3").await, None);
    assert_eq!(world.code("update customer set name = 'Y'").await, Some(Code::PolicyDenied));
    assert_eq!(world.count("select count(*) from raw.main.customer where name = 'Y'").await, 0);
    let overwrite = "insert overwrite customer (id, name) select 9, 'Z'";
    assert_eq!(world.code(overwrite).await, Some(Code::PolicyDenied), "rows that go are changed too");
    assert!(world.count("select count(*) from raw.main.customer").await > 2);
    world.stop().await;
}

#[tokio::test]
async fn a_grants_hour_is_counted_once_a_query_and_the_next_grant_takes_over() {
    let world = world().await;
    let hourly = |max| Capabilities { max_queries_per_hour: Some(max), ..capabilities(&["customer"], &["select"]) };
    world.grant("first", hourly(2), far());
    // Healed once: two walks through the gates, one query.
    assert_eq!(world.code("select name form customer").await, None);
    assert_eq!(world.code("select id from nowhere").await, Some(Code::TableDenied));
    assert_eq!(world.code("select id from customer").await, None);
    assert_eq!(world.last().0.grant_id, Some("first".into()));
    let refused = world.agent("bot", "select id from customer").await.unwrap_err();
    assert_eq!(refused.problem().details["reason"], "queries_per_hour");
    assert_eq!(world.last().0.grant_id, None);
    world.grant("second", hourly(1), far());
    assert_eq!(world.code("select id from customer").await, None);
    assert_eq!(world.last().0.grant_id, Some("second".into()));
    assert_eq!(world.last().0.agent.unwrap().agent_id.as_deref(), Some("bot"));
    world.stop().await;
}

#[tokio::test]
async fn a_denied_column_is_neither_renamed_nor_filled_another_way() {
    let world = world().await;
    world.grant("g", capabilities(&["main.customer"], &["SELECT", "alter", "insert"]), far());
    for sql in [
        "alter table customer rename column ssn to s2",
        "alter table customer alter column ssn type integer",
        "insert all into customer (id, ssn) values (a, b) select 7 as a, 'x' as b",
        "insert into customer (id, ssn) values (7, 'x')",
        "insert into customer (id, ssn.name) values (7, 'x')",
    ] {
        assert!(world.code(sql).await.is_some(), "{sql}");
    }
    assert_eq!(world.count("select count(*) from raw.main.customer where id = 7 or ssn is null").await, 0);
    assert_eq!(world.code("insert into customer (id, name) values (8, 'x')").await, None);
    world.stop().await;
}

#[tokio::test]
async fn a_description_leaves_out_what_is_denied_and_is_written_down_like_any_query() {
    let world = world().await;
    world
        .run("create table keyed (id integer, \"Ssn\" varchar, name varchar, primary key (id, \"Ssn\"))")
        .await
        .unwrap();
    let mut granted = capabilities(&["main.customer", "main.keyed"], &["select"]);
    granted.column_restrictions.insert("keyed".to_owned(), granted.column_restrictions["customer"].clone());
    world.grant("g", granted, far());
    let router = router(&world);
    let named = |described: &Value| {
        let columns = described["columns"].as_array().unwrap();
        columns.iter().map(|column| column["column_name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let arguments = json!({"table_name": "customer", "sample_rows": 1});
    let (described, is_error) = tool_as(&router, (demo_key(), Some("bot")), "describe_table", arguments.clone()).await;
    assert!(!is_error, "{described}");
    assert_eq!(named(&described), ["id", "name", "region", "balance"]);
    assert_eq!(described["sample"][0]["name"], "Ada");
    assert!(!described.to_string().contains("ssn"), "{described}");
    let (started, finished) = world.last();
    assert_eq!((started.grant_id, started.origin.as_str()), (Some("g".into()), "mcp"));
    assert_eq!((finished.outcome.as_str(), finished.micro_credits > 0), ("completed", true));
    let keyed = json!({"table_name": "KEYED"});
    let (described, _) = tool_as(&router, (demo_key(), Some("bot")), "describe_table", keyed).await;
    assert_eq!(
        (named(&described), &described["primary_key"]),
        (vec!["id".to_owned(), "name".to_owned()], &json!(["id"]))
    );
    let (described, _) = tool_as(&router, (demo_key(), Some("other")), "describe_table", arguments).await;
    assert!(named(&described).contains(&"ssn".to_owned()), "another agent: {described}");
    let other = json!({"table_name": "nowhere"});
    let (refused, _) = tool_as(&router, (demo_key(), Some("bot")), "describe_table", other).await;
    assert_eq!(refused["error"]["code"], Code::TableDenied.stable());
    assert_eq!(world.last().1.outcome.as_str(), "refused");
    world.stop().await;
}
