use serde_json::{Value, json};

use crate::domain::runtime::tests::{Runtime, field, id, reason};

/// An artifact as an attempt publishes it; `digit` makes its content.
#[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
fn publication(attempt: &Value, digit: char, fields: Value) -> Value {
    let content_hash = format!("sha256:{}", digit.to_string().repeat(64));
    let mut body =
        json!({"attempt_id": id(attempt), "kind": "report", "content_hash": content_hash, "confidence": 0.9});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

async fn published(runtime: &Runtime, body: Value) -> Value {
    runtime.post("runtime/artifacts", body).await.expect(200)
}

async fn promote(runtime: &Runtime, artifact: &Value, body: Value) -> crate::testing::Answer {
    runtime.post(&format!("runtime/artifacts/{}/promote", id(artifact)), body).await
}

async fn validate(runtime: &Runtime, artifact: &Value, kind: &str, result: &str) -> Value {
    let path = format!("runtime/artifacts/{}/validations", id(artifact));
    runtime.post(&path, json!({"validator_kind": kind, "result": result})).await.expect(200)
}

/// The artifact as its project's list shows it.
async fn read(runtime: &Runtime, artifact: &Value) -> Value {
    let list = runtime.get("runtime/artifacts?project_id=p1&envelope=false").await.expect(200);
    list.as_array().unwrap().iter().find(|row| row["id"] == artifact["id"]).unwrap().clone()
}

#[tokio::test]
async fn the_same_content_published_again_is_the_same_artifact() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    let body = publication(&attempt, 'a', json!({"artifact_key": "report.md", "lease_token": attempt["lease_token"]}));
    let first = published(&runtime, body.clone()).await;
    assert_eq!((&first["project_id"], &first["validation_status"]), (&json!("p1"), &Value::Null));
    assert_eq!(published(&runtime, body).await, first);
    let other = published(&runtime, publication(&attempt, 'b', json!({"artifact_key": "report.md"}))).await;
    assert_ne!(id(&other), id(&first));
    let detail = runtime.get(&format!("runtime/tasks/{}/detail", id(&task))).await.expect(200);
    assert_eq!(detail["artifacts"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn promotion_moves_an_artifact_to_the_mainline_and_keeps_what_it_is() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let old = published(&runtime, publication(&attempt, 'a', json!({"artifact_key": "k"}))).await;
    let new = published(&runtime, publication(&attempt, 'b', json!({"artifact_key": "k", "branch_id": "b1"}))).await;
    validate(&runtime, &new, "tests", "pass").await;
    let before = read(&runtime, &new).await;
    let promoted = promote(&runtime, &new, json!({})).await.expect(200);
    for kept in ["id", "validation_status", "confidence", "content_hash", "artifact_key"] {
        assert_eq!(promoted[kept], before[kept], "{kept}");
    }
    assert_eq!((&before["branch_id"], &promoted["branch_id"]), (&json!("b1"), &Value::Null));
    assert!(promoted["promoted_at"].is_string() && promoted["promoted_by"].is_string(), "{promoted}");
    assert_eq!(read(&runtime, &old).await["superseded_by"], new["id"]);
    runtime.pass(60).await;
    assert_eq!(promote(&runtime, &new, Value::Null).await.expect(200), promoted, "a no-op on the mainline");
}

#[tokio::test]
async fn one_artifact_of_a_key_stands_on_the_mainline_whoever_promotes_at_once() {
    let runtime = Runtime::start().await;
    let mut made = Vec::new();
    for (n, digit) in "abcdef".chars().enumerate() {
        let attempt = runtime.running(&runtime.task(json!({})).await).await;
        let fields = json!({"artifact_key": "k", "branch_id": format!("b{n}")});
        made.push(published(&runtime, publication(&attempt, digit, fields)).await);
    }
    let answers = futures::future::join_all(made.iter().map(|artifact| promote(&runtime, artifact, Value::Null))).await;
    for answer in answers {
        answer.expect(200);
    }
    let standing =
        "select count(*) from svc_runtime.artifact_instances where branch_id is null and superseded_by is null";
    assert_eq!(runtime.count(standing).await, 1);
}

#[tokio::test]
async fn the_worst_of_the_last_words_of_all_validators_stands() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let artifact = published(&runtime, publication(&attempt, 'a', json!({}))).await;
    for (kind, result, expected) in [
        ("tests", "skipped", "skipped"),
        ("lint", "pass", "pass"),
        ("security", "warning", "warning"),
        ("tests", "fail", "fail"),
        ("tests", "pass", "warning"),
        ("security", "pass", "pass"),
    ] {
        validate(&runtime, &artifact, kind, result).await;
        assert_eq!(read(&runtime, &artifact).await["validation_status"], expected, "{kind} {result}");
    }
    assert_eq!(runtime.count("select count(*) from svc_runtime.artifact_validations").await, 6);
}

#[tokio::test]
async fn what_has_not_passed_is_not_promoted_where_that_is_asked_for() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let artifact = published(&runtime, publication(&attempt, 'a', json!({"branch_id": "b1"}))).await;
    let careful = json!({"require_validation": true});
    assert_eq!(reason(&promote(&runtime, &artifact, careful.clone()).await), (409, "validation_failed"));
    validate(&runtime, &artifact, "tests", "fail").await;
    assert_eq!(reason(&promote(&runtime, &artifact, careful.clone()).await), (409, "validation_failed"));
    validate(&runtime, &artifact, "tests", "pass").await;
    promote(&runtime, &artifact, careful).await.expect(200);
}

#[tokio::test]
async fn artifacts_are_listed_by_task_or_project() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    published(&runtime, publication(&attempt, 'a', json!({"kind": "report"}))).await;
    runtime.pass(1).await;
    published(&runtime, publication(&attempt, 'b', json!({"kind": "diff", "branch_id": "b1"}))).await;
    for (query, expected) in [
        ("", vec!["diff", "report"]),
        ("&kind=diff", vec!["diff"]),
        ("&branch_id=main", vec!["report"]),
        ("&branch_id=b1", vec!["diff"]),
        ("&limit=1", vec!["diff"]),
        ("&offset=1", vec!["report"]),
    ] {
        for of in [format!("task_id={}", id(&task)), "project_id=p1".to_owned()] {
            let list = runtime.get(&format!("runtime/artifacts?{of}{query}")).await.expect(200);
            let kinds: Vec<_> = list["data"].as_array().unwrap().iter().map(|a| a["kind"].as_str().unwrap()).collect();
            assert_eq!(kinds, expected, "{of}{query}");
        }
    }
    assert_eq!(field(&runtime.get("runtime/artifacts").await), (400, "task_id"));
    assert_eq!(field(&runtime.get("runtime/artifacts?project_id=p1&limit=1001").await), (400, "limit"));
}

#[tokio::test]
async fn an_artifact_that_does_not_fit_is_refused_by_field() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let first = published(&runtime, publication(&attempt, 'a', json!({}))).await;
    for (name, value) in [
        ("kind", json!("")),
        ("content_hash", json!("abc")),
        ("content_hash", json!(format!("sha256:{}", "A".repeat(64)))),
        ("confidence", json!(2)),
        ("artifact_key", json!("x".repeat(257))),
        ("branch_id", json!("main")),
        ("depends_on", json!(["nowhere"])),
        ("depends_on", json!([id(&first), id(&first)])),
        ("uri", json!("x".repeat(2_001))),
    ] {
        let answer = runtime.post("runtime/artifacts", publication(&attempt, 'b', json!({ name: value }))).await;
        assert_eq!(field(&answer), (400, name), "{}", answer.body);
    }
    let made_of = publication(&attempt, 'b', json!({"depends_on": [id(&first)]}));
    assert_eq!(published(&runtime, made_of).await["depends_on"], json!([id(&first)]));
    let path = format!("runtime/artifacts/{}/validations", id(&first));
    let answer = runtime.post(&path, json!({"validator_kind": "tests", "result": "good"})).await;
    assert_eq!(field(&answer), (400, "result"));
}

#[tokio::test]
async fn no_artifact_is_accepted_from_a_lost_lease_but_what_is_there_is_judged_and_promoted() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let artifact = published(&runtime, publication(&attempt, 'a', json!({"branch_id": "b1"}))).await;
    runtime.pass(180).await;
    let late = runtime.post("runtime/artifacts", publication(&attempt, 'b', json!({}))).await;
    assert_eq!(reason(&late), (409, "lease_expired"));
    runtime.sweep().await;
    let later = runtime.post("runtime/artifacts", publication(&attempt, 'b', json!({}))).await;
    assert_eq!(reason(&later), (409, "attempt_terminal"));
    validate(&runtime, &artifact, "tests", "pass").await;
    promote(&runtime, &artifact, Value::Null).await.expect(200);
}

#[tokio::test]
async fn what_belongs_to_another_organization_is_absent() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let artifact = published(&runtime, publication(&attempt, 'a', json!({}))).await;
    let stranger = crate::testing::bearer(&runtime.app.signup("sven", "Elsewhere").await);
    for (path, body) in [
        ("artifacts".to_owned(), publication(&attempt, 'b', json!({}))),
        (format!("artifacts/{}/promote", id(&artifact)), Value::Null),
        (format!("artifacts/{}/validations", id(&artifact)), json!({"validator_kind": "x", "result": "pass"})),
    ] {
        let answer = runtime.app.post(&format!("/v2/runtime/{path}"), &stranger, body).await;
        assert_eq!(answer.code(), (404, "NOT_FOUND"), "{path}");
    }
    let theirs = runtime.app.get("/v2/runtime/artifacts?project_id=p1", &stranger).await.expect(200);
    assert_eq!(theirs["pagination"]["total"], 0);
}
