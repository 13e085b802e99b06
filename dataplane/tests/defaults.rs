//! Defaults of columns, literal and computed, in a new table and in one that has rows.

use contract::Code;

use crate::pgwire::{simple, wired};
use crate::world::world;

#[tokio::test]
async fn a_computed_default_fills_the_rows_that_are_there_and_those_to_come() {
    let world = world().await;
    for sql in [
        "create table parcel (id integer, label varchar default lower('NEW'))",
        "insert into parcel (id) values (1), (2)",
        "alter table parcel add column place varchar default upper('dock')",
        "alter table parcel add column seen timestamp default current_timestamp() comment 'first seen'",
        "alter table parcel add column left_on date default current_date, weight integer default 2 + 3",
        "alter table parcel add column if not exists place varchar default upper('other')",
        "alter table parcel alter column label set default upper('old')",
        "insert into parcel (id) values (3)",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let rows = "select id, label, place, seen is not null, left_on is not null, weight from parcel order by id";
    let expected = r#"[1,"new","DOCK",true,true,5],[2,"new","DOCK",true,true,5],[3,"OLD","DOCK",true,true,5]"#;
    assert_eq!(world.run(rows).await.unwrap().json, expected);
    let again = world.run("alter table parcel add column place varchar default lower('X')").await.unwrap_err();
    assert_eq!(
        (again.code(), again.to_string().as_str()),
        (Code::Conflict, "column place of main.parcel already exists")
    );
    assert_eq!(world.run(rows).await.unwrap().json, expected, "a column that is there stays as it is");
    world.stop().await;
}

#[tokio::test]
async fn a_computed_default_is_undone_with_its_transaction() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create table parcel (id integer)").await;
    simple(&client, "insert into parcel values (1)").await;
    for (end, columns) in [("rollback", 1), ("commit", 3)] {
        simple(&client, "begin").await;
        simple(&client, "alter table parcel add column place varchar default upper('dock')").await;
        simple(&client, "alter table parcel add column weight integer").await;
        simple(&client, "insert into parcel (id) values (2)").await;
        simple(&client, end).await;
        let named = "select count(*) from information_schema.columns where table_name = 'parcel'";
        let count: i64 = client.query_one(named, &[]).await.unwrap().get(0);
        assert_eq!(count, columns, "{end}");
    }
    let placed = "select count(*) from parcel where place = 'DOCK'";
    let count: i64 = client.query_one(placed, &[]).await.unwrap().get(0);
    assert_eq!(count, 2);
    wired.stop().await;
}
