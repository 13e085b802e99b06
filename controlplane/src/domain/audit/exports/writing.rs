//! The job that writes an export: part by part, so that it goes on where it was, and other jobs have
//! their turn; the manifest last. What cannot be written for an hour is given up.

use bytes::Bytes;
use chrono::Duration;
use contract::{ExportId, Timestamp};
use platform::archive::Archive;
use platform::events;
use platform::jobs::kind::BackgroundJob;
use platform::jobs::queue;
use platform::{App, Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::store::{self, Export, ExportPart};
use super::{AuditKind, ExportStatus, ExportTransition};
use crate::domain::audit::view::QueryEntry;

pub const MANIFEST: &str = "manifest.json";
/// Records in a part.
const PART: i64 = 10_000;
/// Parts that are written before other jobs have their turn.
const TURN: usize = 5;
/// How long a failing archive is tried.
const TRIED_FOR: Duration = Duration::hours(1);

/// The job that writes an export of an audit trail to the archive.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExportAudit {
    pub(super) export_id: ExportId,
}

impl BackgroundJob for ExportAudit {
    const KIND: &'static str = "export_audit";

    /// Writes what is left of the export, or its next parts.
    async fn run(&self, app: &App) -> Result<()> {
        let found = store::find(&mut *app.pool().acquire().await?, &self.export_id).await?;
        let Some(export) = found.filter(|export| export.status == ExportStatus::Processing) else {
            return Ok(());
        };
        match turn(app, &export).await {
            Err(error) if app.now() - export.created_at >= TRIED_FOR => {
                tracing::warn!(export.id = %self.export_id, error = error.with_sources(), "an export is given up");
                end(app, &export, ExportTransition::GivenUp, None).await
            }
            ended => ended,
        }
    }
}

async fn turn(app: &App, export: &Export) -> Result<()> {
    let archive = app.archive().ok_or(Error::Unavailable("no object storage is configured for audit exports"))?;
    let mut export = export.clone();
    for _ in 0..TURN {
        let Some(last) = part(app, archive, &export).await? else {
            let sha256 = manifest(app, archive, &export).await?;
            return end(app, &export, ExportTransition::Written, Some(&sha256)).await;
        };
        export.after = Some(last);
    }
    let next = ExportAudit { export_id: export.export_id };
    queue::enqueue(app, &mut *app.pool().acquire().await?, &next, app.now()).await
}

async fn end(app: &App, export: &Export, trigger: ExportTransition, sha256: Option<&str>) -> Result<()> {
    let Some(to) = export.status.after(trigger) else {
        return Ok(());
    };
    let mut conn = app.pool().acquire().await?;
    store::ended(&mut conn, &export.export_id, (export.status, to), sha256, app.now()).await
}

/// Writes the next part; its last record, or none when there are no more.
async fn part(app: &App, archive: &Archive, export: &Export) -> Result<Option<(Timestamp, String)>> {
    let mut conn = app.pool().acquire().await?;
    let (records, last) = records(&mut conn, export).await?;
    let Some(last) = last else {
        return Ok(None);
    };
    let number = i32::try_from(store::parts(&mut conn, &export.export_id).await?.len()).map_err(Error::internal)?;
    drop(conn); // not held while the archive takes its time
    let number = number.saturating_add(1);
    let bytes = Bytes::from(export.format.lines(export.kind, &records));
    let part = ExportPart {
        number,
        name: format!("part-{number:05}.{}", export.format.as_str()),
        records: i64::try_from(records.len()).map_err(Error::internal)?,
        bytes: i64::try_from(bytes.len()).map_err(Error::internal)?,
        sha256: sha256(&bytes),
    };
    archive.put(&format!("{}/{}", export.folder, part.name), bytes).await?;
    let mut tx = app.pool().begin().await?;
    store::wrote(&mut tx, export, &part, &last).await?;
    tx.commit().await?;
    Ok(Some(last))
}

type Records = (Vec<Map<String, Value>>, Option<(Timestamp, String)>);

/// The next records, and the mark of the last of them.
async fn records(conn: &mut sqlx::PgConnection, export: &Export) -> Result<Records> {
    match export.kind {
        AuditKind::Query => {
            let rows = store::queries(conn, export, PART).await?;
            let last = rows.last().map(|row| (row.at, row.started.query_id.to_string()));
            Ok((rows.into_iter().map(|row| record(&QueryEntry::of(row))).collect::<Result<_>>()?, last))
        }
        AuditKind::Admin => {
            let after = export.after.as_ref().map(|(at, id)| (*at, id.as_str()));
            let events = events::range(conn, &export.org_id, (export.start, export.end), after, PART).await?;
            let last = events.last().map(|event| (event.timestamp, event.event_id.to_string()));
            Ok((events.iter().map(record).collect::<Result<_>>()?, last))
        }
    }
}

pub(super) fn record(record: &impl Serialize) -> Result<Map<String, Value>> {
    match serde_json::to_value(record).map_err(Error::internal)? {
        Value::Object(members) => Ok(members),
        other => Err(Error::internal(format!("a record is an object, not {other}"))),
    }
}

/// Writes the manifest and answers its SHA-256.
async fn manifest(app: &App, archive: &Archive, export: &Export) -> Result<String> {
    let mut conn = app.pool().acquire().await?;
    let parts = store::parts(&mut conn, &export.export_id).await?;
    let previous = store::previous(&mut conn, &export.env_id).await?;
    drop(conn);
    let head = events::heads::sign(app, archive, &export.org_id).await?;
    let file = |part: &ExportPart| json!({"name": part.name, "records": part.records, "bytes": part.bytes, "sha256": part.sha256});
    let manifest = json!({
        "version": 1,
        "export_id": export.export_id,
        "type": export.kind,
        "format": export.format,
        "org_id": export.org_id,
        "env_id": export.env_id,
        "date_range": {"start": export.start, "end": export.end},
        "created_by": export.created_by,
        "created_at": export.created_at,
        "records": parts.iter().map(|part| part.records).sum::<i64>(),
        "files": parts.iter().map(file).collect::<Vec<_>>(),
        "chain_head": head.map(|(head, signed)| json!({"sequence": head.sequence, "hash": head.hash, "signed": signed})),
        "previous_manifest": previous.map(|(folder, sha256)| json!({"path": format!("{folder}/{MANIFEST}"), "sha256": sha256})),
    });
    let bytes = Bytes::from(serde_json::to_vec_pretty(&manifest).map_err(Error::internal)?);
    let sha256 = sha256(&bytes);
    archive.put(&format!("{}/{MANIFEST}", export.folder), bytes).await?;
    Ok(sha256)
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
