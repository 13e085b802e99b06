//! A tool that only reads: no form of a statement that does anything else is run by it.

use dataplane::testing::demo_key;
use serde_json::json;

use crate::agents_router::{router, tool};
use crate::world::world;

/// What changes data or definitions, however it is written.
const CHANGES: &[&str] = &[
    "delete from customer",
    "  \n\tdelete from customer",
    "/* reads */ delete from customer",
    "/* a /* nested */ comment */ delete from customer",
    "-- reads\ndelete from customer",
    "(delete from customer)",
    "((delete from customer))",
    "with one as (select 1) delete from customer",
    "with one as (select 1 as n) insert into customer (id) select n from one",
    "with gone as (delete from customer returning *) select * from gone",
    "insert into customer (id) values (9)",
    "update customer set name = 'x'",
    "merge into customer c using (select 1 as id) s on c.id = s.id when matched then delete",
    "truncate table customer",
    "truncate customer",
    "drop table customer",
    "drop table if exists customer",
    "drop schema main cascade",
    "create table made (n integer)",
    "create or replace table customer as select 1 as n",
    "create temporary table made as select 1 as n",
    "create view made as select 1 as n",
    "create schema made",
    "create sequence made",
    "alter table customer rename to made",
    "alter table customer add column made integer",
    "comment on table customer is 'made'",
    "prepare made as delete from customer",
    "explain delete from customer",
    "explain analyze delete from customer",
    "select nextval('made')",
];

/// What is no statement that reads: several at once, what looks outside, what sets or steers the engine.
const OTHERS: &[&str] = &[
    "select 1; drop table customer",
    "commit; drop table customer",
    "rollback; delete from customer",
    "begin; delete from customer; commit",
    "copy customer to '/tmp/customer.csv'",
    "copy customer from '/tmp/customer.csv'",
    "copy (select 1) to stdout",
    "export database '/tmp/made'",
    "import database '/tmp/made'",
    "attach '/tmp/made.db' as made",
    "detach memory",
    "install httpfs",
    "load httpfs",
    "pragma database_list",
    "pragma enable_profiling",
    "set memory_limit = '1GB'",
    "set threads = 1",
    "reset memory_limit",
    "checkpoint",
    "vacuum",
    "analyze customer",
    "call enable_logging()",
    "execute made",
    "grant select on customer to made",
    "select * into made from customer",
    "select * from read_csv('/etc/passwd')",
    "lock table customer",
    "declare made cursor for select 1",
];

#[tokio::test]
async fn no_form_of_a_change_is_run() {
    let world = world().await;
    let router = router(&world);
    let before = world.run("select * from customer order by id").await.unwrap().json;
    let tables = "select count(*) from duckdb_tables() where not internal and schema_name = 'main'";
    let counted = world.count(tables).await;
    for name in ["run_sql_readonly", "run_sql_arrow"] {
        for sql in CHANGES {
            let (refused, is_error) = tool(&router, demo_key(), name, json!({"sql": sql})).await;
            assert!(is_error, "{name}: {sql}");
            assert_eq!(refused["error"]["code"], "SVC_ERR_403_SCOPE_VIOLATION", "{name}: {sql}: {refused}");
        }
        for sql in OTHERS {
            let (refused, is_error) = tool(&router, demo_key(), name, json!({"sql": sql})).await;
            assert!(is_error, "{name}: {sql}");
            let code = refused["error"]["code"].as_str().unwrap();
            let expected =
                ["SVC_ERR_400_BAD_SQL", "SVC_ERR_500_TRANSPILE_FAIL", "TRANSPILATION_ERROR", "POLICY_DENIED"];
            assert!(expected.contains(&code), "{name}: {sql}: {refused}");
        }
    }
    assert_eq!(world.run("select * from customer order by id").await.unwrap().json, before);
    assert_eq!(world.count(tables).await, counted);
    world.stop().await;
}
