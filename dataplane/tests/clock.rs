//! Statements that are let through at one moment and refused at another: grants of agents, hours of the day, days of
//! the week.

use std::sync::Arc;

use chrono::Duration;
use contract::capability::{Capabilities, Grant};
use contract::policy::abac::{AbacRule, Action, Condition};
use contract::{Role, TestClock, Timestamp};
use dataplane::testing::{rule, ruled};
use tokio_postgres::Client;

use crate::pgwire::{Wired, simple, wired_in};
use crate::world::world_at;

/// A Monday.
fn noon() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

async fn at_noon() -> (Wired, TestClock) {
    let clock = TestClock::at(noon());
    (wired_in(world_at(Arc::new(clock.clone())).await, None, true).await, clock)
}

fn granted(wired: &Wired, grant_id: &str, until: Timestamp) {
    let capabilities = Capabilities {
        allowed_tables: vec!["customer".to_owned()],
        allowed_operations: vec!["select".to_owned()],
        max_queries_per_hour: None,
        max_rows_per_query: None,
        column_restrictions: [].into(),
    };
    let grant = Grant { grant_id: grant_id.into(), capabilities, expires_at: until };
    wired.world.change(|rules| rules.agent_capabilities.entry("bot".to_owned()).or_default().push(grant));
}

fn ruling(wired: &Wired, rule: AbacRule) {
    wired.world.change(|rules| rules.abac_policies = vec![ruled("by the clock", vec![rule])]);
}

fn afternoon(action: Action) -> AbacRule {
    let (start, end) = (Some("13:00".to_owned()), Some("18:00".to_owned()));
    AbacRule { start, end, ..rule(Condition::TimeOfDay, &[], action) }
}

async fn as_bot(wired: &Wired) -> Client {
    let client = wired.owner().await;
    simple(&client, "set acme_agent_id = 'bot'").await;
    client
}

async fn hold(client: &Client) {
    simple(client, "begin; declare c cursor with hold for select id from customer order by id; commit").await;
    assert_eq!(simple(client, "fetch 1 from c").await, ["1", "(1)"]);
}

async fn is_over(client: &Client) {
    for next in ["fetch 1 from c", "move 1 in c"] {
        let error = client.simple_query(next).await.expect_err(next);
        let told = error.as_db_error().unwrap();
        assert!(matches!(told.code().code(), "42501" | "34000"), "{next}: {told:?}");
    }
}

#[tokio::test]
async fn a_held_cursor_ends_with_the_grant_that_it_was_opened_under() {
    let (wired, clock) = at_noon().await;
    granted(&wired, "short", noon() + Duration::minutes(5));
    let (client, other) = (as_bot(&wired).await, wired.owner().await);
    hold(&client).await;
    hold(&other).await;
    clock.advance(Duration::minutes(4));
    assert_eq!(simple(&client, "fetch 1 from c").await, ["2", "(1)"], "the grant stands");
    clock.advance(Duration::minutes(1));
    // whom the session says it is for now does not matter: it was opened for the agent
    simple(&client, "set acme_agent_id = 'other'").await;
    is_over(&client).await;
    assert_eq!(simple(&other, "fetch 1 from c").await, ["2", "(1)"], "it is nobody's agent");
    wired.stop().await;
}

#[tokio::test]
async fn a_held_cursor_ends_when_the_clock_says_no() {
    let monday = || rule(Condition::DayOfWeek, &["monday"], Action::DenyOutside);
    for (rule, passes) in [
        (afternoon(Action::Deny), Duration::hours(1)),
        (monday(), Duration::hours(12)),
        (AbacRule { timezone: Some("Asia/Tokyo".to_owned()), ..monday() }, Duration::hours(3)),
    ] {
        let (wired, clock) = at_noon().await;
        ruling(&wired, rule.clone());
        let client = wired.owner().await;
        hold(&client).await;
        clock.advance(passes - Duration::seconds(1));
        assert_eq!(simple(&client, "fetch 1 from c").await, ["2", "(1)"], "{rule:?}");
        clock.advance(Duration::seconds(1));
        is_over(&client).await;
        wired.stop().await;
    }
}

#[tokio::test]
async fn a_held_cursor_goes_on_where_the_clock_says_nothing_of_its_reader() {
    for rule in [afternoon(Action::ReadOnly), AbacRule { exempt_roles: vec![Role::Owner], ..afternoon(Action::Deny) }] {
        let (wired, clock) = at_noon().await;
        ruling(&wired, rule.clone());
        let client = wired.owner().await;
        hold(&client).await;
        clock.advance(Duration::hours(2));
        assert_eq!(simple(&client, "fetch 1 from c").await, ["2", "(1)"], "{rule:?}");
        wired.stop().await;
    }
}

#[tokio::test]
async fn an_open_portal_ends_by_the_clock_too() {
    let (wired, clock) = at_noon().await;
    granted(&wired, "short", noon() + Duration::minutes(5));
    let mut client = as_bot(&wired).await;
    let transaction = client.transaction().await.unwrap();
    let portal = transaction.bind("select id from customer order by id", &[]).await.unwrap();
    assert_eq!(transaction.query_portal(&portal, 1).await.unwrap().len(), 1);
    clock.advance(Duration::minutes(5));
    let error = transaction.query_portal(&portal, 1).await.unwrap_err();
    assert_eq!(error.as_db_error().unwrap().code().code(), "42501", "{error:?}");
    drop(transaction);
    wired.stop().await;
}
