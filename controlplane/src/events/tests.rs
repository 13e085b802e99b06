use contract::OrgId;
use serde_json::json;
use sqlx::AssertSqlSafe;

use super::*;
use crate::testing::TestApp;

/// An organization whose chain has five events.
async fn chain() -> (TestApp, OrgId) {
    let app = TestApp::start().await;
    let opened = app.signup("ada", "Acme").await;
    let org_id = OrgId::from(opened["org"]["id"].as_str().unwrap());
    for n in 0..4 {
        note(&app, &org_id, n).await;
    }
    (app, org_id)
}

async fn note(app: &TestApp, org_id: &OrgId, n: i32) {
    app.advance(chrono::Duration::milliseconds(1));
    let mut tx = app.app.pool().begin().await.unwrap();
    let event = Event::new(EventType::PolicyCreated, format!("p{n}"));
    let event =
        event.after(json!({"n": n, "share": 0.5, "name": "größer\u{1}", "none": null, "list": [1, 1e21, -0.0]}));
    record(&app.app, &mut tx, Origin::system(&app.app, org_id.clone()), event).await.unwrap();
    tx.commit().await.unwrap();
}

async fn verified(app: &TestApp, org_id: &OrgId) -> Verified {
    let mut conn = app.app.pool().acquire().await.unwrap();
    verify(&app.app.keyring().audit_key(), &mut conn, org_id).await.unwrap()
}

async fn tamper(app: &TestApp, sql: &str) {
    app.breaks_chains();
    let sql = format!("alter table iam_events disable trigger all; {sql}; alter table iam_events enable trigger all");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(app.app.pool()).await.unwrap();
}

#[tokio::test]
async fn a_chain_that_nobody_touched_verifies_from_genesis_to_head() {
    let (app, org_id) = chain().await;
    let found = verified(&app, &org_id).await;
    assert_eq!((found.events_verified, found.broken), (5, None));
    assert!(found.first_event < found.last_event);
}

#[tokio::test]
async fn every_kind_of_tampering_is_found_at_the_first_wrong_event() {
    const REHASH: &str =
        "update iam_chain_heads set sequence = 4, hash = (select hash from iam_events where sequence = 4)";
    for (what, sql, at) in [
        ("a changed body", "update iam_events set changes = '{\"after\": {}}' where sequence = 3", 3),
        ("a changed actor", "update iam_events set actor_id = 'somebody' where sequence = 2", 2),
        ("a changed hash", "update iam_events set hash = 'sha256:00' where sequence = 3", 3),
        (
            "a changed time",
            "update iam_events set \"timestamp\" = \"timestamp\" + interval '1 microsecond' where sequence = 4",
            4,
        ),
        ("a deleted middle", "delete from iam_events where sequence = 3", 4),
        (
            "a swapped order",
            "update iam_events set sequence = -sequence where sequence in (2, 3); update iam_events set sequence = 5 + sequence where sequence < 0",
            2,
        ),
        ("a deleted tail", "delete from iam_events where sequence = 5", 4),
        ("a deleted tail with its head", &format!("delete from iam_events where sequence = 5; {REHASH}"), 4),
        ("a forged genesis", "update iam_events set previous_hash = 'sha256:11' where sequence = 1", 1),
        ("a deleted genesis", "delete from iam_events where sequence = 1", 2),
    ] {
        let (app, org_id) = chain().await;
        let events: Vec<(i64, String)> =
            sqlx::query_as("select sequence, event_id from iam_events").fetch_all(app.app.pool()).await.unwrap();
        tamper(&app, sql).await;
        let broken = verified(&app, &org_id).await.broken.unwrap_or_else(|| panic!("{what} was not found"));
        let named = events.iter().find(|(_, id)| id == broken.event_id.as_str()).map(|(sequence, _)| *sequence);
        // Swapped rows: the one that stands second now was the third.
        let expected = if what == "a swapped order" { 3 } else { at };
        assert_eq!(named, Some(expected), "{what}");
        assert_ne!(broken.expected_hash, broken.actual_hash, "{what}");
    }
}

#[tokio::test]
async fn the_database_refuses_to_change_what_was_recorded() {
    let (app, _) = chain().await;
    for sql in ["update iam_events set actor_id = 'x'", "delete from iam_events", "truncate iam_events"] {
        let refused = sqlx::query(sql).execute(app.app.pool()).await.unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{sql}: {refused}");
    }
}

#[tokio::test]
async fn writers_at_once_make_one_chain_without_gaps() {
    let (app, org_id) = chain().await;
    futures::future::join_all((0..16).map(|n| note(&app, &org_id, n))).await;
    assert_eq!(verified(&app, &org_id).await.events_verified, 21);
}

#[test]
fn every_event_type_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> = EventType::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(names.len(), EventType::ALL.len());
}
