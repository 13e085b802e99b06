//! First messages of drivers and tools, and how their parameters are described and sent.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_postgres::types::Type;

use super::{refused, simple, wired};

#[tokio::test]
async fn a_message_that_there_is_not_ends_the_connection() {
    let wired = wired().await;
    let mut stream = wired.knock().await;
    let password = dataplane::testing::demo_key();
    stream.write_all(b"\x00\x00\x00\x14\x00\x03\x00\x00user\0agent\0\0").await.unwrap();
    let length = u32::try_from(password.len() + 5).unwrap().to_be_bytes();
    stream.write_all(&[b"p".as_slice(), &length, password.as_bytes(), b"\0y\x00\x00\x00\x04"].concat()).await.unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).await.unwrap();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("SFATAL") && said.contains("C08P01"), "{said:?}");
    wired.stop().await;
}

#[tokio::test]
async fn a_parameter_has_the_type_of_what_it_is_calculated_with() {
    let wired = wired().await;
    let client = wired.owner().await;
    let sql =
        "select id + $1 as k, greatest(id, $2) as g, coalesce($3, id) as c, name from customer order by id limit 1";
    let statement = client.prepare(sql).await.unwrap();
    assert_eq!(statement.params(), [Type::INT4, Type::INT4, Type::INT4]);
    let kinds: Vec<_> = statement.columns().iter().map(|column| column.type_().clone()).collect();
    assert_eq!(kinds, [Type::INT4, Type::INT4, Type::INT4, Type::TEXT]);
    let row = client.query_one(&statement, &[&3_i32, &70_i32, &None::<i32>]).await.unwrap();
    let id: i32 = row.get(2);
    assert_eq!((row.get::<_, i32>(0), row.get::<_, i32>(1)), (id + 3, 70));
    wired.stop().await;
}

#[tokio::test]
async fn a_declared_type_decides() {
    let wired = wired().await;
    let client = wired.owner().await;
    let kinds = |statement: &tokio_postgres::Statement| {
        statement.columns().iter().map(|column| column.type_().clone()).collect::<Vec<_>>()
    };
    let dated = client.prepare_typed("select $1 as d, $1 + interval '1 month' as m", &[Type::DATE]).await.unwrap();
    assert_eq!(kinds(&dated), [Type::DATE, Type::TIMESTAMP]);
    let number = client.prepare("select $1::numeric as n, $1::numeric * 2 as m").await.unwrap();
    assert_eq!((number.params(), kinds(&number)), (&[Type::NUMERIC][..], vec![Type::NUMERIC, Type::NUMERIC]));
    let types = [Type::INT4, Type::INT4, Type::BOOL];
    let statement = client.prepare_typed("select $1 + $2 as s, $3 as t", &types).await.unwrap();
    assert_eq!(kinds(&statement), [Type::INT4, Type::BOOL]);
    let row = client.query_one(&statement, &[&2_i32, &3_i32, &true]).await.unwrap();
    assert_eq!((row.get::<_, i32>(0), row.get::<_, bool>(1)), (5, true));
    wired.stop().await;
}

#[tokio::test]
async fn statements_are_prepared_and_executed_by_sql() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "prepare p (int, text) as select $1 + 1, $2 || '!'").await;
    assert_eq!(simple(&client, "execute p(3, 'a')").await, ["4|a!", "(1)"]);
    assert_eq!(simple(&client, "execute p(-3, null)").await, ["-2|NULL", "(1)"]);
    simple(&client, "prepare q as select count(*) from customer where id = $1").await;
    assert_eq!(simple(&client, "execute q(1)").await, ["1", "(1)"]);
    assert_eq!(refused(&client, "execute p(1)").await.code().code(), "42601");
    assert_eq!(refused(&client, "execute p('x', 'a')").await.code().code(), "22P02");
    assert_eq!(refused(&client, "execute q((select 1))").await.code().code(), "0A000");
    assert_eq!(refused(&client, "prepare p as select 1").await.code().code(), "42P05");
    assert_eq!(refused(&client, "prepare r (nothing) as select 1").await.code().code(), "42704");
    simple(&client, "deallocate p").await;
    assert_eq!(refused(&client, "execute p(1, 'a')").await.code().code(), "26000");
    wired.stop().await;
}

#[tokio::test]
async fn what_tools_set_first_is_taken() {
    let wired = wired().await;
    let client = wired.owner().await;
    for (set, zone) in [
        ("set timezone interval '+00:00' hour to minute", "UTC"),
        ("set time zone interval '-07:00' hour to minute", "Etc/GMT+7"),
        ("set time zone -7", "Etc/GMT+7"),
        ("set time zone 'Europe/Berlin'", "Europe/Berlin"),
        ("set time zone local", "UTC"),
    ] {
        simple(&client, set).await;
        assert_eq!(simple(&client, "show timezone").await, [zone, "(0)"], "{set}");
    }
    simple(&client, "set role none; reset role; reset session authorization; set session authorization default").await;
    assert_eq!(refused(&client, "set role admin").await.code().code(), "42501");
    assert_eq!(refused(&client, "set time zone 5.5").await.code().code(), "22023");
    assert_eq!(simple(&client, "select * from current_schema()").await, ["main", "(1)"]);
    assert_eq!(simple(&client, "select * from unnest(current_schemas(true))").await, ["pg_catalog", "main", "(2)"]);
    assert_eq!(
        simple(&client, "select case when count(*) > 0 then 1 end from pg_replication_slots").await,
        ["NULL", "(1)"]
    );
    wired.stop().await;
}

#[tokio::test]
async fn every_schema_of_the_path_is_searched_and_the_first_is_home() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create schema app; create table app.own (a int); set search_path to app, main").await;
    assert_eq!(simple(&client, "select count(*) from own, (select 1 from customer limit 1) c").await, ["0", "(1)"]);
    simple(&client, "create view both_of as select id from customer where id = 1; create table made (b int)").await;
    assert_eq!(
        simple(&client, "select table_schema from information_schema.tables where table_name = 'made'").await,
        ["app", "(1)"]
    );
    simple(&client, "set search_path to main").await;
    assert_eq!(simple(&client, "select * from app.both_of").await, ["1", "(1)"], "a view keeps its path");
    simple(&client, "create table app.customer (id int); set search_path to app, main").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["0", "(1)"], "the first that has it");
    simple(&client, "set search_path to main, app").await;
    assert_ne!(simple(&client, "select count(*) from customer").await, ["0", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn columns_that_count_are_declared_as_in_postgresql() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create table ser (id serial primary key, v text)").await;
    simple(&client, "insert into ser (v) values ('a'), ('b')").await;
    assert_eq!(simple(&client, "select id, v from ser order by id").await, ["1|a", "2|b", "(2)"]);
    simple(
        &client,
        "create table iden (id bigint generated by default as identity (start with 5 increment by 2), v int)",
    )
    .await;
    simple(&client, "insert into iden (v) values (0), (0)").await;
    assert_eq!(simple(&client, "select id from iden order by id").await, ["5", "7", "(2)"]);
    wired.stop().await;
}
