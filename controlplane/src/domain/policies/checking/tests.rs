use axum::body::Body;
use chrono::Duration;
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::{Value, json};

use super::*;
use crate::domain::query::tests::{Answer, own_data_plane};
use crate::server::jobs::{run_due, schedule};
use crate::worlds::World;

fn told(rules: &Value) -> Response<Body> {
    Response::builder()
        .header("content-type", "application/json")
        .body(json!({"rules": rules}).to_string().into())
        .unwrap()
}

fn bound(request: &Request<Incoming>) -> Response<Body> {
    assert!(request.uri().path().ends_with("/policies/bind"), "{request:?}");
    assert!(!request.headers().contains_key(contract::wire::header::CALLER), "asked for nobody");
    told(&json!([{"state": "bound"}]))
}

fn missing(_: &Request<Incoming>) -> Response<Body> {
    told(&json!([{"state": "missing", "what": "column", "name": "main.customers.ssn", "there": ["snn"]}]))
}

fn unknown(_: &Request<Incoming>) -> Response<Body> {
    told(&json!([{"state": "unknown"}]))
}

fn other(_: &Request<Incoming>) -> Response<Body> {
    told(&json!([]))
}

/// A data plane of before does not know the question.
fn of_before(_: &Request<Incoming>) -> Response<Body> {
    Response::builder().status(404).body(Body::empty()).unwrap()
}

async fn shown(world: &World) -> (String, usize) {
    let policies = world.app.get(&world.env("policies"), &world.owner).await.expect(200);
    let policy = &policies["data"][0];
    (policy["binding"].as_str().unwrap().to_owned(), policy["unbound"].as_array().unwrap().len())
}

async fn round(world: &World) {
    world.app.advance(AGAIN_AFTER);
    run_due(&world.app.app).await.unwrap();
}

async fn events(world: &World) -> Vec<String> {
    let trail = world.app.get(&world.env("audit/admin"), &world.owner).await.expect(200);
    let types = trail["data"].as_array().unwrap().iter().map(|event| event["event_type"].as_str().unwrap().to_owned());
    types.filter(|kind| kind.starts_with("policy.")).collect()
}

/// "While it cannot be asked, the rule is kept as not yet bound and checked when it can"; what is dropped then rules
/// nothing, and rules again where a table of its name is made.
#[tokio::test]
async fn a_rule_is_looked_at_again_and_again_and_each_change_is_an_event() {
    let world = World::start().await;
    schedule(&world.app.app).await.unwrap();
    assert_eq!(world.mask("ssn").await["binding"], "not_yet_bound");
    round(&world).await;
    assert_eq!(shown(&world).await, ("not_yet_bound".to_owned(), 0), "nobody is there to ask");
    let rounds: [(Answer, (&str, usize), &str); 9] = [
        (unknown, ("not_yet_bound", 0), "policy.created"),
        (other, ("not_yet_bound", 0), "policy.created"),
        (of_before, ("not_yet_bound", 0), "policy.created"),
        (bound, ("bound", 0), "policy.created"),
        (missing, ("rules_nothing", 1), "policy.unbound"),
        (unknown, ("rules_nothing", 1), "policy.unbound"),
        (other, ("rules_nothing", 1), "policy.unbound"),
        (of_before, ("rules_nothing", 1), "policy.unbound"),
        (bound, ("bound", 0), "policy.bound"),
    ];
    for (answer, binding, event) in rounds {
        own_data_plane(&world, answer).await;
        round(&world).await;
        let (state, many) = shown(&world).await;
        assert_eq!((state.as_str(), many), binding);
        assert_eq!(events(&world).await[0], event);
    }
    round(&world).await;
    assert_eq!(events(&world).await, ["policy.bound", "policy.unbound", "policy.created"], "each change once");
}

#[tokio::test]
async fn an_answer_holds_for_a_minute_and_for_the_rules_that_it_is_about() {
    let world = World::start().await;
    schedule(&world.app.app).await.unwrap();
    own_data_plane(&world, bound).await;
    assert_eq!(world.mask("ssn").await["binding"], "bound");
    own_data_plane(&world, missing).await;
    world.app.advance(AGAIN_AFTER - Duration::seconds(1));
    run_due(&world.app.app).await.unwrap();
    assert_eq!(shown(&world).await.0, "bound");
    world.sql("update policies set rules = jsonb_set(rules, '{0,column}', '\"other\"')").await;
    assert_eq!(shown(&world).await.0, "not_yet_bound", "a control plane of before has changed them");
    round(&world).await;
    assert_eq!(shown(&world).await.0, "rules_nothing");
}

#[tokio::test]
async fn policies_of_before_are_not_yet_bound_and_a_disabled_one_tells_nobody() {
    let world = World::start().await;
    schedule(&world.app.app).await.unwrap();
    world.mask("ssn").await;
    world.sql("delete from policy_bindings").await;
    world.sql("update policies set enabled = false").await;
    assert_eq!(shown(&world).await, ("not_yet_bound".to_owned(), 0));
    own_data_plane(&world, missing).await;
    round(&world).await;
    assert_eq!(shown(&world).await, ("rules_nothing".to_owned(), 1));
    assert_eq!(events(&world).await, ["policy.created"]);
}

#[tokio::test]
async fn what_is_not_there_is_refused_and_kept_where_that_is_accepted() {
    let world = World::start().await;
    own_data_plane(&world, missing).await;
    let rules = json!([{"table": "customers", "column": "ssn", "function": "full"}]);
    let mut body = json!({"name": "ssn", "type": "column_masking", "rules": rules});
    let path = world.env("policies");
    let refused = world.app.post(&path, &world.owner, body.clone()).await;
    assert_eq!(refused.code(), (422, "INVALID_RULE"));
    let message = refused.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("main.customers.ssn") && message.contains("snn"), "{message}");
    body["accept_missing"] = json!(true);
    let made = world.app.post(&path, &world.owner, body).await.expect(201);
    assert_eq!((&made["binding"], &made["unbound"][0]["field"]), (&json!("rules_nothing"), &json!("rules[0].column")));
    let path = world.env(&format!("policies/{}", made["policy_id"].as_str().unwrap()));
    let switched = world.app.put(&path, &world.owner, json!({"enabled": false})).await.expect(200);
    assert_eq!(switched["binding"], "rules_nothing", "rules that are not sent are not looked at");
    let again = world.app.put(&path, &world.owner, json!({"rules": rules})).await;
    assert_eq!(again.code(), (422, "INVALID_RULE"));
    world.app.put(&path, &world.owner, json!({"rules": rules, "accept_missing": true})).await.expect(200);
    own_data_plane(&world, bound).await;
    assert_eq!(world.app.put(&path, &world.owner, json!({"rules": rules})).await.expect(200)["binding"], "bound");
}

#[test]
fn only_what_has_changed_is_news() {
    let one = |rule: usize| -> Unbound {
        serde_json::from_value(json!({"rule": rule, "field": format!("rules[{rule}].table"), "message": "m"})).unwrap()
    };
    for (known, told, kind) in [
        (None, vec![], None),
        (None, vec![one(0)], Some(EventType::PolicyUnbound)),
        (Some(vec![]), vec![one(0)], Some(EventType::PolicyUnbound)),
        (Some(vec![one(0)]), vec![one(0)], None),
        (Some(vec![one(0)]), vec![one(0), one(2)], Some(EventType::PolicyUnbound)),
        (Some(vec![one(0), one(2)]), vec![one(2)], None),
        (Some(vec![one(0)]), vec![], Some(EventType::PolicyBound)),
    ] {
        assert_eq!(news(known.as_deref(), &told), kind, "{known:?} {told:?}");
    }
}

/// "`TableIs` … is never refused, only marked."
#[tokio::test]
async fn an_attribute_policy_is_marked_and_never_refused() {
    let world = World::start().await;
    schedule(&world.app.app).await.unwrap();
    own_data_plane(&world, missing).await;
    let rule = |condition: &str, value: &str| json!([{"condition": condition, "values": [value], "action": "deny"}]);
    let body = |name: &str, rules: Value| json!({"name": name, "rules": rules, "priority": 1});
    let path = world.env("abac-policies");
    let made = world.app.post(&path, &world.owner, body("pay", rule("TableIs", "pay_*"))).await.expect(201);
    assert_eq!(
        (&made["binding"], &made["unbound"][0]["field"]),
        (&json!("rules_nothing"), &json!("rules[0].values[0]"))
    );
    let other = body("agents", rule("AgentFrameworkIs", "langchain"));
    assert_eq!(world.app.post(&path, &world.owner, other).await.expect(201)["binding"], "bound", "it names no table");
    own_data_plane(&world, bound).await;
    round(&world).await;
    let all = world.app.get(&path, &world.owner).await.expect(200);
    assert!(all["data"].as_array().unwrap().iter().all(|policy| policy["binding"] == "bound"), "{all}");
    let one = format!("{path}/{}", made["policy_id"].as_str().unwrap());
    let unnamed = world.app.put(&one, &world.owner, json!({"priority": 2})).await.expect(200);
    assert_eq!(unnamed["binding"], "bound");
    world.app.delete(&one, &world.owner).await.expect(200);
    assert_eq!(world.count("select count(*) from policy_bindings").await, 1, "what was told of it goes with it");
}
