//! Tables without a key: nothing tells equal rows apart, so a merge takes one side or asks.

use axum::Router;
use serde_json::{Value, json};

use super::{branch, merge, on, started};
use crate::memory::done;
use crate::world::World;

async fn note(world: &World) -> String {
    world.run("select text from note order by 1").await.unwrap().json
}

/// A branch of which both sides have changed the table by these statements.
async fn disputed(world: &World, router: &Router, theirs: &str, ours: &str) -> String {
    for sql in ["delete from note", "insert into note values ('x'), ('x'), ('y')"] {
        world.run(sql).await.unwrap();
    }
    let id = branch(router).await;
    on(router, &id, theirs).await;
    world.run(ours).await.unwrap();
    id
}

/// Pairs of changes after which nobody can tell what the rows of both sides come to.
const BOTH: [(&str, &str); 6] = [
    ("update note set text = 'z' where text = 'y'", "update note set text = 'w' where text = 'y'"),
    ("insert into note values ('z')", "insert into note values ('w')"),
    ("insert into note values ('z')", "insert into note values ('z')"),
    ("insert into note values ('x')", "delete from note where text = 'y'"),
    ("insert into note values (null)", "insert into note values (null)"),
    ("delete from note", "delete from note where text = 'x'"),
];

#[tokio::test]
async fn whoever_alone_has_changed_the_table_is_right() {
    let (world, router) = started().await;
    for (sql, left) in [
        ("update note set text = 'z' where text = 'x'", r#"["y"],["z"],["z"]"#),
        ("insert into note values ('x'), (null), (null)", r#"["x"],["x"],["x"],["y"],[null],[null]"#),
        ("delete from note where text = 'x'", r#"["y"]"#),
        ("delete from note", ""),
    ] {
        for strategy in ["branch_wins", "main_wins", "fail_on_conflict", "manual"] {
            for on_branch in [true, false] {
                for sql in ["delete from note", "insert into note values ('x'), ('x'), ('y')"] {
                    world.run(sql).await.unwrap();
                }
                let id = branch(&router).await;
                if on_branch {
                    on(&router, &id, sql).await;
                } else {
                    world.run(sql).await.unwrap();
                }
                let merged = merge(&router, &id, json!({"strategy": strategy})).await;
                let came = (&merged["status"], &merged["conflicts_total"]);
                assert_eq!(came, (&json!("completed"), &json!(0)), "{sql} {strategy} {on_branch}");
                assert_eq!(note(&world).await, left, "{sql} {strategy} {on_branch}");
            }
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn what_both_sides_have_changed_is_one_conflict_that_no_strategy_decides() {
    let (world, router) = started().await;
    for (theirs, ours) in BOTH {
        let id = disputed(&world, &router, theirs, ours).await;
        on(&router, &id, "update stock set amount = 11 where sku = 1").await;
        let before = note(&world).await;
        for strategy in ["branch_wins", "main_wins", "fail_on_conflict", "manual"] {
            let merged = merge(&router, &id, json!({"strategy": strategy})).await;
            let came = (&merged["status"], &merged["conflicts_total"], &merged["conflicts"][0]["kind"]);
            assert_eq!(came, (&json!("conflicts"), &json!(1), &json!("table")), "{theirs}; {ours}: {merged}");
            assert_eq!(merged["rows_affected"], 0);
            let stock = world.run("select amount from stock where sku = 1").await.unwrap().json;
            assert_eq!((note(&world).await, stock.as_str()), (before.clone(), "[10]"), "nothing is merged");
        }
        let dry = merge(&router, &id, json!({"dry_run": true})).await;
        assert_eq!((&dry["status"], &dry["conflicts_total"]), (&json!("dry_run"), &json!(1)), "{dry}");
        done(&router, "discard_branch", json!({"branch_id": id})).await;
    }
    world.stop().await;
}

#[tokio::test]
async fn somebody_decides_it_by_its_id() {
    let (world, router) = started().await;
    for (theirs, ours) in BOTH {
        for take in ["base", "ours", "theirs"] {
            let id = disputed(&world, &router, theirs, ours).await;
            let mainline = note(&world).await;
            let branch = on(&router, &id, "select text from note order by 1").await;
            let wanted = match take {
                "base" => r#"["x"],["x"],["y"]"#.to_owned(),
                "ours" => mainline,
                _ => {
                    let rows = branch.as_array().unwrap().iter().map(|row| json!([row["text"]]).to_string());
                    rows.collect::<Vec<_>>().join(",")
                }
            };
            let dry = merge(&router, &id, json!({"dry_run": true})).await;
            let again = merge(&router, &id, json!({"dry_run": true, "strategy": "main_wins"})).await;
            let conflict = &dry["conflicts"][0];
            assert_eq!(conflict["conflict_id"], again["conflicts"][0]["conflict_id"]);
            let decided = json!([{"conflict_id": conflict["conflict_id"], "take": take}]);
            let merged = merge(&router, &id, json!({"strategy": "manual", "resolutions": decided})).await;
            assert_eq!(merged["status"], "completed", "{theirs}; {ours}; {take}: {merged}");
            assert_eq!(note(&world).await, wanted, "{theirs}; {ours}; {take}");
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn what_was_decided_of_other_rows_decides_nothing() {
    let (world, router) = started().await;
    for later in ["insert into note values ('w')", "delete from note where text = 'y'"] {
        let id = disputed(&world, &router, BOTH[1].0, BOTH[1].1).await;
        let dry = merge(&router, &id, json!({"dry_run": true})).await;
        let decided = json!([{"conflict_id": dry["conflicts"][0]["conflict_id"], "take": "theirs"}]);
        world.run(later).await.unwrap();
        let before = note(&world).await;
        let merged = merge(&router, &id, json!({"strategy": "manual", "resolutions": decided})).await;
        assert_eq!(merged["status"], "conflicts", "{later}: {merged}");
        assert_eq!(note(&world).await, before, "{later}");
        done(&router, "discard_branch", json!({"branch_id": id})).await;
    }
    world.stop().await;
}

#[tokio::test]
async fn the_conflict_tells_how_many_rows_each_side_has_and_has_changed() {
    let (world, router) = started().await;
    let id = disputed(&world, &router, "delete from note where text = 'x'", "insert into note values ('x')").await;
    let dry = merge(&router, &id, json!({"dry_run": true})).await;
    let conflict = &dry["conflicts"][0];
    assert_eq!((&conflict["table"], &conflict["key"]), (&json!("main.note"), &json!({})), "{dry}");
    assert_eq!(conflict["base"], json!({"rows": 3}));
    assert_eq!(conflict["ours"], json!({"rows": 4, "added": 1, "deleted": 0}));
    assert_eq!(conflict["theirs"], json!({"rows": 1, "added": 0, "deleted": 2}));
    world.stop().await;
}

/// The conflicts of rows are as many as are told; without the table's, nobody could decide any.
#[tokio::test]
async fn a_table_is_told_of_before_rows() {
    let (world, router) = started().await;
    let rows: Vec<_> = (100..160).map(|sku| format!("({sku}, 0, 'M')")).collect();
    world.run(&format!("insert into stock values {}", rows.join(", "))).await.unwrap();
    let id = disputed(&world, &router, "insert into note values ('z')", "insert into note values ('w')").await;
    on(&router, &id, "update stock set amount = 1 where sku >= 100").await;
    world.run("update stock set amount = 2 where sku >= 100").await.unwrap();
    let dry = merge(&router, &id, json!({"dry_run": true})).await;
    let told = dry["conflicts"].as_array().unwrap();
    assert_eq!((dry["conflicts_total"].as_u64(), told.len()), (Some(61), 50), "{dry}");
    assert_eq!(told.iter().position(|one| one["kind"] == "table"), Some(0));
    world.stop().await;
}

/// As an analyst of the demo met it: the same row was changed on both sides, and was there twice afterwards.
#[tokio::test]
async fn a_row_that_both_sides_have_changed_is_never_there_twice() {
    let (world, router) = started().await;
    world.run("create table nation (nationkey integer, name varchar)").await.unwrap();
    world.run("insert into nation values (6, 'FRANCE'), (7, 'GERMANY')").await.unwrap();
    let nations = async || world.run("select nationkey, name from nation order by 1, 2").await.unwrap().json;
    for keys in [json!({}), json!({"nation": ["nationkey"]})] {
        let made = done(&router, "create_branch", json!({"tables": ["nation"], "keys": keys})).await;
        let id = made["branch_id"].as_str().unwrap();
        on(&router, id, "update nation set name = 'theirs' where nationkey = 7").await;
        world.run("update nation set name = 'ours' where nationkey = 7").await.unwrap();
        let merged = merge(&router, id, json!({"strategy": "fail_on_conflict"})).await;
        assert_eq!((&merged["status"], &merged["conflicts_total"]), (&json!("conflicts"), &json!(1)), "{merged}");
        assert_eq!(nations().await, r#"[6,"FRANCE"],[7,"ours"]"#, "{keys}");
        let resolutions = json!([{"conflict_id": merged["conflicts"][0]["conflict_id"], "take": "theirs"}]);
        merge(&router, id, json!({"strategy": "manual", "resolutions": resolutions})).await;
        assert_eq!(nations().await, r#"[6,"FRANCE"],[7,"theirs"]"#, "{keys}");
        world.run("update nation set name = 'GERMANY' where nationkey = 7").await.unwrap();
    }
    world.stop().await;
}

#[tokio::test]
async fn a_branch_warns_of_tables_without_a_key() {
    let (world, router) = started().await;
    let warnings = async |given: Value| done(&router, "create_branch", given).await["warnings"].clone();
    let warned = warnings(json!({"tables": ["stock", "note", "customer"]})).await;
    let warning = warned[0].as_str().unwrap();
    assert!(warning.contains("main.note, main.customer") && !warning.contains("main.stock"), "{warned}");
    assert_eq!(warnings(json!({"tables": ["stock"]})).await, json!([]));
    assert_eq!(warnings(json!({"tables": ["customer"], "keys": {"customer": ["id"]}})).await, json!([]));
    world.stop().await;
}
