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
    for wrong in ["select * from nowhere", "selec 1", "release c"] {
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
async fn what_was_changed_since_a_savepoint_cannot_be_taken_back_alone() {
    let wired = wired().await;
    let client = wired.owner().await;
    for since in ["insert into customer (id) values (9)", "create table fresh (a integer)", "delete from customer"] {
        simple(&client, &format!("begin; savepoint a; {since}")).await;
        let error = refused(&client, "rollback to a").await;
        assert_eq!((error.code().code(), error.detail()), ("0A000", Some("TRANSPILATION_ERROR")), "{since}");
        assert_eq!(refused(&client, "select 1").await.code().code(), "25P02", "{since}");
        simple(&client, "commit").await;
        assert_eq!(simple(&client, "select count(*) from customer").await, ["3", "(1)"], "{since}");
    }
    simple(&client, "begin; savepoint a").await;
    refused(&client, "insert into customer (id) select cast(name as integer) from customer").await;
    assert_eq!(refused(&client, "rollback to a").await.code().code(), "0A000");
    simple(&client, "rollback").await;
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
