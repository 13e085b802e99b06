//! The sequences that columns count by, which nobody names: they end with their columns.

use serde_json::json;

use crate::agents_router::router;
use crate::memory::done;
use crate::pgwire::{simple, wired};
use crate::world::{World, world};

impl World {
    /// How many sequences of columns there are.
    async fn counters(&self) -> i64 {
        self.count("select count(*) from duckdb_sequences() where starts_with(sequence_name, '_svc_')").await
    }
}

#[tokio::test]
async fn a_sequence_of_a_column_ends_with_it() {
    let world = world().await;
    let make = "create table counted (name varchar, id integer autoincrement, n integer identity(5, 10))";
    let cases: [(&[&str], i64); 8] = [
        (&["drop table counted"], 0),
        (&["alter table counted rename to moved", "drop table if exists moved"], 0),
        (&["alter table counted drop column id", "drop table counted"], 0),
        (&["alter table counted drop column n"], 1),
        (&["alter table counted rename column id to number", "alter table counted drop column number, n"], 0),
        (&["alter table counted alter column id drop default"], 1),
        (&["create or replace table counted as select 1 as id"], 0),
        (&["create or replace table counted (n integer autoincrement)"], 1),
    ];
    for (then, left) in cases {
        world.run("drop table if exists counted").await.unwrap();
        world.run(make).await.unwrap();
        assert_eq!(world.counters().await, 2);
        for sql in then {
            world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        assert_eq!(world.counters().await, left, "{then:?}");
    }
    world.run("insert into counted values (default), (default)").await.unwrap();
    assert_eq!(world.run("select n from counted order by n").await.unwrap().json, "[1],[2]");
    world.stop().await;
}

#[tokio::test]
async fn what_a_transaction_has_dropped_counts_on_when_it_is_undone() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create table counted (id integer autoincrement, name varchar)").await;
    simple(&client, "insert into counted (name) values ('a'), ('b')").await;
    simple(&client, "begin; drop table counted; rollback; insert into counted (name) values ('c')").await;
    assert_eq!(simple(&client, "select id from counted order by id").await, ["1", "2", "3", "(3)"]);
    simple(&client, "begin; create table other (id integer autoincrement); drop table other; drop table counted").await;
    simple(&client, "commit").await;
    assert_eq!(wired.world.counters().await, 0);
    wired.stop().await;
}

#[tokio::test]
async fn a_sequence_that_a_branch_counts_by_stays() {
    let world = world().await;
    let router = router(&world);
    world.run("create table counted (id integer autoincrement, name varchar)").await.unwrap();
    done(&router, "create_branch", json!({"tables": ["counted"]})).await;
    world.run("drop table counted").await.unwrap();
    assert_eq!(world.counters().await, 1);
    world.stop().await;
}

#[tokio::test]
async fn a_table_that_was_renamed_counts_on_beside_one_of_its_old_name() {
    let world = world().await;
    for sql in [
        "create table counted (id integer autoincrement, name varchar)",
        "insert into counted (name) values ('a'), ('b')",
        "alter table counted rename to counted_old",
        "create table counted (id integer autoincrement, name varchar)",
        "insert into counted (name) values ('c')",
        "insert into counted_old (name) values ('d')",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let got = world.run("select id from counted union all select id from counted_old order by id").await.unwrap();
    assert_eq!(got.json, "[1],[1],[2],[3]");
    world.run("create or replace table counted (id integer autoincrement)").await.unwrap();
    assert_eq!(world.counters().await, 2);
    world.run("drop table counted_old").await.unwrap();
    world.run("drop table counted").await.unwrap();
    assert_eq!(world.counters().await, 0);
    world.stop().await;
}
