//! A table made from governed ones by an exempt role is open only to roles exempt there, until a policy names it.

use contract::Code;
use contract::policy::MaskFunction;
use dataplane::testing::{analyst_id, analyst_key, denying, filtering, masking};
use serde_json::json;

use crate::door::{door, tool};
use crate::memory::done;
use crate::world::{World, world};

async fn governed() -> World {
    let world = world().await;
    world.run("create table payroll (id integer, iban varchar)").await.unwrap();
    world.change(|rules| {
        rules.policies = vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "id = 1")];
        rules.abac_policies = vec![denying("payroll", &[contract::Role::Owner])];
    });
    world
}

async fn denied(world: &World, sql: &str) -> bool {
    match world.analyst(sql).await {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.code(), Code::TableDenied, "{sql}: {error}");
            true
        }
    }
}

#[tokio::test]
async fn what_an_exempt_role_makes_of_governed_tables_is_closed_to_the_bound() {
    let world = governed().await;
    for making in [
        "create table made as select * from customer",
        "create table made as select count(*) as n from customer",
        "create table made as with c as (select ssn from customer) select 1 as n where exists (select 1 from c)",
        "create table made clone customer",
        "create or replace table made as select iban from payroll",
        "create table if not exists made as select * from customer",
    ] {
        world.run(making).await.unwrap();
        for reading in
            ["select * from made", "select count(*) from made where false", "select * from seen", "describe made"]
        {
            if reading.contains("seen") {
                world.run("create view seen as select * from made").await.unwrap();
            }
            assert!(denied(&world, reading).await, "{making}: {reading}");
        }
        for listed in [
            "table_name as name from information_schema.tables",
            "relname as name from pg_class",
            "tablename as name from pg_tables",
        ] {
            let listed = format!("select name from (select {listed}) t where name in ('made', 'customer')");
            assert_eq!(world.analyst(&listed).await.unwrap().json, r#"["customer"]"#, "{making}: {listed}");
        }
        assert!(world.run("select * from made").await.is_ok(), "the owner");
        for sql in ["drop view seen", "drop table made"] {
            world.run(sql).await.unwrap();
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn it_stays_closed_under_another_name_and_in_what_is_made_of_it() {
    let world = governed().await;
    for sql in [
        "create table made as select * from customer",
        "alter table made add column more integer",
        "alter table made alter column more set default 1",
        "alter table made alter column more drop default",
        "alter table made alter column more set data type bigint",
        "alter table made alter column id set not null",
        "alter table made alter column id drop not null",
        "alter table made rename column name to called",
        "alter table made drop column more",
        "alter table made rename to renamed",
        "create table second as select id from renamed",
        "create view above as select * from renamed",
        "create table third as select * from above",
    ] {
        world.run(sql).await.unwrap();
    }
    for table in ["renamed", "second", "above", "third"] {
        assert!(denied(&world, &format!("select * from {table}")).await, "{table}");
    }
    // What is there already is not made again, and so is not of this origin.
    world.run("create table plain (id integer)").await.unwrap();
    world.run("create table if not exists plain as select id from customer").await.unwrap();
    assert!(!denied(&world, "select * from plain").await);
    world.run("create or replace table third as select 1 as n").await.unwrap();
    assert!(!denied(&world, "select * from third").await);
    world.stop().await;
}

#[tokio::test]
async fn a_policy_that_names_it_opens_it_as_does_the_end_of_what_hid_its_source() {
    let world = governed().await;
    world.run("create table made as select id, ssn as code from customer").await.unwrap();
    assert!(denied(&world, "select * from made").await);
    world.change(|rules| rules.policies.push(masking("made", "code", MaskFunction::Full)));
    let seen = world.analyst("select distinct code from made").await.unwrap();
    assert_eq!(seen.json, r#"["***"]"#);
    world.change(|rules| rules.policies.retain(|policy| !policy.name.contains("made")));
    assert!(denied(&world, "select * from made").await);
    world.change(|rules| rules.policies.clear());
    assert!(!denied(&world, "select * from made").await);
    world.stop().await;
}

#[tokio::test]
async fn what_nobody_was_exempt_from_is_open() {
    let world = governed().await;
    world.run("create table free (id integer)").await.unwrap();
    world.run("create table made as select * from free").await.unwrap();
    world.run("create table literal as select 1 as n").await.unwrap();
    for table in ["free", "made", "literal"] {
        assert!(!denied(&world, &format!("select * from {table}")).await, "{table}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_transaction_from_before_it_was_opened_does_not_see_its_rows() {
    let world = governed().await;
    world.run("create table made as select ssn as code from customer").await.unwrap();
    let transaction = world.pipeline.begin(world.ask(analyst_id(), "").who);
    let within = |sql: &str| {
        let mut ask = world.ask(analyst_id(), sql);
        ask.transaction = Some(transaction.clone());
        world.whole(ask)
    };
    assert_eq!(within("select count(*) from customer").await.unwrap().json, "[1]");
    world.run("create or replace table made as select 'open' as code").await.unwrap();
    assert_eq!(world.analyst("select code from made").await.unwrap().json, r#"["open"]"#);
    let refused = within("select code from made").await.unwrap_err();
    assert_eq!(refused.code(), Code::TableDenied, "{refused}");
    transaction.lock().await.rollback().await.unwrap();
    assert_eq!(within("select code from made").await.unwrap().json, r#"["open"]"#);
    // The other way about: what the transaction sees is open, and stays what it was.
    world.run("create or replace table made as select ssn as code from customer").await.unwrap();
    assert_eq!(within("select code from made").await.unwrap().json, r#"["open"]"#);
    transaction.lock().await.rollback().await.unwrap();
    assert_eq!(within("select code from made").await.unwrap_err().code(), Code::TableDenied);
    world.stop().await;
}

/// The values of PIVOT are read between the gates and the statement's own snapshot, for as long as the caller likes.
#[tokio::test]
async fn what_is_made_anew_while_a_statement_is_on_its_way_is_judged_again() {
    let world = governed().await;
    world.run("create table made as select 'open' as code, 1 as id").await.unwrap();
    let slow = "select * from (select code, id, 'x' as one from made) pivot (count(id) for one in \
        (select distinct if(count(*) > 0, 'x', 'y') from range(60000) a(i), range(3000) b(j) where (i * j) % 7 = 3))";
    let replaced = "create or replace table made as select ssn as code, id from customer";
    let (read, made) = tokio::join!(world.analyst(slow), world.run(replaced));
    made.unwrap();
    match read {
        Ok(got) => assert!(got.json.contains("open") && !got.json.contains("078-05-1120"), "{}", got.json),
        Err(error) => assert_eq!(error.code(), Code::TableDenied, "{error}"),
    }
    world.stop().await;
}

#[tokio::test]
async fn a_closed_table_is_nothing_that_somebody_may_have_meant() {
    let world = governed().await;
    world.run("create table salaries as select * from customer").await.unwrap();
    let error = world.analyst("select * from salarie").await.unwrap_err();
    assert_eq!(error.code(), Code::TableNotFound);
    assert!(!format!("{:?}", error.problem()).contains("salaries"), "{error:?}");
    let told = world.run("select * from salarie").await;
    assert!(
        told.is_ok_and(|got| got.answer.warnings.iter().any(|said| said.contains("salaries"))),
        "the owner is told"
    );
    world.stop().await;
}

#[tokio::test]
async fn a_branch_keeps_the_origin_of_what_it_copied() {
    let world = governed().await;
    world.run("create table made as select ssn as code from customer").await.unwrap();
    let door = door(&world);
    let branch = done(&door, "create_branch", json!({"tables": ["made"]})).await["branch_id"].clone();
    let reading = json!({"branch_id": branch, "sql": "select code from made order by code"});
    let merging = json!({"branch_id": branch, "dry_run": true});
    for mainline in ["drop table made", "create table made as select 'open' as code"] {
        world.run(mainline).await.unwrap();
        assert_eq!(done(&door, "branch_query", reading.clone()).await["row_count"], 3, "{mainline}");
        for (name, asked) in [("branch_query", &reading), ("merge_branch", &merging)] {
            let (refused, is_error) = tool(&door, analyst_key(), name, asked.clone()).await;
            assert!(is_error, "{mainline}, {name}: {refused}");
            assert_eq!(refused["error"]["code"], "SVC_ERR_403_TABLE_DENIED", "{mainline}, {name}: {refused}");
        }
    }
    world.stop().await;
}
