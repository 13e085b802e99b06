//! A transaction that has changed something is judged again by its statements and by its COMMIT: where other rules, or
//! another hour, would make something else of one of its statements, it is to be run again.

use std::sync::Arc;

use arrow_flight::sql::EndTransaction;
use chrono::Duration;
use contract::policy::abac::{AbacRule, Action, Condition};
use contract::policy::{MaskFunction, Policy, Rules};
use contract::{Governance, Role, TestClock};
use dataplane::testing::{demo_key, denying, filtering, masking, owner_id, rule, ruled};

use crate::agents_router::router;
use crate::flight::{client, status};
use crate::pgwire::{Wired, refused, simple, wired, wired_in};
use crate::world::{world, world_at};

type Change = fn(&mut Governance);

/// What a change makes another one's: the copy of a table's rows, a row that is inserted into it.
const CHANGES: [(&str, Change, [bool; 2]); 11] = [
    (
        "a mask for others", // to whom a copy of what they see masked is closed
        |rules| rules.policies.push(masking("customer", "ssn", MaskFunction::Full)),
        [true, false],
    ),
    ("a mask", |rules| rules.policies.push(for_all(masking("customer", "ssn", MaskFunction::Full))), [true, false]),
    ("a mask elsewhere", |rules| rules.policies.push(masking("orders", "ssn", MaskFunction::Full)), [false, false]),
    (
        "a row filter for others",
        |rules| rules.policies.push(filtering("customer", "region = '{region}'")),
        [true, false],
    ),
    ("a row filter", |rules| rules.policies.push(for_all(filtering("customer", "region = '{region}'"))), [true, true]),
    ("a row filter elsewhere", |rules| rules.policies.push(filtering("orders", "id = 1")), [false, false]),
    ("a denied table", |rules| rules.abac_policies.push(denying("customer", &[])), [true, true]),
    ("a denied table elsewhere", |rules| rules.abac_policies.push(denying("orders", &[])), [false, false]),
    (
        "an attribute",
        |rules| owner(rules, |member| drop(member.attributes.insert("region".into(), "EU".into()))),
        [false, false],
    ),
    ("another role that may write", |rules| owner(rules, |member| member.role = Role::Developer), [false, false]),
    (
        "read_only",
        |rules| {
            let rule = AbacRule { exempt_roles: vec![], ..rule(Condition::RoleIs, &["owner"], Action::ReadOnly) };
            rules.abac_policies.push(ruled("reads", vec![rule]));
        },
        [true, true],
    ),
];

/// The same for the owner too.
fn for_all(mut policy: Policy) -> Policy {
    match &mut policy.rules {
        Rules::ColumnMasking(rules) => rules.iter_mut().for_each(|rule| rule.exempt_roles.clear()),
        Rules::RowLevelSecurity(rules) => rules.iter_mut().for_each(|rule| rule.exempt_roles.clear()),
    }
    policy
}

fn owner(rules: &mut Governance, change: impl FnOnce(&mut contract::governance::Member)) {
    let user = rules.key(&owner_id()).and_then(|key| key.user_id.clone()).unwrap();
    change(rules.members.get_mut(&user).unwrap());
}

/// The transaction is over, to be run again; its next statement finds none.
async fn is_over(wired: &Wired, client: &tokio_postgres::Client, next: &str, what: &str) {
    ended(wired, client, next, what, "40001").await;
}

async fn ended(wired: &Wired, client: &tokio_postgres::Client, next: &str, what: &str, state: &str) {
    let told = refused(client, next).await;
    assert_eq!(told.code().code(), state, "{what}, {next}: {told:?}");
    if state == "40001" {
        assert_eq!(told.detail(), Some("CONFLICT"), "{what}");
    }
    if next != "commit" {
        assert_eq!(refused(client, "select 1").await.code().code(), "25P02", "{what}");
        assert_eq!(simple(client, "commit").await, ["(0)"]);
    }
    assert_eq!(wired.world.count("select count(*) from raw.main.customer").await, 3, "{what}: nothing is there");
}

#[tokio::test]
async fn a_temporary_table_ends_with_the_rules_that_would_make_another_of_it() {
    let wired = wired().await;
    let before = (**wired.world.rules.borrow().as_ref().unwrap()).clone();
    for (what, change, [ends, _]) in CHANGES {
        for next in ["select ssn from copied", "select * from copied pivot (count(id) for ssn in (any))", "select 1"] {
            let client = wired.owner().await;
            simple(&client, "begin; create temp table copied as select id, ssn from customer").await;
            assert_eq!(simple(&client, "select count(*) from copied").await, ["3", "(1)"]);
            wired.world.change(change);
            if ends {
                is_over(&wired, &client, next, what).await;
            } else {
                simple(&client, next).await;
                simple(&client, "commit").await;
            }
            wired.world.change(|rules| *rules = Governance { version: rules.version, ..before.clone() });
        }
    }
    wired.stop().await;
}

/// Outside a transaction: other statements go on, the next one that names the table is told, once.
#[tokio::test]
async fn a_temporary_table_of_a_connection_ends_with_these_rules_too() {
    let wired = wired().await;
    let before = (**wired.world.rules.borrow().as_ref().unwrap()).clone();
    let next = "select count(*) from copied";
    for (what, change, [ends, _]) in CHANGES {
        let client = wired.owner().await;
        simple(&client, "create temp table copied as select id, ssn from customer").await;
        simple(&client, "insert into copied values (9, null)").await;
        assert_eq!(simple(&client, next).await, ["4", "(1)"], "{what}");
        wired.world.change(change);
        assert_eq!(simple(&client, "select 1").await, ["1", "(1)"], "{what}");
        if ends {
            let told = refused(&client, next).await;
            assert_eq!(told.code().code(), "40001", "{what}: {told:?}");
            assert!(told.message().starts_with("temporary table copied was dropped"), "{what}: {told:?}");
            assert_eq!(refused(&client, next).await.code().code(), "42P01", "{what}");
        } else {
            assert_eq!(simple(&client, next).await, ["4", "(1)"], "{what}");
        }
        wired.world.change(|rules| *rules = Governance { version: rules.version, ..before.clone() });
    }
    wired.stop().await;
}

#[tokio::test]
async fn no_other_table_takes_the_place_of_a_temporary_one_that_was_dropped() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create temp table orders as select id, ssn from customer").await;
    wired.world.change(|rules| owner(rules, |member| member.role = Role::Analyst));
    let told = refused(&client, "select * from orders").await;
    assert_eq!(told.code().code(), "40001", "{told:?}");
    wired.stop().await;
}

#[tokio::test]
async fn a_commit_is_judged_again() {
    let wired = wired().await;
    let before = (**wired.world.rules.borrow().as_ref().unwrap()).clone();
    for (what, change, [_, ends]) in CHANGES {
        let client = wired.owner().await;
        simple(&client, "begin; insert into customer (id) values (9)").await;
        wired.world.change(change);
        if ends {
            is_over(&wired, &client, "commit", what).await;
        } else {
            simple(&client, "commit").await;
        }
        wired.world.change(|rules| *rules = Governance { version: rules.version, ..before.clone() });
        let rows = if ends { "3" } else { "4" };
        assert_eq!(simple(&client, "select count(*) from customer").await, [rows, "(1)"], "{what}");
        simple(&client, "delete from customer where id = 9").await;
    }
    wired.stop().await;
}

/// Who they are and what they may do at all is no verdict on a statement.
#[tokio::test]
async fn who_may_not_write_any_more_is_told_so() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin; insert into customer (id) values (9)").await;
    wired.world.change(|rules| owner(rules, |member| member.role = Role::Analyst));
    ended(&wired, &client, "commit", "a demotion", "42501").await;
    wired.stop().await;
}

#[tokio::test]
async fn a_value_of_a_filter_is_part_of_what_was_let_through() {
    let wired = wired().await;
    wired.world.change(|rules| {
        rules.policies.push(for_all(filtering("customer", "region = '{region}'")));
        owner(rules, |member| drop(member.attributes.insert("region".into(), "EU".into())));
    });
    let client = wired.owner().await;
    for (region, ends) in [("EU", false), ("US", true)] {
        simple(&client, "begin; create temp table copied on commit drop as select id from customer").await;
        wired.world.change(|rules| {
            rules.policies.push(masking("orders", "ssn", MaskFunction::Full));
            owner(rules, |member| drop(member.attributes.insert("region".into(), region.into())));
        });
        if ends {
            is_over(&wired, &client, "select count(*) from copied", region).await;
        } else {
            assert_eq!(simple(&client, "select count(*) from copied").await, ["2", "(1)"]);
            simple(&client, "commit").await;
        }
    }
    wired.stop().await;
}

/// Each statement counts once, however often it is run; of too many nobody can tell.
#[tokio::test]
async fn as_many_statements_are_made_anew_as_are_kept() {
    let wired = wired().await;
    let client = wired.owner().await;
    let elsewhere = |rules: &mut Governance| rules.policies.push(masking("orders", "ssn", MaskFunction::Full));
    let prepared = client.prepare("insert into customer (id) values ($1)").await.unwrap();
    simple(&client, "begin").await;
    for id in 0..300_i32 {
        client.execute(&prepared, &[&(1_000 + id)]).await.unwrap();
    }
    wired.world.change(elsewhere);
    simple(&client, "commit; delete from customer where id >= 1000; begin").await;
    for id in 0..256 {
        simple(&client, &format!("insert into customer (id) values ({})", 1_000 + id)).await;
    }
    wired.world.change(elsewhere);
    assert_eq!(simple(&client, "select count(*) from customer").await, ["259", "(1)"]);
    simple(&client, "insert into customer (id) values (9)").await;
    wired.world.change(elsewhere);
    is_over(&wired, &client, "commit", "too many").await;
    wired.stop().await;
}

/// What was defined in it is judged as it was then.
#[tokio::test]
async fn definitions_are_judged_by_the_tables_of_their_time() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin; create table made (a integer); insert into made values (1)").await;
    simple(&client, "alter table made add column b integer; update made set b = a").await;
    simple(&client, "alter table made drop column a; create temp table copied as select * from made").await;
    wired.world.change(|rules| rules.policies.push(masking("orders", "ssn", MaskFunction::Full)));
    assert_eq!(simple(&client, "select b from copied").await, ["1", "(1)"]);
    simple(&client, "commit").await;
    assert_eq!(simple(&client, "select * from made").await, ["1", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn no_savepoint_leads_back_behind_other_rules() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin; create temp table copied as select ssn from customer; savepoint a").await;
    let (_, mask, _) = CHANGES[0];
    wired.world.change(mask);
    assert_eq!(refused(&client, "select * from copied").await.code().code(), "40001");
    assert_eq!(refused(&client, "rollback to savepoint a").await.code().code(), "40001");
    assert_eq!(refused(&client, "select * from copied").await.code().code(), "25P02");
    wired.stop().await;
}

#[tokio::test]
async fn what_only_reads_goes_on_by_the_rules_of_each_statement() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin; select count(*) from customer").await;
    wired.world.change(|rules| {
        rules.policies.push(masking("customer", "ssn", MaskFunction::Full));
        owner(rules, |member| member.role = Role::Analyst);
    });
    assert_eq!(simple(&client, "select distinct ssn from customer").await, ["***", "(1)"]);
    simple(&client, "commit").await;
    // changes that are taken back are no changes
    simple(&client, "begin; select 1").await;
    wired.world.change(|rules| owner(rules, |member| member.role = Role::Owner));
    simple(&client, "insert into customer (id) values (9)").await;
    // nothing that decides
    wired.world.change(|rules| rules.mask_key = contract::governance::HexKey([3; 32]));
    simple(&client, "commit").await;
    assert_eq!(simple(&client, "select count(*) from customer").await, ["4", "(1)"]);
    simple(&client, "begin; delete from customer; rollback; begin").await;
    wired.world.change(|rules| rules.policies.clear());
    assert_eq!(simple(&client, "select count(*) from customer; commit").await, ["4", "(1)", "(0)"]);
    wired.stop().await;
}

#[tokio::test]
async fn a_commit_at_an_hour_that_is_for_reading_is_refused() {
    let clock = TestClock::at("2026-03-02T12:00:00Z".parse().unwrap());
    let wired = wired_in(world_at(Arc::new(clock.clone())).await, None, true).await;
    let (start, end) = (Some("13:00".to_owned()), Some("18:00".to_owned()));
    let hours = AbacRule { start, end, ..rule(Condition::TimeOfDay, &[], Action::ReadOnly) };
    wired.world.change(|rules| rules.abac_policies = vec![ruled("hours", vec![hours])]);
    let client = wired.owner().await;
    simple(&client, "begin; insert into customer (id) values (9)").await;
    clock.advance(Duration::hours(2));
    is_over(&wired, &client, "commit", "the hour").await;
    wired.stop().await;
}

#[tokio::test]
async fn a_transaction_of_another_protocol_is_judged_again_too() {
    let world = world().await;
    let router = router(&world);
    let mut client = client(&router, demo_key());
    let before = (**world.rules.borrow().as_ref().unwrap()).clone();
    for (what, change, [_, ends]) in CHANGES {
        let transaction = client.begin_transaction().await.unwrap();
        let sql = "insert into customer (id) values (9)".to_owned();
        assert_eq!(client.execute_update(sql.clone(), Some(transaction.clone())).await.unwrap(), 1);
        world.change(change);
        let ended = client.end_transaction(transaction, EndTransaction::Commit).await;
        assert_eq!(ended.is_err(), ends, "{what}");
        if let Err(error) = ended {
            assert_eq!(status(error).code(), tonic::Code::Aborted, "{what}");
        }
        world.change(|rules| *rules = Governance { version: rules.version, ..before.clone() });
        world.run("delete from customer where id = 9").await.unwrap();
        let transaction = client.begin_transaction().await.unwrap();
        assert_eq!(client.execute_update(sql.clone(), Some(transaction.clone())).await.unwrap(), 1);
        client.end_transaction(transaction, EndTransaction::Rollback).await.unwrap();
    }
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 3);
    world.stop().await;
}
