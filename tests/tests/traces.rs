//! One trace from whoever asks to the last stage, over every protocol; nothing in it that is somebody's own.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use reqwest::{Method, RequestBuilder};
use serde_json::json;
use telemetry::Collector;
use tests::{Received, Told, World};

use crate::agents;

const STAGES: [&str; 11] = [
    "semaphore",
    "table_extraction",
    "policy_check",
    "cost_estimate",
    "quota_check",
    "row_filter",
    "transpile",
    "snapshot_pin",
    "execute",
    "column_mask",
    "audit",
];
const SQL: &str = "select name from customers where ssn = '123-45-6789'";
/// The span of whoever asks.
const ASKED: &str = "00f067aa0ba902b7";

/// A trace of its own, and its parent for a request.
fn trace(number: u8, sampled: bool) -> (String, String) {
    let trace_id = format!("{number:02x}f92f3577b34da6a3ce929d0e0e4736");
    let parent = format!("00-{trace_id}-{ASKED}-0{}", u8::from(sampled));
    (trace_id, parent)
}

async fn world(received: &Received) -> World {
    World::telling_with_tables(received.settings()).await
}

/// The whole of a query's trace, once its last stage has come.
async fn whole(world: &World, received: &Received, trace_id: &str) -> Vec<Told> {
    let ended = |told: &Vec<Told>| told.iter().any(|told| told.attributes.contains_key("db.query.text"));
    world.until(async || Some(received.of(trace_id)).filter(ended)).await
}

fn query(told: &[Told]) -> &Told {
    let mut queries = told.iter().filter(|told| told.attributes.contains_key("db.query.text"));
    let query = queries.next().unwrap();
    assert!(queries.next().is_none(), "{told:#?}");
    query
}

fn rest(world: &World, parent: &str, sql: &str) -> RequestBuilder {
    let url = format!("{}/v1/environments/{}/query", world.url, world.env_id);
    let request = reqwest::Client::new().post(url).header("authorization", format!("ApiKey {}", world.key));
    request.header("traceparent", parent).json(&json!({"sql": sql}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_over_rest_is_one_trace_from_the_request_to_the_last_stage() {
    let received = Received::listening().await;
    let world = world(&received).await;
    let (trace_id, parent) = trace(1, true);
    assert_eq!(rest(&world, &parent, SQL).send().await.unwrap().status(), 200);
    whole(&world, &received, &trace_id).await;
    // the control plane tells for itself, in its own time
    let is_request = |told: &Told| told.name == "POST /v1/environments/{env_id}/query";
    let has_both = |told: &Vec<Told>| told.iter().any(is_request);
    let told = world.until(async || Some(received.of(&trace_id)).filter(has_both)).await;
    let query = query(&told);
    let request = told.iter().find(|told| is_request(told)).unwrap();
    assert_eq!((request.service.as_str(), request.parent_id.as_str()), ("sluice-controlplane", ASKED));
    assert_eq!(request.attributes["http.response.status_code"], "200");
    assert_eq!((query.service.as_str(), &query.parent_id), ("sluice-dataplane", &request.span_id));
    assert_eq!(query.attributes["sluice.door"], "rest");
    assert_eq!(query.attributes["sluice.request.id"], request.attributes["sluice.request.id"]);
    assert_eq!(query.attributes["db.response.returned_rows"], "1");
    let steps: Vec<_> = told.iter().filter(|told| told.parent_id == query.span_id).collect();
    for stage in STAGES {
        let step = steps.iter().find(|step| step.name == stage).unwrap_or_else(|| panic!("no {stage} in {told:#?}"));
        assert!(step.took <= query.took, "{stage}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_protocol_reads_the_trace_context_that_it_carries() {
    let received = Received::listening().await;
    let world = world(&received).await;
    let tools = agents::url(&world).await;
    let client = reqwest::Client::new();
    let origin = async |number: u8, name: &str| {
        let told = whole(&world, &received, &trace(number, true).0).await;
        let query = query(&told);
        assert_eq!((query.attributes["sluice.door"].as_str(), query.parent_id.as_str()), (name, ASKED));
    };
    let psql = world.psql(&world.key).await.unwrap();
    psql.simple_query(&format!("{SQL} /*traceparent='{}'*/;", trace(2, true).1)).await.unwrap();
    origin(2, "pgwire").await;
    psql.query(&format!("/*traceparent='{}'*/ {SQL}", trace(3, true).1), &[]).await.unwrap();
    origin(3, "pgwire").await;
    let params = json!({"name": "run_sql", "arguments": {"sql": SQL}, "_meta": {"traceparent": trace(4, true).1}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let call = client.post(&tools).header("x-api-key", &world.key).header("traceparent", trace(5, true).1);
    assert_eq!(call.json(&message).send().await.unwrap().status(), 200);
    origin(4, "mcp").await;
    assert_eq!(received.of(&trace(5, true).0).len(), 0, "the nearer context counts");
    let arrow = client.post(tools.replace("/mcp", "/v1/query/arrow")).header("x-api-key", &world.key);
    let arrow = arrow.header("traceparent", trace(6, true).1).json(&json!({"sql": SQL}));
    assert_eq!(arrow.send().await.unwrap().status(), 200);
    origin(6, "arrow").await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_statement_takes_and_gives_is_asked_in_a_span_of_its_own() {
    let received = Received::listening().await;
    let world = world(&received).await;
    let psql = world.psql(&world.key).await.unwrap();
    let described = async |number: u8| {
        let ended = || received.of(&trace(number, true).0).into_iter().find(|told| told.name == "describe");
        world.until(async || ended()).await
    };
    let statement = |number: u8, sql: &str| format!("/*traceparent='{}'*/ {sql}", trace(number, true).1);
    let prepared = psql.prepare(&statement(30, SQL)).await.unwrap();
    let described_well = described(30).await;
    assert_eq!((described_well.parent_id.as_str(), described_well.service.as_str()), (ASKED, "sluice-dataplane"));
    assert_eq!(described_well.attributes["sluice.door"], "pgwire");
    let told = received.of(&trace(30, true).0);
    let steps: Vec<_> = told.iter().filter(|told| told.parent_id == described_well.span_id).collect();
    for stage in ["table_extraction", "policy_check", "row_filter", "transpile"] {
        assert!(steps.iter().any(|step| step.name == stage), "no {stage} in {told:#?}");
    }
    assert!(!told.iter().any(|told| told.attributes.contains_key("db.query.text")), "nothing ran");
    psql.query(&prepared, &[]).await.unwrap();
    assert_eq!(query(&whole(&world, &received, &trace(30, true).0).await).parent_id, ASKED, "beside it");
    psql.prepare(&statement(31, "select * from nowhere")).await.unwrap_err();
    assert_eq!(described(31).await.attributes["error.type"], "SVC_ERR_404_TABLE_NOT_FOUND");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_data_plane_asks_the_control_plane_for_a_call_is_in_its_trace() {
    let received = Received::listening().await;
    let world = World::telling(received.settings()).await;
    let (trace_id, parent) = trace(7, true);
    let arguments = json!({"agent_id": "planner", "framework": "crewai"});
    let params = json!({"name": "register_agent", "arguments": arguments, "_meta": {"traceparent": parent}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let call = reqwest::Client::new().post(agents::url(&world).await).header("x-api-key", &world.key);
    assert_eq!(call.json(&message).send().await.unwrap().status(), 200);
    let called = |told: &Told| told.name == "sluice.governance.v1.Governance/RegisterAgent";
    let told = world.until(async || Some(received.of(&trace_id)).filter(|told| told.iter().any(called))).await;
    let call = told.iter().find(|told| called(told)).unwrap();
    let spans = whole(&world, &received, &trace_id).await;
    assert_eq!((call.service.as_str(), &call.parent_id), ("sluice-controlplane", &query(&spans).span_id));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_tells_nobodys_values_and_no_secret() {
    let received = Received::listening().await;
    let world = world(&received).await;
    let failing = ["select 'hush-hush' from nowhere", "slct 'hush-hush'", "select 'hush-hush'::integer"];
    for (number, sql) in (10..).zip([SQL].into_iter().chain(failing)) {
        let (trace_id, parent) = trace(number, true);
        rest(&world, &parent, sql).send().await.unwrap();
        whole(&world, &received, &trace_id).await;
    }
    let all = received.all();
    let failed: Vec<_> = all.iter().filter_map(|told| told.attributes.get("error.type")).collect();
    assert!(failed.iter().any(|code| *code == "SVC_ERR_404_TABLE_NOT_FOUND"), "{failed:?}");
    let said = format!("{all:?}");
    let owner = world.owner.strip_prefix("Bearer ").unwrap();
    for secret in ["123-45-6789", "Alice", "hush-hush", "world.example", &world.key, owner, &world.org_id] {
        assert!(!said.contains(secret), "{secret} is in {all:#?}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_decides_whether_it_is_told() {
    let received = Received::listening().await;
    let world = world(&received).await;
    let ((unsampled, quiet), (sampled, loud)) = (trace(20, false), trace(21, true));
    for parent in [quiet, loud] {
        assert_eq!(rest(&world, &parent, SQL).send().await.unwrap().status(), 200);
    }
    whole(&world, &received, &sampled).await;
    assert!(received.of(&unsampled).is_empty());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_hangs_harms_nobody() {
    let hangs = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", hangs.local_addr().unwrap());
    let world = World::telling_with_tables(Collector::at(endpoint)).await;
    let began = Instant::now();
    for _ in 0..50 {
        world.rows(&world.key, "select count(*) from customers").await;
    }
    // far less than fifty times what is waited for an answer of the collector, and more than a busy machine needs
    assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
    let path = format!("/v1/environments/{}/audit/queries", world.env_id);
    world.ok(Method::GET, &path, &world.owner, serde_json::Value::Null).await;
    world.end().await;
}
