//! Files of stages on their way to the data plane and back.

use axum::body::Body;
use axum::http::Method;
use contract::wire::header;
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::{Value, json};

use super::own_data_plane;
use crate::testing::Answer;
use crate::worlds::World;

/// A data plane that tells in the place of a file's path what it was asked.
fn told(request: &Request<Incoming>) -> Response<Body> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let caller: Value = serde_json::from_str(header(header::CALLER)).unwrap();
    let place = request.uri().path_and_query().unwrap();
    let asked = json!([request.method().as_str(), place.as_str(), caller["credential"]]).to_string();
    let file = json!({"path": asked, "bytes": 3, "md5": "0", "modified_at": "2026-01-01T00:00:00Z"});
    let body = match request.method().as_str() {
        "GET" if place.path().ends_with("/files") => json!({"files": [file]}),
        "GET" => {
            return Response::builder().header("content-type", "application/octet-stream").body(asked.into()).unwrap();
        }
        "DELETE" => json!({"path": asked, "removed": true}),
        _ => file,
    };
    Response::builder().header("content-type", "application/json").body(body.to_string().into()).unwrap()
}

async fn sent(world: &World, key: &str, method: Method, path: &str) -> Answer {
    let request = axum::http::Request::builder().method(method).uri(path).header("authorization", key);
    world.app.send(request.body(Body::from("a\n1\n")).unwrap()).await
}

#[tokio::test]
async fn what_is_asked_about_a_file_goes_on_with_who_asks() {
    let world = World::start().await;
    own_data_plane(&world, told).await;
    let long = format!("stages/main.s/files/{}", "a".repeat(300));
    for (method, path, told) in [
        (Method::GET, "stages/main.s/files?prefix=2026%2F", "/files/0/path"),
        (Method::PUT, "stages/main.s/files/2026%2Fa%20b.csv", "/path"),
        (Method::GET, "stages/main.s/files/2026%2Fa%20b.csv", ""),
        (Method::DELETE, "stages/main.s/files/2026%2Fa%20b.csv", "/path"),
        (Method::DELETE, long.as_str(), "/path"),
    ] {
        let path = world.env(path);
        let answer = sent(&world, &world.owner, method.clone(), &path).await.expect(200);
        let asked = match answer.pointer(told).unwrap() {
            Value::String(text) => serde_json::from_str(text).unwrap(),
            asked => asked.clone(),
        };
        assert_eq!(asked, json!([method.as_str(), path, "key"]));
    }
}

#[tokio::test]
async fn who_may_only_read_puts_no_file_and_what_is_no_path_is_refused() {
    let world = World::start().await;
    own_data_plane(&world, told).await;
    let reader = world.key(&["query:read"]).await;
    let file = world.env("stages/s/files/a");
    for method in [Method::PUT, Method::DELETE] {
        assert_eq!(sent(&world, &reader, method, &file).await.code(), (403, "FORBIDDEN"));
    }
    sent(&world, &reader, Method::GET, &file).await.expect(200);
    let long = world.env(&format!("stages/s/files/{}", "a".repeat(1_025)));
    assert_eq!(sent(&world, &reader, Method::GET, &long).await.code().0, 404);
    let unknown = world.env("stages/s/files?path=a");
    assert_eq!(sent(&world, &reader, Method::GET, &unknown).await.code().0, 400);
}
