//! Keys that are given with a branch, for tables that have none of their own.

use axum::Router;
use contract::Role;
use contract::policy::MaskFunction;
use dataplane::testing::{analyst_key, denying, filtering, masking};
use serde_json::{Value, json};

use super::{merge, on};
use crate::agents_router::{router, tool};
use crate::memory::{done, refused};
use crate::world::{World, world};

/// Parts are told apart by two columns; nothing in the table says so.
async fn parts() -> (World, Router) {
    let world = world().await;
    for sql in [
        "create table part (\"Site\" varchar, sku integer, amount integer, note varchar)",
        "insert into part values ('A', 1, 10, 'x'), ('A', 2, 20, 'x'), ('B', 1, 30, 'x')",
        "create table stock (sku integer primary key)",
    ] {
        world.run(sql).await.unwrap();
    }
    let router = router(&world);
    (world, router)
}

async fn branch(router: &Router) -> String {
    let given = json!({"tables": ["part"], "keys": {"PART": ["SKU", "site"]}});
    done(router, "create_branch", given).await["branch_id"].as_str().unwrap().to_owned()
}

async fn rows(world: &World) -> String {
    world.run("select * from part order by 1, 2, 3").await.unwrap().json
}

#[tokio::test]
async fn rows_are_told_apart_by_a_key_that_was_given() {
    let (world, router) = parts().await;
    let id = branch(&router).await;
    for sql in [
        "update part set amount = 11 where \"Site\" = 'A' and sku = 1",
        "update part set note = 'theirs' where \"Site\" = 'B'",
        "delete from part where \"Site\" = 'A' and sku = 2",
        "insert into part values ('C', 1, 40, 'x')",
    ] {
        on(&router, &id, sql).await;
    }
    world.run("update part set note = 'ours' where sku = 1").await.unwrap();
    let diff = done(&router, "branch_diff", json!({"branch_id": id})).await;
    assert_eq!(diff["tables"]["main.part"], json!({"added": 1, "changed": 2, "deleted": 1}));
    let merged = merge(&router, &id, json!({"strategy": "fail_on_conflict"})).await;
    let conflict = &merged["conflicts"][0];
    assert_eq!((&merged["conflicts_total"], &conflict["kind"]), (&json!(1), &json!("divergent_update")), "{merged}");
    assert_eq!((&conflict["key"], &conflict["columns"]), (&json!({"sku": 1, "Site": "B"}), &json!(["note"])));
    let merged = merge(&router, &id, json!({})).await;
    assert_eq!((&merged["status"], &merged["rows_affected"]), (&json!("completed"), &json!(4)), "{merged}");
    assert_eq!(rows(&world).await, r#"["A",1,11,"ours"],["B",1,30,"theirs"],["C",1,40,"x"]"#);
    world.stop().await;
}

#[tokio::test]
async fn a_key_that_cannot_be_one_is_refused_by_its_name() {
    let (world, router) = parts().await;
    for (given, says) in [
        (json!({"part": ["sku"]}), "(sku) does not tell the rows of main.part apart"),
        (json!({"part": ["note", "amount", "absent"]}), "main.part has no column absent"),
        (json!({"part": ["Site", "sku", "SITE"]}), "column SITE is named twice"),
        (json!({"stock": ["sku"]}), "the primary key of main.stock tells its rows apart"),
        (json!({"customer": ["id"]}), "the branch has no table main.customer"),
        (json!({"part": []}), "from 1 to"),
    ] {
        let refusal = refused(&router, "create_branch", json!({"tables": ["part", "stock"], "keys": given})).await;
        assert_eq!(
            (&refusal["status"], &refusal["code"]),
            (&json!(400), &json!("SVC_ERR_400_INVALID_PARAMS")),
            "{given}"
        );
        let field = refusal["details"]["field"].as_str().unwrap();
        assert!(field.starts_with("keys."), "{given}: {refusal}");
        assert!(refusal["message"].as_str().unwrap().contains(says), "{given}: {refusal}");
    }
    world.run("insert into part values ('D', null, 1, 'x')").await.unwrap();
    let null = refused(&router, "create_branch", json!({"tables": ["part"], "keys": {"part": ["Site", "sku"]}})).await;
    assert!(null["message"].as_str().unwrap().contains("NULL"), "{null}");
    let listed = done(&router, "branch_list", json!({})).await;
    assert_eq!(listed["branches"], json!([]), "nothing was made");
    world.stop().await;
}

#[tokio::test]
async fn a_key_that_holds_no_more_merges_nothing_and_doubles_nothing() {
    let (world, router) = parts().await;
    let breaking = [
        "insert into part values ('A', 1, 10, 'x')",
        "insert into part values ('A', 1, 99, 'y')",
        "update part set sku = 1",
        "insert into part values ('A', null, 1, 'x')",
        "update part set \"Site\" = null where sku = 2",
    ];
    let before = rows(&world).await;
    for sql in breaking {
        for side in ["branch", "mainline"] {
            let id = branch(&router).await;
            on(&router, &id, "update part set note = 'theirs' where \"Site\" = 'B'").await;
            if side == "branch" {
                on(&router, &id, sql).await;
            } else {
                world.run(sql).await.unwrap();
            }
            let mainline = rows(&world).await;
            for strategy in ["branch_wins", "main_wins", "fail_on_conflict", "manual"] {
                for dry_run in [true, false] {
                    let how = json!({"branch_id": id, "strategy": strategy, "dry_run": dry_run});
                    let refusal = refused(&router, "merge_branch", how).await;
                    assert_eq!(
                        (&refusal["status"], &refusal["code"]),
                        (&json!(409), &json!("CONFLICT")),
                        "{sql} {side}"
                    );
                    assert!(refusal["message"].as_str().unwrap().contains(&format!("on the {side}")), "{refusal}");
                }
            }
            assert_eq!(rows(&world).await, mainline, "{sql} {side}");
            done(&router, "branch_diff", json!({"branch_id": id})).await;
            done(&router, "discard_branch", json!({"branch_id": id})).await;
            world.run("delete from part").await.unwrap();
            world.run("insert into part values ('A', 1, 10, 'x'), ('A', 2, 20, 'x'), ('B', 1, 30, 'x')").await.unwrap();
            assert_eq!(rows(&world).await, before);
        }
    }
    // What was put right merges; what the branch has not touched is nobody's key.
    let id = branch(&router).await;
    on(&router, &id, "insert into part values ('A', 1, 99, 'y')").await;
    on(&router, &id, "delete from part where amount = 10").await;
    assert_eq!(merge(&router, &id, json!({})).await["status"], "completed");
    assert_eq!(rows(&world).await, r#"["A",1,99,"y"],["A",2,20,"x"],["B",1,30,"x"]"#);
    let id = branch(&router).await;
    world.run("update part set sku = 1").await.unwrap();
    assert_eq!(merge(&router, &id, json!({})).await["status"], "completed", "nothing is changed there");
    world.stop().await;
}

#[tokio::test]
async fn a_column_of_the_key_that_goes_on_the_mainline_is_a_conflict_of_schemas() {
    let (world, router) = parts().await;
    for sql in
        ["alter table part drop column sku", "alter table part rename column \"Site\" to place", "drop table part"]
    {
        let id = branch(&router).await;
        on(&router, &id, "update part set note = 'theirs'").await;
        world.run(sql).await.unwrap();
        let merged = merge(&router, &id, json!({})).await;
        assert_eq!(
            (&merged["status"], &merged["conflicts"][0]["kind"]),
            (&json!("conflicts"), &json!("schema")),
            "{sql}"
        );
        done(&router, "discard_branch", json!({"branch_id": id})).await;
        world.run("drop table if exists part").await.unwrap();
        world.run("create table part (\"Site\" varchar, sku integer, amount integer, note varchar)").await.unwrap();
        world.run("insert into part values ('A', 1, 10, 'x')").await.unwrap();
    }
    world.stop().await;
}

#[tokio::test]
async fn without_tables_a_branch_has_all_that_its_maker_may_see() {
    let (world, router) = parts().await;
    world.change(|rules| {
        rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer;
        rules.abac_policies = vec![denying("stock", &[Role::Owner])];
    });
    for sql in ["create schema sales", "create table sales.offer (id integer)", "create view seen as select 1 as one"] {
        world.run(sql).await.unwrap();
    }
    let all = done(&router, "create_branch", json!({})).await;
    assert_eq!(all["tables"], json!(["main.customer", "main.part", "main.stock", "sales.offer"]), "{all}");
    let (theirs, is_error) = tool(&router, analyst_key(), "create_branch", json!({"keys": {"customer": ["id"]}})).await;
    assert!(!is_error, "{theirs}");
    assert_eq!(theirs["tables"], json!(["main.customer", "main.part", "sales.offer"]), "{theirs}");
    let (unseen, _) = tool(&router, analyst_key(), "create_branch", json!({"keys": {"stock": ["sku"]}})).await;
    assert!(unseen["error"]["message"].as_str().unwrap().contains("the branch has no table main.stock"), "{unseen}");
    world.run("create table sales.part (id integer)").await.unwrap();
    let twice = refused(&router, "create_branch", json!({})).await;
    assert!(twice["message"].as_str().unwrap().contains("main.part"), "{twice}");
    world.stop().await;
}

/// A merge is as strict with a given key as without one: no choice of columns makes it tell of what is masked or hidden.
#[tokio::test]
async fn a_given_key_opens_no_way_around_masks_and_filters() {
    let (world, router) = parts().await;
    world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer);
    let developer = async |name: &'static str, arguments: Value| tool(&router, analyst_key(), name, arguments).await;
    let with_key = |columns: &[&str]| json!({"tables": ["part"], "keys": {"part": columns}});
    world.change(|rules| rules.policies = vec![masking("part", "amount", MaskFunction::Full)]);
    for columns in [&["amount"][..], &["Site", "AMOUNT"]] {
        let (refusal, is_error) = developer("create_branch", with_key(columns)).await;
        assert!(is_error && refusal["error"]["code"] == "POLICY_DENIED", "{columns:?}: {refusal}");
    }
    // The two rows swap their keys. Whether that changes the masked column is told as little as of a table without one.
    for amount in [10, 20] {
        world.run(&format!("update part set amount = {amount} where \"Site\" = 'A' and sku = 1")).await.unwrap();
        let mut told = Vec::new();
        for made in [with_key(&["Site", "sku"]), json!({"tables": ["part"]})] {
            let (made, _) = developer("create_branch", made).await;
            let id = made["branch_id"].clone();
            let swap = json!({"branch_id": id, "sql": "update part set sku = 3 - sku where \"Site\" = 'A'"});
            assert!(!developer("branch_query", swap).await.1);
            let (diff, _) = developer("branch_diff", json!({"branch_id": id})).await;
            let (rows, _) = developer("branch_changes", json!({"branch_id": id, "table": "part"})).await;
            let (merged, _) = developer("merge_branch", json!({"branch_id": id})).await;
            told.push((
                diff["tables"].clone(),
                rows["rows"].clone(),
                merged["status"].clone(),
                merged["error"]["message"].clone(),
            ));
        }
        assert_eq!(told[0], told[1], "{amount}");
        assert!(amount == 20 || told[0].3.as_str().unwrap().contains("masked columns"), "{told:?}");
    }
    world.change(|rules| rules.policies = vec![filtering("part", "\"Site\" = 'A'")]);
    let (refusal, is_error) = developer("create_branch", with_key(&["Site", "sku"])).await;
    assert!(is_error && refusal["error"]["message"].as_str().unwrap().contains("hides rows"), "{refusal}");
    world.stop().await;
}
