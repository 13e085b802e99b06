//! Temporary tables of a connection, as tools and dbt make them for snapshots and incremental models.

use contract::policy::MaskFunction;
use dataplane::testing::{filtering, masking};

use std::process::Command;

use crate::pgwire::{refused, simple, wired};

#[tokio::test]
async fn a_temporary_table_is_read_and_written_within_its_transaction_and_outlives_it() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin; create temporary table \"picked__tmp\" as (select id, name from customer where id < 3)")
        .await;
    for (sql, rows) in [
        ("insert into picked__tmp values (9, 'Zoe')", &["(1)"][..]),
        ("update picked__tmp set name = 'Abe' where id = 1", &["(1)"]),
        ("select * from \"picked__tmp\" order by id", &["1|Abe", "2|Bob", "9|Zoe", "(3)"]),
        ("select count(*) from pg_temp.picked__tmp t join customer c using (id)", &["2", "(1)"]),
        (
            "select table_schema, column_name from information_schema.columns where table_name = 'picked__tmp' \
             order by ordinal_position",
            &["pg_temp|id", "pg_temp|name", "(2)"],
        ),
        ("delete from customer where id in (select id from picked__tmp)", &["(2)"]),
        ("insert into customer (id, name) select id, name from picked__tmp", &["(3)"]),
        ("create temp table short (a integer) on commit drop", &["(0)"]),
    ] {
        assert_eq!(simple(&client, sql).await, rows, "{sql}");
    }
    assert!(wired.noticed().is_empty());
    let other = wired.owner().await;
    assert_eq!(refused(&other, "select * from picked__tmp").await.code().code(), "42P01");
    simple(&client, "commit").await;
    assert_eq!(
        simple(&client, "select id, name from customer order by id").await,
        ["1|Abe", "2|Bob", "3|Cleo", "9|Zoe", "(4)"]
    );
    assert_eq!(simple(&client, "select count(*) from picked__tmp").await, ["3", "(1)"]);
    assert_eq!(refused(&client, "select * from short").await.code().code(), "42P01");
    assert_eq!(refused(&other, "select * from picked__tmp").await.code().code(), "42P01");
    wired.stop().await;
}

#[tokio::test]
async fn a_temporary_table_of_a_connection_lives_as_postgresqls_does() {
    let wired = wired().await;
    let client = wired.owner().await;
    for (sql, rows) in [
        ("create temporary table picked as select id from customer where id < 3", &["(2)"][..]),
        ("insert into picked values (7)", &["(1)"]),
        ("begin; insert into picked values (8); rollback", &["(0)", "(1)", "(0)"]),
        ("select count(*) from picked", &["3", "(1)"]),
        (
            "begin; insert into picked values (8); savepoint a; delete from picked; rollback to a; commit",
            &["(0)", "(1)", "(0)", "(4)", "(0)", "(0)"],
        ),
        ("select count(*) from picked", &["4", "(1)"]),
        ("create temp table gone (a integer) on commit drop", &["(0)"]),
        ("create or replace temp table picked on commit preserve rows as select id from customer", &["(3)"]),
        ("select count(*) from pg_temp.picked", &["3", "(1)"]),
    ] {
        assert_eq!(simple(&client, sql).await, rows, "{sql}");
    }
    assert_eq!(refused(&client, "select * from gone").await.code().code(), "42P01");
    assert_eq!(refused(&client, "select id / 0 from picked").await.code().code(), "22012");
    assert_eq!(refused(&client, "begin; drop table picked; select nothing from customer").await.code().code(), "42703");
    simple(&client, "rollback").await;
    let counted = client.query_one("select count(*) from picked where id > $1", &[&1_i32]).await.unwrap();
    assert_eq!(counted.get::<_, i64>(0), 2, "by the extended protocol, after failures");
    for sql in ["discard temp", "create temp table picked as select 1 as id; discard all"] {
        simple(&client, "create temp table if not exists picked as select 1 as id").await;
        for one in sql.split("; ") {
            let _ = client.simple_query(one).await;
        }
        assert_eq!(refused(&client, "select * from picked").await.code().code(), "42P01", "{sql}");
    }
    wired.stop().await;
}

#[tokio::test]
async fn who_names_a_temporary_table_that_the_engine_has_lost_is_told_so() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create temp table customer as select 1 as id").await;
    let process = wired.world.engine_id().to_string();
    assert!(Command::new("kill").args(["-KILL", &process]).status().unwrap().success());
    let told = refused(&client, "select id from customer").await;
    assert_eq!(told.code().code(), "40001", "{told:?}");
    assert_eq!(simple(&client, "select count(*) from customer").await, ["3", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn a_temporary_table_holds_what_its_maker_may_see_and_hides_no_governed_table() {
    let wired = wired().await;
    let client = wired.owner().await;
    wired.world.change(|rules| {
        rules.policies = vec![
            masking("customer", "ssn", MaskFunction::Full),
            filtering("customer", "id in (select id from picked)"),
        ];
        rules.members.values_mut().for_each(|member| member.role = contract::Role::Developer);
    });
    let gone = refused(&client, "select * from customer").await;
    // no table of the caller's own takes the place of one that a filter reads
    simple(&client, "begin; create temp table picked as select 1 as id").await;
    assert_eq!(refused(&client, "select * from customer").await.message(), gone.message());
    simple(&client, "rollback").await;
    wired.world.change(|rules| {
        rules.policies.truncate(1);
    });
    let rows = simple(&client, "begin; create temp table customer as select ssn from demo.main.customer; select distinct ssn from customer; rollback").await;
    assert!(rows.contains(&"***".to_owned()), "{rows:?}");
    wired.stop().await;
}

#[tokio::test]
async fn a_view_reads_the_table_it_was_made_of() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create view names as select name from customer where id = 1").await;
    simple(&client, "begin; create temp table customer as select 1 as id, 'nobody' as name").await;
    assert_eq!(simple(&client, "select * from names").await, ["Ada", "(1)"]);
    assert_eq!(simple(&client, "select name from customer").await, ["nobody", "(1)"]);
    simple(&client, "rollback").await;
    wired.stop().await;
}

#[tokio::test]
async fn what_would_outlive_a_temporary_table_is_refused() {
    let wired = wired().await;
    let client = wired.owner().await;
    for (sql, code) in [
        ("create view v as select * from picked", "0A000"),
        ("create temp table other (a integer autoincrement)", "0A000"),
        ("create temp table main.other (a integer)", "0A000"),
        ("create temp table _sluice_source (a integer)", "42601"),
        ("create temp table other (a integer) on commit delete rows", "0A000"),
    ] {
        simple(&client, "begin; create temp table picked as select 1 as a").await;
        assert_eq!(refused(&client, sql).await.code().code(), code, "{sql}");
        simple(&client, "rollback").await;
    }
    wired.stop().await;
}
