//! SQL of exports.

use contract::report::{Finished, Started};
use contract::{EnvId, ExportId, OrgId, Timestamp};
use platform::{Error, Result, execute, scalar};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::lines::Format;
use super::{AuditKind, ExportStatus};
use crate::domain::audit::store::AuditedQuery;

/// Counting stops here: a larger estimate is said as this.
const ESTIMATE_MAX: i64 = 1_000_000;

#[derive(Debug, Clone)]
pub struct Export {
    pub export_id: ExportId,
    pub env_id: EnvId,
    pub org_id: OrgId,
    pub kind: AuditKind,
    pub format: Format,
    pub start: Timestamp,
    pub end: Timestamp,
    pub status: ExportStatus,
    pub estimated_records: i64,
    pub folder: String,
    pub created_by: String,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// Time and id of the last record in a part.
    pub after: Option<(Timestamp, String)>,
    pub manifest_sha256: Option<String>,
}

/// One object of an export.
#[derive(Debug, Clone)]
pub struct ExportPart {
    pub number: i32,
    pub name: String,
    pub records: i64,
    pub bytes: i64,
    pub sha256: String,
}

pub async fn insert(conn: &mut PgConnection, export: &Export) -> Result<()> {
    execute!(
        conn,
        "insert into audit_exports
             (export_id, env_id, org_id, kind, format, range_start, range_end, status, estimated_records, folder,
              created_by, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        export.export_id.as_str(),
        export.env_id.as_str(),
        export.org_id.as_str(),
        export.kind.as_str(),
        export.format.as_str(),
        export.start,
        export.end,
        export.status.as_str(),
        export.estimated_records,
        export.folder,
        export.created_by,
        export.created_at,
    )
}

pub async fn find(conn: &mut PgConnection, export_id: &ExportId) -> Result<Option<Export>> {
    let row = sqlx::query!("select * from audit_exports where export_id = $1", export_id.as_str());
    let Some(row) = row.fetch_optional(conn).await? else {
        return Ok(None);
    };
    let unknown = || Error::internal("an export of an unknown kind, format or status");
    Ok(Some(Export {
        export_id: row.export_id.into(),
        env_id: row.env_id.into(),
        org_id: row.org_id.into(),
        kind: AuditKind::parse(&row.kind).ok_or_else(unknown)?,
        format: Format::parse(&row.format).ok_or_else(unknown)?,
        start: row.range_start,
        end: row.range_end,
        status: ExportStatus::parse(&row.status).ok_or_else(unknown)?,
        estimated_records: row.estimated_records,
        folder: row.folder,
        created_by: row.created_by,
        created_at: row.created_at,
        finished_at: row.finished_at,
        after: row.after_time.zip(row.after_id),
        manifest_sha256: row.manifest_sha256,
    }))
}

/// Exports of the environment that are under way; whoever else begins one waits.
pub async fn processing(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    sqlx::query!("select from environments where env_id = $1 for no key update", env_id.as_str())
        .fetch_one(&mut *conn)
        .await?;
    scalar!(
        conn,
        r#"select count(*) as "count!" from audit_exports where env_id = $1 and status = 'processing'"#,
        env_id.as_str(),
    )
}

pub async fn parts(conn: &mut PgConnection, export_id: &ExportId) -> Result<Vec<ExportPart>> {
    let parts = sqlx::query_as!(
        ExportPart,
        "select number, name, records, bytes, sha256 from audit_export_parts where export_id = $1 order by number",
        export_id.as_str(),
    );
    Ok(parts.fetch_all(conn).await?)
}

/// A part is in the archive, and the export goes on after its last record. Whoever wrote the same
/// part a moment earlier has said so already: that is an error, and the work is theirs.
pub async fn wrote(
    conn: &mut PgConnection,
    export: &Export,
    part: &ExportPart,
    last: &(Timestamp, String),
) -> Result<()> {
    sqlx::query!(
        "insert into audit_export_parts (export_id, number, name, records, bytes, sha256)
         values ($1, $2, $3, $4, $5, $6)",
        export.export_id.as_str(),
        part.number,
        part.name,
        part.records,
        part.bytes,
        part.sha256,
    )
    .execute(&mut *conn)
    .await?;
    execute!(
        conn,
        "update audit_exports set after_time = $2, after_id = $3 where export_id = $1",
        export.export_id.as_str(),
        last.0,
        last.1,
    )
}

/// The export has ended; one that had ended before stays as it was.
pub async fn ended(
    conn: &mut PgConnection,
    export_id: &ExportId,
    (from, to): (ExportStatus, ExportStatus),
    manifest_sha256: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    execute!(
        conn,
        "update audit_exports set status = $3, manifest_sha256 = $4, finished_at = $5
         where export_id = $1 and status = $2",
        export_id.as_str(),
        from.as_str(),
        to.as_str(),
        manifest_sha256,
        now,
    )
}

/// Folder and manifest hash of the environment's last whole export.
pub async fn previous(conn: &mut PgConnection, env_id: &EnvId) -> Result<Option<(String, String)>> {
    let row = sqlx::query!(
        r#"select folder, manifest_sha256 as "sha256!" from audit_exports
           where env_id = $1 and status = 'completed' order by finished_at desc, export_id desc limit 1"#,
        env_id.as_str(),
    );
    Ok(row.fetch_optional(conn).await?.map(|row| (row.folder, row.sha256)))
}

/// How many records the range holds now.
pub async fn estimate(
    conn: &mut PgConnection,
    kind: AuditKind,
    (env_id, org_id): (&EnvId, &OrgId),
    start: Timestamp,
    end: Timestamp,
) -> Result<i64> {
    let count = match kind {
        AuditKind::Query => sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                 select from query_starts where env_id = $1 and at >= $2 and at <= $3 limit $4) as found"#,
            env_id.as_str(),
            start,
            end,
            ESTIMATE_MAX,
        )
        .fetch_one(conn)
        .await?,
        AuditKind::Admin => sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                 select from iam_events where org_id = $1 and "timestamp" >= $2 and "timestamp" <= $3 limit $4) as found"#,
            org_id.as_str(),
            start,
            end,
            ESTIMATE_MAX,
        )
        .fetch_one(conn)
        .await?,
    };
    Ok(count)
}

/// The next queries of an export, the oldest first.
pub async fn queries(conn: &mut PgConnection, export: &Export, count: i64) -> Result<Vec<AuditedQuery>> {
    let (after, id) = export.after.clone().unzip();
    Ok(sqlx::query_as!(
        AuditedQuery,
        r#"select s.at, s.entry as "started: Json<Started>", e.entry as "finished?: Json<Finished>"
           from query_starts s
           left join query_ends e on e.env_id = s.env_id and e.query_id = s.query_id
           where s.env_id = $1 and s.at >= $2 and s.at <= $3
             and ($4::timestamptz is null or (s.at, s.query_id) > ($4, $5))
           order by s.at, s.query_id
           limit $6"#,
        export.env_id.as_str(),
        export.start,
        export.end,
        after,
        id,
        count,
    )
    .fetch_all(conn)
    .await?)
}
