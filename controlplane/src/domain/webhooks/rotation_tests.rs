//! After a rotation a receiver may know the secret by either of two names, until the grace ends.

use chrono::Duration;
use contract::Redacted;
use platform::egress::client::signature;
use serde_json::{Value, json};
use test_servers::webhook::{ReceivedRequest, Receiver};

use super::tests::{due, hook, new_key, notices, path, world};
use crate::worlds::World;

/// The next delivery, after something to tell of has happened.
async fn told(world: &World, receiver: &mut Receiver) -> ReceivedRequest {
    new_key(world).await;
    assert_eq!(due(world).await, 1);
    receiver.got().pop().unwrap()
}

fn secret(answer: &Value) -> Redacted<String> {
    Redacted::new(answer["signing_secret"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn both_secrets_sign_until_the_grace_ends_and_then_the_new_one_alone() {
    let (world, mut receiver) = (world().await, Receiver::start().await);
    let made = hook(&world, &receiver.url(), &["key.created"]).await;
    let rotate = path(&world, &made, "/rotate-secret");
    let rotated = world.app.post(&rotate, &world.owner, json!({"grace_period_hours": 1})).await.expect(200);
    let (old, new) = (secret(&made), secret(&rotated));
    let got = told(&world, &mut receiver).await;
    assert_eq!(got.header("x-service-signature"), signature(&new, &got.bytes));
    assert_eq!(got.header("x-service-previous-signature"), signature(&old, &got.bytes));
    assert_eq!(got.header("webhook-signature").split(' ').filter(|one| one.starts_with("v1,")).count(), 2);
    world.app.advance(Duration::hours(1));
    let got = told(&world, &mut receiver).await;
    assert_eq!(got.header("x-service-signature"), signature(&new, &got.bytes));
    assert!(!got.headers.contains_key("x-service-previous-signature"));
    assert_eq!(got.header("webhook-signature").split(' ').count(), 1);
}

#[tokio::test]
async fn a_secret_of_ones_own_is_rotated_to_another_of_ones_own() {
    let (world, receiver) = (world().await, Receiver::start().await);
    let made = notices(&world, &receiver.url(), &["branch.merged"]).await;
    let rotate = format!("/v1/webhooks/{}/rotate-secret", made["webhook_id"].as_str().unwrap());
    for (body, code) in [
        (json!({"secret": "short"}), (400, "VALIDATION_ERROR")),
        (json!({"secret": "x".repeat(24), "grace_period_hours": 169}), (400, "VALIDATION_ERROR")),
        (json!({}), (400, "VALIDATION_ERROR")),
    ] {
        assert_eq!(world.app.post(&rotate, &world.owner, body).await.code(), code);
    }
    let answer = world.app.post(&rotate, &world.owner, json!({"secret": "x".repeat(24)})).await.expect(200);
    assert!(!answer.to_string().contains("xxx"), "it is never answered: {answer}");
    let events = world.app.events(&json!({"org": {"id": world.org_id}})).await;
    let (kind, changes) = events.last().unwrap();
    assert_eq!((kind.as_str(), changes["after"]["secret"].as_str()), ("webhook.updated", Some("rotated")));
    assert!(!changes.to_string().contains("xxx"), "nor written down: {changes}");
}
