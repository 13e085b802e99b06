use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use chrono::Duration;
use contract::Redacted;
use contract::report::{Body as Reported, Entry};
use platform::egress::client::signature;
use platform::provisioner::Unattended;
use serde_json::{Value, json};
use test_servers::webhook::{ReceivedRequest, Receiver, Reply};
use tokio::sync::Notify;

use super::run_due;
use super::surface::Surface;
use crate::testing::TestApp;
use crate::worlds::World;

const SECRET: &str = "a-secret-of-twenty-four-or-more";

pub async fn world() -> World {
    World::of(TestApp::with(|config| config.webhook_loopback = true, Arc::new(Unattended)).await).await
}

pub async fn hook(world: &World, url: &str, events: &[&str]) -> Value {
    let body = json!({"url": url, "events": events});
    world.app.post(&world.org("webhooks"), &world.owner, body).await.expect(201)
}

pub async fn notices(world: &World, url: &str, events: &[&str]) -> Value {
    let body = json!({"url": url, "events": events, "secret": SECRET});
    world.app.post("/v1/webhooks", &world.owner, body).await.expect(201)
}

async fn listed(world: &World) -> Value {
    world.app.get(&world.org("webhooks"), &world.owner).await.expect(200)["data"][0].clone()
}

pub async fn due(world: &World) -> usize {
    world.app.settled().await;
    run_due(&world.app.app).await.unwrap()
}

pub fn path(world: &World, webhook: &Value, rest: &str) -> String {
    world.org(&format!("webhooks/{}{rest}", webhook["webhook_id"].as_str().unwrap()))
}

pub async fn new_key(world: &World) -> Value {
    let name = format!("k{}", world.app.app.entropy().base62(6));
    world.create_key(json!({"name": name, "scopes": ["query:read"]})).await
}

fn key_path(world: &World, key: &Value, rest: &str) -> String {
    world.env(&format!("api-keys/{}{rest}", key["key_id"].as_str().unwrap()))
}

fn types(got: &[ReceivedRequest]) -> Vec<String> {
    got.iter().map(|got| got.body()["event_type"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_webhook_is_made_changed_listed_and_deleted_and_its_secret_is_shown_once() {
    let world = world().await;
    let made = hook(&world, "https://example.com/hook", &["key.created"]).await;
    assert!(made["signing_secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!((&made["status"], &made["failure_count"]), (&json!("active"), &json!(0)));
    world.app.advance(Duration::seconds(1));
    let change = json!({"description": "for the team", "events": ["key.revoked"]});
    let changed = world.app.put(&path(&world, &made, ""), &world.owner, change).await.expect(200);
    assert_eq!((&changed["url"], &changed["events"]), (&made["url"], &json!(["key.revoked"])));
    assert_eq!(changed.get("signing_secret"), None);
    assert_eq!(listed(&world).await, changed);
    let deleted = world.app.delete(&path(&world, &made, ""), &world.owner).await.expect(200);
    assert_eq!((&deleted["webhook_id"], &deleted["deleted"]), (&made["webhook_id"], &json!(true)));
    assert_eq!(world.app.delete(&path(&world, &made, ""), &world.owner).await.code(), (404, "NOT_FOUND"));
    let told = "select count(*) from iam_events where event_type like 'webhook.%' and changes::text not like '%/hook%'";
    assert_eq!(world.count(told).await, 3);
}

#[tokio::test]
async fn what_cannot_be_a_webhook_is_refused_with_the_field() {
    let world = World::start().await;
    let good = json!({"url": "https://example.com/", "events": ["key.created"]});
    for (member, value, field) in [
        ("url", json!("http://example.com/"), "url"),
        ("url", json!("https://10.0.0.1/"), "url"),
        ("url", json!("http://localhost:1/"), "url"),
        ("url", json!(7), "url"),
        ("events", json!([]), "events"),
        ("events", json!(["key.created", "nothing.such"]), "events[1]"),
        ("events", json!(["trigger.fired"]), "events[0]"),
        ("events", json!(["key.created", "key.created"]), "events[1]"),
        ("description", json!("x".repeat(501)), "description"),
        ("secret", json!(SECRET), "secret"),
    ] {
        let mut body = good.clone();
        body[member] = value;
        let answer = world.app.post(&world.org("webhooks"), &world.owner, body.clone()).await;
        assert_eq!(
            (answer.code(), &answer.body["error"]["details"]["field"]),
            ((400, "VALIDATION_ERROR"), &json!(field)),
            "{body}"
        );
    }
    for secret in [json!("short"), json!("x".repeat(129)), json!("twenty-four with a space"), json!(null)] {
        let body = json!({"url": "https://example.com/", "events": ["trigger.fired"], "secret": secret});
        let answer = world.app.post("/v1/webhooks", &world.owner, body).await;
        assert_eq!(
            (answer.code(), &answer.body["error"]["details"]["field"]),
            ((400, "VALIDATION_ERROR"), &json!("secret"))
        );
    }
}

#[tokio::test]
async fn an_organization_has_a_limited_number_of_webhooks() {
    let world = World::start().await;
    for n in 0..20 {
        hook(&world, &format!("https://example.com/{n}"), &["key.created"]).await;
    }
    let body = json!({"url": "https://example.com/", "events": ["key.created"]});
    assert_eq!(world.app.post(&world.org("webhooks"), &world.owner, body).await.code(), (409, "CONFLICT"));
}

#[tokio::test]
async fn an_event_reaches_thereceiver_signed_in_its_envelope() {
    let (world, mut receiver) = (world().await, Receiver::start().await);
    let made = hook(&world, &receiver.url(), &["key.rotated"]).await;
    let key = world.create_key(json!({"name": "clé 鍵 \u{1F511}", "scopes": ["query:read"]})).await;
    let rotated = world.app.post(&key_path(&world, &key, "/rotate"), &world.owner, json!({})).await.expect(200);
    assert_eq!(due(&world).await, 1);
    let got = receiver.got().pop().unwrap();
    let body = got.body();
    assert_eq!((&body["event_type"], &body["org_id"]), (&json!("key.rotated"), &json!(world.org_id.as_str())));
    for (member, value) in [
        ("key_id", &key["key_id"]),
        ("name", &key["name"]),
        ("old_key_expires_at", &rotated["old_key_expires_at"]),
        ("rotated_by", &rotated["rotated_by"]),
    ] {
        assert_eq!(&body["data"][member], value, "{member}");
    }
    let secret = Redacted::new(made["signing_secret"].as_str().unwrap().to_owned());
    assert_eq!(got.header("x-service-signature"), signature(&secret, &got.bytes));
    assert_eq!(got.header("x-service-event-id"), body["event_id"].as_str().unwrap());
    assert_eq!((got.header("x-service-event-type"), got.header("content-type")), ("key.rotated", "application/json"));
    assert_eq!(got.header("x-service-delivery-attempt"), "1");
    let webhook = listed(&world).await;
    assert_eq!((&webhook["last_status_code"], webhook["last_delivered_at"].is_string()), (&json!(204), true));
}

#[tokio::test]
async fn the_delivery_contract_tells_the_same_in_its_own_words() {
    let (world, mut receiver) = (world().await, Receiver::start().await);
    notices(&world, &receiver.url(), &["agent.key_rotated", "agent.key_revoked"]).await;
    let key = new_key(&world).await;
    world.app.post(&key_path(&world, &key, "/rotate"), &world.owner, json!({})).await.expect(200);
    world.app.delete(&key_path(&world, &key, ""), &world.owner).await.expect(200);
    assert_eq!(due(&world).await, 2);
    let mut got = receiver.got();
    got.sort_by_key(|got| got.header("x-service-event-type").to_owned());
    let common = ["org_id", "key_id", "key_name", "performed_by", "occurred_at"];
    for (got, (event_type, own)) in got.iter().zip([("agent.key_revoked", "reason"), ("agent.key_rotated", "action")]) {
        let body = got.body();
        let mut members: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected: Vec<_> = common.into_iter().chain([own]).collect();
        members.sort_unstable();
        expected.sort_unstable();
        assert_eq!((got.header("x-service-event-type"), members), (event_type, expected));
        assert_eq!((&body["key_id"], &body["key_name"]), (&key["key_id"], &key["name"]));
        assert_eq!(got.header("x-service-signature"), signature(&Redacted::new(SECRET.to_owned()), &got.bytes));
    }
}

#[tokio::test]
async fn a_webhook_hears_what_it_names_and_nothing_else() {
    let (world, mut receiver) = (world().await, Receiver::start().await);
    hook(&world, &receiver.url(), &["policy.changed"]).await;
    new_key(&world).await;
    let policy = world.mask("ssn").await;
    let one = world.env(&format!("policies/{}", policy["policy_id"].as_str().unwrap()));
    world.app.put(&one, &world.owner, json!({"enabled": false})).await.expect(200);
    world.app.delete(&one, &world.owner).await.expect(200);
    due(&world).await;
    let mut told = types(&receiver.got());
    told.sort();
    assert_eq!(told, ["policy.created", "policy.deleted", "policy.updated"]);
}

#[tokio::test]
async fn a_change_that_is_not_made_tells_nobody() {
    let (world, mut receiver) = (world().await, Receiver::start().await);
    hook(&world, &receiver.url(), &["policy.created"]).await;
    world.mask("ssn").await;
    let again = json!({"name": "ssn", "type": "column_masking", "enabled": true, "rules": [
        {"table": "t", "column": "c", "function": "full", "exempt_roles": []}]});
    assert_eq!(world.app.post(&world.env("policies"), &world.owner, again).await.code(), (409, "CONFLICT"));
    due(&world).await;
    assert_eq!(types(&receiver.got()), ["policy.created"]);
}

/// Walks the retry delays to the microsecond: just before the end of each nothing comes, at its end one attempt.
async fn walk(world: &World, receiver: &mut Receiver, surface: Surface) -> Vec<(String, Vec<u8>)> {
    let mut seen = Vec::new();
    for (attempt, delay) in (1..).zip(surface.retry_delays()) {
        if *delay > Duration::zero() {
            world.app.advance(*delay - Duration::microseconds(1));
            assert_eq!(due(world).await, 0, "attempt {attempt} before its time");
            world.app.advance(Duration::microseconds(1));
        }
        assert_eq!(due(world).await, 1, "attempt {attempt}");
        let got = receiver.got().pop().unwrap();
        assert_eq!(got.header("x-service-delivery-attempt"), attempt.to_string());
        seen.push((got.header("x-service-event-id").to_owned(), got.bytes.to_vec()));
    }
    world.app.advance(Duration::days(2));
    assert_eq!(due(world).await, 0, "after the last attempt");
    seen
}

#[tokio::test]
async fn after_five_failed_retries_a_webhook_receives_nothing_until_a_test_succeeds() {
    let (world, mut receiver) = (world().await, Receiver::start().await);
    receiver.replies(Reply::Status(500));
    let made = hook(&world, &receiver.url(), &["key.created"]).await;
    new_key(&world).await;
    let seen = walk(&world, &mut receiver, Surface::Organization).await;
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "the same bytes each time");
    let webhook = listed(&world).await;
    assert_eq!((&webhook["status"], &webhook["failure_count"]), (&json!("failed"), &json!(6)));
    assert_eq!(webhook["last_status_code"], json!(500));
    new_key(&world).await;
    assert_eq!(due(&world).await, 0);
    let test = path(&world, &made, "/test");
    let failed = world.app.post(&test, &world.owner, Value::Null).await;
    assert_eq!(
        (failed.code(), &failed.body["error"]["details"]["status_code"]),
        ((422, "DELIVERY_FAILED"), &json!(500))
    );
    assert_eq!(listed(&world).await["status"], json!("failed"));
    receiver.replies(Reply::Status(200));
    let tested = world.app.post(&test, &world.owner, Value::Null).await.expect(200);
    assert_eq!((&tested["delivered"], &tested["status_code"]), (&json!(true), &json!(200)));
    assert_eq!(listed(&world).await["status"], json!("active"));
    receiver.got();
    new_key(&world).await;
    assert_eq!((due(&world).await, types(&receiver.got())), (1, vec!["key.created".to_owned()]));
}

#[tokio::test]
async fn an_update_makes_a_failed_webhook_active_again() {
    let (world, mut receiver) = (world().await, Receiver::start().await);
    receiver.replies(Reply::Status(500));
    let made = hook(&world, &receiver.url(), &["key.created"]).await;
    new_key(&world).await;
    walk(&world, &mut receiver, Surface::Organization).await;
    let updated = world.app.put(&path(&world, &made, ""), &world.owner, json!({})).await.expect(200);
    assert_eq!((&updated["status"], &updated["failure_count"]), (&json!("active"), &json!(0)));
}

#[tokio::test]
async fn after_six_failures_an_event_of_the_contract_is_failed_and_can_be_replayed() {
    let (world, mut receiver) = (world().await, Receiver::start().await);
    receiver.replies(Reply::Status(503));
    notices(&world, &receiver.url(), &["agent.key_revoked"]).await;
    let key = new_key(&world).await;
    world.app.delete(&key_path(&world, &key, ""), &world.owner).await.expect(200);
    let failed = "/v1/webhooks/deliveries?status=failed";
    assert_eq!(world.app.get(failed, &world.owner).await.expect(200)["pagination"]["total"], json!(0));
    let seen = walk(&world, &mut receiver, Surface::Notices).await;
    let log = world.app.get(failed, &world.owner).await.expect(200);
    let row = &log["data"][0];
    assert_eq!(
        (&row["attempts"], &row["last_status_code"], &row["event_id"]),
        (&json!(6), &json!(503), &json!(seen[0].0))
    );
    let hooks = world.app.get("/v1/webhooks", &world.owner).await.expect(200);
    assert_eq!((&hooks["data"][0]["status"], hooks["data"][0].get("secret")), (&json!("active"), None));
    receiver.replies(Reply::Status(200));
    let replay = format!("/v1/webhooks/deliveries/{}/replay", seen[0].0);
    world.app.post(&replay, &world.owner, Value::Null).await.expect(202);
    assert_eq!(world.app.post(&replay, &world.owner, Value::Null).await.code(), (409, "CONFLICT"), "waits already");
    assert_eq!(due(&world).await, 1);
    let got = receiver.got().pop().unwrap();
    assert_eq!((got.header("x-service-event-id").to_owned(), got.bytes.to_vec()), seen[0]);
    assert_eq!(world.app.post(&replay, &world.owner, Value::Null).await.code(), (409, "CONFLICT"), "delivered");
    let absent = "/v1/webhooks/deliveries/nothing/replay";
    assert_eq!(world.app.post(absent, &world.owner, Value::Null).await.code(), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn the_log_is_read_in_pages_and_by_states_that_there_are() {
    let (world, receiver) = (world().await, Receiver::start().await);
    notices(&world, &receiver.url(), &["agent.key_revoked"]).await;
    for _ in 0..3 {
        let key = new_key(&world).await;
        world.app.delete(&key_path(&world, &key, ""), &world.owner).await.expect(200);
    }
    let first = world.app.get("/v1/webhooks/deliveries?limit=2", &world.owner).await.expect(200);
    let cursor = first["pagination"]["cursor"].as_str().unwrap();
    let rest =
        world.app.get(&format!("/v1/webhooks/deliveries?limit=2&cursor={cursor}"), &world.owner).await.expect(200);
    assert_eq!((first["data"].as_array().unwrap().len(), rest["data"].as_array().unwrap().len()), (2, 1));
    assert_eq!(first["pagination"]["total"], json!(3));
    let refused = world.app.get("/v1/webhooks/deliveries?status=lost", &world.owner).await;
    assert_eq!(
        (refused.code(), &refused.body["error"]["details"]["field"]),
        ((400, "VALIDATION_ERROR"), &json!("status"))
    );
}

#[tokio::test]
async fn areceiver_that_hangs_keeps_nobody_waiting_and_has_few_requests_at_once() {
    let (world, mut slow, mut quick) = (world().await, Receiver::start().await, Receiver::start().await);
    let released = Arc::new(Notify::new());
    slow.replies(Reply::Held(Arc::clone(&released)));
    hook(&world, &slow.url(), &["key.created"]).await;
    hook(&world, &quick.url(), &["key.revoked"]).await;
    for _ in 0..8 {
        new_key(&world).await;
    }
    let key = new_key(&world).await;
    world.app.delete(&key_path(&world, &key, ""), &world.owner).await.expect(200);
    let app = world.app.app.clone();
    let working = world.app.app.tasks().spawn(super::work(app));
    assert_eq!(types(&[quick.next().await]), ["key.revoked"]);
    for _ in 0..4 {
        slow.next().await;
    }
    assert!(slow.got().is_empty(), "four at once");
    slow.replies(Reply::Status(200));
    released.notify_waiters();
    for _ in 0..5 {
        slow.next().await;
    }
    world.app.app.shutdown().cancel();
    working.await.unwrap();
    world.app.app.tasks().close();
    world.app.app.tasks().wait().await;
    assert_eq!(world.count("select count(*) from webhook_deliveries where status = 'delivered'").await, 10);
}

#[tokio::test]
async fn a_delivery_whose_worker_died_is_made_by_the_next() {
    let (world, mut receiver) = (world().await, Receiver::start().await);
    hook(&world, &receiver.url(), &["key.created"]).await;
    new_key(&world).await;
    assert_eq!(super::queue::claim(&world.app.app, 10).await.unwrap().len(), 1);
    assert_eq!(due(&world).await, 0);
    world.app.advance(Duration::minutes(1));
    assert_eq!((due(&world).await, receiver.got().len()), (1, 1));
}

#[tokio::test]
async fn nothing_of_a_webhook_is_seen_by_another_organization() {
    let (world, receiver) = (world().await, Receiver::start().await);
    let made = notices(&world, &receiver.url(), &["agent.key_revoked"]).await;
    let key = new_key(&world).await;
    world.app.delete(&key_path(&world, &key, ""), &world.owner).await.expect(200);
    let stranger = crate::testing::bearer(&world.app.signup("sven", "Elsewhere").await);
    for list in ["/v1/webhooks", "/v1/webhooks/deliveries"] {
        assert_eq!(world.app.get(list, &stranger).await.expect(200)["pagination"]["total"], json!(0), "{list}");
    }
    let own = world.app.get("/v1/webhooks/deliveries", &world.owner).await.expect(200);
    let one = format!("/v1/webhooks/{}", made["webhook_id"].as_str().unwrap());
    assert_eq!(world.app.delete(&one, &stranger).await.code(), (404, "NOT_FOUND"));
    let replay = format!("/v1/webhooks/deliveries/{}/replay", own["data"][0]["event_id"].as_str().unwrap());
    assert_eq!(world.app.post(&replay, &stranger, Value::Null).await.code(), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn what_a_data_plane_tells_is_told_on_once_and_stands_in_the_trail() {
    let (world, mut receiver) = (world().await, Receiver::start().await);
    notices(&world, &receiver.url(), &["branch.merged", "trigger.fired", "trigger.error"]).await;
    let at = world.app.app.now();
    let (org_id, env_id) = (&world.org_id, &world.env_id);
    let cases = [
        json!({"branch_merged": {"branch_id": "b1", "branch_name": "trial", "agent_id": "clerk", "actor_id": "u1",
            "strategy": "branch_wins", "tables_merged": ["main.stock"], "rows_affected": 3, "merged_at": at}}),
        json!({"trigger_fired": {"trigger_id": "t1", "trigger_name": "refunds", "fired_at": at, "similarity_score": 0.9,
            "threshold": 0.7, "content": "a refund", "content_id": "m1", "agent_id": "clerk", "metadata": {"order": 7}}}),
        json!({"trigger_error": {"trigger_id": "t1", "trigger_name": "refunds", "error": "SVC_ERR_500_ENGINE_CRASH",
            "occurred_at": at}}),
    ];
    for (sequence, told) in (1..).zip(cases) {
        let body: Reported = serde_json::from_value(told.clone()).unwrap();
        for _ in 0..2 {
            let entry = Entry { sequence, body: body.clone() };
            crate::server::intake::store_entries(&world.app.app, env_id, "log", vec![entry]).await.unwrap();
        }
        assert_eq!(due(&world).await, 1, "what is reported again is told once");
        let (kind, mut told) = told.as_object().unwrap().clone().into_iter().next().unwrap();
        let got = receiver.got().pop().unwrap();
        assert_eq!(got.header("x-service-event-type"), kind.replace('_', "."));
        told.as_object_mut().unwrap().remove("actor_id");
        told["org_id"] = json!(org_id);
        assert_eq!(got.body(), told);
    }
    let trail = "select count(*) from iam_events where actor_id in ('u1', 'clerk') and env_id is not null";
    assert_eq!(world.count(trail).await, 2);
}

#[tokio::test]
async fn a_secret_is_stored_sealed() {
    let world = world().await;
    let made = hook(&world, "https://example.com/", &["key.created"]).await;
    notices(&world, "https://example.com/", &["trigger.fired"]).await;
    for secret in [made["signing_secret"].as_str().unwrap(), SECRET] {
        let plain = format!("select count(*) from webhooks where position('{secret}'::bytea in secret) > 0");
        assert_eq!(world.count(&plain).await, 0);
    }
    assert_eq!(world.count("select count(*) from webhooks where length(secret) > 40").await, 2);
}

#[tokio::test]
async fn what_ended_a_month_ago_is_forgotten() {
    let (world, receiver) = (world().await, Receiver::start().await);
    hook(&world, &receiver.url(), &["key.created"]).await;
    new_key(&world).await;
    due(&world).await;
    for (days, left) in [(29, 1), (1, 0)] {
        world.app.advance(Duration::days(days));
        super::sweep(&world.app.app).await.unwrap();
        assert_eq!(world.count("select count(*) from webhook_deliveries").await, left);
    }
}

#[tokio::test]
async fn a_delivery_goes_on_where_its_request_was_asked_and_one_of_no_trace_in_none() {
    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let (world, mut receiver) = (world().await, Receiver::start().await);
    hook(&world, &receiver.url(), &["key.created"]).await;
    let body = json!({"name": "traced", "scopes": ["query:read"]}).to_string();
    let request = Request::post(world.env("api-keys"))
        .header("authorization", &world.owner)
        .header("content-type", "application/json")
        .header("traceparent", PARENT)
        .header("tracestate", "vendor=1")
        .header("idempotency-key", "once");
    world.app.send(request.body(Body::from(body)).unwrap()).await.expect(201);
    new_key(&world).await;
    assert_eq!(due(&world).await, 2);
    let mut got = receiver.got();
    got.sort_by_key(|got| got.body()["data"]["name"] != "traced");
    assert_eq!((got[0].header("traceparent"), got[0].header("tracestate")), (PARENT, "vendor=1"));
    assert!(got[1].headers.get("traceparent").is_none());
}
