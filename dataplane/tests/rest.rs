//! The internal REST routes: bodies of answers and of refusals.

use arrow::ipc::reader::StreamReader;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, Response};
use base64::Engine;
use contract::policy::abac::{Action, Condition, Origin};
use contract::wire::{Forwarded, Who, header};
use dataplane::Ending;
use dataplane::agents::reasoning::Thoughts;
use dataplane::protocols::rest::{RestContext, routes};
use dataplane::testing::{analyst_id, masking, owner_id, rule, ruled};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::agents_router::{as_json, whole};
use crate::world::{World, world};

pub async fn post(world: &World, path: &str, who: &str, body: Value) -> Response<Body> {
    post_through(world, None, path, who, body).await
}

async fn post_through(world: &World, origin: Option<Origin>, path: &str, who: &str, body: Value) -> Response<Body> {
    let caller = Forwarded { origin, ..Forwarded::of(Who::Key { key_id: who.into() }, Some([127, 0, 0, 1].into())) };
    post_as(world, &caller, path, body).await
}

/// For the caller whom the control plane names.
pub async fn post_as(world: &World, caller: &Forwarded, path: &str, body: Value) -> Response<Body> {
    let request = Request::post(path)
        .header(header::CALLER, serde_json::to_string(caller).unwrap())
        .header(header::REQUEST_ID, "req-7")
        .body(Body::from(body.to_string()))
        .unwrap();
    sent(world, request).await
}

pub async fn sent(world: &World, request: Request<Body>) -> Response<Body> {
    router(world).oneshot(request).await.unwrap()
}

/// The routes for several requests that know of each other.
pub fn router(world: &World) -> Router {
    let context = RestContext {
        env_id: "env-1".into(),
        pipeline: world.pipeline.clone(),
        memories: world.memories.clone(),
        thoughts: Thoughts::default(),
        triggers: world.triggers.clone(),
        ending: Ending::default(),
        limits: connections::ConnectionTimeouts::DEFAULT.limits(),
    };
    routes(context)
}

pub async fn query(world: &World, body: Value) -> Response<Body> {
    post(world, "/v1/environments/env-1/query", owner_id().as_str(), body).await
}

#[tokio::test]
async fn json_has_every_member_of_the_specification_in_its_order() {
    let world = world().await;
    let body =
        as_json(query(&world, json!({"sql": "select id, balance from customer order by id limit 2"})).await).await;
    let members: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let specified = "query_id columns rows row_count execution_time_ms transpilation_time_ms cache_hit credits_consumed \
        columns_masked warnings";
    assert_eq!(members.join(" "), specified);
    assert_eq!(
        body["columns"],
        json!([{"name": "id", "type": "INTEGER"}, {"name": "balance", "type": "DECIMAL(12,2)"}])
    );
    assert_eq!(body["rows"].to_string(), "[[1,10.50],[2,20.25]]");
    assert_eq!((body["row_count"].as_u64(), body["credits_consumed"].as_f64()), (Some(2), Some(1.0)));
    world.stop().await;
}

#[tokio::test]
async fn numbers_that_no_double_holds_are_text_where_the_body_wishes_it() {
    let world = world().await;
    let sql =
        "select 9007199254740993 as big, 12345678901234.5678::decimal(18,4) as exact, 1.50::decimal(4,2) as small";
    let rows = async |body: Value| as_json(query(&world, body).await).await["rows"].to_string();
    let numbers = "[[9007199254740993,12345678901234.5678,1.50]]";
    let texts = r#"[["9007199254740993","12345678901234.5678",1.50]]"#;
    assert_eq!(rows(json!({"sql": sql, "numbers": "strings"})).await, texts);
    for body in [json!({"sql": sql}), json!({"sql": sql, "numbers": "json"})] {
        assert_eq!(rows(body).await, numbers);
    }
    for (format, numbers) in [("csv", "strings"), ("csv", "json"), ("json", "digits")] {
        let refused = query(&world, json!({"sql": sql, "format": format, "numbers": numbers})).await;
        assert_eq!(refused.status(), 400, "{format} {numbers}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_short_csv_has_its_totals_in_headers_and_a_long_one_in_trailers() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", contract::policy::MaskFunction::Full)]);
    let body = json!({"sql": "select name, ssn from customer order by id", "format": "csv"});
    let response = post(&world, "/v1/environments/env-1/query", analyst_id().as_str(), body).await;
    assert_eq!(response.headers()["content-type"], "text/csv; charset=utf-8; header=present");
    assert_eq!(response.headers()["x-columns-masked"], "ssn");
    assert_eq!(response.headers()["x-cache-hit"], "false");
    let counted = |told: &HeaderMap| (told["x-row-count"].clone(), told["x-credits-consumed"].clone());
    let headers = response.headers().clone();
    assert_eq!(counted(&headers), ("3".parse().unwrap(), "1".parse().unwrap()));
    let (body, trailers) = whole(response).await;
    assert_eq!(String::from_utf8(body).unwrap(), "name,ssn\r\nAda,***\r\nBob,***\r\nCleo,***\r\n");
    assert!(trailers.is_empty() && !headers.contains_key("trailer"));
    let response = query(&world, json!({"sql": "select range as n from range(300000)", "format": "csv"})).await;
    assert_eq!(response.headers()["trailer"], "x-row-count, x-credits-consumed");
    assert_eq!(counted(&whole(response).await.1).0, "300000");
    world.stop().await;
}

#[tokio::test]
async fn a_result_is_a_parquet_file_of_what_the_caller_sees() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", contract::policy::MaskFunction::Full)]);
    let sql = "select id, ssn from customer order by id";
    let response = query(&world, json!({"sql": sql, "format": "parquet"})).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/vnd.apache.parquet");
    assert_eq!(response.headers()["x-row-count"], "3");
    let (body, _) = whole(response).await;
    assert!(body.starts_with(b"PAR1") && body.ends_with(b"PAR1"), "{} bytes", body.len());
    let refused = query(&world, json!({"sql": "select interval '1 day' as i", "format": "parquet"})).await;
    assert_eq!(refused.status(), 400);
    world.stop().await;
}

#[tokio::test]
async fn a_query_that_says_that_it_only_reads_changes_nothing() {
    let world = world().await;
    let asked = async |sql: &str| query(&world, json!({"sql": sql, "reads_only": true})).await;
    assert_eq!(asked("select count(*) from customer").await.status(), 200);
    for sql in ["insert into customer (id) values (9)", "delete from customer", "create table made (id integer)"] {
        let refused = asked(sql).await;
        assert_eq!(refused.status(), 403, "{sql}");
        let told = as_json(refused).await["error"]["message"].to_string();
        assert!(told.contains("only statements that read"), "{told}");
    }
    assert_eq!(world.count("select count(*) from customer").await, 3);
    let written = query(&world, json!({"sql": "insert into customer (id) values (9)", "reads_only": false})).await;
    assert_eq!(written.status(), 200);
    world.stop().await;
}

#[tokio::test]
async fn both_arrow_bodies_hold_the_same_stream() {
    let world = world().await;
    let sql = "select id from customer order by id";
    let raw = query(&world, json!({"sql": sql, "format": "arrow"})).await;
    assert_eq!(raw.headers()["x-row-count"], "3");
    let (raw, _) = whole(raw).await;
    let body = post(&world, "/v1/environments/env-1/query/arrow", owner_id().as_str(), json!({"sql": sql})).await;
    let body = as_json(body).await;
    assert_eq!((body["format"].as_str(), body["rows"].as_u64()), (Some("arrow_ipc_base64"), Some(3)));
    let decoded = base64::prelude::BASE64_STANDARD.decode(body["data"].as_str().unwrap()).unwrap();
    let read = |bytes: &[u8]| StreamReader::try_new(bytes, None).unwrap().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(read(&raw), read(&decoded));
    assert_eq!(read(&raw).iter().map(arrow::array::RecordBatch::num_rows).sum::<usize>(), 3);
    world.change(|rules| rules.organization.tier = contract::Tier::Free);
    let refused = query(&world, json!({"sql": sql, "format": "arrow"})).await;
    assert_eq!(refused.status(), 403);
    assert_eq!(as_json(refused).await["error"]["details"]["reason"], "tier_limit");
    world.stop().await;
}

#[tokio::test]
async fn refusals_are_body_two_with_the_request_id() {
    let world = world().await;
    let cases = [
        (json!({"sql": "slct"}), 400, "SVC_ERR_400_BAD_SQL"),
        (json!({"sql": "select * from nowhere"}), 404, "SVC_ERR_404_TABLE_NOT_FOUND"),
        (json!({"sql": "select 1", "timeout_ms": 300_001}), 400, "SVC_ERR_400_INVALID_PARAMS"),
        (json!({"sql": "select 1", "nope": 1}), 400, "SVC_ERR_400_INVALID_PARAMS"),
        (json!({}), 400, "SVC_ERR_400_INVALID_PARAMS"),
    ];
    for (body, status, code) in cases {
        let response = query(&world, body.clone()).await;
        assert_eq!(response.status(), status, "{body}");
        assert_eq!(response.headers()["x-request-id"], "req-7");
        let error = as_json(response).await;
        assert_eq!(
            (error["error"]["code"].as_str(), error["error"]["request_id"].as_str()),
            (Some(code), Some("req-7"))
        );
    }
    let elsewhere = post(&world, "/v1/environments/env-2/query", "k-owner", json!({"sql": "select 1"})).await;
    assert_eq!(elsewhere.status(), 404);
    let nobody = post(&world, "/v1/environments/env-1/query", "k-nobody", json!({"sql": "select 1"})).await;
    assert_eq!(nobody.status(), 401);
    world.stop().await;
}

#[tokio::test]
async fn a_tool_is_called_for_the_caller_whom_the_control_plane_names() {
    let world = world().await;
    let path = |name: &str| format!("/v1/environments/env-1/tools/{name}");
    let body = json!({"agent_id": "a7", "arguments": {"content": "kept for later"}});
    let stored = as_json(post(&world, &path("store_memory"), "k-owner", body).await).await;
    assert_eq!((&stored["created"], &stored["agent_id"]), (&json!(true), &json!("a7")), "{stored}");
    let body = json!({"arguments": {"query": "later"}});
    let found = as_json(post(&world, &path("search_memory"), "k-owner", body).await).await;
    assert_eq!(found["results"][0]["memory_id"], stored["memory_id"]);
    assert_eq!(world.last().0.origin.as_str(), "rest");
    let cases = [
        ("no_such_tool", json!({}), 404),
        ("search_memory", json!({"arguments": {}}), 400),
        ("search_memory", json!({"arguments": {"query": "x"}, "more": 1}), 400),
    ];
    for (name, body, status) in cases {
        assert_eq!(post(&world, &path(name), "k-owner", body).await.status(), status, "{name}");
    }
    let nobody = post(&world, &path("search_memory"), "k-nobody", json!({"arguments": {"query": "x"}})).await;
    assert_eq!(nobody.status(), 401);
    world.stop().await;
}

#[tokio::test]
async fn a_statement_runs_on_the_branch_that_it_names() {
    let world = world().await;
    let tool = json!({"arguments": {"tables": ["customer"]}});
    let made =
        as_json(post(&world, "/v1/environments/env-1/tools/create_branch", owner_id().as_str(), tool).await).await;
    let on = |sql: &str| json!({"sql": sql, "branch_id": made["branch_id"]});
    assert_eq!(query(&world, on("delete from customer where id = 1")).await.status(), 200);
    let count = "select count(*) from customer";
    assert_eq!(as_json(query(&world, on(count)).await).await["rows"], json!([[2]]));
    assert_eq!(as_json(query(&world, json!({"sql": count})).await).await["rows"], json!([[3]]));
    for absent in ["", "main", "0123456789abcdef0123456789abcdef", "x' or true"] {
        let refused = query(&world, json!({"sql": count, "branch_id": absent})).await;
        assert_eq!(refused.status(), 404, "{absent}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_declared_agent_is_bounded_wherever_it_is_declared() {
    let world = world().await;
    let path = |rest: &str| format!("/v1/environments/env-1/{rest}");
    let long = "ab".repeat(10_000);
    let before = world.entries().len();
    for bad in ["", "a\0", "a\nb", &"x".repeat(257), &long] {
        let cases = [
            ("query", json!({"sql": "select 1", "agent_id": bad}), "agent_id"),
            ("query", json!({"sql": "select 1", "agent_framework": bad}), "agent_framework"),
            ("query/arrow", json!({"sql": "select 1", "agent_id": bad}), "agent_id"),
            ("transpile", json!({"sql": "select 1", "agent_id": bad}), "agent_id"),
            ("transpile", json!({"sql": "select 1", "agent_framework": bad}), "agent_framework"),
            ("policies/test", json!({"sql": "select 1", "as": {"agent_id": bad}}), "as.agent_id"),
            ("policies/test", json!({"sql": "select 1", "as": {"framework": bad}}), "as.framework"),
            ("tools/store_memory", json!({"agent_id": bad, "arguments": {"content": "c"}}), "agent_id"),
            ("tools/run_sql", json!({"agent_id": bad, "arguments": {"sql": "select 1"}}), "agent_id"),
        ];
        for (rest, body, field) in cases {
            let refused = post(&world, &path(rest), owner_id().as_str(), body).await;
            assert_eq!(refused.status(), 400, "{rest} {field}");
            let error = as_json(refused).await;
            assert_eq!(error["error"]["details"]["field"], field, "{rest}: {error}");
        }
        // nor by whom nobody knows
        let body = json!({"sql": "select 1", "agent_id": bad});
        assert_eq!(post(&world, &path("query"), "k-nobody", body).await.status(), 400);
    }
    assert_eq!(world.entries().len(), before, "nothing of it is kept");
    let longest = "ä".repeat(256);
    let body = json!({"sql": "select 1", "agent_id": longest, "agent_framework": "crew ai"});
    assert_eq!(query(&world, body).await.status(), 200);
    let agent = world.last().0.agent.unwrap();
    assert_eq!((agent.agent_id, agent.framework.as_deref()), (Some(longest), Some("crew ai")));
    world.stop().await;
}

#[tokio::test]
async fn once_everything_is_closed_a_request_is_told_to_come_back() {
    let world = world().await;
    world.pipeline.closed.cancel();
    let response = query(&world, json!({"sql": "select 1"})).await;
    assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (503, &"30".parse().unwrap()));
    assert_eq!(as_json(response).await["error"]["code"], "SVC_ERR_503_SHUTTING_DOWN");
    world.stop().await;
}

#[tokio::test]
async fn what_a_request_sets_is_its_own_and_it_is_told() {
    let world = world().await;
    let alone = as_json(query(&world, json!({"sql": "set n = 2"})).await).await;
    assert!(alone["warnings"].to_string().contains("for this request alone"), "{alone}");
    let read = as_json(query(&world, json!({"sql": "set n = 2; select $n + 1 as m"})).await).await;
    assert_eq!((read["rows"].to_string(), read["warnings"].to_string()), ("[[3]]".to_owned(), "[]".to_owned()));
    let forgotten = as_json(query(&world, json!({"sql": "select $n"})).await).await;
    assert!(forgotten["error"]["message"].to_string().contains("no variable $n"), "{forgotten}");
    let several = as_json(query(&world, json!({"sql": "select 1; select 2"})).await).await;
    assert_eq!(several["error"]["code"], "SVC_ERR_400_BAD_SQL");
    world.stop().await;
}

/// `QueryOriginIs` knows the origins that the control plane alone can tell.
#[tokio::test]
async fn what_came_through_the_dashboard_or_a_replay_is_judged_by_that_origin() {
    let world = world().await;
    let (path, tool) = ("/v1/environments/env-1/query", "/v1/environments/env-1/tools/list_tables");
    let origins = [(None, "rest"), (Some(Origin::Dashboard), "dashboard"), (Some(Origin::Shadow), "shadow")];
    for closed in ["rest", "dashboard", "shadow", "arrow"] {
        let denies = rule(Condition::QueryOriginIs, &[closed], Action::Deny);
        world.change(|rules| rules.abac_policies = vec![ruled("closed", vec![denies.clone()])]);
        for (origin, name) in origins {
            let who = owner_id();
            let arrow = json!({"sql": "select 1", "format": "arrow"});
            let as_arrow = if name == "shadow" { "shadow" } else { "arrow" };
            let asked = [
                (path, json!({"sql": "select 1"}), name),
                (path, arrow, as_arrow),
                (tool, json!({"arguments": {}}), name),
            ];
            for (path, body, name) in asked {
                let answer = post_through(&world, origin, path, who.as_str(), body).await;
                assert_eq!(
                    answer.status(),
                    if name == closed { 403 } else { 200 },
                    "{name} at {path}, closed {closed}"
                );
            }
        }
    }
    world.stop().await;
}
