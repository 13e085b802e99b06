//! The rows that a branch has changed, as they are shown before a merge.

use axum::Router;
use contract::Role;
use contract::policy::MaskFunction;
use dataplane::testing::{analyst_key, filtering, masking};
use serde_json::{Value, json};

use super::{branch, on, started};
use crate::agents_router::tool;
use crate::memory::{done, refused};

async fn changes(router: &Router, id: &str, table: &str) -> Value {
    done(router, "branch_changes", json!({"branch_id": id, "table": table})).await
}

#[tokio::test]
async fn each_changed_row_is_shown_as_it_was_and_as_it_is() {
    let (world, router) = started().await;
    let id = branch(&router).await;
    for sql in [
        "update stock set amount = null where sku = 1",
        "delete from stock where sku = 3",
        "insert into stock values (4, 40, 'D')",
        "delete from note where text = 'x'",
        "insert into note values ('z'), (null), (null)",
    ] {
        on(&router, &id, sql).await;
    }
    world.run("update stock set amount = 99").await.unwrap();
    world.run("delete from note").await.unwrap();
    let row = |sku: &str, amount: Value, place: &str| json!({"sku": sku, "amount": amount, "place": place});
    let stock = changes(&router, &id, "STOCK").await;
    assert_eq!(stock["truncated"], false);
    assert_eq!(
        stock["rows"],
        json!([
            {"change": "changed", "times": 1, "before": row("1", json!("10"), "A"), "after": row("1", Value::Null, "A")},
            {"change": "deleted", "times": 1, "before": row("3", json!("30"), "C"), "after": null},
            {"change": "added", "times": 1, "before": null, "after": row("4", json!("40"), "D")},
        ])
    );
    let note = changes(&router, &id, "main.note").await;
    let mut rows = note["rows"].as_array().unwrap().clone();
    rows.sort_by_key(ToString::to_string);
    let mut wanted = vec![
        json!({"change": "added", "times": 2, "before": null, "after": {"text": null}}),
        json!({"change": "added", "times": 1, "before": null, "after": {"text": "z"}}),
        json!({"change": "deleted", "times": 2, "before": {"text": "x"}, "after": null}),
    ];
    wanted.sort_by_key(ToString::to_string);
    assert_eq!(rows, wanted);
    assert_eq!(changes(&router, &id, "customer").await["rows"], json!([]));
    let absent = refused(&router, "branch_changes", json!({"branch_id": id, "table": "elsewhere"})).await;
    assert_eq!((&absent["status"], &absent["details"]["field"]), (&json!(400), &json!("table")), "{absent}");
    world.stop().await;
}

#[tokio::test]
async fn rows_and_values_are_cut_and_their_columns_may_be_named_anything() {
    let (world, router) = started().await;
    world.run("create table odd (n varchar, here varchar, c1 varchar, \"a \"\"b\" varchar)").await.unwrap();
    let id = done(&router, "create_branch", json!({"tables": ["odd"]})).await["branch_id"].as_str().unwrap().to_owned();
    let long = "é".repeat(501);
    on(&router, &id, &format!("insert into odd values ('{long}', 'h', 'c', 'b')")).await;
    let shown = changes(&router, &id, "odd").await;
    let after = &shown["rows"][0]["after"];
    assert_eq!(after["n"].as_str().unwrap().chars().count(), 500);
    assert_eq!((&after["here"], &after["c1"], &after["a \"b"]), (&json!("h"), &json!("c"), &json!("b")), "{shown}");
    let rows: Vec<_> = (0..101).map(|n| format!("('{n}', 'h', 'c', 'b')")).collect();
    on(&router, &id, &format!("insert into odd values {}", rows.join(", "))).await;
    let shown = changes(&router, &id, "odd").await;
    assert_eq!((shown["rows"].as_array().unwrap().len(), &shown["truncated"]), (100, &json!(true)));
    world.stop().await;
}

#[tokio::test]
async fn what_is_masked_or_hidden_is_not_shown_and_a_change_of_it_alone_neither() {
    let (world, router) = started().await;
    world.run("create table pay (id integer primary key, name varchar, salary integer)").await.unwrap();
    world.run("create table bag (name varchar, salary integer)").await.unwrap();
    for table in ["pay values (1, 'a', 10), (2, 'b', 20)", "bag values ('a', 10), ('b', 20)"] {
        world.run(&format!("insert into {table}")).await.unwrap();
    }
    world.change(|rules| {
        rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer;
        rules.policies =
            vec![masking("pay", "salary", MaskFunction::Full), masking("bag", "salary", MaskFunction::Full)];
    });
    let made = done(&router, "create_branch", json!({"tables": ["pay", "bag"]})).await;
    let id = made["branch_id"].as_str().unwrap();
    for table in ["pay", "bag"] {
        on(&router, id, &format!("update {table} set salary = 77 where name = 'a'")).await;
        on(&router, id, &format!("update {table} set name = 'B' where name = 'b'")).await;
    }
    let developer = async |table: &str| {
        tool(&router, analyst_key(), "branch_changes", json!({"branch_id": id, "table": table})).await
    };
    let (pay, _) = developer("pay").await;
    let row = |name: &str| json!({"id": "2", "name": name, "salary": "***"});
    assert_eq!(pay["rows"], json!([{"change": "changed", "times": 1, "before": row("b"), "after": row("B")}]), "{pay}");
    let (bag, _) = developer("bag").await;
    assert!(bag["rows"].as_array().unwrap().len() == 2 && !bag.to_string().contains("\"a\""), "{bag}");
    assert!(!bag.to_string().contains("77") && !bag.to_string().contains("20"), "{bag}");
    world.change(|rules| rules.policies = vec![masking("pay", "id", MaskFunction::Full)]);
    on(&router, id, "update pay set id = 9 where name = 'B'").await;
    let (pay, _) = developer("pay").await;
    let row = |name: &str, salary: &str| json!({"id": "***", "name": name, "salary": salary});
    let shown = pay["rows"].as_array().unwrap();
    assert_eq!(shown.len(), 4, "by what is seen alone: {pay}");
    assert!(shown.iter().any(|one| one["after"] == row("B", "20") && one["change"] == "added"), "{pay}");
    world.change(|rules| rules.policies = vec![filtering("pay", "name = 'a'")]);
    let (refusal, is_error) = developer("pay").await;
    assert!(is_error && refusal["error"]["message"].as_str().unwrap().contains("hides rows"), "{refusal}");
    world.stop().await;
}
