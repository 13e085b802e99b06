//! A trigger that names a webhook is told to that one alone; where there is none of its URL, that is told.

use contract::report::{Body, Entry};
use serde_json::{Value, json};
use test_servers::webhook::{ReceivedRequest, Receiver};

use super::tests::{due, notices, world};
use crate::worlds::World;

/// The data plane reports a firing; how many are told.
async fn fired(world: &World, sequence: u64, metadata: Value) -> usize {
    let at = world.app.app.now();
    let told = json!({"trigger_fired": {"trigger_id": "t1", "trigger_name": "refunds", "fired_at": at,
        "similarity_score": 0.9, "threshold": 0.7, "content": "a refund", "content_id": "m1", "agent_id": "clerk",
        "metadata": metadata}});
    let body: Body = serde_json::from_value(told).unwrap();
    let entry = Entry { sequence, body };
    crate::server::intake::store_entries(&world.app.app, &world.env_id, "log", vec![entry]).await.unwrap();
    due(world).await
}

fn types(receiver: &mut Receiver) -> Vec<String> {
    let kind = |got: &ReceivedRequest| got.header("x-service-event-type").to_owned();
    receiver.got().iter().map(kind).collect()
}

#[tokio::test]
async fn a_firing_is_told_to_the_webhook_that_its_trigger_names_and_to_no_other() {
    let (world, mut one, mut other) = (world().await, Receiver::start().await, Receiver::start().await);
    for receiver in [&one, &other] {
        notices(&world, &receiver.url(), &["trigger.fired", "trigger.error"]).await;
    }
    assert_eq!(fired(&world, 1, json!({"order": 7})).await, 2);
    assert_eq!((types(&mut one).len(), types(&mut other).len()), (1, 1), "nobody is named");
    let named = json!({"action_config": {"webhook_url": one.url()}});
    assert_eq!(fired(&world, 2, named).await, 1);
    assert_eq!((types(&mut one), types(&mut other)), (vec!["trigger.fired".to_owned()], vec![]));
    let nobody = json!({"action_config": {"webhook_url": "https://nobody.example/"}});
    assert_eq!(fired(&world, 3, nobody).await, 2);
    let error = vec!["trigger.error".to_owned()];
    assert_eq!((types(&mut one), types(&mut other)), (error.clone(), error), "nobody has this URL");
}

#[tokio::test]
async fn a_webhook_that_does_not_ask_for_triggers_or_is_another_organizations_is_not_named() {
    let (world, mut receiver) = (world().await, Receiver::start().await);
    notices(&world, &receiver.url(), &["trigger.error"]).await;
    let named = json!({"action_config": {"webhook_url": receiver.url()}});
    assert_eq!(fired(&world, 1, named.clone()).await, 1);
    assert_eq!(types(&mut receiver), ["trigger.error"]);
    let stranger = crate::testing::bearer(&world.app.signup("sven", "Elsewhere").await);
    let theirs =
        json!({"url": receiver.url(), "events": ["trigger.fired"], "secret": "a-secret-of-twenty-four-or-more"});
    world.app.post("/v1/webhooks", &stranger, theirs).await.expect(201);
    assert_eq!(fired(&world, 2, named).await, 1);
    assert_eq!(types(&mut receiver), ["trigger.error"]);
}

#[tokio::test]
async fn what_triggers_tell_is_sent_for_no_key_that_may_not_read_it() {
    let world = World::start().await;
    let wanted = |event: &str| json!({"url": "https://example.com/", "events": [event], "secret": "a-secret-of-twenty-four-or-more"});
    let all = ["webhook:write", "agent:*", "query:read", "audit:read"];
    for (scopes, expected) in [(&all[..1], 403), (&all[..3], 403), (&all[..], 201)] {
        let name = format!("k{}", scopes.len());
        let made = world.create_key(json!({"name": name, "scopes": scopes})).await;
        let key = format!("ApiKey {}", made["key"].as_str().unwrap());
        let answer = world.app.post("/v1/webhooks", &key, wanted("trigger.fired")).await;
        assert_eq!(answer.status.as_u16(), expected, "{scopes:?}: {}", answer.body);
        world.app.post("/v1/webhooks", &key, wanted("branch.merged")).await.expect(201);
    }
}
