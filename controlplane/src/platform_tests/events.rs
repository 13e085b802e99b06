use std::sync::Arc;

use contract::OrgId;
use platform::events::{ChainWalk, Event, EventType, Origin, heads, record, verify};
use platform::provisioner::Unattended;
use serde_json::json;
use sqlx::AssertSqlSafe;

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

async fn verified(app: &TestApp, org_id: &OrgId) -> ChainWalk {
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

/// The sequences that the events had before somebody touched them.
async fn sequences(app: &TestApp) -> Vec<(i64, String)> {
    sqlx::query_as("select sequence, event_id from iam_events").fetch_all(app.app.pool()).await.unwrap()
}

/// The event that is named as the first wrong one, by the sequence it had.
async fn named(sql: &str) -> i64 {
    let (app, org_id) = chain().await;
    let events = sequences(&app).await;
    tamper(&app, sql).await;
    let broken = verified(&app, &org_id).await.broken.expect("the tampering was not found");
    assert_ne!(broken.expected_hash, broken.actual_hash);
    events.iter().find(|(_, id)| id == broken.event_id.as_str()).map(|(sequence, _)| *sequence).unwrap()
}

macro_rules! tampering {
    ($($name:ident: $sql:expr => $at:literal;)+) => {$(
        #[tokio::test]
        async fn $name() {
            assert_eq!(named($sql).await, $at);
        }
    )+};
}

// A chain of five; the sequence is that of the event which is named.
tampering! {
    a_changed_body_is_named: "update iam_events set changes = '{\"after\": {}}' where sequence = 3" => 3;
    a_changed_actor_is_named: "update iam_events set actor_id = 'somebody' where sequence = 2" => 2;
    a_changed_hash_is_named: "update iam_events set hash = 'sha256:00' where sequence = 3" => 3;
    a_changed_time_is_named:
        "update iam_events set \"timestamp\" = \"timestamp\" + interval '1 microsecond' where sequence = 4" => 4;
    what_follows_a_deleted_middle_is_named: "delete from iam_events where sequence = 3" => 4;
    // The one that stands second now was the third.
    a_swapped_order_is_named:
        "update iam_events set sequence = -sequence where sequence in (2, 3);
         update iam_events set sequence = 5 + sequence where sequence < 0" => 3;
    the_last_before_a_deleted_tail_is_named: "delete from iam_events where sequence = 5" => 4;
    a_deleted_tail_is_named_though_its_head_went_along:
        "delete from iam_events where sequence = 5;
         update iam_chain_heads set sequence = 4, hash = (select hash from iam_events where sequence = 4)" => 4;
    a_duplicated_sequence_is_named:
        "alter table iam_events drop constraint iam_events_pkey;
         update iam_events set sequence = 3 where sequence = 4" => 4;
    a_forged_genesis_is_named: "update iam_events set previous_hash = 'sha256:11' where sequence = 1" => 1;
    what_follows_a_deleted_genesis_is_named: "delete from iam_events where sequence = 1" => 2;
}

/// An organization with a chain of five and an archive in a folder.
async fn archived() -> (TestApp, OrgId, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap().to_owned();
    let app = TestApp::with(|config| config.audit_store = Some(place), Arc::new(Unattended)).await;
    let opened = app.signup("ada", "Acme").await;
    let org_id = OrgId::from(opened["org"]["id"].as_str().unwrap());
    for n in 0..4 {
        note(&app, &org_id, n).await;
    }
    (app, org_id, folder)
}

async fn compared(app: &TestApp, org_id: &OrgId) -> ChainWalk {
    let mut conn = app.app.pool().acquire().await.unwrap();
    heads::verify(&app.app, &mut conn, org_id).await.unwrap()
}

/// Sets chain and head back to what they were, as a database that was restored.
const REMEMBER: &str = "create table events_then as table iam_events; create table heads_then as table iam_chain_heads";
const RESTORE: &str = "delete from iam_events; insert into iam_events select * from events_then;
    delete from iam_chain_heads; insert into iam_chain_heads select * from heads_then";

#[tokio::test]
async fn heads_are_signed_where_a_chain_has_moved_and_fit_the_chain() {
    let (app, org_id, folder) = archived().await;
    let signed = || std::fs::read_dir(folder.path().join("heads").join(org_id.as_str())).unwrap().count();
    for _ in 0..2 {
        heads::sign_moved(&app.app).await.unwrap();
        assert_eq!(signed(), 1);
    }
    note(&app, &org_id, 5).await;
    heads::sign_moved(&app.app).await.unwrap();
    assert_eq!(signed(), 2);
    assert_eq!((compared(&app, &org_id).await.events_verified, compared(&app, &org_id).await.broken), (6, None));
}

#[tokio::test]
async fn a_database_that_was_set_back_is_named_by_a_signed_head() {
    let (app, org_id, _folder) = archived().await;
    let fifth = sequences(&app).await.into_iter().find(|(sequence, _)| *sequence == 5).unwrap().1;
    sqlx::raw_sql(REMEMBER).execute(app.app.pool()).await.unwrap();
    note(&app, &org_id, 5).await;
    heads::sign_moved(&app.app).await.unwrap();
    tamper(&app, RESTORE).await;
    assert_eq!(verified(&app, &org_id).await.broken, None, "the database fits itself");
    let found = compared(&app, &org_id).await;
    assert_eq!((found.events_verified, found.broken.unwrap().event_id.as_str()), (5, fifth.as_str()));
}

#[tokio::test]
async fn a_chain_that_was_set_back_and_went_on_is_named_where_a_head_disagrees() {
    let (app, org_id, _folder) = archived().await;
    heads::sign_moved(&app.app).await.unwrap();
    sqlx::raw_sql(REMEMBER).execute(app.app.pool()).await.unwrap();
    note(&app, &org_id, 5).await;
    heads::sign_moved(&app.app).await.unwrap();
    tamper(&app, RESTORE).await;
    note(&app, &org_id, 99).await;
    note(&app, &org_id, 100).await;
    let sixth = sequences(&app).await.into_iter().find(|(sequence, _)| *sequence == 6).unwrap().1;
    assert_eq!(verified(&app, &org_id).await.broken, None, "the database fits itself");
    let found = compared(&app, &org_id).await;
    assert_eq!((found.events_verified, found.broken.unwrap().event_id.as_str()), (5, sixth.as_str()));
}

#[tokio::test]
async fn the_earlier_of_two_wrong_places_is_named_and_a_strangers_head_is_not_believed() {
    let (app, org_id, folder) = archived().await;
    let heads_of = folder.path().join("heads").join(org_id.as_str());
    heads::sign_moved(&app.app).await.unwrap();
    std::fs::write(heads_of.join(format!("{:020}-{}", 2, "ab".repeat(32))), "not signed by us").unwrap();
    assert_eq!(compared(&app, &org_id).await.broken, None);
    tamper(&app, "update iam_events set actor_id = 'x' where sequence = 2; delete from iam_events where sequence = 5")
        .await;
    assert_eq!(compared(&app, &org_id).await.events_verified, 1);
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
