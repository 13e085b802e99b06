//! Searches in FROM, and the tables with their sizes: no more than the caller sees.

use contract::policy::MaskFunction;
use dataplane::testing::{filtering, masking};
use serde_json::{Value, json};

use crate::world::{Got, world};

fn rows(got: &Got) -> Value {
    serde_json::from_str(&format!("[{}]", got.json)).unwrap_or_else(|error| panic!("{error}: {}", got.json))
}

#[tokio::test]
async fn a_search_finds_what_its_caller_sees_and_nothing_else() {
    let world = world().await;
    world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    let cases = [
        ("select count(*) from svc_context('customer', '1120')", 1, 0),
        ("select count(*) from any_context('main.customer', 'BOB')", 1, 0),
        ("select count(*) from svc_context('customer', 'cleo', 5)", 1, 1),
        ("select count(*) from svc_context('customer', 'region name ssn')", 0, 0),
    ];
    for (sql, owner, analyst) in cases {
        assert_eq!(rows(&world.run(sql).await.unwrap()), json!([[owner]]), "{sql}");
        assert_eq!(rows(&world.analyst(sql).await.unwrap()), json!([[analyst]]), "{sql}");
    }
    let found = rows(&world.analyst("select * from svc_context('customer', 'cleo')").await.unwrap());
    assert_eq!(found, rows(&world.analyst("select * from customer where name = 'Cleo'").await.unwrap()));
    assert_eq!(world.last().0.tables_accessed, ["main.customer"]);
    world.stop().await;
}

#[tokio::test]
async fn a_word_is_found_whole_and_behind_any_mark() {
    let world = world().await;
    let made = "create table note (id integer, kind varchar, text varchar)";
    world.run(made).await.unwrap();
    for (id, text) in [
        (1, "the cart is late"),
        (2, "a cartoon"),
        (3, "art"),
        (4, "line one\nart on the next"),
        (5, "C:\\new\\art.txt says \"art\": yes"),
        (6, "我每天早上喝咖啡"),
        (7, "金价AI上涨"),
        (8, "Größe, ART!"),
    ] {
        let text = text.replace('\'', "''");
        world.run(&format!("insert into note values ({id}, 'artful', '{text}')")).await.unwrap();
    }
    for (words, expected) in [
        ("art", json!([[3], [4], [5], [8]])),
        ("car", json!([])),
        ("new", json!([[5]])),
        ("next", json!([[4]])),
        ("咖啡", json!([[6]])),
        ("ai", json!([[7]])),
        ("größe", json!([[8]])),
        ("kind text id", json!([])),
    ] {
        let sql = format!("select id from svc_context('note', '{words}') order by id");
        let got = world.run(&sql).await.unwrap();
        assert_eq!((rows(&got), &got.answer.warnings), (expected, &vec![]), "{words}");
    }
    world.stop().await;
}

#[tokio::test]
async fn vectors_are_found_by_their_direction() {
    let world = world().await;
    world.run("create table docs as select 1 as id, [1.0, 0.0]::vector(float, 2) as v").await.unwrap();
    world.run("insert into docs select 2, [0.0, 1.0]::vector(float, 2)").await.unwrap();
    world.run("insert into docs select 3, null").await.unwrap();
    let found = rows(&world.run("select id from svc_rag_context('docs', 'V', [0.1, 9], 5)").await.unwrap());
    assert_eq!(found, json!([[2], [1]]));
    world.stop().await;
}

#[tokio::test]
async fn tables_have_a_size_where_no_row_of_them_is_hidden() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![filtering("customer", "region = {region}")]);
    let sizes = "select table_schema, column_count > 0, estimated_size is null from duckdb_tables() \
                 where table_name = 'CUSTOMER' order by estimated_size desc";
    assert_eq!(rows(&world.run(sizes).await.unwrap()), json!([["main", true, false]]));
    assert_eq!(rows(&world.analyst(sizes).await.unwrap()), json!([["main", true, true]]));
    world.stop().await;
}
