use axum::body::Body;
use axum::http::Request;
use platform::events::streams::STREAMS_MAX;
use serde_json::json;

use super::work;
use crate::testing::stream::Stream;
use crate::worlds::World;

async fn open(world: &World, query: &str, after: Option<&str>, authorization: &str) -> Stream {
    Stream::open(&world.app, &format!("/v1/events/stream{query}"), authorization, after).await
}

async fn world() -> World {
    let world = World::start().await;
    world.app.app.tasks().spawn(work(world.app.app.clone()));
    world
}

#[tokio::test]
async fn an_event_is_told_when_it_has_happened() {
    let world = world().await;
    let mut stream = open(&world, "", None, &world.owner).await;
    let key = world.create_key(json!({"name": "one", "scopes": ["query:read"]})).await;
    let (_, kind, event) = stream.event().await;
    assert_eq!((kind.as_str(), &event["resource_id"]), ("key.created", &key["key_id"]));
    world.app.app.shutdown().cancel();
    assert_eq!(stream.piece().await, None);
}

#[tokio::test]
async fn whoever_comes_back_goes_on_where_they_were_cut_off() {
    let world = world().await;
    let mut stream = open(&world, "", None, &world.owner).await;
    world.create_key(json!({"name": "one", "scopes": ["query:read"]})).await;
    let (id, ..) = stream.event().await;
    drop(stream);
    for name in ["two", "three"] {
        world.create_key(json!({"name": name, "scopes": ["query:read"]})).await;
    }
    let mut stream = open(&world, "", Some(&id), &world.owner).await;
    let (second, third) = (stream.event().await, stream.event().await);
    assert_eq!(
        (&second.2["changes"]["after"]["name"], &third.2["changes"]["after"]["name"]),
        (&json!("two"), &json!("three"))
    );
    assert_eq!(third.0.parse::<i64>().unwrap(), id.parse::<i64>().unwrap() + 2);
}

#[tokio::test]
async fn only_the_types_that_were_asked_for_are_told() {
    let world = world().await;
    let mut stream = open(&world, "?types=policy.created,key.revoked", None, &world.owner).await;
    world.create_key(json!({"name": "one", "scopes": ["query:read"]})).await;
    world.mask("ssn").await;
    assert_eq!(stream.event().await.1, "policy.created");
    let answer = world.app.get("/v1/events/stream?types=policy.create", &world.owner).await;
    let body = answer.expect(400);
    assert!(body["error"]["message"].as_str().unwrap().ends_with("did you mean `policy.created`?"), "{body}");
}

#[tokio::test]
async fn whoever_may_read_no_more_is_told_no_further_event() {
    let world = world().await;
    let reader = world.create_key(json!({"name": "reader", "scopes": ["audit:read"]})).await;
    let authorization = format!("ApiKey {}", reader["key"].as_str().unwrap());
    let mut stream = open(&world, "", None, &authorization).await;
    world
        .app
        .delete(&world.env(&format!("api-keys/{}", reader["key_id"].as_str().unwrap())), &world.owner)
        .await
        .expect(200);
    assert_eq!(stream.piece().await, None);
}

#[tokio::test]
async fn an_event_of_another_organization_is_told_nobody_else() {
    let world = world().await;
    let mut stream = open(&world, "", None, &world.owner).await;
    world.app.signup("sven", "Elsewhere").await;
    world.mask("ssn").await;
    assert_eq!(stream.event().await.1, "policy.created");
}

#[tokio::test]
async fn an_organization_has_so_many_streams_and_gets_their_places_back() {
    let world = world().await;
    let mut streams = Vec::new();
    for _ in 0..STREAMS_MAX {
        streams.push(open(&world, "", None, &world.owner).await);
    }
    let refused = world.app.get("/v1/events/stream", &world.owner).await;
    assert_eq!(refused.code(), (429, "RATE_LIMITED"));
    streams.pop();
    open(&world, "", None, &world.owner).await;
}

#[tokio::test]
async fn a_place_to_go_on_from_is_the_id_of_an_event() {
    let world = World::start().await;
    for bad in ["x", "-1", "1.5", ""] {
        let request =
            Request::get("/v1/events/stream").header("authorization", &world.owner).header("last-event-id", bad);
        let answer = world.app.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.body["error"]["details"]["field"], "Last-Event-ID", "{bad}");
    }
}
