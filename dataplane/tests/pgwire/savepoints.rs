//! Savepoints: what came after one is taken back, what came before it stands, or the whole is to be run again.

use std::fmt::Write;

use contract::policy::MaskFunction;
use dataplane::testing::masking;
use tokio_postgres::Client;

use super::{Wired, refused, simple, wired};
use crate::agents_router::router;
use crate::memory::done;

async fn rows(client: &Client) -> Vec<String> {
    simple(client, "select id, name from customer order by id").await
}

/// The transaction goes back, and on.
async fn goes_back(client: &Client, to: &str) {
    simple(client, &format!("rollback to savepoint {to}")).await;
}

/// It is to be run again: nothing of it is left.
async fn is_over(client: &Client, to: &str, state: &str, what: &str) {
    let told = refused(client, &format!("rollback to savepoint {to}")).await;
    assert_eq!(told.code().code(), state, "{what}: {told:?}");
    assert_eq!(refused(client, "select 1").await.code().code(), "25P02", "{what}");
    simple(client, "rollback").await;
}

#[tokio::test]
async fn whatever_was_changed_since_a_savepoint_is_taken_back() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create table other (a integer primary key)").await;
    for since in [
        "insert into customer (id) values (10)",
        "update customer set name = 'x'",
        "delete from customer",
        "truncate table customer",
        "merge into customer using (select 9 as id) s on customer.id = s.id when matched then delete",
        "create table fresh (a integer)",
        "create temp table fresh as select * from customer",
        "alter table customer add column more integer",
        "drop table customer",
        "create view fresh as select id from customer",
        "create schema fresh",
        "insert into other values (1)",
        "select * from nowhere",
        "select 1 / 0",
        "select cast(name as integer) from customer",
        "insert into customer (id) select cast(name as integer) from customer",
        "insert into other values (2), (2)",
    ] {
        simple(&client, "begin; insert into customer (id, name) values (9, 'Zoe'); savepoint a").await;
        let ran = client.simple_query(since).await;
        if ran.is_err() {
            assert_eq!(refused(&client, "select 1").await.code().code(), "25P02", "{since}");
        }
        goes_back(&client, "a").await;
        assert_eq!(rows(&client).await, ["1|Ada", "2|Bob", "3|Cleo", "9|Zoe", "(4)"], "{since}");
        simple(&client, "insert into other values (3)").await;
        goes_back(&client, "a").await;
        refused(&client, "select * from fresh").await;
        goes_back(&client, "a").await;
        simple(&client, "update customer set name = 'Zo' where id = 9; commit").await;
        assert_eq!(rows(&client).await, ["1|Ada", "2|Bob", "3|Cleo", "9|Zo", "(4)"], "{since}");
        assert_eq!(simple(&client, "select count(*) from other").await, ["0", "(1)"], "{since}");
        simple(&client, "delete from customer where id = 9").await;
    }
    wired.stop().await;
}

#[tokio::test]
async fn what_was_defined_before_a_savepoint_is_there_again() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin; create table made (a integer primary key, b varchar)").await;
    simple(&client, "create temp table held as select id from customer where id < 3").await;
    simple(&client, "insert into made select id, 'x' from held; alter table made add column c integer").await;
    simple(&client, "savepoint a; drop table made; delete from held").await;
    goes_back(&client, "a").await;
    assert_eq!(simple(&client, "select a, b, c from made order by a").await, ["1|x|NULL", "2|x|NULL", "(2)"]);
    assert_eq!(simple(&client, "select count(*) from held").await, ["2", "(1)"]);
    simple(&client, "insert into made values (3, 'y', 4); commit").await;
    assert_eq!(simple(&client, "select count(*) from made").await, ["3", "(1)"]);
    wired.stop().await;
}

/// A transaction as PostgreSQL has it: its value, and its savepoints with the values of then.
#[derive(Default)]
struct Model {
    value: Vec<i64>,
    savepoints: Vec<(String, Vec<i64>)>,
}

/// Numbers that follow their seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[tokio::test]
async fn nested_and_reused_names_are_as_in_postgresql() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create table kept (n bigint)").await;
    for seed in 0..12 {
        let (mut chance, mut model, mut told) = (Chance(seed), Model::default(), format!("seed {seed}: "));
        simple(&client, "begin").await;
        for step in 0..25 {
            let name = ["a", "b", "c"][usize::try_from(chance.below(3)).unwrap()];
            let at = model.savepoints.iter().rposition(|(known, _)| known == name);
            let sql = match (chance.below(6), at) {
                (0 | 1, _) => {
                    model.value.push(step);
                    format!("insert into kept values ({step})")
                }
                (2, _) => {
                    model.savepoints.push((name.to_owned(), model.value.clone()));
                    format!("savepoint {name}")
                }
                (3, Some(at)) => {
                    model.savepoints.truncate(at);
                    format!("release savepoint {name}")
                }
                (4, Some(at)) => {
                    model.savepoints.truncate(at + 1);
                    model.value.clone_from(&model.savepoints[at].1);
                    format!("rollback to savepoint {name}")
                }
                (5, Some(at)) => {
                    refused(&client, "select 1 / 0").await;
                    model.savepoints.truncate(at + 1);
                    model.value.clone_from(&model.savepoints[at].1);
                    format!("rollback to {name}")
                }
                _ => "select 1".to_owned(),
            };
            write!(told, "{sql}; ").unwrap();
            assert!(client.simple_query(&sql).await.is_ok(), "{told}");
            let mut expected: Vec<String> = model.value.iter().map(ToString::to_string).collect();
            expected.push(format!("({})", model.value.len()));
            assert_eq!(simple(&client, "select n from kept order by n").await, expected, "{told}");
        }
        let standing = model.value.len().to_string();
        simple(&client, "commit").await;
        assert_eq!(simple(&client, "select count(*) from kept").await, [standing.as_str(), "(1)"], "{told}");
        simple(&client, "delete from kept").await;
    }
    wired.stop().await;
}

#[tokio::test]
async fn a_savepoint_that_is_not_there_is_3b001() {
    let wired = wired().await;
    let client = wired.owner().await;
    for command in ["savepoint a", "release a", "rollback to a"] {
        assert_eq!(refused(&client, command).await.code().code(), "25P01", "{command}");
    }
    for command in ["release b", "rollback to b", "release savepoint \"A\""] {
        simple(&client, "begin; savepoint a").await;
        assert_eq!(refused(&client, command).await.code().code(), "3B001", "{command}");
        goes_back(&client, "a").await;
        simple(&client, "release a; commit").await;
    }
    wired.stop().await;
}

/// What somebody else does between the first statement and the way back, and whether the way is closed by it.
const OTHERS: [(&str, bool); 8] = [
    ("insert into customer (id) values (70)", true),
    ("delete from customer where id = 999", true),
    ("insert into read_before values (7)", true),
    ("create table defined (a integer)", true),
    ("insert into read_since values (7)", false),
    ("insert into elsewhere values (7)", false),
    ("begin; insert into customer (id) values (71); rollback", false),
    ("select * from customer", false),
];

#[tokio::test]
async fn whoever_commits_to_what_was_read_or_written_closes_the_way_back() {
    let wired = wired().await;
    for (others, closes) in OTHERS {
        for fails in [false, true] {
            let (client, other) = (wired.owner().await, wired.owner().await);
            simple(&client, "delete from customer where id > 3; drop table if exists defined").await;
            for table in ["read_before", "read_since", "elsewhere"] {
                simple(&client, &format!("create or replace table {table} (a integer)")).await;
            }
            simple(&client, "begin; select * from read_before").await;
            simple(&client, "insert into customer (id, name) values (9, 'Zoe'); savepoint a").await;
            simple(&client, "select * from read_since; update customer set name = 'x' where id = 9").await;
            simple(&other, others).await;
            if fails {
                refused(&client, "select 1 / 0").await;
            }
            if closes {
                is_over(&client, "a", "40001", others).await;
                assert_eq!(simple(&client, "select count(*) from customer where id = 9").await, ["0", "(1)"]);
            } else {
                goes_back(&client, "a").await;
                simple(&client, "commit").await;
                assert_eq!(simple(&client, "select name from customer where id = 9").await, ["Zoe", "(1)"], "{others}");
            }
        }
    }
    wired.stop().await;
}

#[tokio::test]
async fn nothing_that_is_volatile_is_done_again() {
    let wired = wired().await;
    let client = wired.owner().await;
    let timed = "create table timed (a integer, b varchar default cast(now() as varchar))";
    simple(&client, &format!("create sequence numbers; {timed}")).await;
    simple(&client, "create table plain (a integer, b varchar default 'now')").await;
    for (before, again) in [
        ("insert into plain values (1, cast(random() as varchar))", false),
        ("insert into plain select 1, cast(current_timestamp as varchar)", false),
        ("insert into plain values (nextval('numbers'), 'x')", false),
        ("select nextval('numbers')", false),
        ("insert into timed (a) values (1)", false),
        ("insert into plain values (1, 'random() now')", true),
        ("insert into plain (a) values (1)", true),
        ("update plain set a = a + 1", true),
        ("select now(), random()", true),
    ] {
        for fails in [false, true] {
            simple(&client, "begin").await;
            simple(&client, before).await;
            simple(&client, "savepoint a; insert into customer (id) values (10)").await;
            if fails {
                refused(&client, "select cast('x' as integer)").await;
            }
            if again {
                goes_back(&client, "a").await;
                simple(&client, "rollback").await;
            } else {
                is_over(&client, "a", "40001", before).await;
            }
        }
        simple(&client, "begin").await;
        simple(&client, before).await;
        simple(&client, "savepoint a").await;
        refused(&client, "select * from nowhere").await;
        goes_back(&client, "a").await; // nothing is done again
        simple(&client, "rollback").await;
    }
    wired.stop().await;
}

#[tokio::test]
async fn what_is_too_much_to_be_kept_is_refused_by_name_and_only_behind_it() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create table texts (t varchar)").await;
    let insert = client.prepare("insert into texts values ($1)").await.unwrap();
    let text = "x".repeat(900 << 10);
    simple(&client, "begin; insert into customer (id) values (9); savepoint early").await;
    for _ in 0..20 {
        client.execute(&insert, &[&text]).await.unwrap();
    }
    simple(&client, "savepoint late; insert into texts values ('y')").await;
    let told = refused(&client, "rollback to late").await;
    assert_eq!((told.code().code(), told.detail()), ("0A000", Some("TRANSPILATION_ERROR")));
    assert!(told.message().starts_with("ROLLBACK TO SAVEPOINT behind more than 1000 statements"), "{told:?}");
    goes_back(&client, "early").await;
    assert_eq!(simple(&client, "select count(*) from texts").await, ["0", "(1)"]);
    simple(&client, "commit").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["4", "(1)"]);
    wired.stop().await;
}

/// The log of changes has what stands, and nothing twice.
#[tokio::test]
async fn the_log_of_changes_has_each_statement_once() {
    let wired = wired().await;
    let client = wired.owner().await;
    let before = lines(&wired).await;
    simple(&client, "begin; insert into customer (id) values (9); savepoint a; delete from customer").await;
    for _ in 0..3 {
        goes_back(&client, "a").await;
        simple(&client, "update customer set name = 'x'").await;
    }
    goes_back(&client, "a").await;
    simple(&client, "commit").await;
    assert_eq!(lines(&wired).await - before, 1);
    wired.stop().await;
}

async fn lines(wired: &Wired) -> i64 {
    wired.world.count("select count(*) from raw._svc_dirty.changes").await
}

#[tokio::test]
async fn a_copy_before_a_savepoint_is_done_again() {
    use bytes::Bytes;
    use futures::SinkExt;
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin").await;
    let sink = client.copy_in("copy customer (id, name) from stdin").await.unwrap();
    let mut sink = Box::pin(sink);
    sink.send(Bytes::from_static(b"8\tYve\n9\tZoe\n")).await.unwrap();
    sink.as_mut().finish().await.unwrap();
    simple(&client, "savepoint a; delete from customer where id > 3").await;
    goes_back(&client, "a").await;
    assert_eq!(rows(&client).await, ["1|Ada", "2|Bob", "3|Cleo", "8|Yve", "9|Zoe", "(5)"]);
    simple(&client, "commit").await;
    wired.stop().await;
}

#[tokio::test]
async fn a_driver_nests_transactions() {
    let wired = wired().await;
    let mut client = wired.owner().await;
    let mut outer = client.transaction().await.unwrap();
    outer.execute("insert into customer (id, name) values (7, 'a')", &[]).await.unwrap();
    let inner = outer.transaction().await.unwrap();
    inner.execute("insert into customer (id, name) values (8, 'b')", &[]).await.unwrap();
    inner.rollback().await.unwrap();
    let mut inner = outer.transaction().await.unwrap();
    let innermost = inner.transaction().await.unwrap();
    innermost.execute("insert into customer (id) select cast(name as integer) from customer", &[]).await.unwrap_err();
    innermost.rollback().await.unwrap();
    inner.execute("insert into customer (id, name) values ($1, 'c')", &[&9]).await.unwrap();
    inner.commit().await.unwrap();
    outer.commit().await.unwrap();
    assert_eq!(rows(&client).await, ["1|Ada", "2|Bob", "3|Cleo", "7|a", "9|c", "(5)"]);
    wired.stop().await;
}

/// Behind other rules leads a savepoint only where they let through all that was before it.
#[tokio::test]
async fn the_way_back_is_judged_by_the_rules_of_now() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin; insert into customer (id, name) values (9, 'Zoe'); savepoint a").await;
    simple(&client, "create temp table copied as select ssn from customer; savepoint b").await;
    wired.world.change(|rules| rules.policies.push(masking("customer", "ssn", MaskFunction::Full)));
    assert_eq!(refused(&client, "select * from copied").await.code().code(), "40001");
    assert_eq!(refused(&client, "rollback to b").await.code().code(), "40001");
    goes_back(&client, "a").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["4", "(1)"]);
    simple(&client, "commit").await;
    assert_eq!(rows(&client).await, ["1|Ada", "2|Bob", "3|Cleo", "9|Zoe", "(4)"]);
    wired.stop().await;
}

#[tokio::test]
async fn a_branch_goes_back_too() {
    let wired = wired().await;
    let client = wired.owner().await;
    let made = done(&router(&wired.world), "create_branch", serde_json::json!({"tables": ["customer"]})).await;
    simple(&client, &format!("set search_path = branch_{}", made["branch_id"].as_str().unwrap())).await;
    simple(&client, "begin; insert into customer (id, name) values (9, 'Zoe'); savepoint a; delete from customer")
        .await;
    goes_back(&client, "a").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["4", "(1)"]);
    simple(&client, "commit").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["4", "(1)"]);
    wired.stop().await;
}
