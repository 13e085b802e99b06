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
