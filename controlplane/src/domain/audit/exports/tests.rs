use std::path::PathBuf;
use std::sync::Arc;

use chrono::Duration;
use platform::provisioner::Unattended;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::lines::columns;
use super::{AuditKind, ExportStatus, ExportTransition};
use crate::server::jobs;
use crate::testing::{Answer, TestApp};
use crate::worlds::World;

async fn world() -> (World, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap().to_owned();
    (World::of(TestApp::with(|config| config.audit_store = Some(place), Arc::new(Unattended)).await).await, folder)
}

fn wanted(kind: &str, format: &str) -> Value {
    json!({"type": kind, "format": format, "start_date": "2026-09-01", "end_date": "2026-09-30"})
}

async fn ask(world: &World, body: Value) -> Answer {
    world.app.post(&world.env("audit/export"), &world.owner, body).await
}

/// Asks, runs what is due, and answers the record with the bytes of its files.
async fn exported(world: &World, body: Value) -> (Value, Vec<Vec<u8>>) {
    let answer = ask(world, body).await;
    let location = answer.headers["location"].to_str().unwrap().to_owned();
    let begun = answer.expect(202);
    assert_eq!((&begun["status"], &begun["files"]), (&json!("processing"), &json!([])));
    world.app.settled().await;
    jobs::run_due(&world.app.app).await.unwrap();
    let record = world.app.get(&location, &world.owner).await.expect(200);
    let files = record["files"].as_array().unwrap().iter();
    let bytes = files.map(|file| std::fs::read(path(&file["path"])).unwrap()).collect();
    (record, bytes)
}

fn path(shown: &Value) -> PathBuf {
    shown.as_str().unwrap().strip_prefix("file://").unwrap().into()
}

#[test]
fn a_status_moves_only_as_the_table_says() {
    for (from, trigger, to) in [
        (ExportStatus::Processing, ExportTransition::Written, Some(ExportStatus::Completed)),
        (ExportStatus::Processing, ExportTransition::GivenUp, Some(ExportStatus::Failed)),
        (ExportStatus::Completed, ExportTransition::Written, None),
        (ExportStatus::Completed, ExportTransition::GivenUp, None),
        (ExportStatus::Failed, ExportTransition::Written, None),
        (ExportStatus::Failed, ExportTransition::GivenUp, None),
    ] {
        assert_eq!(from.after(trigger), to, "{from:?} {trigger:?}");
    }
}

#[tokio::test]
async fn queries_are_exported_as_they_are_listed() {
    let (world, _folder) = world().await;
    world.spend(0, 1).await;
    world.app.advance(Duration::minutes(1));
    world.spend(1, 2).await;
    let (record, files) = exported(&world, wanted("query", "jsonl")).await;
    assert_eq!((&record["status"], &record["estimated_records"]), (&json!("completed"), &json!(2)));
    let lines: Vec<Value> =
        files[0].split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(|l| serde_json::from_slice(l).unwrap()).collect();
    let mut listed = world.app.get(&world.env("audit/queries"), &world.owner).await.expect(200)["data"].take();
    listed.as_array_mut().unwrap().reverse();
    assert_eq!(json!(lines), listed);
}

#[tokio::test]
async fn csv_has_a_header_and_the_members_of_its_records() {
    let (world, _folder) = world().await;
    world.spend(0, 1).await;
    for (kind, list) in [("query", "audit/queries"), ("admin", "audit/admin")] {
        let (_, files) = exported(&world, wanted(kind, "csv")).await;
        let text = String::from_utf8(files[0].clone()).unwrap();
        let first = world.app.get(&world.env(list), &world.owner).await.expect(200)["data"][0].take();
        let members: Vec<&String> = first.as_object().unwrap().keys().collect();
        assert_eq!(
            text.split("\r\n").next().unwrap(),
            members.iter().map(|m| m.as_str()).collect::<Vec<_>>().join(",")
        );
        let kind = if kind == "query" { AuditKind::Query } else { AuditKind::Admin };
        assert_eq!(columns(kind).split(',').count(), members.len());
    }
}

#[tokio::test]
async fn a_manifest_names_every_file_the_signed_head_and_the_manifest_before() {
    let (world, _folder) = world().await;
    let mut before = Value::Null;
    for _ in 0..2 {
        let (record, files) = exported(&world, wanted("admin", "jsonl")).await;
        assert_eq!(record["files"][0]["sha256"], hex::encode(Sha256::digest(&files[0])));
        let bytes = std::fs::read(path(&record["manifest"]["path"])).unwrap();
        assert_eq!(record["manifest"]["sha256"], hex::encode(Sha256::digest(&bytes)));
        let manifest: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(manifest["files"][0]["sha256"], record["files"][0]["sha256"]);
        assert_eq!(manifest["previous_manifest"]["sha256"], before);
        assert!(manifest["chain_head"]["signed"].is_string());
        before = record["manifest"]["sha256"].clone();
        world.app.advance(Duration::minutes(1));
    }
}

#[tokio::test]
async fn a_long_export_is_written_in_parts_that_leave_nothing_out() {
    let (world, _folder) = world().await;
    world.spend(0, 1).await;
    world
        .sql(
            "insert into query_starts
             select env_id, 'copy ' || n, at, user_id, key_id, agent_id, operation, tables_accessed,
                    jsonb_set(entry, '{query_id}', to_jsonb('copy ' || n))
             from query_starts, generate_series(1, 10000) n",
        )
        .await;
    let (record, files) = exported(&world, wanted("query", "jsonl")).await;
    let records: Vec<i64> =
        record["files"].as_array().unwrap().iter().map(|file| file["records"].as_i64().unwrap()).collect();
    assert_eq!((records.as_slice(), files.len()), (&[10_000, 1][..], 2));
    let lines: std::collections::BTreeSet<_> =
        files.iter().flat_map(|file| file.split(|b| *b == b'\n')).filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 10_001);
}

#[tokio::test]
async fn an_export_of_nothing_is_a_manifest() {
    let (world, _folder) = world().await;
    let (record, _) = exported(&world, wanted("query", "csv")).await;
    assert_eq!((&record["status"], &record["files"]), (&json!("completed"), &json!([])));
    assert!(path(&record["manifest"]["path"]).exists());
}

#[tokio::test]
async fn what_cannot_be_written_for_an_hour_has_failed() {
    let (world, folder) = world().await;
    world.spend(0, 1).await;
    let record = ask(&world, wanted("query", "jsonl")).await.expect(202);
    world.app.settled().await;
    std::fs::write(folder.path().join("exports"), "a file where a folder is wanted").unwrap();
    for wait in [0, 10, 60, 600, 3_600] {
        world.app.advance(Duration::seconds(wait));
        jobs::run_due(&world.app.app).await.unwrap();
    }
    let path = world.env(&format!("audit/export/{}", record["export_id"].as_str().unwrap()));
    assert_eq!(world.app.get(&path, &world.owner).await.expect(200)["status"], "failed");
    assert_eq!(world.count("select count(*) from jobs where job ->> 'kind' = 'export_audit'").await, 0);
}

#[tokio::test]
async fn a_range_that_is_none_is_refused_and_so_is_one_too_many() {
    let (world, _folder) = world().await;
    for (start, end) in [("2026-02-01", "2026-01-01"), ("2026-01-01", "2026-06-01")] {
        let body = json!({"type": "query", "start_date": start, "end_date": end});
        assert_eq!(ask(&world, body).await.code(), (422, "INVALID_DATE_RANGE"), "{start}");
    }
    for (member, value) in
        [("type", json!("both")), ("format", json!("xml")), ("start_date", json!("soon")), ("end_date", Value::Null)]
    {
        let mut body = wanted("query", "csv");
        body[member] = value;
        let refused = ask(&world, body).await;
        assert_eq!(
            (refused.code(), &refused.body["error"]["details"]["field"]),
            ((400, "VALIDATION_ERROR"), &json!(member))
        );
    }
    for _ in 0..5 {
        ask(&world, wanted("query", "csv")).await.expect(202);
    }
    assert_eq!(ask(&world, wanted("query", "csv")).await.code(), (409, "CONFLICT"));
    let elsewhere = world.app.get(&world.env("audit/export/none"), &world.owner).await;
    assert_eq!(elsewhere.code(), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn without_an_archive_there_are_no_exports() {
    let world = World::start().await;
    world.app.expect_5xx(1);
    assert_eq!(ask(&world, wanted("query", "csv")).await.code(), (503, "SERVICE_UNAVAILABLE"));
}
