//! Rows a few at a time: portals and cursors.

use super::{refused, simple, wired};

#[tokio::test]
async fn a_portal_gives_a_few_rows_at_a_time_beside_other_statements() {
    let wired = wired().await;
    let mut client = wired.owner().await;
    let transaction = client.transaction().await.unwrap();
    let portal = transaction.bind("select * from range(5000) t(n)", &[]).await.unwrap();
    let first = transaction.query_portal(&portal, 2_000).await.unwrap();
    assert_eq!(transaction.query_one("select 42", &[]).await.unwrap().get::<_, i32>(0), 42);
    let rest = transaction.query_portal(&portal, 0).await.unwrap();
    assert_eq!((first.len(), rest.len()), (2_000, 3_000));
    assert_eq!(rest[0].get::<_, i64>(0), 2_000);
    transaction.commit().await.unwrap();
    wired.stop().await;
}

#[tokio::test]
async fn a_cursor_is_declared_fetched_and_closed() {
    let wired = wired().await;
    let client = wired.owner().await;
    assert_eq!(refused(&client, "declare c cursor for select 1").await.code().code(), "25P01");
    simple(&client, "begin; declare c cursor for select n from range(5) t(n)").await;
    assert_eq!(simple(&client, "fetch forward 2 from c").await, ["0", "1", "(2)"]);
    assert_eq!(simple(&client, "fetch 0 from c").await, ["1", "(1)"], "the current row again");
    assert_eq!(simple(&client, "move 1 from c; fetch all from c").await, ["(1)", "3", "4", "(2)"]);
    assert_eq!(simple(&client, "fetch 0 from c").await, ["(0)"], "behind the last");
    simple(&client, "close c").await;
    assert_eq!(refused(&client, "fetch c").await.code().code(), "34000");
    simple(&client, "rollback; begin").await;
    assert_eq!(refused(&client, "declare w cursor for delete from customer").await.code().code(), "0A000");
    wired.stop().await;
}

#[tokio::test]
async fn rows_that_nobody_has_fetched_of_a_cursor_are_not_counted() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin; declare c cursor for select n from range(100000) t(n)").await;
    assert_eq!(simple(&client, "fetch 3000 from c").await.len(), 3_001);
    simple(&client, "close c").await;
    assert_eq!(wired.world.last().1.rows_returned, 3_000);
    wired.stop().await;
}

#[tokio::test]
async fn a_cursor_with_hold_outlives_its_transaction() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "declare alone cursor with hold for select n from range(3) t(n)").await;
    assert_eq!(simple(&client, "fetch 1 from alone").await, ["0", "(1)"]);
    simple(&client, "begin; declare held cursor with hold for select n from range(5000) t(n); fetch 2 from held").await;
    assert_eq!(simple(&client, "select 1; fetch 1 from held; commit").await, ["1", "(1)", "2", "(1)", "(0)"]);
    assert_eq!(simple(&client, "fetch all from held").await.len(), 4_998);
    assert_eq!(simple(&client, "fetch all from alone; close alone; close held").await, ["1", "2", "(2)", "(0)", "(0)"]);
    simple(&client, "begin; declare lost cursor with hold for select 1; rollback").await;
    assert_eq!(refused(&client, "fetch lost").await.code().code(), "34000");
    wired.stop().await;
}
