//! A policy change reaches running sessions; the control plane may go away.

use reqwest::Method;
use serde_json::{Value, json};
use tests::World;

const SEE: &str = "select name, ssn from customers order by id";

async fn names(client: &tokio_postgres::Client) -> Vec<(String, String)> {
    client.query(SEE, &[]).await.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_reaches_an_open_session_and_a_prepared_statement() {
    let world = World::new().await;
    let analyst = world.user("analyst", json!({"region": "EU"})).await;
    let session = world.psql(&analyst.key).await.unwrap();
    let prepared = session.prepare(SEE).await.unwrap();
    assert_eq!(session.query(&prepared, &[]).await.unwrap().len(), 3);

    world.policy("row_level_security", json!([{"table": "customers", "filter": "region = '{region}'"}])).await;
    let mask = json!([{"table": "customers", "column": "ssn", "function": "partial", "visible_chars": 4}]);
    world.policy("column_masking", mask).await;
    let governed = [("Alice".to_owned(), "***6789".to_owned()), ("Bob".to_owned(), "***4321".to_owned())];
    // The policies were answered, so they rule: at once, and on a session that was open before.
    assert_eq!(names(&session).await, governed);
    let rows = session.query(&prepared, &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<_, String>(1)).collect::<Vec<_>>(), ["***6789", "***4321"]);
    world.end().await;
}

/// "Policy tester: 'run as' … shows filters, masks, verdict and rewritten SQL."
#[tokio::test(flavor = "multi_thread")]
async fn a_policy_is_tried_as_somebody_else_before_anybody_queries() {
    let world = World::new().await;
    world.user("analyst", json!({"region": "EU"})).await;
    world.policy("row_level_security", json!([{"table": "customers", "filter": "region = '{region}'"}])).await;
    let path = format!("/v1/environments/{}/policies/test", world.env_id);
    let run_as = json!({"role": "analyst", "attributes": {"region": "US"}});
    let told = world.ok(Method::POST, &path, &world.owner, json!({"sql": SEE, "as": run_as})).await;
    assert_eq!((&told["verdict"], &told["parameters"]), (&json!("allow"), &json!(["US"])), "{told}");
    assert_eq!(told["filters"][0]["table"], "main.customers");
    assert!(told["rewritten"].is_string() && told["governed"] != told["rewritten"], "{told}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_analyst_without_the_attribute_sees_no_row() {
    let world = World::new().await;
    world.user("analyst", json!({"region": "EU"})).await;
    world.policy("row_level_security", json!([{"table": "customers", "filter": "region = '{region}'"}])).await;
    let analyst = world.user("analyst", json!({})).await;
    assert_eq!(world.rows(&analyst.key, "select count(*) from customers").await, json!([[0]]));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_names_an_unknown_attribute_is_refused_when_it_is_written() {
    let world = World::new().await;
    let path = format!("/v1/environments/{}/policies", world.env_id);
    for filter in ["region = '{nowhere}'", "1 = 1", "region = 'EU'; drop table x", "count(*) > 1"] {
        let rules = json!([{"table": "customers", "filter": filter}]);
        let body = json!({"name": filter, "type": "row_level_security", "rules": rules, "enabled": true});
        let reply = world.call(Method::POST, &path, &world.owner, body).await;
        assert!([400, 422].contains(&reply.status), "{filter}: {} {}", reply.status, reply.body);
    }
    world.end().await;
}

/// A first day: `custmers.c_adress` was masked, listed in green, and nothing was hidden.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_names_nothing_is_refused_or_marked_until_it_rules_something() {
    let world = World::new().await;
    let path = format!("/v1/environments/{}/policies", world.env_id);
    let mask = |table: &str, column: &str| json!([{"table": table, "column": column, "function": "full"}]);
    let filter = |filter: &str| json!([{"table": "customers", "filter": filter}]);
    for (kind, rules, field, names) in [
        ("column_masking", mask("custmers", "ssn"), "rules[0].table", "main.customers"),
        ("column_masking", mask("customers", "snn"), "rules[0].column", "ssn"),
        ("row_level_security", filter("regoin = 'EU'"), "rules[0].filter", "region"),
        ("row_level_security", filter("id in (select id from gone)"), "rules[0].filter", "main.gone"),
        ("row_level_security", filter("sqrt(name) > 1"), "rules[0].filter", "does not evaluate"),
    ] {
        let body = json!({"name": field, "type": kind, "rules": rules});
        let reply = world.call(Method::POST, &path, &world.owner, body).await;
        assert_eq!(reply.status, 422, "{rules}: {}", reply.body);
        let error = &reply.body["error"];
        assert_eq!((&error["code"], &error["details"]["field"]), (&json!("INVALID_RULE"), &json!(field)), "{rules}");
        assert!(error["message"].as_str().unwrap().contains(names), "{rules}: {error}");
    }
    let later =
        json!({"name": "later", "type": "column_masking", "rules": mask("later", "ssn"), "accept_missing": true});
    let made = world.ok(Method::POST, &path, &world.owner, later).await;
    assert_eq!((&made["binding"], &made["unbound"][0]["rule"]), (&json!("rules_nothing"), &json!(0)), "{made}");
    world.rows(&world.key, "create table later as select * from customers").await;
    bound(&world, "later", "bound").await;
    world.rows(&world.key, "drop table later").await;
    bound(&world, "later", "rules_nothing").await;
    let trail = format!("/v1/environments/{}/audit/admin", world.env_id);
    let trail = world.ok(Method::GET, &trail, &world.owner, Value::Null).await;
    let types: Vec<_> = trail["data"].as_array().unwrap().iter().map(|event| event["event_type"].clone()).collect();
    assert_eq!(types.get(..2).unwrap(), ["policy.unbound", "policy.bound"]);
    world.end().await;
}

/// "Promotion always keeps and marks": the other environment's tables may come later.
#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_keeps_what_names_nothing_in_the_target_and_marks_it() {
    let world = World::new().await;
    let (live, _) = world.environment("live").await;
    let mask = json!([{"table": "customers", "column": "ssn", "function": "full"}]);
    world.policy("column_masking", mask).await;
    let path = format!("/v1/organizations/{}/environments/{}/promote", world.org_id, world.env_id);
    let promoted = world.ok(Method::POST, &path, &world.owner, json!({"target_env_id": live})).await;
    assert_eq!(promoted["status"], "completed", "{promoted}");
    let path = format!("/v1/environments/{live}/policies");
    let marked = world.ok(Method::GET, &path, &world.owner, Value::Null).await;
    let policy = &marked["data"][0];
    assert_eq!(
        (&policy["binding"], &policy["unbound"][0]["field"]),
        (&json!("rules_nothing"), &json!("rules[0].table"))
    );
    world.end().await;
}

/// Waits until the policy of this name is shown so.
async fn bound(world: &World, name: &str, binding: &str) {
    world.clock.advance(std::time::Duration::from_mins(1));
    let path = format!("/v1/environments/{}/policies", world.env_id);
    world
        .until(async || {
            let policies = world.ok(Method::GET, &path, &world.owner, Value::Null).await;
            let mut policies = policies["data"].as_array().unwrap().iter();
            policies.find(|policy| policy["name"] == name).filter(|policy| policy["binding"] == binding).map(|_| ())
        })
        .await;
}

/// "Control plane away: cached policies keep ruling."
#[tokio::test(flavor = "multi_thread")]
async fn without_the_control_planes_database_the_last_policies_rule() {
    let world = World::new().await;
    let mask = json!([{"table": "customers", "column": "ssn", "function": "full"}]);
    world.policy("column_masking", mask).await;
    let analyst = world.user("analyst", json!({})).await;
    let session = world.psql(&analyst.key).await.unwrap();
    world.until(async || (names(&session).await[0].1 == "***").then_some(())).await;
    world.database().open(false).await;
    assert_eq!(names(&session).await[0].1, "***");
    assert!(world.psql(&analyst.key).await.is_ok());
    world.database().open(true).await;
    world
        .until(async || {
            let health = world.call(Method::GET, "/ready", "", Value::Null).await;
            (health.status == 200).then_some(())
        })
        .await;
    world.end().await;
}
