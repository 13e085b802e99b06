//! Exports: a trail over a range of time, written to the archive.
//!
//! "`type` (`query` or `admin`) required; `start_date`, `end_date` required ISO 8601; `format` `jsonl`
//! (default) or `csv`; 202 export record; logs are written to configured object storage."
//!
//! An export is a folder of parts and, last, a `manifest.json` that names each part with its SHA-256,
//! carries the signed head of the audit chain, and the hash of the manifest before it: a part or a
//! whole export that is changed or missing is seen (`writing`).

mod lines;
mod store;
#[cfg(test)]
mod tests;
mod writing;

use axum::http::HeaderName;
use axum::http::header::LOCATION;
use contract::{ExportId, Timestamp};
use platform::archive::Archive;
use platform::http::call::Call;
use platform::http::dates::{self, RangeEnd};
use platform::http::json::{Accepted, Json};
use platform::jobs::queue;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use writing::ExportAudit;

use self::lines::Format;
use self::store::{Export, ExportPart};
use super::http::in_range;

/// Exports of one environment that may be under way at once.
const PROCESSING_MAX: i64 = 5;

contract::named! {
    /// Which trail.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum AuditKind {
        Query = "query",
        Admin = "admin",
    }
}

contract::named! {
    /// "`status` (`processing`)": it ends as one of the two others.
    pub enum ExportStatus {
        Processing = "processing",
        Completed = "completed",
        Failed = "failed",
    }
}

/// A transition of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportTransition {
    Written,
    GivenUp,
}

impl ExportStatus {
    /// `None`: not from here.
    pub const fn after(self, trigger: ExportTransition) -> Option<Self> {
        match (self, trigger) {
            (Self::Processing, ExportTransition::Written) => Some(Self::Completed),
            (Self::Processing, ExportTransition::GivenUp) => Some(Self::Failed),
            (Self::Completed | Self::Failed, _) => None,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditExportInput {
    #[serde(rename = "type")]
    kind: AuditKind,
    start_date: String,
    end_date: String,
    #[serde(default)]
    format: Format,
}

/// An export as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditExport {
    export_id: ExportId,
    id: ExportId,
    #[serde(rename = "type")]
    kind: AuditKind,
    format: Format,
    status: &'static str,
    date_range: DateRange,
    estimated_records: i64,
    object_storage_path: String,
    created_by: String,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
    /// Parts that are written, in order.
    files: Vec<File>,
    /// Once everything is.
    manifest: Option<Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DateRange {
    start: Timestamp,
    end: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AuditExportFile")]
struct File {
    path: String,
    records: i64,
    bytes: i64,
    sha256: String,
}

impl AuditExport {
    fn of(archive: &Archive, export: Export, parts: Vec<ExportPart>) -> Self {
        let shown = |name: &str| archive.shown(&format!("{}/{name}", export.folder));
        let file = |part: ExportPart| File {
            path: shown(&part.name),
            records: part.records,
            bytes: part.bytes,
            sha256: part.sha256,
        };
        Self {
            id: export.export_id.clone(),
            files: parts.into_iter().map(file).collect(),
            manifest: export
                .manifest_sha256
                .as_ref()
                .map(|sha256| json!({"path": shown(writing::MANIFEST), "sha256": sha256})),
            object_storage_path: archive.shown(&export.folder),
            kind: export.kind,
            format: export.format,
            status: export.status.as_str(),
            date_range: DateRange { start: export.start, end: export.end },
            estimated_records: export.estimated_records,
            created_by: export.created_by,
            created_at: export.created_at,
            finished_at: export.finished_at,
            export_id: export.export_id,
        }
    }
}

fn archive(cx: &Call) -> Result<&Archive> {
    cx.app.archive().ok_or(Error::Unavailable("no object storage is configured for audit exports"))
}

pub async fn export(
    cx: Call,
    Json(wanted): Json<AuditExportInput>,
) -> Result<([(HeaderName, String); 1], Accepted<AuditExport>)> {
    let start = dates::moment("start_date", &wanted.start_date, RangeEnd::Start)?;
    let end = dates::moment("end_date", &wanted.end_date, RangeEnd::Last)?;
    in_range(start, end)?;
    let archive = archive(&cx)?;
    let env_id = cx.env_id()?;
    let export_id = ExportId::fresh(cx.now(), cx.app.entropy());
    let mut tx = cx.begin().await?;
    if store::processing(&mut tx, &env_id).await? >= PROCESSING_MAX {
        let message = format!("{PROCESSING_MAX} exports of this environment are under way: wait for one of them");
        return Err(Error::conflict("too_many_exports", message));
    }
    let export = Export {
        folder: format!("exports/{env_id}/{export_id}"),
        estimated_records: store::estimate(&mut tx, wanted.kind, (&env_id, cx.org_id()), start, end).await?,
        export_id: export_id.clone(),
        org_id: cx.org_id().clone(),
        kind: wanted.kind,
        format: wanted.format,
        start,
        end,
        status: ExportStatus::Processing,
        created_by: cx.caller.actor_id().to_owned(),
        created_at: cx.now(),
        finished_at: None,
        after: None,
        manifest_sha256: None,
        env_id,
    };
    store::insert(&mut tx, &export).await?;
    queue::enqueue(&cx.app, &mut tx, &ExportAudit { export_id: export_id.clone() }, cx.now()).await?;
    tx.commit().await?;
    let location = format!("/v1/environments/{}/audit/export/{export_id}", export.env_id);
    Ok(([(LOCATION, location)], Accepted(AuditExport::of(archive, export, Vec::new()))))
}

pub async fn find(cx: Call) -> Result<Json<AuditExport>> {
    let archive = archive(&cx)?;
    let mut conn = cx.app.pool().acquire().await?;
    let export = store::find(&mut conn, &cx.id("export_id")?)
        .await?
        .filter(|export| cx.path.env_id() == Some(export.env_id.clone()));
    let export = export.ok_or(Error::NotFound { kind: "export" })?;
    let parts = store::parts(&mut conn, &export.export_id).await?;
    Ok(Json(AuditExport::of(archive, export, parts)))
}
