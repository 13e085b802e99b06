//! Revoke: refused over every protocol in under 250 ms, on open sessions too.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tests::World;

const PROMISED: Duration = Duration::from_millis(250);

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_is_refused_by_every_protocol() {
    let world = World::new().await;
    let scopes = json!({"scopes": ["query:read"]});
    let key = world.key_for(&world.env_id, scopes).await;
    let session = world.psql(&key.key).await.unwrap();
    session.simple_query("select 1").await.unwrap();
    assert_eq!(world.query(&key.key, "select 1").await.status, 200);

    let path = format!("/v1/environments/{}/api-keys/{}", world.env_id, key.key_id);
    let revoked = world.ok(Method::DELETE, &path, &world.owner, Value::Null).await;
    let answered = Instant::now();
    assert_eq!(revoked["revoked"], true);
    assert_eq!(world.query(&key.key, "select 1").await.status, 401);

    // The open session ends by itself, within the promise, without having been used.
    while !session.is_closed() {
        assert!(answered.elapsed() < PROMISED, "the session outlived its key");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let refused = world.psql(&key.key).await.unwrap_err();
    assert_eq!(refused.code().map(tokio_postgres::error::SqlState::code), Some("28P01"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_users_key_and_session_end_with_them() {
    let world = World::new().await;
    let analyst = world.user("analyst", json!({})).await;
    assert_eq!(world.query(&analyst.key, "select 1").await.status, 200);
    let path = format!("/v1/organizations/{}/users/{}", world.org_id, analyst.user_id);
    let removed = world.ok(Method::DELETE, &path, &world.owner, Value::Null).await;
    assert_eq!(removed["api_keys_revoked"], 1);
    assert_eq!(world.query(&analyst.key, "select 1").await.status, 401);
    world.end().await;
}
