use serde_json::{Value, json};
use test_servers::mail::MailServer;

use crate::domain::runtime::tests::{Runtime, field, id, reason};
use crate::testing::{Answer, TestApp};
use crate::worlds::World;

const BUILD: &str =
    r#"{"tests": {"pass_rate": 0.97}, "security": {"critical_findings": 0}, "build": {"compiles": true}}"#;

fn good() -> Value {
    serde_json::from_str(BUILD).unwrap()
}

async fn evaluated(runtime: &Runtime, gate: &str, facts: &Value, more: Value) -> Value {
    let mut body = json!({"project_id": "p1", "facts": facts});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    runtime.post(&format!("gates/{gate}/evaluate"), body).await.expect(200)
}

async fn defined(runtime: &Runtime, gate: &str, body: Value) -> Answer {
    runtime.app.put(&format!("/v2/gates/{gate}"), &runtime.owner, body).await
}

#[tokio::test]
async fn the_gates_are_the_specifications_six() {
    let runtime = Runtime::start().await;
    let gates = runtime.get("gates").await.expect(200);
    let rows: Vec<_> = gates["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gate| {
            let text = |name: &str| gate[name].as_str().unwrap();
            (text("gate_id"), text("name"), gate["auto_approvable"] == true, gate["client_sign_off_required"] == true)
        })
        .collect();
    let table = [
        ("G0", "UX Review", false, false),
        ("G1", "Proposal Approval", false, true),
        ("G2", "Architecture Review", true, false),
        ("G3", "Build Quality", true, false),
        ("G4", "Pre-Launch Review", false, true),
        ("G5", "Go-Live", false, true),
    ];
    assert_eq!(rows, table);
    assert_eq!(runtime.get("gates/G3").await.expect(200)["version"], 0);
    assert_eq!(runtime.get("gates/G6").await.code(), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn a_gate_approves_itself_waits_for_a_person_or_fails() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let passed = evaluated(&runtime, "G3", &good(), json!({"task_id": id(&task)})).await;
    assert_eq!((&passed["result"], passed.get("review_id")), (&json!("AutoApproved"), None));
    assert_eq!(passed["passed_conditions"].as_array().unwrap().len(), 3);
    let mut bad = good();
    bad["tests"]["pass_rate"] = json!(0.9);
    bad["security"] = json!({});
    let failed = evaluated(&runtime, "G3", &bad, json!({})).await;
    let conditions: Vec<_> = failed["failed_conditions"].as_array().unwrap().iter().collect();
    assert_eq!((&failed["result"], conditions.len()), (&json!("Failed"), 2));
    assert_eq!((&conditions[0]["key"], &conditions[0]["actual"]), (&json!("tests.pass_rate"), &json!(0.9)));
    assert_eq!((&conditions[1]["expected"], &conditions[1]["actual"]), (&json!(0), &Value::Null));
    let facts = json!({"launch": {"checklist_url": "https://acme.example/list"}});
    let waits = evaluated(&runtime, "G4", &facts, json!({"task_id": id(&task)})).await;
    assert_eq!((&waits["result"], &waits["approval_role"]), (&json!("PendingManual"), &json!("client")));
    assert_eq!(waits["client_sign_off"], true);
    let review = runtime.get(&format!("reviews/{}", waits["review_id"].as_str().unwrap())).await.expect(200);
    assert_eq!((&review["entity_id"], &review["assigned_to"]), (&json!("G4"), &json!("client")));
    assert_eq!(review["context"]["gate_evaluation"]["id"], waits["evaluation_id"]);
    assert_eq!(waits["action_url"], review["action_url"]);
    let told = runtime.told(&task).await;
    assert_eq!(told.iter().filter(|(_, kind, _)| kind == "gate_evaluated").count(), 2);
}

#[tokio::test]
async fn the_same_facts_have_one_hash_and_a_dry_run_keeps_nothing() {
    let runtime = Runtime::start().await;
    let first =
        evaluated(&runtime, "G0", &json!({"ux": {"prototype_url": "x"}, "a": 1}), json!({"dry_run": true})).await;
    let second =
        evaluated(&runtime, "G0", &json!({"a": 1, "ux": {"prototype_url": "x"}}), json!({"dry_run": true})).await;
    assert_eq!((&first["facts_hash"], &first["result"]), (&second["facts_hash"], &json!("PendingManual")));
    assert_eq!((&first["evaluation_id"], &first["review_id"]), (&Value::Null, &Value::Null));
    for list in ["gates/evaluations", "reviews"] {
        assert_eq!(runtime.get(list).await.expect(200)["pagination"]["total"], 0, "{list}");
    }
}

#[tokio::test]
async fn a_gate_waits_for_one_decision_on_its_latest_facts() {
    let runtime = Runtime::start().await;
    let facts = json!({"ux": {"prototype_url": "one"}});
    let first = evaluated(&runtime, "G0", &facts, json!({})).await;
    let second = evaluated(&runtime, "G0", &json!({"ux": {"prototype_url": "two"}}), json!({})).await;
    assert_eq!(first["review_id"], second["review_id"]);
    let review = runtime.get(&format!("reviews/{}", first["review_id"].as_str().unwrap())).await.expect(200);
    assert_eq!((&review["version"], &review["gate_evaluation_id"]), (&json!(2), &second["evaluation_id"]));
    let approve = format!("reviews/{}/approve", first["review_id"].as_str().unwrap());
    runtime.said_by(&runtime.owner, &approve, Value::Null).await.expect(200);
    let third = evaluated(&runtime, "G0", &facts, json!({})).await;
    assert_ne!(third["review_id"], first["review_id"]);
    for (query, total) in [("", 3), ("project_id=p1&gate_id=G0", 3), ("gate_id=G1", 0), ("project_id=p2", 0)] {
        let list = runtime.get(&format!("gates/evaluations?{query}")).await.expect(200);
        assert_eq!(list["pagination"]["total"], total, "{query}");
    }
}

#[tokio::test]
async fn a_project_has_rules_of_its_own_as_versions() {
    let runtime = Runtime::start().await;
    let predicates = json!([{"key": "build.version", "operator": "regex", "value": "^v[0-9]+$"}]);
    let body =
        json!({"project_id": "p1", "predicates": predicates, "auto_approvable": false, "approval_role": "admin"});
    let first = defined(&runtime, "G3", body).await.expect(200);
    assert_eq!((&first["version"], &first["approval_role"]), (&json!(1), &json!("admin")));
    let second = defined(&runtime, "G3", json!({"project_id": "p1", "auto_approvable": true})).await.expect(200);
    assert_eq!((&second["version"], &second["predicates"][0]["key"]), (&json!(2), &json!("build.version")));
    let facts = json!({"build": {"version": "v12"}});
    let passed = evaluated(&runtime, "G3", &facts, json!({})).await;
    assert_eq!((&passed["result"], &passed["gate_version"]), (&json!("AutoApproved"), &json!(2)));
    let elsewhere = runtime.post("gates/G3/evaluate", json!({"project_id": "p2", "facts": facts})).await.expect(200);
    assert_eq!((&elsewhere["result"], &elsewhere["gate_version"]), (&json!("Failed"), &json!(0)));
    let stands = runtime.get("gates/G3?project_id=p1").await.expect(200);
    assert_eq!((&stands["version"], &stands["auto_approvable"]), (&json!(2), &json!(true)));
    let none = defined(&runtime, "G2", json!({"project_id": "p1", "predicates": []})).await.expect(200);
    assert_eq!(none["predicates"], json!([]));
    assert_eq!(evaluated(&runtime, "G2", &json!({}), json!({})).await["result"], "AutoApproved");
}

#[tokio::test]
async fn what_no_rule_may_say_is_refused() {
    let runtime = Runtime::start().await;
    for gate in ["G0", "G1", "G4", "G5"] {
        let answer = defined(&runtime, gate, json!({"project_id": "p1", "auto_approvable": true})).await;
        assert_eq!(answer.code(), (422, "INVALID_RULE"), "{gate}");
        assert_eq!(field(&answer), (422, "auto_approvable"), "{gate}");
    }
    for (predicate, name) in [
        (json!({"key": "a", "operator": "gt", "value": "many"}), "predicates[0].value"),
        (json!({"key": "a", "operator": "regex", "value": "("}), "predicates[0].value"),
        (json!({"key": "", "operator": "eq", "value": 1}), "predicates[0].key"),
    ] {
        let answer = defined(&runtime, "G3", json!({"project_id": "p1", "predicates": [predicate]})).await;
        assert_eq!(field(&answer), (422, name), "{}", answer.body);
    }
    let many: Vec<_> = (0..51).map(|n| json!({"key": format!("k{n}"), "operator": "eq", "value": 1})).collect();
    assert_eq!(
        field(&defined(&runtime, "G3", json!({"project_id": "p1", "predicates": many})).await),
        (422, "predicates")
    );
    let body = json!({"project_id": "p1", "auto_approvable": false});
    let by_key = runtime.put("gates/G3", body.clone()).await;
    assert_eq!(reason(&by_key), (403, "person_required"));
    let developer = runtime.member("developer", json!({})).await;
    assert_eq!(runtime.app.put("/v2/gates/G3", &developer, body).await.code(), (403, "FORBIDDEN"));
    for (body, name) in [
        (json!({"facts": {}}), "project_id"),
        (json!({"project_id": "p1"}), "facts"),
        (json!({"project_id": "p1", "facts": {"x": "y".repeat(65_536)}}), "facts"),
    ] {
        assert_eq!(field(&runtime.post("gates/G3/evaluate", body).await), (400, name));
    }
    let nowhere = json!({"project_id": "p1", "facts": {}, "task_id": "nowhere"});
    assert_eq!(runtime.post("gates/G3/evaluate", nowhere).await.code(), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn the_right_roles_hear_of_a_gate() {
    let runtime = Runtime::start().await;
    let all = ["gate.ready_for_review", "gate.sign_off_needed", "gate.approved", "gate.rejected"];
    runtime.notices(&all).await;
    let facts = json!({"ux": {"prototype_url": "x"}, "launch": {"checklist_url": "y"}});
    let pm = evaluated(&runtime, "G0", &facts, json!({})).await;
    runtime.pass(1).await;
    let client = evaluated(&runtime, "G4", &facts, json!({})).await;
    runtime.pass(1).await;
    let path = |verdict: &Value, what: &str| format!("reviews/{}/{what}", verdict["review_id"].as_str().unwrap());
    runtime.said_by(&runtime.owner, &path(&pm, "reject"), json!({"reason": "ugly"})).await.expect(200);
    runtime.pass(1).await;
    runtime.said_by(&runtime.owner, &path(&client, "approve"), Value::Null).await.expect(200);
    let mut told = runtime.notified().await;
    told[1..3].sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        ("gate.ready_for_review", json!(["pm"])),
        ("gate.ready_for_review", json!(["pm"])),
        ("gate.sign_off_needed", json!(["client"])),
        ("gate.rejected", json!(["pm"])),
        ("gate.approved", json!(["client", "pm"])),
    ];
    assert_eq!(told, expected.map(|(name, roles)| (name.to_owned(), roles)));
}

#[tokio::test]
async fn a_gate_is_mailed_to_who_has_the_role_and_to_admins_where_nobody_has_it() {
    let mut server = MailServer::start().await;
    let runtime = Runtime::of(World::of(TestApp::mailing(&server).await).await).await;
    runtime.user("petra@acme.example", "developer").await;
    let mut heard = async || {
        runtime.app.post_mail().await;
        let got = server.got();
        let mut heard: Vec<_> = got.iter().map(|got| format!("{} {}", got.to, got.header("Subject"))).collect();
        heard.sort();
        heard
    };
    heard().await;
    let facts = json!({"ux": {"prototype_url": "x"}, "launch": {"checklist_url": "y"}});
    evaluated(&runtime, "G0", &facts, json!({})).await;
    assert_eq!(heard().await, ["olga@acme.example A gate is ready for review"]);
    runtime.member("analyst", json!({"review_role": "client"})).await;
    runtime.sql("update users set email = 'clara@acme.example' where role = 'analyst'").await;
    runtime.sql("update users set attributes = '{\"review_role\": \"pm\"}' where email like 'petra@%'").await;
    let verdict = evaluated(&runtime, "G4", &facts, json!({})).await;
    let [ready, sign_off] =
        ["petra@acme.example A gate is ready for review", "clara@acme.example A gate needs your sign-off"];
    assert_eq!(heard().await, [sign_off, ready]);
    let approve = format!("reviews/{}/approve", verdict["review_id"].as_str().unwrap());
    runtime.said_by(&runtime.owner, &approve, Value::Null).await.expect(200);
    let approved = ["clara@acme.example A gate was approved", "petra@acme.example A gate was approved"];
    assert_eq!(heard().await, approved);
}
