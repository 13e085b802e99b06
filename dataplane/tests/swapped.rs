//! A ruled table or column is renamed away only where a table of the old name has the ruled columns at COMMIT: dbt's
//! swap.

use contract::policy::abac::{Action, Condition};
use contract::policy::{MaskFunction, Rules};
use dataplane::testing::{filtering, masking, rule, ruled};

use crate::pgwire::{Wired, refused, simple, wired};

/// A mask and a filter that hide nothing from the owner.
async fn ruled_for_others() -> Wired {
    let wired = wired().await;
    wired.world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    wired
}

const BACKUP: &str = "alter table customer rename to customer__backup";

#[tokio::test]
async fn another_takes_its_name_and_what_was_there_stays_closed() {
    let wired = ruled_for_others().await;
    let (owner, analyst) = (wired.owner().await, wired.analyst().await);
    simple(&owner, "create table customer__tmp as select * from customer").await;
    for sql in ["begin", BACKUP, "alter table customer__tmp rename to customer", "commit"] {
        simple(&owner, sql).await;
    }
    assert_eq!(simple(&owner, "select count(*) from customer__backup").await, ["3", "(1)"]);
    assert_eq!(simple(&analyst, "select name, ssn from customer order by id").await, ["Ada|***", "Cleo|***", "(2)"]);
    let denied = refused(&analyst, "select ssn from customer__backup").await;
    assert!(denied.detail().unwrap_or_default().contains("TABLE_DENIED"), "{denied:?}");
    simple(&owner, "drop table customer__backup").await;
    wired.stop().await;
}

#[tokio::test]
async fn without_another_that_has_the_ruled_columns_it_is_not_committed() {
    let wired = ruled_for_others().await;
    let owner = wired.owner().await;
    for then in [
        "select 1",
        "create table customer (id integer, ssn varchar)",
        "create table customer (id integer, region varchar)",
        "alter table customer__backup rename to customer__other",
    ] {
        for sql in ["begin", BACKUP, then] {
            simple(&owner, sql).await;
        }
        let conflict = refused(&owner, "commit").await;
        assert!(conflict.message().contains("main.customer"), "{then}: {conflict:?}");
        assert_eq!(simple(&owner, "select count(*) from customer").await, ["3", "(1)"], "{then}: nothing is changed");
        assert_eq!(refused(&owner, "select 1 from customer__backup").await.code().code(), "42P01", "{then}");
    }
    for then in
        ["alter table customer__backup rename to customer", "create table customer (ssn varchar, region varchar)"]
    {
        for sql in ["begin", BACKUP, then, "commit"] {
            simple(&owner, sql).await;
        }
        simple(&owner, "drop table if exists customer__backup").await;
    }
    wired.stop().await;
}

#[tokio::test]
async fn who_is_ruled_renames_nothing_and_nobody_outside_a_transaction() {
    let wired = ruled_for_others().await;
    let (owner, analyst) = (wired.owner().await, wired.analyst().await);
    assert!(refused(&owner, BACKUP).await.message().contains("COMMIT"));
    simple(&analyst, "begin").await;
    refused(&analyst, BACKUP).await;
    simple(&analyst, "rollback").await;
    let mut on_all = filtering("customer", "region = 'EU'");
    if let Rules::RowLevelSecurity(rules) = &mut on_all.rules {
        for rule in rules {
            rule.exempt_roles.clear();
        }
    }
    for (policies, abac) in [
        (vec![masking("customer", "ssn", MaskFunction::Full), on_all], vec![]),
        (vec![], vec![ruled("kept", vec![rule(Condition::TableIs, &["customer"], Action::ReadOnly)])]),
    ] {
        wired.world.change(|rules| (rules.policies, rules.abac_policies) = (policies, abac));
        simple(&owner, "begin").await;
        refused(&owner, BACKUP).await;
        simple(&owner, "rollback").await;
    }
    wired.stop().await;
}

const COLUMN: &str = "alter table customer rename column ssn to ssn_old";

#[tokio::test]
async fn a_ruled_column_is_renamed_where_a_table_of_the_name_has_it_at_the_end() {
    let wired = ruled_for_others().await;
    let (owner, analyst) = (wired.owner().await, wired.analyst().await);
    let is_ruled = async || {
        let shown = simple(&analyst, "select name, ssn from customer order by id").await;
        assert_eq!(shown, ["Ada|***", "Cleo|***", "(2)"]);
    };
    for sql in ["begin", COLUMN, "alter table customer rename column ssn_old to SSN", "commit"] {
        simple(&owner, sql).await;
    }
    is_ruled().await;
    simple(&owner, "create table customer__tmp as select * from customer").await;
    for sql in ["begin", COLUMN, BACKUP, "alter table customer__tmp rename to customer", "commit"] {
        simple(&owner, sql).await;
    }
    is_ruled().await;
    assert_eq!(simple(&owner, "select count(ssn_old) from customer__backup").await, ["3", "(1)"]);
    let denied = refused(&analyst, "select ssn_old from customer__backup").await;
    assert!(denied.detail().unwrap_or_default().contains("TABLE_DENIED"), "{denied:?}");
    wired.stop().await;
}

#[tokio::test]
async fn a_ruled_column_that_is_missing_or_stands_under_another_name_is_not_committed() {
    let wired = ruled_for_others().await;
    let (owner, analyst) = (wired.owner().await, wired.analyst().await);
    for then in ["select 1", "alter table customer rename column name to ssn", "drop table customer"] {
        for sql in ["begin", COLUMN, then] {
            simple(&owner, sql).await;
        }
        let conflict = refused(&owner, "commit").await;
        assert!(conflict.message().contains("main.customer"), "{then}: {conflict:?}");
        assert_eq!(simple(&owner, "select count(ssn) from customer").await, ["3", "(1)"], "{then}: nothing is changed");
    }
    for (who, sql) in [
        (&analyst, COLUMN),
        (&owner, "alter table customer rename column name to title"),
        (&owner, "alter table customer drop column ssn"),
    ] {
        simple(who, "begin").await;
        refused(who, sql).await;
        simple(who, "rollback").await;
    }
    assert!(refused(&owner, COLUMN).await.message().contains("COMMIT"), "outside a transaction");
    wired.stop().await;
}
