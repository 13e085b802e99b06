//! Files on their way to the data plane.

use axum::body::Body;
use contract::wire::header;
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::{Value, json};

use super::own_data_plane;
use crate::testing::Answer;
use crate::worlds::World;

/// A data plane that tells in the place of the table's name what it was asked.
fn told(request: &Request<Incoming>) -> Response<Body> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let caller: Value = serde_json::from_str(header(header::CALLER)).unwrap();
    let asked =
        json!([request.uri().path_and_query().unwrap().as_str(), caller["credential"], header("content-length")]);
    let body = json!({"table": asked.to_string(), "columns": [], "bytes": 3, "rows_loaded": 1});
    Response::builder().header("content-type", "application/json").body(body.to_string().into()).unwrap()
}

async fn sent(world: &World, key: &str, path: &str, encoding: Option<&str>) -> Answer {
    let request = axum::http::Request::post(path).header("authorization", key).header("content-length", "6");
    let request = encoding.into_iter().fold(request, |request, encoding| request.header("content-encoding", encoding));
    world.app.send(request.body(Body::from("a\n1\n2\n")).unwrap()).await
}

#[tokio::test]
async fn a_file_goes_on_as_it_is_with_who_sends_it() {
    let world = World::start().await;
    own_data_plane(&world, told).await;
    let path = world.env("tables/sales.or%20ders/load?mode=append&format=csv&dry_run=true&types=%7B%7D&file=a%26b.csv");
    let loaded = sent(&world, &world.owner, &path, None).await.expect(200);
    let asked: Value = serde_json::from_str(loaded["table"].as_str().unwrap()).unwrap();
    assert_eq!(asked, json!([path, "key", "6"]));
    assert_eq!((&loaded["rows_loaded"], &loaded["bytes"]), (&json!(1), &json!(3)));
}

#[tokio::test]
async fn what_is_no_load_is_refused_before_it_goes_on() {
    let world = World::start().await;
    let reader = world.key(&["query:read"]).await;
    let load = world.env("tables/t/load?mode=create&format=csv");
    let refused = sent(&world, &reader, &load, None).await;
    assert_eq!(refused.code(), (403, "FORBIDDEN"));
    for (path, encoding, status) in [
        ("tables/t/load?mode=create", None, 400),
        ("tables/t/load?mode=upsert&format=csv", None, 400),
        ("tables/t/load?mode=create&format=csv&delimiter=x", None, 400),
        ("tables/t/load?mode=create&format=csv", Some("gzip"), 415),
    ] {
        let refused = sent(&world, &world.owner, &world.env(path), encoding).await;
        assert_eq!(refused.code().0, status, "{path}");
    }
}
