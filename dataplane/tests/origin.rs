//! A table made from governed ones by an exempt role is open only to roles exempt there, until a policy names it.

use contract::Code;
use contract::policy::MaskFunction;
use dataplane::testing::{denying, filtering, masking};

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
