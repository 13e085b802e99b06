//! Queries of the dashboard for its own pages: judged, masked and written down as any other, and free of charge.

use axum::body::Body;
use axum::http::Response;
use contract::policy::MaskFunction;
use contract::policy::abac::{Action, Condition, Origin};
use contract::report::Outcome;
use contract::wire::{Forwarded, Who, header};
use dataplane::testing::{analyst_id, demo_key, masking, owner_id, rule, ruled};
use serde_json::json;

use crate::agents_router::{as_json, post, router, whole};
use crate::rest::post_as;
use crate::world::{World, world};

const QUERY: &str = "/v1/environments/env-1/query";

/// As the control plane says it of a page, or not.
fn caller(who: &str, by_dashboard: bool) -> Forwarded {
    let caller = Forwarded::of(Who::Key { key_id: who.into() }, None);
    Forwarded { origin: Some(Origin::Dashboard), by_dashboard, ..caller }
}

/// As the analyst, on a page.
async fn seen(world: &World, sql: &str) -> Response<Body> {
    post_as(world, &caller(analyst_id().as_str(), true), QUERY, json!({ "sql": sql })).await
}

#[tokio::test]
async fn a_page_costs_nothing_and_a_person_at_the_same_endpoint_pays() {
    let world = world().await;
    let list = "/v1/environments/env-1/tools/list_memories";
    for by_dashboard in [true, false] {
        for (path, body) in [
            // no answer that is kept from the other
            (QUERY, json!({"sql": format!("select name, {by_dashboard} as page from customer")})),
            (QUERY, json!({"sql": format!("select range, {by_dashboard} as page from range(300000)")})),
            (list, json!({"arguments": {}})),
        ] {
            let answer = post_as(&world, &caller(owner_id().as_str(), by_dashboard), path, body.clone()).await;
            assert_eq!(answer.status(), 200, "{body}");
            whole(answer).await;
            let (started, finished) = world.last();
            assert_eq!((started.origin, started.by_dashboard), (Origin::Dashboard, by_dashboard));
            assert_eq!((finished.outcome, finished.micro_credits == 0), (Outcome::Completed, by_dashboard), "{body}");
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn a_page_is_masked_denied_and_held_to_the_quota_as_any_other() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", MaskFunction::Full)]);
    let shown = as_json(seen(&world, "select ssn from customer").await).await;
    assert_eq!((&shown["rows"][0][0], &shown["credits_consumed"]), (&json!("***"), &json!(0.0)), "{shown}");
    assert_eq!(world.last().0.columns_masked, ["ssn"]);
    let denies = rule(Condition::QueryOriginIs, &["dashboard"], Action::Deny);
    world.change(|rules| rules.abac_policies = vec![ruled("closed", vec![denies])]);
    assert_eq!(seen(&world, "select 1").await.status(), 403);
    let (started, finished) = world.last();
    assert!(started.by_dashboard && finished.outcome == Outcome::Refused, "a refused one is written down too");
    world.change(|rules| {
        rules.abac_policies = vec![];
        rules.organization.limits.monthly_credit_limit = Some(1); // nobody grants any here
    });
    assert_eq!(seen(&world, "select 1").await.status(), 429);
    world.stop().await;
}

#[tokio::test]
async fn a_page_changes_nothing() {
    let world = world().await;
    for sql in ["delete from customer", "create table x (a integer)", "update customer set name = 'x'"] {
        let caller = caller(owner_id().as_str(), true);
        let refused = post_as(&world, &caller, QUERY, json!({ "sql": sql })).await;
        assert!(refused.status().is_client_error(), "{sql}");
    }
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 3);
    world.stop().await;
}

/// Whoever comes with a credential of their own may say what they like.
#[tokio::test]
async fn nobody_else_can_say_that_it_is_for_a_page() {
    let world = world().await;
    let claim = serde_json::to_string(&caller("k-owner", true)).unwrap();
    for name in [header::CALLER, "x-requested-with"] {
        let claims = [(name, if name == header::CALLER { claim.as_str() } else { "sluice-dashboard" })];
        let answer =
            post(&router(&world), "/v1/query/arrow", demo_key(), &claims, &json!({"sql": format!("select '{name}'")}))
                .await;
        assert_eq!(answer.status(), 200);
        whole(answer).await;
        let (started, finished) = world.last();
        assert!(!started.by_dashboard && finished.micro_credits > 0, "{name}");
    }
    world.stop().await;
}
