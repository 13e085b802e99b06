//! A table made from governed ones by an exempt role is open only to roles exempt there, until a policy names it.

use contract::Code;
use contract::policy::MaskFunction;
use dataplane::testing::{analyst_id, analyst_key, denying, filtering, masking};
use serde_json::json;

use crate::agents_router::{router, tool};
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
    let told = world.run("select * from salarie").await.unwrap_err();
    assert!(format!("{:?}", told.problem()).contains("salaries"), "the owner is told: {told:?}");
    world.stop().await;
}

#[tokio::test]
async fn a_branch_keeps_the_origin_of_what_it_copied() {
    let world = governed().await;
    world.run("create table made as select ssn as code from customer").await.unwrap();
    let router = router(&world);
    let branch = done(&router, "create_branch", json!({"tables": ["made"]})).await["branch_id"].clone();
    let reading = json!({"branch_id": branch, "sql": "select code from made order by code"});
    let merging = json!({"branch_id": branch, "dry_run": true});
    for mainline in ["drop table made", "create table made as select 'open' as code"] {
        world.run(mainline).await.unwrap();
        assert_eq!(done(&router, "branch_query", reading.clone()).await["row_count"], 3, "{mainline}");
        for (name, asked) in [("branch_query", &reading), ("merge_branch", &merging)] {
            let (refused, is_error) = tool(&router, analyst_key(), name, asked.clone()).await;
            assert!(is_error, "{mainline}, {name}: {refused}");
            assert_eq!(refused["error"]["code"], "SVC_ERR_403_TABLE_DENIED", "{mainline}, {name}: {refused}");
        }
    }
    world.stop().await;
}

const FILLING: [&str; 8] = [
    "insert into open select id, ssn from customer",
    "insert into open values (9, (select max(ssn) from customer))",
    "insert into open with c as (select ssn from customer) select 9, max(ssn) from c",
    "insert into open select 9, iban from payroll",
    "update open set code = c.ssn from customer c where c.id = open.id",
    "update open set code = (select max(ssn) from customer)",
    "merge into open using customer c on open.id = c.id when matched then update set code = c.ssn",
    "insert all into open (id, code) values (a, b) select id as a, ssn as b from customer",
];

/// The rows were there before, or are those of others: what an exempt role adds is for none of them.
#[tokio::test]
async fn what_an_exempt_role_adds_to_a_table_closes_it_to_the_bound() {
    let world = governed().await;
    for filling in FILLING {
        for sql in [
            "create or replace table open (id integer primary key, code varchar default 'x')",
            "comment on table open is 'said of it'",
            "insert into open (id) values (50)",
        ] {
            world.run(sql).await.unwrap();
        }
        assert!(!denied(&world, "select * from open").await, "{filling}");
        world.run(filling).await.unwrap_or_else(|error| panic!("{filling}: {error}"));
        for reading in ["select * from open", "select count(*) from open where false", "describe open"] {
            assert!(denied(&world, reading).await, "{filling}: {reading}");
        }
        let listed = "select table_name from information_schema.tables where table_name = 'open'";
        assert_eq!(world.analyst(listed).await.unwrap().json, "", "{filling}");
        assert!(world.run("select * from open").await.is_ok(), "{filling}: the owner");
        let said = world.run("select comment from information_schema.tables where table_name = 'open'").await.unwrap();
        assert_eq!(said.json, r#"["said of it"]"#, "{filling}");
        // again: it is written down already
        let again = filling.replace("select id, ssn from", "select id + 100, ssn from").replace("9,", "10,");
        let again = again.replace("(9", "(10").replace("select id as a", "select id + 100 as a");
        world.run(&again).await.unwrap_or_else(|error| panic!("{again}: {error}"));
    }
    world.stop().await;
}

#[tokio::test]
async fn what_is_of_no_such_origin_leaves_a_table_open() {
    let world = governed().await;
    for sql in [
        "create table open (id integer, code varchar)",
        "create table free (id integer, code varchar)",
        "insert into free values (1, 'x')",
        "insert into open values (1, 'x')",
        "insert into open select id, code from free",
        "update open set code = 'y' where id = 1",
        "update open set code = f.code from free f where f.id = open.id",
        "merge into open using free f on open.id = f.id when not matched then insert (id, code) values (f.id, f.code)",
        "delete from open where id in (select id from customer)",
    ] {
        world.run(sql).await.unwrap();
        assert!(!denied(&world, "select * from open").await, "{sql}");
    }
    // Who is bound puts there what they see.
    world.change(|rules| {
        rules.members.get_mut(&"u-analyst".into()).unwrap().role = contract::Role::Developer;
        rules.abac_policies.clear();
    });
    world.analyst("insert into open select id, ssn from customer").await.unwrap();
    assert_eq!(world.analyst("select distinct code from open").await.unwrap().json, r#"["***"]"#);
    // A policy that names it says who may read it.
    world.change(|rules| rules.policies.push(filtering("named", "id > 1")));
    world.run("create table named (id integer, code varchar)").await.unwrap();
    world.run("insert into named select id, ssn from customer").await.unwrap();
    assert!(!denied(&world, "select * from named").await);
    world.stop().await;
}

#[tokio::test]
async fn what_is_added_carries_the_origin_of_what_it_is_read_from() {
    let world = governed().await;
    for sql in [
        "create table made as select id, ssn as code from customer",
        "create table open (id integer, code varchar)",
        "create view above as select * from made",
        "insert into open select * from above",
    ] {
        world.run(sql).await.unwrap();
    }
    assert!(denied(&world, "select * from open").await);
    world.change(|rules| rules.policies.clear());
    assert!(!denied(&world, "select * from open").await, "nothing is hidden there any more");
    world.stop().await;
}

#[tokio::test]
async fn what_is_added_and_rolled_back_closes_nothing() {
    let world = governed().await;
    world.run("create table open (id integer, code varchar)").await.unwrap();
    let transaction = world.pipeline.begin(world.ask(dataplane::testing::owner_id(), "").who);
    let within = |sql: &str| {
        let mut ask = world.ask(dataplane::testing::owner_id(), sql);
        ask.transaction = Some(transaction.clone());
        world.whole(ask)
    };
    for commits in [false, true] {
        within("insert into open select id, ssn from customer").await.unwrap();
        within("insert into open select id, ssn from customer").await.unwrap();
        within("create temporary table t (code varchar)").await.unwrap();
        within("insert into t select code from open").await.unwrap();
        within("create or replace table second as select * from t").await.unwrap();
        assert!(!denied(&world, "select * from open").await, "nobody sees it yet");
        let mut transaction = transaction.lock().await;
        if commits {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
        drop(transaction);
        assert_eq!(denied(&world, "select * from open").await, commits);
    }
    assert!(denied(&world, "select * from second").await, "through a temporary table");
    world.stop().await;
}

/// A branch keeps the origin of what it copied, and merging would carry the rows to the mainline without it.
#[tokio::test]
async fn nothing_is_added_on_a_branch_that_would_close_its_table() {
    let world = governed().await;
    world.run("create table open (id integer, code varchar)").await.unwrap();
    let router = router(&world);
    let branch = done(&router, "create_branch", json!({"tables": ["open", "customer"]})).await["branch_id"].clone();
    let on = |sql: &str| json!({"branch_id": branch, "sql": sql});
    let refusal = crate::memory::refused(&router, "branch_query", on("insert into open select id, ssn from customer"));
    let refusal = refusal.await;
    assert_eq!((&refusal["status"], &refusal["details"]["table"]), (&json!(403), &json!("main.open")), "{refusal}");
    done(&router, "branch_query", on("insert into open values (1, 'x')")).await;
    assert_eq!(done(&router, "merge_branch", json!({"branch_id": branch})).await["status"], "completed");
    assert!(!denied(&world, "select * from open").await);
    world.stop().await;
}
