use chrono::Duration;
use platform::jobs::queue::{RETRIES, enqueue, enqueue_once, pick};
use serde_json::{Value, json};

use super::*;
use crate::testing::TestApp;
use crate::worlds::World;

async fn waiting(app: &TestApp) -> i64 {
    sqlx::query_scalar("select count(*) from jobs where failed_at is null").fetch_one(app.app.pool()).await.unwrap()
}

#[tokio::test]
async fn a_job_runs_once_it_is_due_and_a_periodic_one_stays() {
    let app = TestApp::start().await;
    schedule(&app.app).await.unwrap();
    schedule(&app.app).await.unwrap();
    let periodic = KINDS.iter().filter(|kind| kind.period.is_some()).count();
    assert_eq!((run_due(&app.app).await.unwrap(), run_due(&app.app).await.unwrap()), (periodic, 0));
    app.advance(Duration::hours(1));
    assert_eq!(run_due(&app.app).await.unwrap(), periodic);
    assert_eq!(usize::try_from(waiting(&app).await), Ok(periodic));
}

#[tokio::test]
async fn a_job_that_fails_is_tried_again_after_longer_waits_and_then_kept() {
    let world = World::start().await;
    let app = &world.app;
    let mut conn = app.app.pool().acquire().await.unwrap();
    // Nothing in this world brings environments up.
    let job = ProvisionEnvironment { env_id: world.env_id.clone() };
    enqueue(&app.app, &mut conn, &job, app.app.now()).await.unwrap();
    for wait in RETRIES {
        assert_eq!(run_due(&app.app).await.unwrap(), 1);
        app.advance(wait - Duration::microseconds(1));
        assert_eq!(run_due(&app.app).await.unwrap(), 0);
        app.advance(Duration::microseconds(1));
    }
    assert_eq!((waiting(app).await, run_due(&app.app).await.unwrap()), (1, 1));
    app.advance(Duration::days(1));
    assert_eq!((waiting(app).await, run_due(&app.app).await.unwrap()), (0, 0));
    assert_eq!(world.count("select count(*) from jobs where last_error is not null").await, 1);
}

#[tokio::test]
async fn a_job_that_takes_its_time_keeps_no_lease_from_being_swept() {
    let app = TestApp::start().await;
    schedule(&app.app).await.unwrap();
    assert!(pick(&app.app, KINDS, Lane::Common).await.unwrap().is_some(), "it is being worked at");
    assert_eq!(pick(&app.app, KINDS, Lane::Leases).await.unwrap().unwrap().kind.name, "sweep_leases");
    assert_eq!(run_lane(&app.app, KINDS, Lane::Leases).await.unwrap(), 0);
    app.advance(Lane::Leases.lock());
    assert_eq!(run_lane(&app.app, KINDS, Lane::Leases).await.unwrap(), 1, "whoever had it is taken for dead");
}

#[tokio::test]
async fn a_job_whose_worker_died_is_picked_up_again() {
    let app = TestApp::start().await;
    let mut conn = app.app.pool().acquire().await.unwrap();
    let job = RetireEnvironment { env_id: "e".into() };
    enqueue(&app.app, &mut conn, &job, app.app.now()).await.unwrap();
    let first = pick(&app.app, KINDS, Lane::Common).await.unwrap().unwrap();
    assert!(pick(&app.app, KINDS, Lane::Common).await.unwrap().is_none());
    app.advance(Lane::Common.lock());
    let second = pick(&app.app, KINDS, Lane::Common).await.unwrap().unwrap();
    assert_eq!((second.id, second.attempts), (first.id, 2));
}

#[tokio::test]
async fn a_job_of_a_version_to_come_is_left_alone() {
    let app = TestApp::start().await;
    schedule(&app.app).await.unwrap();
    sqlx::query("update jobs set job = job || '{\"v\": 2, \"kind\": \"unheard_of\"}'")
        .execute(app.app.pool())
        .await
        .unwrap();
    assert_eq!(run_due(&app.app).await.unwrap(), 0);
}

/// What waits in a queue was named by the release before.
#[test]
fn jobs_keep_the_names_of_their_kinds() {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let periodic = [
        "sweep_sessions",
        "sweep_idempotency_keys",
        "sweep_webhook_deliveries",
        "sweep_shadow_mode",
        "sweep_operations",
        "sweep_leases",
        "sign_heads",
        "reset_billing_periods",
        "sweep_links",
        "sweep_mails",
        "sweep_sign_ons",
        "check_bindings",
        "reread_storage_secrets",
    ];
    let requested = [
        "mail_link",
        "record_failed_login",
        "provision_environment",
        "retire_environment",
        "key_expiring",
        "end_elevation",
        "export_audit",
        "end_shadow_session",
        "write_key",
    ];
    assert_eq!(names, [&periodic[..], &requested].concat());
}

#[tokio::test]
async fn a_job_is_stored_with_its_kind_beside_its_payload() {
    let app = TestApp::start().await;
    let mut conn = app.app.pool().acquire().await.unwrap();
    let job = ProvisionEnvironment { env_id: "e".into() };
    for _ in 0..2 {
        enqueue_once(&app.app, &mut conn, &job, app.app.now()).await.unwrap();
    }
    schedule(&app.app).await.unwrap();
    let stored = "select unique_name, job from jobs where job ->> 'kind' in ('provision_environment', 'sweep_mails')
                  order by unique_name";
    let rows: Vec<(String, Value)> = sqlx::query_as(stored).fetch_all(&mut *conn).await.unwrap();
    let expected = [
        (
            r#"{"kind":"provision_environment","env_id":"e"}"#,
            json!({"v": 1, "kind": "provision_environment", "env_id": "e"}),
        ),
        (r#"{"kind":"sweep_mails"}"#, json!({"v": 1, "kind": "sweep_mails"})),
    ];
    assert_eq!(rows, expected.map(|(name, job)| (name.to_owned(), job)));
}
