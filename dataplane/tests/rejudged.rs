//! A transaction that has changed something is judged again by its statements and by its COMMIT: what it holds was let
//! through by rules, and to a caller, that may be others by now.

use std::sync::Arc;

use arrow_flight::sql::EndTransaction;
use chrono::Duration;
use contract::policy::MaskFunction;
use contract::policy::abac::{AbacRule, Action, Condition};
use contract::{Governance, Role, TestClock};
use dataplane::testing::{demo_key, denying, filtering, masking, owner_id, rule, ruled};

use crate::door::door;
use crate::flight::{client, status};
use crate::pgwire::{Wired, refused, simple, wired, wired_in};
use crate::world::{world, world_at};

type Change = fn(&mut Governance);

/// What makes the owner's transaction another one's.
const CHANGES: [(&str, Change); 6] = [
    ("a mask", |rules| rules.policies.push(masking("customer", "ssn", MaskFunction::Full))),
    ("a row filter", |rules| rules.policies.push(filtering("customer", "region = '{region}'"))),
    ("a denied table", |rules| rules.abac_policies.push(denying("customer", &[]))),
    ("an attribute", |rules| owner(rules, |member| drop(member.attributes.insert("region".into(), "EU".into())))),
    ("a demotion", |rules| owner(rules, |member| member.role = Role::Developer)),
    ("read_only", |rules| {
        let rule = AbacRule { exempt_roles: vec![], ..rule(Condition::RoleIs, &["owner"], Action::ReadOnly) };
        rules.abac_policies.push(ruled("reads", vec![rule]));
    }),
];

fn owner(rules: &mut Governance, change: impl FnOnce(&mut contract::governance::Member)) {
    let user = rules.key(&owner_id()).and_then(|key| key.user_id.clone()).unwrap();
    change(rules.members.get_mut(&user).unwrap());
}

/// The transaction is over, with 42501; its next statement finds none.
async fn is_over(wired: &Wired, client: &tokio_postgres::Client, next: &str, what: &str) {
    let told = refused(client, next).await;
    assert_eq!(told.code().code(), "42501", "{what}, {next}: {told:?}");
    if next != "commit" {
        assert_eq!(refused(client, "select 1").await.code().code(), "25P02", "{what}");
        assert_eq!(simple(client, "commit").await, ["(0)"]);
    }
    assert_eq!(wired.world.count("select count(*) from raw.main.customer").await, 3, "{what}: nothing is there");
}

#[tokio::test]
async fn a_temporary_table_ends_with_the_rules_that_it_was_made_by() {
    let wired = wired().await;
    let before = (**wired.world.rules.borrow().as_ref().unwrap()).clone();
    for (what, change) in CHANGES {
        for next in ["select ssn from copied", "select * from copied pivot (count(id) for ssn in (any))", "select 1"] {
            let client = wired.owner().await;
            simple(&client, "begin; create temp table copied as select id, ssn from customer").await;
            simple(&client, "insert into customer (id) values (9)").await;
            assert_eq!(simple(&client, "select count(*) from copied").await, ["3", "(1)"]);
            wired.world.change(change);
            is_over(&wired, &client, next, what).await;
            wired.world.change(|rules| *rules = Governance { version: rules.version, ..before.clone() });
        }
    }
    wired.stop().await;
}

#[tokio::test]
async fn a_commit_is_judged_again() {
    let wired = wired().await;
    let before = (**wired.world.rules.borrow().as_ref().unwrap()).clone();
    for (what, change) in CHANGES {
        let client = wired.owner().await;
        simple(&client, "begin; insert into customer (id) values (9)").await;
        wired.world.change(change);
        is_over(&wired, &client, "commit", what).await;
        wired.world.change(|rules| *rules = Governance { version: rules.version, ..before.clone() });
        assert_eq!(simple(&client, "select count(*) from customer").await, ["3", "(1)"], "{what}");
    }
    wired.stop().await;
}

#[tokio::test]
async fn no_savepoint_leads_back_behind_other_rules() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "begin; create temp table copied as select ssn from customer; savepoint a").await;
    let (_, mask) = CHANGES[0];
    wired.world.change(mask);
    assert_eq!(refused(&client, "select * from copied").await.code().code(), "42501");
    assert_eq!(refused(&client, "rollback to savepoint a").await.code().code(), "0A000");
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
async fn a_transaction_of_another_door_is_judged_again_too() {
    let world = world().await;
    let door = door(&world);
    let mut client = client(&door, demo_key());
    for (what, change) in [CHANGES[0], CHANGES[4]] {
        let transaction = client.begin_transaction().await.unwrap();
        let sql = "insert into customer (id) values (9)".to_owned();
        assert_eq!(client.execute_update(sql.clone(), Some(transaction.clone())).await.unwrap(), 1);
        world.change(change);
        let error = client.end_transaction(transaction, EndTransaction::Commit).await.unwrap_err();
        assert_eq!(status(error).code(), tonic::Code::PermissionDenied, "{what}");
        let transaction = client.begin_transaction().await.unwrap();
        assert_eq!(client.execute_update(sql.clone(), Some(transaction.clone())).await.unwrap(), 1);
        client.end_transaction(transaction, EndTransaction::Rollback).await.unwrap();
    }
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 3);
    world.stop().await;
}
