//! Explanations of statements without running them: for the caller, and for somebody imagined.

use contract::Role;
use contract::policy::MaskFunction;
use contract::policy::abac::{Action, Condition};
use dataplane::testing::{analyst_id, analyst_key, filtering, masking, owner_id, rule, ruled};
use serde_json::{Value, json};

use crate::agents_router::{as_json, router, tool};
use crate::rest::post;
use crate::world::{World, world};

async fn transpile(world: &World, who: &str, sql: &str) -> Value {
    as_json(post(world, "/v1/environments/env-1/transpile", who, json!({"sql": sql})).await).await
}

async fn test(world: &World, sql: &str, run_as: Value) -> Value {
    let body = json!({"sql": sql, "as": run_as});
    as_json(post(world, "/v1/environments/env-1/policies/test", owner_id().as_str(), body).await).await
}

async fn governed() -> World {
    let world = world().await;
    world.change(|rules| {
        rules.policies =
            vec![filtering("customer", "region = {region}"), masking("customer", "ssn", MaskFunction::Full)];
    });
    world
}

#[tokio::test]
async fn an_owner_sees_the_statement_before_and_after_the_policies() {
    let world = world().await;
    let told = transpile(&world, owner_id().as_str(), "select nvl(name, '') from customer").await;
    assert_eq!(told["original"], "select nvl(name, '') from customer");
    assert_eq!(told["tables"], json!(["main.customer"]));
    for text in ["rewritten", "governed"] {
        let text = told[text].as_str().unwrap().to_lowercase();
        assert!(text.contains("coalesce") && text.contains("customer"), "{text}");
    }
    world.stop().await;
}

/// What a mask is made of tells the column's type, and a filter is a policy's own text.
#[tokio::test]
async fn who_may_not_see_policies_sees_no_statement_that_they_change() {
    let world = governed().await;
    let told = transpile(&world, analyst_id().as_str(), "select dateadd(day, 1, ssn) from customer").await;
    let hidden = ["rewritten", "governed"].map(|name| told[name].is_null());
    assert_eq!((hidden, &told["parameters"]), ([true, true], &json!([])), "{told}");
    let plain = transpile(&world, analyst_id().as_str(), "select nvl(null, 1)").await;
    assert!(plain["rewritten"].is_string() && plain["governed"].is_null(), "{plain}");
    world.stop().await;
}

#[tokio::test]
async fn whoever_lacks_an_attribute_is_told_that_there_are_no_rows_for_them() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![filtering("customer", "name = {segment}")]);
    let sql = "select count(*) from customer";
    let warning = "no rows of main.customer for you: a rule needs `segment`, and you have none";
    let told = transpile(&world, analyst_id().as_str(), sql).await;
    assert_eq!((&told["tables_hidden"], &told["warnings"]), (&json!(["main.customer"]), &json!([warning])));
    let (judged, _) = tool(&router(&world), analyst_key(), "enforce_abac_policy", json!({"query": sql})).await;
    assert_eq!((&judged["decision"], &judged["reason"]), (&json!("allow"), &json!(warning)));
    for (attributes, hidden) in [(json!({}), json!(["main.customer"])), (json!({"segment": "Ada"}), json!([]))] {
        let told = test(&world, sql, json!({"role": "analyst", "attributes": attributes})).await;
        assert_eq!((&told["verdict"], &told["tables_hidden"]), (&json!("allow"), &hidden), "{told}");
    }
    world.stop().await;
}

#[tokio::test]
async fn an_error_says_the_line_the_column_and_shows_a_caret() {
    let world = world().await;
    let told = transpile(&world, owner_id().as_str(), "select 1\n  from customer where )").await;
    let details = &told["error"]["details"];
    assert_eq!((&details["line"], &details["column"]), (&json!(2), &json!(23)));
    assert_eq!(details["snippet"], "LINE 2:   from customer where )\n                              ^");
    let told = transpile(&world, owner_id().as_str(), "select soundexx(name) from customer").await;
    assert_eq!(told["error"]["details"]["function"], "soundexx", "{told}");
    world.stop().await;
}

#[tokio::test]
async fn somebody_imagined_meets_the_filters_and_masks_that_they_would() {
    let world = governed().await;
    let sql = "select ssn from customer";
    let told = test(&world, sql, json!({"role": "analyst", "attributes": {"region": "EU"}})).await;
    assert_eq!((&told["verdict"], &told["columns_masked"]), (&json!("allow"), &json!(["customer.ssn"])), "{told}");
    assert_eq!(told["filters"][0]["filter"], "region = {region}");
    assert_eq!((&told["masks"][0]["column"], &told["masks"][0]["function"]), (&json!("ssn"), &json!("full")));
    assert_eq!(told["parameters"], json!(["EU"]));
    let (plain, ruled) = (told["rewritten"].as_str().unwrap(), told["governed"].as_str().unwrap());
    assert!(!plain.contains("region =") && ruled.contains("***"), "{plain}\n{ruled}");
    let own = test(&world, sql, json!({})).await;
    assert_eq!((&own["filters"], &own["masks"], &own["columns_masked"]), (&json!([]), &json!([]), &json!([])));
    world.stop().await;
}

#[tokio::test]
async fn a_denial_is_an_answer_with_its_policy() {
    let world = world().await;
    let no_crew = rule(Condition::AgentFrameworkIs, &["crewai"], Action::Deny);
    let mut office = rule(Condition::TimeOfDay, &[], Action::DenyOutside);
    (office.start, office.end) = (Some("09:00".into()), Some("17:00".into()));
    office.exempt_roles = vec![Role::Owner]; // who asks, whatever the hour
    world.change(|rules| rules.abac_policies = vec![ruled("abac", vec![no_crew, office])]);
    let noon = "2026-03-02T12:00:00Z";
    let cases = [
        (json!({"framework": "langchain", "at": noon}), "allow"),
        (json!({"framework": "crewai", "at": noon}), "deny"),
        (json!({"role": "developer", "at": "2026-03-02T20:00:00Z"}), "deny"),
        (json!({"role": "auditor", "at": noon}), "deny"),
    ];
    for (run_as, verdict) in cases {
        let told = test(&world, "select name from customer", run_as.clone()).await;
        assert_eq!(told["verdict"], verdict, "{run_as}: {told}");
        assert_eq!(told["governed"].is_null(), verdict == "deny", "{run_as}: {told}");
        assert_eq!(told["code"].is_null(), verdict == "allow", "{run_as}: {told}");
    }
    world.stop().await;
}

#[tokio::test]
async fn only_owners_and_admins_imagine_somebody() {
    let world = governed().await;
    let body = json!({"sql": "select 1", "as": {"role": "owner"}});
    let refused = post(&world, "/v1/environments/env-1/policies/test", analyst_id().as_str(), body).await;
    assert_eq!(refused.status(), 403);
    let many: serde_json::Map<_, _> = (0..33).map(|n| (format!("a{n}"), json!("x"))).collect();
    let told = test(&world, "select 1", json!({"attributes": many})).await;
    assert_eq!(told["error"]["details"]["field"], "as.attributes", "{told}");
    world.stop().await;
}

#[tokio::test]
async fn nothing_runs_and_it_is_written_down() {
    let world = governed().await;
    let told = test(&world, "delete from customer", json!({"role": "developer"})).await;
    assert_eq!(told["verdict"], "allow", "{told}");
    assert_eq!(world.count("select count(*) from customer").await, 3);
    let (started, finished) = world.last();
    assert_eq!((started.sql.as_str(), finished.rows_returned), ("CALL policy_test", 0));
    world.stop().await;
}

/// The values would be rows.
#[tokio::test]
async fn a_pivot_over_any_value_reads_none() {
    let world = world().await;
    let sql = "select * from (select name, region from customer) pivot (count(name) for region in (any))";
    let told = transpile(&world, owner_id().as_str(), sql).await;
    assert!(!told["governed"].as_str().unwrap().contains("EU"), "{told}");
    assert!(told["warnings"].to_string().contains("ANY"), "{told}");
    world.stop().await;
}
