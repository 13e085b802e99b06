//! `POST /v1/environments/{id}/query`, from the caller to the engine and into the audit log.

use reqwest::Method;
use serde_json::{Value, json};
use tests::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_query_answers_with_every_field_and_is_audited_and_billed() {
    let world = World::new().await;
    let reply = world.query(&world.key, "select id, name from customers where id < 3 order by id").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let answer = reply.body;
    assert_eq!(answer["rows"], json!([[1, "Alice"], [2, "Bob"]]));
    assert_eq!(answer["columns"], json!([{"name": "id", "type": "INTEGER"}, {"name": "name", "type": "VARCHAR"}]));
    assert_eq!(answer["row_count"], 2);
    assert_eq!(answer["cache_hit"], false);
    assert_eq!(answer["columns_masked"], json!([]));
    assert_eq!(answer["credits_consumed"].as_f64(), Some(1.0));
    for timed in ["execution_time_ms", "transpilation_time_ms"] {
        assert!(answer[timed].as_f64().is_some_and(|ms| ms >= 0.0), "{timed}");
    }
    let entry = entry(&world, answer["query_id"].as_str().unwrap()).await;
    assert_eq!(entry["rows_returned"], 2);
    assert_eq!(entry["credits_consumed"].as_f64(), Some(1.0));
    assert_eq!(entry["tables_accessed"], json!(["main.customers"]));
    let redacted = entry["sql"].as_str().unwrap();
    assert!(redacted.contains('?') && !redacted.contains('3'), "{redacted}");
    assert!(entry["sql_original"].as_str().unwrap().contains("id < 3"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_carry_the_code_of_the_table_and_show_no_internals() {
    let world = World::new().await;
    let cases = [
        ("slct 1", 400, "QUERY_PARSE_ERROR", "SVC_ERR_400_BAD_SQL"),
        ("select 1 / 0", 400, "QUERY_PARSE_ERROR", "SVC_ERR_400_BAD_SQL"),
        ("select * from nowhere", 404, "NOT_FOUND", "SVC_ERR_404_TABLE_NOT_FOUND"),
        ("select read_text('/etc/passwd')", 403, "POLICY_DENIED", "POLICY_DENIED"),
        ("select * from read_csv('/etc/passwd')", 422, "TRANSPILATION_ERROR", "TRANSPILATION_ERROR"),
        ("copy customers to '/tmp/x'", 422, "TRANSPILATION_ERROR", "TRANSPILATION_ERROR"),
        ("select 'x'::integer", 400, "QUERY_PARSE_ERROR", "SVC_ERR_400_BAD_SQL"),
        ("select 1; select 2", 400, "QUERY_PARSE_ERROR", "SVC_ERR_400_BAD_SQL"),
    ];
    let of_data = [("select 1 / 0", "22012"), ("select 'x'::integer", "22P02")];
    for (sql, status, code, stable) in cases {
        let reply = world.query(&world.key, sql).await;
        let error = &reply.body["error"];
        assert_eq!((reply.status, &error["code"]), (status, &code.into()), "{sql}: {}", reply.body);
        assert_eq!(error["details"]["stable_code"], stable, "{sql}");
        let sqlstate = of_data.iter().find(|(known, _)| *known == sql).map(|(_, sqlstate)| *sqlstate);
        assert_eq!(error["details"].get("sqlstate").and_then(Value::as_str), sqlstate, "{sql}");
        // the snippet is of the caller's own text; the engine would show ours
        assert!(error["details"]["snippet"].as_str().is_none_or(|snippet| snippet.contains(sql)), "{sql}");
        let mut shown = reply.body.clone();
        shown["error"]["details"]["snippet"].take();
        let shown = shown.to_string();
        assert!(!shown.contains("raw.") && !shown.contains("LINE 1"), "{sql}: {shown}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_healed_is_told_by_both_planes_as_far_as_the_environment_permits() {
    let world = World::new().await;
    let path = format!("/v1/environments/{}/query", world.env_id);
    let auth = format!("ApiKey {}", world.key);
    let sql = "select count(*) form customers";
    for format in ["json", "csv"] {
        let reply = world.call(Method::POST, &path, &auth, json!({"sql": sql, "format": format})).await;
        assert_eq!(reply.headers["x-query-healed"], "healed: form was read as FROM", "{format}: {}", reply.body);
        let entry = entry(&world, reply.headers["x-query-id"].to_str().unwrap()).await;
        assert_eq!(
            (&entry["sql_original"], &entry["sql_healed"]),
            (&sql.into(), &"select count(*) from customers".into())
        );
    }
    let environment = format!("/v1/organizations/{}/environments/{}", world.org_id, world.env_id);
    world.ok(Method::PUT, &environment, &world.owner, json!({"settings": {"heal": "off"}})).await;
    for asked in [json!({"sql": sql}), json!({"sql": sql, "heal": "auto"})] {
        let reply = world.call(Method::POST, &path, &auth, asked).await;
        let error = &reply.body["error"];
        assert_eq!((reply.status, &error["code"]), (400, &"QUERY_PARSE_ERROR".into()), "{}", reply.body);
        assert_eq!(error["details"]["suggestion"], "select count(*) from customers");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn csv_and_arrow_carry_the_same_rows() {
    let world = World::new().await;
    let path = format!("/v1/environments/{}/query", world.env_id);
    let auth = format!("ApiKey {}", world.key);
    let sql = "select id, name from customers order by id";
    let csv = world.call(Method::POST, &path, &auth, json!({"sql": sql, "format": "csv"})).await;
    assert_eq!(csv.body, Value::from("id,name\r\n1,Alice\r\n2,Bob\r\n3,Carol\r\n"));
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8; header=present");
    let arrow = world.ok(Method::POST, &format!("{path}/arrow"), &auth, json!({"sql": sql})).await;
    assert_eq!((&arrow["format"], &arrow["rows"]), (&"arrow_ipc_base64".into(), &3.into()));
    world.end().await;
}

/// The audit entry of a query, as soon as its report has arrived.
pub async fn entry(world: &World, query_id: &str) -> Value {
    let path = format!("/v1/environments/{}/audit/queries/{query_id}", world.env_id);
    world
        .until(async || {
            let reply = world.call(Method::GET, &path, &world.owner, Value::Null).await;
            (reply.status == 200 && reply.body["outcome"] != "running").then_some(reply.body)
        })
        .await
}
