use axum::body::Body;
use axum::http::Request;
use chrono::Duration;
use futures::channel::mpsc;
use platform::Error;
use serde_json::{Value, json};

use super::{OperationError, sweep};
use crate::domain::query::tests::reading_data_plane;
use crate::testing::stream::Stream;
use crate::worlds::World;

const OPERATION: &str = "/v1/operations/op-1";

/// A load by this credential, as the operation `op-1`.
fn load(world: &World, authorization: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
    let request = Request::post(world.env("tables/t/load?mode=create&format=csv"));
    let request = request.header("authorization", authorization).header("sluice-operation", "op-1");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(body).unwrap()
}

fn file() -> Body {
    Body::from("a\n1\n2\n")
}

#[tokio::test]
async fn a_load_that_has_ended_is_shown_to_who_started_it_and_to_admins() {
    let world = World::start().await;
    reading_data_plane(&world).await;
    let developer = world.key_of(&world.user("dev@acme.example", "developer").await).await;
    let other = world.key_of(&world.user("ned@acme.example", "developer").await).await;
    let admin = world.key_of(&world.user("eve@acme.example", "admin").await).await;
    let length = [("content-length", "6")];
    world.app.send(load(&world, &developer, &length, file())).await.expect(200);
    for authorization in [&developer, &admin, &world.owner] {
        let shown = world.app.get(OPERATION, authorization).await.expect(200);
        assert_eq!((&shown["status"], &shown["kind"]), (&json!("succeeded"), &json!("load")));
        assert_eq!(shown["progress"], json!({"done": 6, "total": 6, "unit": "bytes", "rows": 2}));
        assert_eq!((&shown["result"]["table"], &shown["error"]), (&json!("main.t"), &Value::Null));
    }
    for authorization in [&other, &world.elsewhere().await, &world.key(&[]).await] {
        for path in ["", "/events"] {
            let absent = world.app.get(&format!("{OPERATION}{path}"), authorization).await;
            assert_eq!(absent.code(), (404, "NOT_FOUND"), "{path}");
        }
        assert_eq!(world.app.post(&format!("{OPERATION}/cancel"), authorization, Value::Null).await.code().0, 404);
    }
    let ended = world.app.post(&format!("{OPERATION}/cancel"), &developer, Value::Null).await.expect(409);
    assert_eq!(ended["error"]["details"]["reason"], "operation_ended");
    let again = world.app.send(load(&world, &developer, &length, file())).await.expect(409);
    assert_eq!(again["error"]["details"]["reason"], "operation_exists");
    let unnamed = Request::post(world.env("tables/t/load?mode=create&format=csv"));
    let unnamed = unnamed.header("authorization", &developer).header("sluice-operation", "op 1");
    world.app.send(unnamed.body(file()).unwrap()).await.expect(400);
}

#[tokio::test]
async fn a_load_tells_how_far_it_is_and_is_cancelled_by_another_request() {
    let world = World::start().await;
    reading_data_plane(&world).await;
    let (sender, pieces) = mpsc::unbounded::<Result<&'static str, std::io::Error>>();
    let loading = world.app.send(load(&world, &world.owner, &[], Body::from_stream(pieces)));
    let watching = async {
        sender.unbounded_send(Ok("a\n1\n")).unwrap();
        while world.app.get(OPERATION, &world.owner).await.status != 200 {
            tokio::task::yield_now().await;
        }
        let mut stream = Stream::open(&world.app, &format!("{OPERATION}/events"), &world.owner, None).await;
        let come = json!({"done": 4, "total": null, "unit": "bytes", "rows": 2});
        loop {
            let (_, kind, record) = stream.event().await;
            assert_eq!(kind, "progress");
            if record["progress"] == come {
                break;
            }
        }
        let asked = world.app.post(&format!("{OPERATION}/cancel"), &world.owner, Value::Null).await.expect(200);
        assert_eq!(asked["cancel_requested"], true);
        while stream.event().await.1 != "cancelled" {}
        assert_eq!(stream.piece().await, None);
    };
    let (cancelled, ()) = tokio::join!(loading, watching);
    assert_eq!(cancelled.code(), (408, "QUERY_TIMEOUT"));
    let shown = world.app.get(OPERATION, &world.owner).await.expect(200);
    assert_eq!((&shown["status"], &shown["result"]), (&json!("cancelled"), &Value::Null));
}

#[tokio::test]
async fn a_load_that_nobody_waits_for_is_answered_when_the_file_has_come() {
    let world = World::start().await;
    reading_data_plane(&world).await;
    let headers = [("content-length", "6"), ("prefer", "respond-async")];
    let accepted = world.app.send(load(&world, &world.owner, &headers, file())).await;
    assert_eq!(accepted.headers["location"], OPERATION);
    assert_eq!(accepted.expect(202)["id"], "op-1");
    let waiting = Request::get(OPERATION).header("authorization", &world.owner).header("prefer", "wait=10");
    let shown = world.app.send(waiting.body(Body::empty()).unwrap()).await.expect(200);
    assert_eq!((&shown["status"], &shown["progress"]["rows"]), (&json!("succeeded"), &json!(2)));
}

#[tokio::test]
async fn an_operation_whose_process_is_gone_has_failed_and_is_forgotten_after_a_day() {
    let world = World::start().await;
    reading_data_plane(&world).await;
    world.app.send(load(&world, &world.owner, &[], file())).await.expect(200);
    world.sql("update operations set status = 'running', result = null, finished_at = null").await;
    world.app.advance(Duration::seconds(30));
    assert_eq!(world.app.get(OPERATION, &world.owner).await.expect(200)["status"], "running");
    world.app.advance(Duration::seconds(1));
    let shown = world.app.get(OPERATION, &world.owner).await.expect(200);
    assert_eq!((&shown["status"], &shown["error"]["code"]), (&json!("failed"), &json!("SERVICE_UNAVAILABLE")));
    world.app.advance(Duration::hours(24));
    sweep(&world.app.app).await.unwrap();
    assert_eq!(world.count("select count(*) from operations").await, 1);
    world.app.advance(Duration::seconds(1));
    sweep(&world.app.app).await.unwrap();
    assert_eq!(world.count("select count(*) from operations").await, 0);
}

#[tokio::test]
async fn a_read_that_waits_ends_with_its_key() {
    let world = World::start().await;
    reading_data_plane(&world).await;
    world.app.send(load(&world, &world.owner, &[], file())).await.expect(200);
    world.sql("update operations set status = 'running', result = null, finished_at = null").await;
    let made = json!({"name": "reader", "scopes": ["query:read"], "user_id": world.owner_id});
    let made = world.create_key(made).await;
    let key = format!("ApiKey {}", made["key"].as_str().unwrap());
    let waiting = Request::get(OPERATION).header("authorization", &key).header("prefer", "wait=10");
    let waiting = world.app.send(waiting.body(Body::empty()).unwrap());
    let revoking = async {
        let path = world.env(&format!("api-keys/{}", made["key_id"].as_str().unwrap()));
        assert_eq!(world.app.get(OPERATION, &key).await.expect(200)["status"], "running");
        world.app.delete(&path, &world.owner).await.expect(200);
    };
    let (answer, ()) = tokio::join!(waiting, revoking);
    assert_eq!(answer.code(), (401, "UNAUTHORIZED"));
}

#[test]
fn a_failure_is_written_down_whatever_its_message_holds() {
    let error = OperationError::of(&Error::invalid("body", "text", "of `a\0b`"));
    assert_eq!((error.code.as_str(), error.message.as_str()), ("VALIDATION_ERROR", "of `a\u{fffd}b`"));
}
