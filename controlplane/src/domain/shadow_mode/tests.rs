use axum::body::Body;
use axum::http::{Request, Response};
use chrono::Duration;
use contract::policy::abac::Operation;
use contract::report::{Body as Report, Entry, Started};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::comparing::result_hash;
use super::{run_due, sweep};
use crate::domain::environments;
use crate::domain::query::tests::own_data_plane;
use crate::server::intake;
use crate::server::jobs;
use crate::testing::Answer;
use crate::worlds::World;

async fn post(world: &World, action: &str, body: Value) -> Answer {
    world.app.post(&world.env(&format!("shadow-mode/{action}")), &world.owner, body).await
}

async fn get(world: &World, what: &str) -> Value {
    world.app.get(&world.env(&format!("shadow-mode/{what}")), &world.owner).await.expect(200)
}

async fn start(world: &World, source: &str, sample_rate: f64) -> Value {
    post(world, "start", json!({"source": source, "duration_hours": 24, "sample_rate": sample_rate})).await.expect(201)
}

async fn upload(world: &World, content_type: &str, body: String) -> Answer {
    let request = Request::post(world.env("shadow-mode/upload"))
        .header("authorization", &world.owner)
        .header("content-type", content_type)
        .body(Body::from(body))
        .unwrap();
    world.app.send(request).await
}

fn log(lines: &[Value]) -> String {
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

async fn replayed(world: &World, lines: &[Value]) -> Value {
    let uploaded = upload(world, "application/jsonl", log(lines)).await.expect(202);
    let replay = post(world, "replay", json!({"upload_id": uploaded["upload_id"], "concurrency": 2})).await.expect(202);
    assert_eq!((&replay["status"], &replay["concurrency"]), (&json!("running"), &json!(2)));
    let again = post(world, "replay", json!({"upload_id": uploaded["upload_id"]})).await;
    assert_eq!(again.code(), (409, "CONFLICT"), "it is under way");
    world.app.settled().await;
    run_due(&world.app.app).await.unwrap();
    replay
}

/// A query that the owner ran, as its data plane reports it.
fn ran(world: &World, n: u64, sql: &str, change: impl FnOnce(&mut Started)) -> [Entry; 2] {
    let query = format!("q{n}");
    let mut started = world.started(2 * n + 1, &query);
    if let Report::Started(start) = &mut started.body {
        sql.clone_into(&mut start.sql_original);
        change(start);
    }
    [started, world.finished(2 * n + 2, &query)]
}

async fn report(world: &World, entries: &[Entry]) {
    intake::store_entries(&world.app.app, &world.env_id, "log-1", entries.to_vec()).await.unwrap();
}

async fn taken(world: &World) -> Vec<(String, Value)> {
    sqlx::query_as("select sql, caller from shadow_queries order by sql").fetch_all(world.app.app.pool()).await.unwrap()
}

#[tokio::test]
async fn a_session_runs_until_it_is_stopped_and_there_is_one_at_a_time() {
    let world = World::start().await;
    let session = start(&world, "live", 0.5).await;
    assert_eq!(
        (&session["status"], &session["source"], &session["sample_rate"]),
        (&json!("running"), &json!("live"), &json!(0.5))
    );
    assert_eq!(
        (&session["started_at"], &session["ends_at"]),
        (&json!("2026-09-21T14:13:20Z"), &json!("2026-09-22T14:13:20Z"))
    );
    let body = json!({"source": "live", "duration_hours": 1, "sample_rate": 1.0});
    assert_eq!(post(&world, "start", body.clone()).await.code(), (409, "CONFLICT"));
    world.app.advance(Duration::minutes(90));
    let status = get(&world, "status").await;
    assert_eq!((&status["elapsed_hours"], &status["statistics"]["queries_replayed"]), (&json!(1.5), &json!(0)));
    let stopped = post(&world, "stop", Value::Null).await.expect(200);
    assert_eq!((&stopped["session_id"], &stopped["status"]), (&session["session_id"], &json!("stopped")));
    assert_eq!(stopped["final_statistics"], json!({"queries_replayed": 0, "match_rate": 0.0}));
    assert_eq!(post(&world, "stop", Value::Null).await.code(), (409, "CONFLICT"));
    assert_eq!(get(&world, "status").await["status"], "stopped");
    post(&world, "start", body).await.expect(201);
}

#[tokio::test]
async fn a_session_ends_with_its_hours() {
    let world = World::start().await;
    start(&world, "live", 1.0).await;
    world.app.settled().await;
    world.app.advance(Duration::hours(23));
    jobs::run_due(&world.app.app).await.unwrap();
    assert_eq!(get(&world, "status").await["status"], "running");
    world.app.advance(Duration::hours(1));
    jobs::run_due(&world.app.app).await.unwrap();
    let status = get(&world, "status").await;
    assert_eq!((&status["status"], &status["elapsed_hours"]), (&json!("stopped"), &json!(24.0)));
}

#[tokio::test]
async fn what_cannot_be_a_session_is_refused_with_its_field() {
    let world = World::start().await;
    for (field, value) in [
        ("source", json!("elsewhere")),
        ("source", json!("env:nothing")),
        ("duration_hours", json!(0)),
        ("duration_hours", json!(721)),
        ("sample_rate", json!(0)),
        ("sample_rate", json!(1.1)),
        ("rate", json!(1)),
    ] {
        let mut body = json!({"source": "live", "duration_hours": 1, "sample_rate": 1.0});
        body[field] = value.clone();
        let refused = post(&world, "start", body).await;
        assert_eq!(
            (refused.code(), &refused.body["error"]["details"]["field"]),
            ((400, "VALIDATION_ERROR"), &json!(field)),
            "{value}"
        );
    }
    for (method, what) in [("get", "status"), ("get", "report"), ("post", "stop")] {
        let path = world.env(&format!("shadow-mode/{what}"));
        let answer = if method == "get" {
            world.app.get(&path, &world.owner).await
        } else {
            post(&world, what, Value::Null).await
        };
        assert_eq!(answer.code(), (404, "NOT_FOUND"), "{what}");
    }
}

#[tokio::test]
async fn only_what_can_run_again_is_sampled_and_under_its_callers_rights() {
    let world = World::start().await;
    start(&world, "live", 1.0).await;
    let key_id: String =
        sqlx::query_scalar("select key_id from api_keys").fetch_one(world.app.app.pool()).await.unwrap();
    let mut entries = Vec::new();
    entries.extend(ran(&world, 0, "select 1", |_| {}));
    entries.extend(ran(&world, 1, "select 2", |start| start.key_id = Some(key_id.as_str().into())));
    entries.extend(ran(&world, 2, "select 3 -- replayed", |start| start.request_id = "shadow-1".into()));
    entries.extend(ran(&world, 3, "select $1", |_| {}));
    entries.extend(ran(&world, 4, "insert into t values (1)", |start| start.operation = Some(Operation::Insert)));
    entries.extend(ran(&world, 5, "select 'svc_live_aaaaaaaaaaaaaaaaaaaaaaaa'", |_| {}));
    report(&world, &entries).await;
    report(&world, &entries).await;
    let taken = taken(&world).await;
    let sql: Vec<&str> = taken.iter().map(|(sql, _)| sql.as_str()).collect();
    assert_eq!(sql, ["select 1", "select 2"]);
    assert_eq!((&taken[0].1["user_id"], &taken[0].1["peer"]), (&json!(world.owner_id), &json!("10.0.0.1")));
    assert_eq!(taken[1].1["key_id"], key_id);
}

#[tokio::test]
async fn nothing_is_sampled_without_a_session_or_from_an_upload() {
    let world = World::start().await;
    report(&world, &ran(&world, 0, "select 1", |_| {})).await;
    start(&world, "upload", 1.0).await;
    report(&world, &ran(&world, 1, "select 2", |_| {})).await;
    assert_eq!(taken(&world).await.len(), 0);
}

#[tokio::test]
async fn what_an_upload_is_not_is_refused() {
    let world = World::start().await;
    assert_eq!(upload(&world, "application/json", log(&[json!({"sql": "select 1"})])).await.code().0, 415);
    let refused = upload(&world, "application/jsonl", "select 1".to_owned()).await;
    assert_eq!(
        (refused.code(), &refused.body["error"]["details"]["field"]),
        ((400, "VALIDATION_ERROR"), &json!("line 1"))
    );
    let uploaded =
        upload(&world, "application/jsonl; charset=utf-8", log(&[json!({"sql": "select 1"})])).await.expect(202);
    assert_eq!(
        (&uploaded["queries_received"], &uploaded["status"], &uploaded["estimated_replay_minutes"]),
        (&json!(1), &json!("queued"), &json!(1))
    );
    let replay = json!({"upload_id": uploaded["upload_id"]});
    assert_eq!(post(&world, "replay", replay.clone()).await.code(), (409, "CONFLICT"), "no session runs");
    start(&world, "upload", 1.0).await;
    assert_eq!(post(&world, "replay", json!({"upload_id": "none"})).await.code(), (404, "NOT_FOUND"));
    let mut many = replay;
    many["concurrency"] = json!(17);
    assert_eq!(post(&world, "replay", many).await.code(), (400, "VALIDATION_ERROR"));
}

/// Two rows, whatever is asked.
fn two_rows(_: &Request<Incoming>) -> Response<Body> {
    let rows = json!([[1, "a"], [2, null]]);
    let body = json!({"query_id": "q", "columns": [], "rows": rows, "row_count": 2, "execution_time_ms": 4.0});
    Response::builder().header("content-type", "application/json").body(body.to_string().into()).unwrap()
}

#[tokio::test]
async fn a_log_is_replayed_compared_and_reported() {
    let world = World::start().await;
    own_data_plane(&world, two_rows).await;
    start(&world, "upload", 1.0).await;
    let rows = |rows: Value| result_hash(&serde_json::from_value::<Vec<Vec<Value>>>(rows).unwrap());
    let same = rows(json!([[2, null], [1, "a"]]));
    replayed(
        &world,
        &[
            json!({"sql": "select 1", "duration_ms": 8.0, "row_count": 2, "result_hash": same}),
            json!({"sql": "select 2", "duration_ms": 8.0}),
            json!({"sql": "select 3", "row_count": 3}),
            json!({"sql": "select 4", "result_hash": rows(json!([[1, "b"], [2, null]]))}),
            json!({"sql": "select 5", "result_hash": rows(json!([["1", "a"], ["2", null]]))}),
            json!({"sql": "delete from t"}),
            json!({"sql": "selec 6"}),
        ],
    )
    .await;
    let report = get(&world, "report").await;
    assert_eq!(
        report["summary"],
        json!({"total_queries": 7, "matched": 2, "mismatched": 4, "failed": 1, "match_rate": 0.2857, "latency_improvement": "50.0%"})
    );
    let mut found: Vec<(&str, &str)> = report["mismatches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["query"].as_str().unwrap(), row["category"].as_str().unwrap()))
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("delete from t", "denied"),
            ("selec 6", "error"),
            ("select 3", "row_count"),
            ("select 4", "values"),
            ("select 5", "types")
        ]
    );
    assert_eq!(
        (&report["performance"]["p50_source_ms"], &report["performance"]["p99_service_ms"]),
        (&json!(8.0), &json!(4.0))
    );
    let statistics = get(&world, "status").await["statistics"].take();
    assert_eq!((&statistics["queries_mismatched"], &statistics["avg_latency_service_ms"]), (&json!(4), &json!(4.0)));
    assert_eq!(world.count("select count(*) from shadow_replays where status = 'completed'").await, 1);
}

#[tokio::test]
async fn a_replay_has_the_origin_shadow() {
    let world = World::start().await;
    let heard = |request: &Request<Incoming>| {
        let caller: Value = serde_json::from_slice(request.headers()["x-sluice-caller"].as_bytes()).unwrap();
        let body = json!({"query_id": "q", "columns": [], "rows": [[caller["origin"]]], "row_count": 1, "execution_time_ms": 4.0});
        Response::builder().header("content-type", "application/json").body(body.to_string().into()).unwrap()
    };
    own_data_plane(&world, heard).await;
    start(&world, "upload", 1.0).await;
    let shadow = result_hash(&[vec![json!("shadow")]]);
    replayed(&world, &[json!({"sql": "select 1", "row_count": 1, "result_hash": shadow})]).await;
    assert_eq!(get(&world, "report").await["summary"]["matched"], 1);
}

/// Of a query that has been compared its text is kept where the report shows it.
#[tokio::test]
async fn what_replays_keep_is_bounded_and_an_upload_is_replayed_again_once_it_is_through() {
    let world = World::start().await;
    own_data_plane(&world, two_rows).await;
    start(&world, "upload", 1.0).await;
    let replay = replayed(&world, &[json!({"sql": "select 1"}), json!({"sql": "select 2", "row_count": 3})]).await;
    let texts: Vec<(String, String)> = sqlx::query_as("select sql, shown from shadow_queries order by shown")
        .fetch_all(world.app.app.pool())
        .await
        .unwrap();
    let text = |sql: &str, shown: &str| (sql.to_owned(), shown.to_owned());
    assert_eq!(texts, [text("", ""), text("", "select 2")]);
    // The last two of its queries ended at once, and neither saw that the other had.
    world.sql("update shadow_replays set status = 'running', finished_at = null").await;
    let again = json!({"upload_id": replay["upload_id"]});
    post(&world, "replay", again.clone()).await.expect(202);
    run_due(&world.app.app).await.unwrap();
    world.sql("update shadow_queries set shown = repeat('a', 134217728) where shown <> ''").await;
    assert_eq!(reason(&post(&world, "replay", again).await), "too_much_replayed");
}

#[tokio::test]
async fn uploads_keep_so_many_bytes() {
    let world = World::start().await;
    upload(&world, "application/jsonl", log(&[json!({"sql": "select 1"})])).await.expect(202);
    world.sql("update shadow_upload_lines set sql = repeat('a', 268435448)").await;
    upload(&world, "application/jsonl", log(&[json!({"sql": "select 1"})])).await.expect(202);
    let over = upload(&world, "application/jsonl", log(&[json!({"sql": "select 1"})])).await;
    assert_eq!(reason(&over), "too_many_lines");
}

fn reason(answer: &Answer) -> &str {
    answer.body["error"]["details"]["reason"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_data_plane_that_is_away_is_tried_again_and_then_an_error() {
    let world = World::start().await;
    start(&world, "upload", 1.0).await;
    replayed(&world, &[json!({"sql": "select 1"})]).await;
    for tried in 1..4 {
        assert_eq!(get(&world, "status").await["statistics"]["queries_replayed"], 0, "after {tried}");
        world.app.advance(Duration::seconds(30));
        assert_eq!(run_due(&world.app.app).await.unwrap(), 1);
    }
    assert_eq!(get(&world, "status").await["statistics"]["queries_failed"], 1);
    assert_eq!(run_due(&world.app.app).await.unwrap(), 0);
}

#[tokio::test]
async fn what_waits_when_a_session_stops_is_dropped() {
    let world = World::start().await;
    start(&world, "live", 1.0).await;
    report(&world, &ran(&world, 0, "select 1", |_| {})).await;
    post(&world, "stop", Value::Null).await.expect(200);
    assert_eq!((taken(&world).await.len(), run_due(&world.app.app).await.unwrap()), (0, 0));
    world.app.advance(Duration::days(31));
    sweep(&world.app.app).await.unwrap();
    assert_eq!(world.count("select count(*) from shadow_sessions").await, 0);
}

#[tokio::test]
async fn another_environment_of_the_organization_may_be_where_samples_run() {
    let world = World::start().await;
    let other = environments::EnvironmentSeed { name: "Other".to_owned(), slug: "other".to_owned(), test_mode: false };
    let other = environments::record(&world.app.app, &world.org_id, &other).await.unwrap();
    start(&world, &format!("env:{other}"), 1.0).await;
    report(&world, &ran(&world, 0, "select 1", |_| {})).await;
    let there = format!(
        "select count(*) from shadow_queries q join shadow_replays r using (replay_id) where r.env_id = '{other}'"
    );
    assert_eq!(world.count(&there).await, 1);
}
