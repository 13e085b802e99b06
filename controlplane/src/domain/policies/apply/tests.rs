use axum::body::Body;
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::{Value, json};

use crate::domain::query::tests::own_data_plane;
use crate::worlds::World;

fn policy(name: &str, function: &str) -> Value {
    let rule = json!({"table": "customers", "column": name, "function": function});
    json!({"name": name, "type": "column_masking", "rules": [rule]})
}

async fn apply(world: &World, policies: &[Value], dry_run: bool) -> crate::testing::Answer {
    let body = json!({"policies": policies, "dry_run": dry_run});
    world.app.post(&world.env("policies/apply"), &world.owner, body).await
}

fn steps(answer: &Value) -> Vec<&str> {
    answer["policies"].as_array().unwrap().iter().map(|policy| policy["change"].as_str().unwrap()).collect()
}

async fn held(world: &World) -> Vec<String> {
    let policies = world.app.get(&world.env("policies"), &world.owner).await.expect(200);
    let names = policies["data"].as_array().unwrap().iter().map(|policy| policy["name"].as_str().unwrap().to_owned());
    names.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

#[tokio::test]
async fn a_file_is_made_to_hold_and_only_what_differs_is_changed() {
    let world = World::start().await;
    let version = world.version().await;
    let file = [policy("ssn", "full"), policy("name", "null")];
    assert_eq!(steps(&apply(&world, &file, true).await.expect(200)), ["created", "created"]);
    assert_eq!((held(&world).await.len(), world.version().await), (0, version), "a dry run changes nothing");
    assert_eq!(steps(&apply(&world, &file, false).await.expect(200)), ["created", "created"]);
    assert_eq!(steps(&apply(&world, &file, false).await.expect(200)), ["unchanged", "unchanged"]);
    let version = world.version().await;
    let file = [policy("name", "hash"), policy("phone", "full")];
    assert_eq!(steps(&apply(&world, &file, true).await.expect(200)), ["changed", "created"]);
    assert_eq!(world.version().await, version);
    assert_eq!(steps(&apply(&world, &file, false).await.expect(200)), ["changed", "created"]);
    assert_eq!(held(&world).await, ["name", "phone", "ssn"], "what is not named stays");
    let trail = world.app.get(&world.env("audit/admin"), &world.owner).await.expect(200);
    let types = trail["data"].as_array().unwrap().iter().map(|event| event["event_type"].as_str().unwrap());
    let mut of_policies: Vec<_> = types.filter(|kind| kind.starts_with("policy.")).collect();
    of_policies.sort_unstable(); // those of one moment come in any order
    assert_eq!(of_policies, ["policy.created", "policy.created", "policy.created", "policy.updated"]);
}

/// A first day: the real run failed after it had made the first policy, and the dry run had said `created`.
#[tokio::test]
async fn one_that_is_refused_refuses_all_and_a_dry_run_says_the_same() {
    let world = World::start().await;
    let mut retyped = policy("held", "full");
    apply(&world, std::slice::from_ref(&retyped), false).await.expect(200);
    retyped["type"] = json!("row_level_security");
    retyped["rules"] = json!([{"table": "customers", "filter": "id = 1"}]);
    for (second, status, field) in [
        (policy("phone", "sha256"), 400, "policies[1].rules[0].function"),
        (policy("ssn", "full"), 400, "policies[1].name"),
        (retyped, 400, "policies[1].type"),
        (
            json!({"name": "f", "type": "row_level_security", "rules": [{"table": "t", "filter": "a = '{no}'"}]}),
            422,
            "policies[1].rules[0].filter",
        ),
    ] {
        for dry_run in [true, false] {
            let answer = apply(&world, &[policy("ssn", "full"), second.clone()], dry_run).await;
            assert_eq!(answer.status.as_u16(), status, "{second}: {}", answer.body);
            assert_eq!(answer.body["error"]["details"]["field"], field, "{second}");
        }
    }
    assert_eq!(held(&world).await, ["held"]);
    assert_eq!(apply(&world, &[], false).await.status.as_u16(), 400);
}

#[tokio::test]
async fn what_is_not_there_is_refused_of_all_at_once_and_marked_where_it_is_accepted() {
    fn second_is_missing(_: &Request<Incoming>) -> Response<Body> {
        let missing = json!({"state": "missing", "what": "table", "name": "main.customers", "there": []});
        let body = json!({"rules": [{"state": "bound"}, missing]}).to_string();
        Response::builder().header("content-type", "application/json").body(body.into()).unwrap()
    }
    let world = World::start().await;
    own_data_plane(&world, second_is_missing).await;
    let mut file = [policy("ssn", "full"), policy("name", "null")];
    for dry_run in [true, false] {
        let answer = apply(&world, &file, dry_run).await;
        assert_eq!(answer.code(), (422, "INVALID_RULE"));
        assert_eq!(answer.body["error"]["details"]["field"], "policies[1].rules[0].table");
    }
    assert_eq!(held(&world).await.len(), 0);
    file[1]["accept_missing"] = json!(true);
    let made = apply(&world, &file, false).await.expect(200);
    let bindings = ["bound", "rules_nothing"].map(|binding| json!(binding));
    assert_eq!([&made["policies"][0]["binding"], &made["policies"][1]["binding"]], [&bindings[0], &bindings[1]]);
    let again = apply(&world, &file, true).await.expect(200);
    assert_eq!(steps(&again), ["unchanged", "unchanged"], "what is held is not asked of again");
    assert_eq!(again["policies"][1]["binding"], "rules_nothing");
}
