//! The verdict that `enforce_abac_policy` tells is the one that a statement gets: whatever keeps a caller from it, and
//! not the policies alone.

use axum::Router;
use contract::capability::{Capabilities, ColumnRestriction, Grant};
use contract::policy::abac::{AbacRule, Action, Condition};
use contract::{Role, Timestamp};
use dataplane::testing::{analyst_key, demo_key, denying, filtering, rule, ruled};
use serde_json::{Value, json};

use crate::agents_router::{router, tool_as};
use crate::world::{World, world};

type Who<'a> = (&'a str, Option<&'a str>);
type Verdict = (String, Option<String>);

fn owner() -> Who<'static> {
    (demo_key(), None)
}

fn bot() -> Who<'static> {
    (demo_key(), Some("bot"))
}

fn analyst() -> Who<'static> {
    (analyst_key(), None)
}

/// An agent that was granted customers and a view, a table denied by policy, one that its origin closes.
async fn governed() -> (World, Router) {
    let world = world().await;
    for sql in [
        "create table orders (id integer)",
        "create table payroll (id integer)",
        "create view seen as select * from payroll",
    ] {
        world.run(sql).await.unwrap();
    }
    let denied = ColumnRestriction { denied_columns: vec!["ssn".to_owned()] };
    let capabilities = Capabilities {
        allowed_tables: vec!["customer".to_owned(), "seen".to_owned()],
        allowed_operations: vec!["select".to_owned()],
        max_queries_per_hour: None,
        max_rows_per_query: None,
        column_restrictions: [("customer".to_owned(), denied)].into(),
    };
    let grant = Grant { grant_id: "g".into(), capabilities, expires_at: Timestamp::MAX_UTC };
    world.change(|rules| {
        rules.agent_capabilities.insert("bot".to_owned(), vec![grant]);
        rules.policies = vec![filtering("customer", "id = 1")];
        rules.abac_policies = vec![denying("payroll", &[Role::Owner])];
    });
    world.run("create table made as select * from customer").await.unwrap();
    let router = router(&world);
    (world, router)
}

async fn told(router: &Router, who: Who<'_>, question: Value) -> Verdict {
    let (judged, is_error) = tool_as(router, who, "enforce_abac_policy", question.clone()).await;
    assert!(!is_error, "{question}: {judged}");
    (judged["decision"].as_str().unwrap().to_owned(), judged["code"].as_str().map(str::to_owned))
}

/// What is told of the statement is what becomes of it.
async fn agrees(router: &Router, who: Who<'_>, sql: &str, denied: bool) {
    let (ran, is_error) = tool_as(router, who, "run_sql", json!({"sql": sql})).await;
    let code = ran["error"]["code"].as_str().map(str::to_owned);
    let expected = (if denied { "deny" } else { "allow" }.to_owned(), code);
    let judged = told(router, who, json!({"query": sql})).await;
    assert_eq!((is_error, judged), (denied, expected), "{who:?} {sql}: {ran}");
}

fn allowed() -> Verdict {
    ("allow".to_owned(), None)
}

fn table_denied() -> Verdict {
    ("deny".to_owned(), Some("SVC_ERR_403_TABLE_DENIED".to_owned()))
}

#[tokio::test]
async fn of_a_statement_it_tells_what_becomes_of_it() {
    let (world, router) = governed().await;
    for (who, sql, denied) in [
        (bot(), "select id from customer", false),
        (bot(), "select ssn from customer", true),
        (bot(), "select id from orders", true),
        (bot(), "select id from nowhere", true),
        (bot(), "select id from seen", true),
        (bot(), "delete from customer where id = 77", true),
        (owner(), "select id from orders", false),
        (owner(), "select id from seen", false),
        (owner(), "alter table payroll rename to open", true),
        (analyst(), "select id from orders", false),
        (analyst(), "select id from made", true),
        (analyst(), "select id from payroll", true),
        (analyst(), "select id from seen", true),
        (analyst(), "delete from orders", true),
    ] {
        agrees(&router, who, sql, denied).await;
    }
    world.change(|rules| {
        let reads = rule(Condition::RoleIs, &["owner"], Action::ReadOnly);
        rules.abac_policies = vec![ruled("reads", vec![reads])];
    });
    let reading = json!({"query": "select id from orders"});
    assert_eq!(told(&router, owner(), reading).await, ("read_only".to_owned(), None));
    agrees(&router, owner(), "delete from orders", true).await;
    world.stop().await;
}

#[tokio::test]
async fn of_a_table_it_tells_what_becomes_of_who_reads_it() {
    let (world, router) = governed().await;
    for (who, table, verdict) in [
        (bot(), "orders", table_denied()),
        (bot(), "main.nowhere", table_denied()),
        (analyst(), "made", table_denied()),
        (analyst(), "main.payroll", table_denied()),
        (analyst(), "seen", table_denied()),
        (bot(), "customer", allowed()),
        (owner(), "payroll", allowed()),
        (owner(), "nowhere", allowed()),
        (analyst(), "customer", allowed()),
    ] {
        assert_eq!(told(&router, who, json!({"table": table})).await, verdict, "{who:?} {table}");
    }
    let both = json!({"query": "select id from orders", "table": "made"});
    assert_eq!(told(&router, owner(), both.clone()).await, allowed());
    assert_eq!(told(&router, analyst(), both).await, table_denied());
    world.stop().await;
}

#[tokio::test]
async fn it_is_told_of_somebody_imagined_too() {
    let (world, router) = governed().await;
    let imagined = |role: &str| json!({"table": "made", "context": {"user_role": role}});
    assert_eq!(told(&router, owner(), imagined("analyst")).await, table_denied());
    assert_eq!(told(&router, owner(), imagined("owner")).await, allowed());
    let late = rule(Condition::TimeOfDay, &[], Action::Deny);
    let exempt_roles = vec![Role::Owner]; // who asks, at whatever hour it is
    let late = AbacRule { start: Some("20:00".to_owned()), end: Some("06:00".to_owned()), exempt_roles, ..late };
    world.change(|rules| rules.abac_policies = vec![ruled("by day", vec![late])]);
    for (time, decision) in [("12:00", "allow"), ("23:00", "deny")] {
        let question = json!({"table": "orders", "context": {"user_role": "analyst", "time_of_day": time}});
        assert_eq!(told(&router, owner(), question).await.0, decision, "{time}");
    }
    world.stop().await;
}
