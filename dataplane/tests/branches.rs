//! Branches: isolation, merging, conflicts, governance, ends.

mod changed;
mod keyless;
mod keys;
mod model;

use std::sync::Arc;

use axum::Router;
use chrono::Duration;
use contract::capability::{Capabilities, Grant};
use contract::policy::MaskFunction;
use contract::policy::abac::{Action, Condition};
use contract::report::Body;
use contract::{Clock, Role, SystemClock, TestClock, Timestamp};
use dataplane::testing::{analyst_key, filtering, masking, rule, ruled};
use serde_json::{Value, json};

use crate::agents_router::{router, tool, tool_as};
use crate::memory::{done, refused};
use crate::pgwire::{simple, wired};
use crate::world::{World, world, world_at};

/// A table with a key, a table without one, and the router.
async fn started() -> (World, Router) {
    let world = world().await;
    for sql in [
        "create table stock (sku integer primary key, amount integer, place varchar)",
        "insert into stock values (1, 10, 'A'), (2, 20, 'B'), (3, 30, 'C')",
        "create table note (text varchar)",
        "insert into note values ('x'), ('x'), ('y')",
    ] {
        world.run(sql).await.unwrap();
    }
    let router = router(&world);
    (world, router)
}

async fn branch(router: &Router) -> String {
    let made = done(router, "create_branch", json!({"tables": ["stock", "note", "main.customer"]})).await;
    assert_eq!((&made["status"], &made["tables"][0]), (&json!("active"), &json!("main.stock")), "{made}");
    made["branch_id"].as_str().unwrap().to_owned()
}

async fn on(router: &Router, branch_id: &str, sql: &str) -> Value {
    done(router, "branch_query", json!({"branch_id": branch_id, "sql": sql})).await["rows"].clone()
}

async fn merge(router: &Router, branch_id: &str, more: Value) -> Value {
    let mut arguments = json!({"branch_id": branch_id});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    done(router, "merge_branch", arguments).await
}

async fn stock(world: &World) -> String {
    world.run("select sku, amount, place from stock order by sku").await.unwrap().json
}

#[tokio::test]
async fn a_branch_and_the_mainline_do_not_see_each_other_until_it_is_merged() {
    let (world, router) = started().await;
    let id = branch(&router).await;
    on(&router, &id, "update stock set amount = 11 where sku = 1").await;
    on(&router, &id, "insert into stock values (4, 40, 'D')").await;
    on(&router, &id, "delete from stock where sku = 3").await;
    on(&router, &id, "delete from note where text = 'y'").await;
    world.run("update stock set place = 'Z' where sku = 1").await.unwrap();
    let seen = on(&router, &id, "select s.sku, s.place from stock s join main.stock t using (sku) order by 1").await;
    assert_eq!(seen, json!([{"sku": 1, "place": "A"}, {"sku": 2, "place": "B"}, {"sku": 4, "place": "D"}]));
    assert_eq!(stock(&world).await, r#"[1,10,"Z"],[2,20,"B"],[3,30,"C"]"#);
    let diff = done(&router, "branch_diff", json!({"branch_id": id})).await;
    assert_eq!(diff["tables"]["main.stock"], json!({"added": 1, "changed": 1, "deleted": 1}), "{diff}");
    let dry = merge(&router, &id, json!({"dry_run": true})).await;
    assert_eq!(
        (&dry["status"], &dry["rows_affected"], &dry["conflicts_total"]),
        (&json!("dry_run"), &json!(0), &json!(0))
    );
    let merged = merge(&router, &id, json!({})).await;
    assert_eq!((&merged["status"], &merged["rows_affected"]), (&json!("completed"), &json!(4)), "{merged}");
    assert_eq!(merged["tables_merged"], json!(["main.stock", "main.note"]));
    assert_eq!(stock(&world).await, r#"[1,11,"Z"],[2,20,"B"],[4,40,"D"]"#, "one cell from each side");
    assert_eq!(world.run("select text from note order by 1").await.unwrap().json, r#"["x"],["x"]"#);
    let again = refused(&router, "merge_branch", json!({"branch_id": id})).await;
    assert_eq!((&again["status"], &again["details"]["reason"]), (&json!(409), &json!("merged")), "{again}");
    let kept = world.count("select count(*) from duckdb_schemas() where starts_with(schema_name, '_svc_b') and schema_name <> '_svc_branches'").await;
    assert_eq!(kept, 0, "nothing of it is left");
    let told = world.entries().into_iter().find_map(|entry| match entry.body {
        Body::BranchMerged(told) => Some(told),
        _ => None,
    });
    let told = told.expect("the control plane is told");
    assert_eq!((told.branch_id, told.rows_affected, told.strategy.as_str()), (id, 4, "branch_wins"));
    world.stop().await;
}

#[tokio::test]
async fn each_strategy_decides_a_conflict_its_own_way() {
    let (world, router) = started().await;
    let rows = |amount: i64| format!(r#"[1,{amount},"A"],[2,20,"B"],[3,30,"C"]"#);
    let cases = [
        (json!({"strategy": "fail_on_conflict"}), "conflicts", rows(12)),
        (json!({"strategy": "manual"}), "conflicts", rows(12)),
        (json!({"strategy": "manual", "take": "base"}), "completed", rows(10)),
        (json!({"strategy": "main_wins"}), "completed", rows(12)),
        (json!({"strategy": "branch_wins"}), "completed", rows(11)),
    ];
    for (mut how, status, left) in cases {
        world.run("update stock set amount = 10 where sku = 1").await.unwrap();
        let id = branch(&router).await;
        on(&router, &id, "update stock set amount = 11 where sku = 1").await;
        world.run("update stock set amount = 12 where sku = 1").await.unwrap();
        let seen = merge(&router, &id, json!({"dry_run": true, "strategy": "fail_on_conflict"})).await;
        let conflict = &seen["conflicts"][0];
        assert_eq!((&conflict["kind"], &conflict["key"]), (&json!("divergent_update"), &json!({"sku": 1})), "{seen}");
        assert_eq!(
            [&conflict["base"]["amount"], &conflict["ours"]["amount"], &conflict["theirs"]["amount"]],
            [&json!(10), &json!(12), &json!(11)]
        );
        assert_eq!(conflict["columns"], json!(["amount"]));
        if let Some(take) = how.as_object_mut().unwrap().remove("take") {
            how["resolutions"] = json!([{"conflict_id": conflict["conflict_id"], "take": take}]);
        }
        let merged = merge(&router, &id, how.clone()).await;
        assert_eq!((merged["status"].as_str(), stock(&world).await), (Some(status), left), "{how}");
        if status == "conflicts" {
            done(&router, "discard_branch", json!({"branch_id": id})).await;
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn what_governs_a_table_governs_its_copy() {
    let (world, router) = started().await;
    let id = branch(&router).await;
    world.change(|rules| {
        rules.policies = vec![masking("customer", "ssn", MaskFunction::Full), filtering("stock", "place = 'A'")];
    });
    let ask = |name: &'static str, arguments: Value| tool(&router, analyst_key(), name, arguments);
    let on = |sql: &'static str| json!({"branch_id": id, "sql": sql});
    let (seen, _) = ask("branch_query", on("select ssn from customer where id = 1")).await;
    assert_eq!((&seen["rows"], &seen["columns_masked"]), (&json!([{"ssn": "***"}]), &json!(["ssn"])), "{seen}");
    let (seen, _) = ask("branch_query", on("select count(*) as n from stock")).await;
    assert_eq!(seen["rows"], json!([{"n": 1}]));
    assert_eq!(world.last().0.tables_accessed, ["main.stock"]);
    for sql in ["select * from _svc_branches.branches", "create table t (x integer)", "drop table stock"] {
        let refusal = refused(&router, "branch_query", json!({"branch_id": id, "sql": sql})).await;
        assert!(matches!(refusal["status"].as_u64(), Some(400..=499)), "{sql}: {refusal}");
    }
    let elsewhere = format!("select * from _svc_branch_{id}.stock");
    assert!(world.run(&elsewhere).await.is_err(), "a copy has no name of its own");
    world.stop().await;
}

#[tokio::test]
async fn what_defines_is_refused_on_a_branch_by_its_name() {
    let (world, router) = started().await;
    let id = branch(&router).await;
    for (sql, what) in [
        ("create table t (x integer)", "create"),
        ("create table t as select * from stock", "create"),
        ("create view v as select * from stock", "create"),
        ("alter table stock add column colour varchar", "alter"),
        ("alter table stock rename column place to spot", "alter"),
        ("drop table stock", "drop"),
    ] {
        let refusal = refused(&router, "branch_query", json!({"branch_id": id, "sql": sql})).await;
        assert_eq!(
            (&refusal["status"], &refusal["details"]["reason"]),
            (&json!(422), &json!("branch")),
            "{sql}: {refusal}"
        );
        assert!(refusal["details"]["construct"].as_str().unwrap().eq_ignore_ascii_case(what), "{sql}: {refusal}");
        assert!(refusal["message"].as_str().unwrap().contains("define it on the mainline"), "{sql}: {refusal}");
    }
    assert_eq!(merge(&router, &id, json!({})).await["status"], "completed", "nothing has changed there");
    world.stop().await;
}

#[tokio::test]
async fn copy_into_is_refused_on_a_branch_by_its_name() {
    let (world, router) = started().await;
    world.run("create stage files").await.unwrap();
    let id = branch(&router).await;
    let copy = json!({"branch_id": id, "sql": "copy into note from @files"});
    let refusal = refused(&router, "branch_query", copy).await;
    assert_eq!(refusal["status"], 422, "{refusal}");
    assert!(refusal["message"].as_str().unwrap().contains("COPY INTO on a branch"), "{refusal}");
    let insert = json!({"branch_id": id, "sql": "insert into note select $1 from @files"});
    done(&router, "branch_query", insert).await;
    world.stop().await;
}

#[tokio::test]
async fn nobody_merges_what_is_hidden_from_them() {
    let (world, router) = started().await;
    world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer);
    let id = branch(&router).await;
    on(&router, &id, "update customer set ssn = 'forged' where id = 1").await;
    for (policy, hides) in [
        (filtering("note", "text = 'x'"), "rows"),
        (masking("customer", "ssn", MaskFunction::Full), "masked columns"),
        (filtering("elsewhere", "id in (select sku from stock)"), "reads table main.stock"),
    ] {
        world.change(|rules| rules.policies = vec![policy]);
        let (refusal, is_error) = tool(&router, analyst_key(), "merge_branch", json!({"branch_id": id})).await;
        let error = &refusal["error"];
        assert!(is_error && error["status"] == 403, "{refusal}");
        assert!(error["message"].as_str().unwrap().contains(hides), "{refusal}");
    }
    assert_eq!(merge(&router, &id, json!({})).await["status"], "completed", "who sees it all may");
    world.stop().await;
}

#[tokio::test]
async fn making_a_branch_is_judged_as_making_its_tables() {
    let (world, router) = started().await;
    world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer);
    let wanted = || json!({"tables": ["stock"]});
    let developer =
        async |agent: Option<&str>| tool_as(&router, (analyst_key(), agent), "create_branch", wanted()).await;
    for (condition, values, action) in [
        (Condition::OperationIs, &["create"], Action::Deny),
        (Condition::OperationIs, &["select"], Action::Deny),
        (Condition::TableIs, &["main.stock"], Action::ReadOnly),
    ] {
        world.change(|rules| rules.abac_policies = vec![ruled("p", vec![rule(condition.clone(), values, action)])]);
        let (denied, is_error) = developer(None).await;
        assert!(is_error && denied["error"]["code"] == "POLICY_DENIED", "{condition:?} {values:?}: {denied}");
    }
    world.change(|rules| rules.abac_policies.clear());
    let granted = |operations: &[&str], max_rows_per_query: Option<u64>| {
        let capabilities = Capabilities {
            allowed_tables: vec!["main.stock".to_owned()],
            allowed_operations: operations.iter().map(|word| (*word).to_owned()).collect(),
            max_queries_per_hour: None,
            max_rows_per_query,
            column_restrictions: [].into(),
        };
        let grant = Grant { grant_id: "g".into(), capabilities, expires_at: Timestamp::MAX_UTC };
        world.change(|rules| {
            rules.agent_capabilities.insert("bot".to_owned(), vec![grant]);
        });
    };
    for (operations, rows, reason) in [
        (&["select"][..], None, Some(Value::Null)),
        (&["create"], None, Some(Value::Null)),
        (&["select", "create"], Some(2), Some(json!("rows"))),
        (&["select", "create"], Some(3), None),
    ] {
        granted(operations, rows);
        let (made, is_error) = developer(Some("bot")).await;
        let refused = is_error.then(|| made["error"]["details"]["reason"].clone());
        assert_eq!(refused, reason, "{operations:?} {rows:?}: {made}");
        assert!(!is_error || made["error"]["code"] == "POLICY_DENIED", "{made}");
    }
    // Were hidden rows counted, the limit would tell how many there are.
    world.change(|rules| rules.policies = vec![filtering("stock", "place = 'A'")]);
    let (denied, _) = developer(Some("bot")).await;
    assert!(denied["error"]["message"].as_str().unwrap().contains("hides rows"), "{denied}");
    assert!(!developer(None).await.1, "without a limit of rows nobody counts");
    world.change(|rules| rules.organization.limits.storage_limit_gb = Some(1));
    world.ledger.storage.told(1_000_000_000);
    let full = refused(&router, "create_branch", wanted()).await;
    assert_eq!(full["details"]["quota"], "storage", "{full}");
    world.stop().await;
}

#[tokio::test]
async fn what_is_masked_on_the_mainline_decides_no_merge_and_stays() {
    let (world, router) = started().await;
    world.run("create table pay (id integer primary key, name varchar, salary integer)").await.unwrap();
    world.run("insert into pay values (1, 'a', 10), (2, 'b', 20), (3, 'c', 30)").await.unwrap();
    world.change(|rules| {
        rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer;
        rules.policies = vec![masking("pay", "salary", MaskFunction::Full)];
    });
    let developer = async |name: &'static str, arguments: Value| {
        let (told, is_error) = tool(&router, analyst_key(), name, arguments).await;
        assert!(!is_error, "{name}: {told}");
        told
    };
    let pay = async || world.run("select id, name, salary from pay order by id").await.unwrap().json;
    let id = developer("create_branch", json!({"tables": ["pay"]})).await["branch_id"].clone();
    for sql in ["update pay set name = 'x' where id = 1", "delete from pay where id = 2"] {
        developer("branch_query", json!({"branch_id": id, "sql": sql})).await;
    }
    on(&router, id.as_str().unwrap(), "insert into pay values (4, 'd', 40)").await;
    let dry = async |granularity: &str| {
        let how = json!({
            "branch_id": id, "dry_run": true, "strategy": "fail_on_conflict", "granularity": granularity,
        });
        developer("merge_branch", how).await
    };
    let before = [dry("row").await, dry("cell").await];
    for sql in [
        "update pay set salary = 11 where id = 1",
        "update pay set salary = 21 where id = 2",
        "insert into pay values (4, 'd', 41)",
    ] {
        world.run(sql).await.unwrap();
        for (before, granularity) in before.iter().zip(["row", "cell"]) {
            let after = dry(granularity).await;
            assert_eq!((&after["conflicts_total"], &after["conflicts"]), (&json!(0), &json!([])), "{sql}: {after}");
            assert_eq!(after["tables_merged"], before["tables_merged"]);
        }
    }
    let how = json!({"branch_id": id, "strategy": "fail_on_conflict", "granularity": "row"});
    assert_eq!(developer("merge_branch", how).await["status"], "completed");
    assert_eq!(pay().await, r#"[1,"x",11],[3,"c",30],[4,"d",41]"#, "the branch's name, the mainline's salary");
    // What they see is compared as ever.
    let id = developer("create_branch", json!({"tables": ["pay"]})).await["branch_id"].clone();
    developer("branch_query", json!({"branch_id": id, "sql": "update pay set name = 'y' where id = 1"})).await;
    world.run("update pay set name = 'z', salary = 12 where id = 1").await.unwrap();
    let how = json!({"branch_id": id, "granularity": "row"});
    let merged = developer("merge_branch", how).await;
    assert_eq!((&merged["conflicts_total"], &merged["conflicts"][0]["columns"]), (&json!(1), &json!(["name"])));
    assert_eq!(pay().await, r#"[1,"y",12],[3,"c",30],[4,"d",41]"#);
    world.stop().await;
}

#[tokio::test]
async fn a_session_is_on_a_branch_by_its_search_path() {
    let wired = wired().await;
    let router = router(&wired.world);
    let made = done(&router, "create_branch", json!({"tables": ["customer"]})).await;
    let client = wired.owner().await;
    simple(&client, &format!("set search_path = {}", made["schema_name"].as_str().unwrap())).await;
    simple(&client, "begin; delete from customer where id = 1").await;
    let busy = refused(&router, "merge_branch", json!({"branch_id": made["branch_id"]})).await;
    assert_eq!(busy["status"], 409, "somebody writes: {busy}");
    simple(&client, "commit").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["2", "(1)"]);
    simple(&client, "set search_path = main").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["3", "(1)"]);
    assert_eq!(merge(&router, made["branch_id"].as_str().unwrap(), json!({})).await["status"], "completed");
    assert_eq!(simple(&client, "select count(*) from customer").await, ["2", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn a_branch_ends_with_its_time_and_is_forgotten_by_all_but_its_record() {
    let clock = TestClock::at(SystemClock.now());
    let world = world_at(Arc::new(clock.clone())).await;
    let router = router(&world);
    let made = done(&router, "create_branch", json!({"tables": ["customer"], "ttl_seconds": 60})).await;
    let listed = async |status: &str| {
        let list = done(&router, "branch_list", json!({"status": status})).await;
        list["branches"].as_array().unwrap().len()
    };
    assert_eq!((listed("active").await, listed("expired").await), (1, 0));
    clock.advance(Duration::seconds(60));
    let gone = json!({"branch_id": made["branch_id"], "sql": "select 1"});
    assert_eq!(refused(&router, "branch_query", gone).await["code"], "SVC_ERR_404_BRANCH_NOT_FOUND");
    assert_eq!((listed("active").await, listed("expired").await), (0, 1));
    clock.advance(Duration::days(31));
    let other = done(&router, "create_branch", json!({"tables": ["customer"]})).await;
    done(&router, "discard_branch", json!({"branch_id": other["branch_id"]})).await;
    assert_eq!((listed("all").await, listed("discarded").await), (1, 1), "records stay for a month");
    world.stop().await;
}

#[tokio::test]
async fn a_table_that_was_changed_meanwhile_is_a_conflict_of_schemas() {
    let (world, router) = started().await;
    let id = branch(&router).await;
    on(&router, &id, "update stock set amount = 0").await;
    world.run("alter table stock add column colour varchar").await.unwrap();
    let merged = merge(&router, &id, json!({})).await;
    assert_eq!((&merged["status"], &merged["conflicts"][0]["kind"]), (&json!("conflicts"), &json!("schema")));
    assert_eq!(merge(&router, &id, json!({"strategy": "main_wins"})).await["status"], "completed");
    world.stop().await;
}
