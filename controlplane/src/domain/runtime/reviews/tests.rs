use chrono::Duration;
use serde_json::{Value, json};

use super::ReviewStatus;
use crate::domain::runtime::tests::{Runtime, field, id, reason};
use crate::testing::Answer;

/// An artifact of a worker, and a review of it.
async fn reviewed(runtime: &Runtime, fields: Value) -> (Value, Value) {
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let artifact = runtime.artifact(&attempt, 'a', json!({})).await;
    let mut body = json!({"artifact_id": id(&artifact), "reason": "look at it"});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    (attempt, runtime.post("reviews", body).await.expect(200))
}

async fn moved(runtime: &Runtime, who: &str, review: &Value, what: &str, body: Value) -> Answer {
    runtime.said_by(who, &format!("reviews/{}/{what}", id(review)), body).await
}

async fn resolved(runtime: &Runtime, who: &str, review: &Value, body: Value) -> Answer {
    runtime.app.put(&format!("/v2/reviews/{}/resolve", id(review)), who, body).await
}

fn later(runtime: &Runtime, hours: i64) -> String {
    (runtime.app.app.now() + Duration::hours(hours)).to_rfc3339()
}

async fn releases(runtime: &Runtime) -> Value {
    runtime.get("releases").await.expect(200)["data"].clone()
}

#[tokio::test]
async fn a_review_is_asked_for_looked_at_and_approved() {
    let runtime = Runtime::start().await;
    let (attempt, review) = reviewed(&runtime, json!({"urgency": "high"})).await;
    assert_eq!((&review["status"], &review["entity_type"]), (&json!("pending"), &json!("artifact")));
    assert_eq!((&review["assigned_to"], &review["reviewed_at"]), (&json!("pm"), &Value::Null));
    let path = format!("reviews/{}", id(&review));
    assert_eq!(runtime.get(&path).await.expect(200)["status"], "pending", "it is not assigned to a key of nobody");
    let seen = runtime.app.get(&format!("/v2/{path}"), &runtime.owner).await.expect(200);
    assert_eq!(seen["status"], "in_review");
    let context = &seen["context"];
    assert_eq!((&context["entity"]["id"], &context["attempt"]["id"]), (&review["entity_id"], &attempt["id"]));
    assert_eq!((&context["task"]["id"], &context["artifacts"][0]["id"]), (&attempt["task_id"], &review["entity_id"]));
    assert_eq!(context["explain_url"], format!("/v2/explain/{}", review["entity_id"].as_str().unwrap()));
    let approved = moved(&runtime, &runtime.owner, &review, "approve", json!({"notes": "fine"})).await.expect(200);
    assert_eq!((&approved["status"], &approved["reviewer_notes"]), (&json!("approved"), &json!("fine")));
    assert!(approved["reviewed_at"].is_string() && approved["version"] == 3, "{approved}");
    let release = &releases(&runtime).await[0];
    assert_eq!((&release["outcome"], &release["review_id"]), (&json!("approved"), &review["id"]));
    let task = json!({"id": attempt["task_id"]});
    let told = runtime.told(&task).await.into_iter().filter(|(_, kind, _)| kind == "review_lifecycle");
    assert_eq!(told.map(|(_, _, action)| action).collect::<Vec<_>>(), ["requested", "in_review", "approved"]);
    let detail = runtime.get(&format!("runtime/tasks/{}/detail", id(&task))).await.expect(200);
    assert_eq!(detail["reviews"][0]["status"], "approved");
}

#[tokio::test]
async fn every_move_is_there_and_none_once_it_is_closed() {
    let runtime = Runtime::start().await;
    let until = later(&runtime, 1);
    for (what, body, status, outcomes) in [
        ("approve", Value::Null, "approved", vec!["approved"]),
        ("reject", json!({"reason": "wrong"}), "rejected", vec![]),
        ("defer", json!({"until": until}), "deferred", vec![]),
        ("resolve", json!({"outcome": "approved"}), "approved", vec!["approved"]),
        ("resolve", json!({"outcome": "rejected", "resolution_reason": "wrong"}), "rejected", vec![]),
        ("resolve", json!({"outcome": "blocked", "resolution_reason": "unsafe"}), "rejected", vec!["blocked"]),
        ("resolve", json!({"outcome": "deferred", "until": until}), "deferred", vec![]),
    ] {
        let (_, review) = reviewed(&runtime, json!({})).await;
        let act = async |body: Value| {
            if what == "resolve" {
                resolved(&runtime, &runtime.owner, &review, body).await
            } else {
                moved(&runtime, &runtime.owner, &review, what, body).await
            }
        };
        let after = act(body.clone()).await.expect(200);
        assert_eq!(after["status"], status, "{what} {body}");
        let path = format!("releases?artifact_id={}", review["entity_id"].as_str().unwrap());
        let found = runtime.get(&path).await.expect(200);
        let made: Vec<_> = found["data"].as_array().unwrap().iter().map(|r| r["outcome"].as_str().unwrap()).collect();
        assert_eq!(made, outcomes, "{what} {body}");
        let again = act(body.clone()).await;
        if status == "deferred" {
            assert_eq!((again.status.as_u16(), &after["due_at"]), (200, &json!(again.body["due_at"])));
            moved(&runtime, &runtime.owner, &review, "approve", Value::Null).await.expect(200);
        } else {
            assert_eq!(reason(&again), (409, "review_closed"), "{what} {body}");
        }
    }
}

#[tokio::test]
async fn a_move_says_what_it_has_to_say() {
    let runtime = Runtime::start().await;
    let (_, review) = reviewed(&runtime, json!({})).await;
    let past = later(&runtime, -1);
    for (what, body, name) in [
        ("reject", json!({}), "reason"),
        ("reject", json!({"reason": " "}), "reason"),
        ("defer", json!({}), "until"),
        ("defer", json!({"until": past}), "until"),
        ("approve", json!({"notes": ""}), "notes"),
    ] {
        let answer = moved(&runtime, &runtime.owner, &review, what, body).await;
        assert_eq!(field(&answer), (400, name), "{what}: {}", answer.body);
    }
    for (body, name) in [
        (json!({}), "outcome"),
        (json!({"outcome": "maybe"}), "outcome"),
        (json!({"outcome": "rejected"}), "resolution_reason"),
        (json!({"outcome": "blocked"}), "resolution_reason"),
        (json!({"outcome": "deferred"}), "until"),
        (json!({"outcome": "approved", "until": later(&runtime, 1)}), "until"),
        (json!({"outcome": "approved", "decided_by": "somebody@else.example"}), "decided_by"),
    ] {
        let answer = resolved(&runtime, &runtime.owner, &review, body).await;
        assert_eq!(field(&answer), (400, name), "{}", answer.body);
    }
    let stale = json!({"outcome": "approved", "expected_version": 7});
    assert_eq!(reason(&resolved(&runtime, &runtime.owner, &review, stale).await), (409, "version_conflict"));
    let mine = json!({"outcome": "approved", "expected_version": 1, "decided_by": "olga@acme.example"});
    resolved(&runtime, &runtime.owner, &review, mine).await.expect(200);
}

#[tokio::test]
async fn only_whom_it_is_assigned_to_decides() {
    let runtime = Runtime::start().await;
    let developer = runtime.member("developer", json!({})).await;
    let client = runtime.member("developer", json!({"review_role": "client"})).await;
    let named = runtime.key_of(&runtime.user("nina@acme.example", "developer").await).await;
    let admin = runtime.member("admin", json!({})).await;
    let analyst = runtime.member("analyst", json!({})).await;
    for (assigned_to, who, expected) in [
        ("pm", &developer, ""),
        ("pm", &client, "not_assigned"),
        ("client", &client, ""),
        ("client", &developer, "not_assigned"),
        ("admin", &developer, "not_assigned"),
        ("admin", &admin, ""),
        ("nina@acme.example", &named, ""),
        ("nina@acme.example", &developer, "not_assigned"),
        ("nina@acme.example", &admin, ""),
        ("pm", &runtime.worker, "person_required"),
        ("pm", &analyst, "no role"),
    ] {
        let (_, review) = reviewed(&runtime, json!({"assigned_to": assigned_to})).await;
        let answer = moved(&runtime, who, &review, "approve", Value::Null).await;
        match expected {
            "" => assert_eq!(answer.status, 200, "{assigned_to}: {}", answer.body),
            "no role" => assert_eq!(answer.code(), (403, "FORBIDDEN")),
            expected => assert_eq!(reason(&answer), (403, expected), "{assigned_to}"),
        }
    }
}

#[tokio::test]
async fn nobody_approves_what_they_have_made() {
    let runtime = Runtime::start().await;
    let maker = runtime.member("admin", json!({})).await;
    let task = runtime.task(json!({})).await;
    let path = format!("runtime/tasks/{}/claim", id(&task));
    let attempt = runtime.said_by(&maker, &path, json!({})).await.expect(200);
    let artifact = runtime.artifact(&attempt, 'a', json!({"lease_token": attempt["lease_token"]})).await;
    let review = runtime.post("reviews", json!({"artifact_id": id(&artifact)})).await.expect(200);
    let own = moved(&runtime, &maker, &review, "approve", Value::Null).await;
    assert_eq!(reason(&own), (403, "four_eyes"));
    let release = json!({"artifact_id": id(&artifact), "outcome": "approved"});
    assert_eq!(reason(&runtime.said_by(&maker, "releases", release.clone()).await), (403, "four_eyes"));
    moved(&runtime, &runtime.owner, &review, "approve", Value::Null).await.expect(200);
    runtime.said_by(&runtime.owner, "releases", release).await.expect(200);
}

/// Who made an attempt, and the attempt, which the worker has claimed with its token since.
async fn claimed_by_another(runtime: &Runtime) -> (String, Value) {
    let maker = runtime.member("admin", json!({})).await;
    let task = runtime.task(json!({})).await;
    let path = format!("runtime/tasks/{}/attempts", id(&task));
    let attempt = runtime.said_by(&maker, &path, json!({})).await.expect(200);
    let token = json!({"lease_token": attempt["lease_token"]});
    runtime.put(&format!("runtime/attempts/{}/claim", id(&attempt)), token).await.expect(200);
    (maker, attempt)
}

/// A token is as good as a lease: who has one publishes, also once somebody else has claimed the attempt.
#[tokio::test]
async fn nobody_approves_what_they_have_published_for_anothers_attempt() {
    let runtime = Runtime::start().await;
    let (maker, attempt) = claimed_by_another(&runtime).await;
    let publication = json!({"attempt_id": id(&attempt), "kind": "report", "confidence": 0.9,
        "content_hash": format!("sha256:{}", "a".repeat(64)), "lease_token": attempt["lease_token"]});
    let artifact = runtime.said_by(&maker, "runtime/artifacts", publication).await.expect(200);
    for about in [json!({"artifact_id": id(&artifact)}), json!({"attempt_id": id(&attempt)})] {
        let review = runtime.post("reviews", about).await.expect(200);
        let own = moved(&runtime, &maker, &review, "approve", Value::Null).await;
        assert_eq!(reason(&own), (403, "four_eyes"));
        moved(&runtime, &runtime.owner, &review, "approve", Value::Null).await.expect(200);
    }
}

#[tokio::test]
async fn nobody_approves_an_attempt_that_they_have_completed_with_anothers_lease() {
    let runtime = Runtime::start().await;
    let (maker, attempt) = claimed_by_another(&runtime).await;
    let ending = json!({"lease_token": attempt["lease_token"], "outcome": "succeeded", "result": {"n": 7}});
    let complete = format!("/v2/runtime/attempts/{}/complete", id(&attempt));
    runtime.app.put(&complete, &maker, ending).await.expect(200);
    let review = runtime.post("reviews", json!({"attempt_id": id(&attempt)})).await.expect(200);
    assert_eq!(reason(&moved(&runtime, &maker, &review, "approve", Value::Null).await), (403, "four_eyes"));
    moved(&runtime, &runtime.owner, &review, "approve", Value::Null).await.expect(200);
}

#[tokio::test]
async fn reviews_are_listed_by_what_they_are_about() {
    let runtime = Runtime::start().await;
    let (attempt, first) = reviewed(&runtime, json!({"urgency": "critical", "assigned_to": "client"})).await;
    runtime.pass(1).await;
    let (_, second) = reviewed(&runtime, json!({})).await;
    moved(&runtime, &runtime.owner, &first, "reject", json!({"reason": "no"})).await.expect(200);
    let of_task = format!("task_id={}", attempt["task_id"].as_str().unwrap());
    for (query, expected) in [
        ("", vec![&second, &first]),
        ("limit=1", vec![&second]),
        ("offset=1", vec![&first]),
        ("status=rejected", vec![&first]),
        ("urgency=critical", vec![&first]),
        ("assigned_to=pm", vec![&second]),
        ("project_id=p1&status=pending", vec![&second]),
        ("project_id=p2", vec![]),
        (&of_task, vec![&first]),
    ] {
        let list = runtime.get(&format!("reviews?{query}")).await.expect(200);
        let ids: Vec<_> = list["data"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
        assert_eq!(ids, expected.iter().map(|review| &review["id"]).collect::<Vec<_>>(), "{query}");
    }
    let pending = runtime.get("reviews/pending").await.expect(200);
    assert_eq!((&pending["data"][0]["id"], &pending["pagination"]["total"]), (&second["id"], &json!(1)));
    assert_eq!(runtime.get("reviews?status=open").await.status, 400);
}

#[tokio::test]
async fn a_review_is_about_one_thing_that_exists() {
    let runtime = Runtime::start().await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let artifact = runtime.artifact(&attempt, 'a', json!({})).await;
    let release = json!({"artifact_id": id(&artifact), "outcome": "shadow"});
    let release = runtime.said_by(&runtime.owner, "releases", release).await.expect(200);
    for (body, entity_type, entity_id) in [
        (json!({"artifact_id": id(&artifact)}), "artifact", id(&artifact)),
        (json!({"entity_type": "artifact", "entity_id": id(&artifact)}), "artifact", id(&artifact)),
        (json!({"attempt_id": id(&attempt)}), "recovery", id(&attempt)),
        (json!({"entity_type": "recovery", "entity_id": id(&attempt)}), "recovery", id(&attempt)),
        (json!({"entity_type": "release_decision", "entity_id": id(&release)}), "release_decision", id(&release)),
        (json!({"entity_type": "gate", "entity_id": "G3", "project_id": "p1"}), "gate", "G3"),
        (json!({"gate_predicate_id": "G3:build.compiles", "project_id": "p1"}), "gate", "G3"),
    ] {
        let review = runtime.post("reviews", body.clone()).await.expect(200);
        assert_eq!((&review["entity_type"], &review["entity_id"]), (&json!(entity_type), &json!(entity_id)), "{body}");
        let seen = runtime.app.get(&format!("/v2/reviews/{}", id(&review)), &runtime.owner).await.expect(200);
        assert!(seen["context"]["entity"].is_object(), "{body}");
    }
    for body in [
        json!({"artifact_id": "nowhere"}),
        json!({"attempt_id": "nowhere"}),
        json!({"entity_type": "release_decision", "entity_id": "nowhere"}),
        json!({"entity_type": "gate", "entity_id": "G9", "project_id": "p1"}),
        json!({"gate_predicate_id": "G3:nothing", "project_id": "p1"}),
    ] {
        assert_eq!(runtime.post("reviews", body.clone()).await.code(), (404, "NOT_FOUND"), "{body}");
    }
    for (body, name) in [
        (json!({}), "entity_id"),
        (json!({"entity_type": "artifact"}), "entity_id"),
        (json!({"artifact_id": id(&artifact), "attempt_id": id(&attempt)}), "entity_id"),
        (json!({"entity_type": "gate", "entity_id": "G3"}), "project_id"),
        (json!({"artifact_id": id(&artifact), "urgency": "now"}), "urgency"),
        (json!({"artifact_id": id(&artifact), "assigned_to": "boss"}), "assigned_to"),
        (json!({"artifact_id": id(&artifact), "due_at": later(&runtime, -1)}), "due_at"),
        (json!({"artifact_id": id(&artifact), "colour": "red"}), "colour"),
    ] {
        assert_eq!(field(&runtime.post("reviews", body.clone()).await), (400, name), "{body}");
    }
}

#[test]
fn no_state_changes_but_as_the_table_says() {
    use ReviewStatus::{Approved, Deferred, InReview, Pending, Rejected};
    let all = [Pending, InReview, Approved, Rejected, Deferred];
    for (from, to) in all.into_iter().flat_map(|from| all.map(|to| (from, to))) {
        let is_legal = match from {
            Pending => matches!(to, InReview | Approved | Rejected | Deferred),
            InReview => matches!(to, Approved | Rejected | Deferred),
            Deferred => matches!(to, InReview | Approved | Rejected | Deferred),
            Approved | Rejected => false,
        };
        assert_eq!(ReviewStatus::TURNS.contains(&(from, to)), is_legal, "{from:?} {to:?}");
    }
}
