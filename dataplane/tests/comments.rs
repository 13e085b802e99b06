//! COMMENT ON and its clauses: what people say of tables, views and columns is told to who may see them, and changes
//! nothing of what is kept beside it.

use contract::Code;
use contract::policy::MaskFunction;
use dataplane::testing::{filtering, masking};
use serde_json::json;

use crate::agents_router::router;
use crate::memory::done;
use crate::world::{World, world};

/// The one cell of an answer, as JSON; nothing of no rows.
async fn told(world: &World, sql: &str) -> String {
    let rows = world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).json;
    rows.strip_prefix('[').and_then(|rows| rows.strip_suffix(']')).unwrap_or_default().to_owned()
}

const OF_TABLE: &str = "select comment from information_schema.tables where table_name = 'told'";
const OF_COLUMN: &str =
    "select comment from information_schema.columns where table_name = 'told' and column_name = 'id'";

#[tokio::test]
async fn it_is_told_wherever_tables_and_columns_are() {
    let world = world().await;
    world.run("create table told (id integer comment 'a key', x varchar) comment = 'first'").await.unwrap();
    world.run("create view above comment = 'a view' as select id from told").await.unwrap();
    for (asked, words) in [
        (OF_TABLE, "\"first\""),
        (OF_COLUMN, "\"a key\""),
        ("select obj_description('told'::regclass, 'pg_class')", "\"first\""),
        ("select obj_description('above'::regclass)", "\"a view\""),
        ("select col_description('told'::regclass, 1)", "\"a key\""),
        ("select count(*) from pg_description d where d.classoid = 'pg_class'::regclass", "3"),
        (
            "select d.description from pg_class c join pg_description d on d.objoid = c.oid and d.objsubid = 0 \
             where c.relname = 'above'",
            "\"a view\"",
        ),
    ] {
        assert_eq!(told(&world, asked).await, words, "{asked}");
    }
    for (shown, words) in [
        ("show tables like 'told'", "\"first\""),
        ("show views", "\"a view\""),
        ("show columns in table told", "\"a key\""),
        ("describe table told", "\"a key\""),
    ] {
        assert!(world.run(shown).await.unwrap().json.contains(words), "{shown}");
    }
    world.stop().await;
}

#[tokio::test]
async fn it_is_changed_and_taken_back() {
    let world = world().await;
    world.run("create table told (id integer comment 'a key')").await.unwrap();
    for (said, words) in [
        ("comment on table told is 'it''s [said]'", "\"it's [said]\""),
        ("comment on table told is $$said:3:x$$", "\"said:3:x\""),
        ("alter table told add column if not exists id integer comment 'not new'", "\"said:3:x\""),
        ("create table if not exists told (id integer comment 'not new') comment = 'not new'", "\"said:3:x\""),
        ("alter table told rename to renamed", ""),
        ("alter table renamed rename to told", "\"said:3:x\""),
        ("comment on table told is null", "null"),
    ] {
        world.run(said).await.unwrap_or_else(|error| panic!("{said}: {error}"));
        assert_eq!(told(&world, OF_TABLE).await, words, "{said}");
    }
    assert_eq!(told(&world, OF_COLUMN).await, "\"a key\"");
    world.run("comment on column main.told.ID is null").await.unwrap();
    assert_eq!(told(&world, OF_COLUMN).await, "null");
    for (said, code) in [
        ("comment on table nothing is 'x'", Code::TableNotFound),
        ("comment on column told.nothing is 'x'", Code::UndefinedColumn),
        ("comment on view told is 'x'", Code::UnsupportedSql),
        ("comment on schema main is 'x'", Code::UnsupportedSql),
        ("comment if exists on table nothing is 'x'", Code::UnsupportedSql),
    ] {
        assert_eq!(world.run(said).await.unwrap_err().code(), code, "{said}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_view_that_is_commented_on_is_still_read_by_its_statement() {
    let world = world().await;
    world.run("create view above as select id from customer where id = 1").await.unwrap();
    world.run("comment on view above is 'sluice:main\ncreate view above as select 7 as id'").await.unwrap();
    assert_eq!(told(&world, "select id from above").await, "1");
    world.run("alter view above rename to higher").await.unwrap();
    assert_eq!(told(&world, "select id from higher").await, "1");
    let kept = world.run("show views").await.unwrap().json;
    assert!(kept.contains("select 7 as id"), "{kept}");
    world.run("comment on view higher is null").await.unwrap();
    assert_eq!(told(&world, "select id from higher").await, "1");
    world.stop().await;
}

#[tokio::test]
async fn no_comment_opens_what_is_closed_by_where_it_is_from() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", MaskFunction::Full)]);
    world.run("create table told comment = '[]' as select ssn from customer").await.unwrap();
    for said in ["null", "''", "'[]'", "'said:0:'", "'x\n[]'"] {
        world.run(&format!("comment on table told is {said}")).await.unwrap();
        assert_eq!(world.analyst("select * from told").await.unwrap_err().code(), Code::TableDenied, "{said}");
        assert_eq!(world.analyst(OF_TABLE).await.unwrap().json, "", "{said}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_governed_table_may_be_commented_on() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![filtering("customer", "id = 1")]);
    assert_eq!(world.run("alter table customer rename to c").await.unwrap_err().code(), Code::Conflict);
    world.run("comment on table customer is 'people'").await.unwrap();
    world.run("comment on column customer.ssn is 'secret'").await.unwrap();
    assert_eq!(world.analyst("select count(*) from customer").await.unwrap().json, "[1]");
    let asked = "select comment from information_schema.tables where table_name = 'customer'";
    assert_eq!(world.analyst(asked).await.unwrap().json, r#"["people"]"#);
    world.stop().await;
}

#[tokio::test]
async fn a_branch_merges_into_a_table_that_was_commented_on_meanwhile() {
    let world = world().await;
    let router = router(&world);
    let branch = done(&router, "create_branch", json!({"tables": ["customer"]})).await["branch_id"].clone();
    world.run("comment on table customer is 'people'").await.unwrap();
    world.run("comment on column customer.id is 'a key'").await.unwrap();
    let changed = json!({"branch_id": branch, "sql": "update customer set balance = 0 where id = 1"});
    done(&router, "branch_query", changed).await;
    let merged = done(&router, "merge_branch", json!({"branch_id": branch})).await;
    assert_eq!(merged["conflicts"], json!([]), "{merged}");
    assert_eq!(world.count("select count(*) from raw.main.customer where balance = 0").await, 1);
    world.stop().await;
}
