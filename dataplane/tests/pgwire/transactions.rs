//! Transactions: what of them stands, and what falls.

use super::{refused, simple, wired};

#[tokio::test]
async fn a_transaction_that_failed_takes_nothing_but_its_end() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin").await;
    simple(&client, "insert into customer (id, name) values (9, 'Zoe')").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["4", "(1)"]);
    refused(&client, "select * from nowhere").await;
    assert_eq!(refused(&client, "select 1").await.code().code(), "25P02");
    simple(&client, "commit").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["3", "(1)"]);
    simple(&client, "begin; insert into customer (id, name) values (9, 'Zoe'); commit").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["4", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn a_transaction_goes_back_to_a_savepoint_as_long_as_nothing_was_changed_since() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin; insert into customer (id, name) values (9, 'Zoe'); savepoint a; savepoint b").await;
    for wrong in ["select * from nowhere", "slct 1", "release c"] {
        refused(&client, wrong).await;
        assert_eq!(refused(&client, "select 1").await.code().code(), "25P02", "{wrong}");
        simple(&client, "rollback to b").await;
        assert_eq!(simple(&client, "select count(*) from customer").await, ["4", "(1)"], "{wrong}");
    }
    simple(&client, "release savepoint b").await;
    assert_eq!(refused(&client, "rollback to savepoint b").await.code().code(), "3B001");
    simple(&client, "rollback to a; commit").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["4", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn the_statements_of_one_query_stand_and_fall_together() {
    let wired = wired().await;
    let client = wired.owner().await;
    refused(&client, "insert into customer (id) values (7); select * from nowhere").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["3", "(1)"]);
    assert_eq!(
        simple(&client, "insert into customer (id) values (7); select 1; select count(*) from customer").await,
        ["(1)", "1", "(1)", "4", "(1)"]
    );
    wired.stop().await;
}

#[tokio::test]
async fn a_read_only_transaction_does_not_write() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin read only").await;
    assert_eq!(refused(&client, "insert into customer (id) values (9)").await.code().code(), "25006");
    simple(&client, "rollback").await;
    simple(&client, "insert into customer (id) values (9)").await;
    wired.stop().await;
}

/// The engine counts a row once for every other that it meets, and cannot delete one twice that this transaction made.
#[tokio::test]
async fn rows_with_keys_are_deleted_once_however_many_rows_they_meet() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create table lot (id integer primary key, n integer); create table gone (id integer)").await;
    simple(&client, "insert into lot values (1, 1), (2, 2); insert into gone values (1), (1), (3), (3)").await;
    simple(&client, "begin; insert into lot values (3, 3), (4, 4)").await;
    assert_eq!(simple(&client, "delete from lot using gone where gone.id = lot.id").await, ["(2)"]);
    assert_eq!(simple(&client, "delete from lot l using gone g where g.id = l.id").await, ["(0)"]);
    simple(&client, "insert into lot values (1, 5); commit").await;
    assert_eq!(simple(&client, "select id, n from lot order by id").await, ["1|5", "2|2", "4|4", "(3)"]);
    simple(&client, "begin; create temp table kept (id integer primary key); insert into kept values (3)").await;
    assert_eq!(simple(&client, "delete from kept using gone g where g.id = kept.id").await, ["(1)"]);
    simple(&client, "commit").await;
    wired.stop().await;
}
