use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::testing::Answer;
use crate::worlds::World;

async fn send(world: &World, method: Method, path: &str, header: (&str, &str), body: Value) -> Answer {
    let request =
        Request::builder().method(method).uri(path).header("authorization", &world.owner).header(header.0, header.1);
    world.app.send(request.header("content-type", "application/json").body(Body::from(body.to_string())).unwrap()).await
}

fn tag(answer: &Answer) -> String {
    answer.headers["etag"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_read_that_the_caller_holds_is_304_until_it_changes() {
    let world = World::start().await;
    let org = format!("/v1/organizations/{}", world.org_id);
    for path in [world.env("policies"), world.env("api-keys"), org] {
        let first = tag(&world.app.get(&path, &world.owner).await);
        let again =
            send(&world, Method::GET, &path, ("if-none-match", &format!("\"other\", {first}")), Value::Null).await;
        assert_eq!((again.status.as_u16(), &again.body, tag(&again)), (304, &json!(""), first.clone()), "{path}");
        let other = send(&world, Method::GET, &path, ("if-none-match", "W/\"other\""), Value::Null).await;
        assert_eq!((other.status.as_u16(), tag(&other)), (200, first), "{path}");
    }
    let list = world.env("policies");
    let empty = tag(&world.app.get(&list, &world.owner).await);
    world.mask("ssn").await;
    send(&world, Method::GET, &list, ("if-none-match", &empty), Value::Null).await.expect(200);
}

#[tokio::test]
async fn of_two_who_read_the_same_version_the_second_to_write_is_told() {
    let world = World::start().await;
    let path = format!("/v1/organizations/{}", world.org_id);
    let read = tag(&world.app.get(&path, &world.owner).await);
    world.app.advance(chrono::Duration::seconds(1));
    let first = send(&world, Method::PUT, &path, ("if-match", &read), json!({"name": "First"})).await;
    let second = send(&world, Method::PUT, &path, ("if-match", &read), json!({"name": "Second"})).await;
    assert_eq!((second.code(), &second.body["error"]["details"]["reason"]), ((412, "CONFLICT"), &json!("stale")));
    let written = tag(&first);
    assert_eq!(first.expect(200)["name"], "First");
    send(&world, Method::PUT, &path, ("if-match", &written), json!({"name": "Third"})).await.expect(200);
    send(&world, Method::PUT, &path, ("if-match", "*"), json!({"name": "Fourth"})).await.expect(200);
}

/// Every route that compares versions, by the `updated_at` that a list shows.
#[tokio::test]
async fn what_a_list_shows_of_a_record_suffices() {
    let world = World::start().await;
    let policy = world.mask("ssn").await;
    let policy_path = world.env(&format!("policies/{}", policy["policy_id"].as_str().unwrap()));
    let environment = format!("/v1/organizations/{}/environments/{}", world.org_id, world.env_id);
    for (method, path) in [(Method::PUT, &environment), (Method::PUT, &policy_path), (Method::DELETE, &policy_path)] {
        let list = path.rsplit_once('/').unwrap().0;
        let shown =
            world.app.get(list, &world.owner).await.expect(200)["data"][0]["updated_at"].as_str().unwrap().to_owned();
        world.app.advance(chrono::Duration::seconds(1));
        let stale = send(&world, method.clone(), path, ("if-match", "W/\"2000-01-01T00:00:00Z\""), json!({})).await;
        assert_eq!(stale.code(), (412, "CONFLICT"), "{method} {path}");
        send(&world, method.clone(), path, ("if-match", &format!("W/\"{shown}\"")), json!({})).await.expect(200);
    }
}

#[tokio::test]
async fn if_match_is_refused_where_nothing_is_compared_or_it_is_no_tag() {
    let world = World::start().await;
    let answer = send(&world, Method::POST, &world.env("policies"), ("if-match", "*"), json!({})).await;
    assert_eq!(
        (answer.code(), &answer.body["error"]["details"]["field"]),
        ((400, "VALIDATION_ERROR"), &json!("If-Match"))
    );
    let path = format!("/v1/organizations/{}", world.org_id);
    for bad in ["2000-01-01T00:00:00Z", "W/", "\"", "", "\"a\" \"b"] {
        let answer = send(&world, Method::PUT, &path, ("if-match", bad), json!({})).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{bad}");
    }
}
