use serde_json::{Value, json};

use crate::domain::runtime::tests::{Runtime, field, id, reason};
use crate::testing::Answer;

async fn artifact(runtime: &Runtime) -> Value {
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    runtime.artifact(&attempt, 'a', json!({})).await
}

async fn released(runtime: &Runtime, who: &str, body: Value) -> Answer {
    runtime.said_by(who, "releases", body).await
}

#[tokio::test]
async fn a_release_is_recorded_and_found_by_project_and_artifact() {
    let runtime = Runtime::start().await;
    let (first, second) = (artifact(&runtime).await, artifact(&runtime).await);
    let body = json!({"artifact_ids": [id(&first), id(&second)], "outcome": "approved", "policy_version": "7",
        "rationale": "it works", "evidence_bundle": {"tests": "green"}});
    let both = released(&runtime, &runtime.owner, body).await.expect(200);
    assert_eq!((&both["project_id"], &both["artifact_id"]), (&json!("p1"), &first["id"]));
    runtime.pass(1).await;
    let shadow = json!({"project_id": "p2", "outcome": "shadow"});
    let shadow = released(&runtime, &runtime.owner, shadow).await.expect(200);
    assert_eq!(runtime.get(&format!("releases/{}", id(&both))).await.expect(200), both);
    let of_second = format!("artifact_id={}", id(&second));
    for (query, expected) in [
        ("", vec![&shadow, &both]),
        ("project_id=p1", vec![&both]),
        (&of_second, vec![&both]),
        ("limit=1", vec![&shadow]),
    ] {
        let list = runtime.get(&format!("releases?{query}")).await.expect(200);
        assert_eq!(list["data"].as_array().unwrap().iter().collect::<Vec<_>>(), expected, "{query}");
    }
}

#[tokio::test]
async fn what_is_approved_under_a_gate_has_passed_it() {
    let runtime = Runtime::start().await;
    let body = json!({"project_id": "p1", "outcome": "approved", "gate_id": "G0"});
    let evaluate = async |url: &str| {
        let body = json!({"project_id": "p1", "facts": {"ux": {"prototype_url": url}}});
        runtime.post("gates/G0/evaluate", body).await.expect(200)
    };
    let refused = async |why: &str| {
        let answer = released(&runtime, &runtime.owner, body.clone()).await;
        assert_eq!(reason(&answer), (409, "gate_not_passed"), "{why}");
    };
    refused("never evaluated").await;
    let verdict = evaluate("x").await;
    refused("nobody has decided").await;
    let approve = format!("reviews/{}/approve", verdict["review_id"].as_str().unwrap());
    runtime.said_by(&runtime.owner, &approve, Value::Null).await.expect(200);
    released(&runtime, &runtime.owner, body.clone()).await.expect(200);
    evaluate("").await;
    refused("the last evaluation failed").await;
    let mut overridden = body.clone();
    overridden["override_reason"] = json!("the client insists");
    let developer = runtime.member("developer", json!({})).await;
    assert_eq!(reason(&released(&runtime, &developer, overridden.clone()).await), (409, "gate_not_passed"));
    let release = released(&runtime, &runtime.owner, overridden).await.expect(200);
    assert_eq!(release["override_reason"], "the client insists");
    let mut blocked = body.clone();
    blocked["outcome"] = json!("blocked");
    released(&runtime, &developer, blocked).await.expect(200);
}

#[tokio::test]
async fn a_release_that_does_not_fit_is_refused_and_none_is_ever_changed() {
    let runtime = Runtime::start().await;
    let own = artifact(&runtime).await;
    for (body, name) in [
        (json!({"outcome": "approved"}), "project_id"),
        (json!({"project_id": "p1"}), "outcome"),
        (json!({"project_id": "p1", "outcome": "maybe"}), "outcome"),
        (json!({"project_id": "p2", "artifact_id": id(&own), "outcome": "shadow"}), "artifact_ids"),
        (json!({"project_id": "p1", "outcome": "shadow", "rationale": ""}), "rationale"),
    ] {
        assert_eq!(field(&released(&runtime, &runtime.owner, body.clone()).await), (400, name), "{body}");
    }
    for body in [
        json!({"artifact_id": "nowhere", "outcome": "shadow"}),
        json!({"project_id": "p1", "gate_id": "G9", "outcome": "shadow"}),
        json!({"project_id": "p1", "review_id": "nowhere", "outcome": "shadow"}),
    ] {
        assert_eq!(released(&runtime, &runtime.owner, body.clone()).await.code(), (404, "NOT_FOUND"), "{body}");
    }
    let by_key = released(&runtime, &runtime.worker, json!({"project_id": "p1", "outcome": "shadow"})).await;
    assert_eq!(reason(&by_key), (403, "person_required"));
    released(&runtime, &runtime.owner, json!({"project_id": "p1", "outcome": "shadow"})).await.expect(200);
    for change in ["update svc_runtime.releases set outcome = 'approved'", "delete from svc_runtime.releases"] {
        assert!(sqlx::query(change).execute(runtime.app.app.pool()).await.is_err(), "{change}");
    }
}
