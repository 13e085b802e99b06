//! Temporary tables of a client's transaction, as dbt makes them for snapshots and incremental models.

use contract::policy::MaskFunction;
use dataplane::testing::{filtering, masking};

use crate::pgwire::{refused, simple, wired};

#[tokio::test]
async fn a_temporary_table_is_read_and_written_within_its_transaction_and_ends_with_it() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin; create temporary table \"picked__tmp\" as (select id, name from customer where id < 3)")
        .await;
    let told: Vec<_> = wired.noticed().iter().map(|notice| notice.message().to_owned()).collect();
    assert_eq!(told, ["the temporary table ends with its transaction, as with ON COMMIT DROP"]);
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
        ("create temp table short (a integer) on commit drop; drop table short", &["(0)", "(0)"]),
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
    assert_eq!(refused(&client, "select * from picked__tmp").await.code().code(), "42P01");
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
async fn what_would_outlive_a_temporary_table_or_has_no_transaction_is_refused() {
    let wired = wired().await;
    let client = wired.owner().await;
    let alone = refused(&client, "create temp table picked as select 1 as a").await;
    assert!(alone.message().contains("a temporary table outside a transaction"), "{alone:?}");
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
