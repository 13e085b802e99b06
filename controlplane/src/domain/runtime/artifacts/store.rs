//! SQL of the artifacts.

use contract::{OrgId, Timestamp};
use platform::{Error, Result, execute, scalar};
use sqlx::PgConnection;

use super::{Artifact, Verdict};
use crate::domain::runtime::listing::{ListWindow, page};

/// A query for artifacts: all columns, then this.
macro_rules! artifacts {
    ($($tail:literal)+, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            Artifact,
            r#"select r.id, r.org_id, r.project_id, r.task_id, r.attempt_id, r.kind, r.content_hash, r.confidence,
                 r.artifact_key, r.branch_id, r.validation_status as "validation_status: _", r.uri, r.depends_on,
                 r.metadata, r.promoted_at, r.promoted_by, r.superseded_by, r.created_at
               from svc_runtime.artifact_instances r "# $(+ $tail)+,
            $($argument),+
        )
    };
}

/// The task that an artifact was made for.
pub async fn made_for(conn: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<String> {
    let found = sqlx::query_scalar!(
        "select task_id from svc_runtime.artifact_instances where org_id = $1 and id = $2",
        org_id.as_str(),
        id,
    );
    found.fetch_optional(conn).await?.ok_or(Error::NotFound { kind: "artifact" })
}

pub async fn find(conn: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<Artifact> {
    let found = artifacts!("where r.org_id = $1 and r.id = $2", org_id.as_str(), id);
    found.fetch_optional(conn).await?.ok_or(Error::NotFound { kind: "artifact" })
}

/// What the task has made last.
pub async fn last_of_task(conn: &mut PgConnection, task_id: &str) -> Result<Option<Artifact>> {
    let found = artifacts!("where r.task_id = $1 order by r.created_at desc, r.id desc limit 1", task_id);
    Ok(found.fetch_optional(conn).await?)
}

/// These, in the order in which they were made.
pub async fn all(conn: &mut PgConnection, ids: &[String]) -> Result<Vec<Artifact>> {
    Ok(artifacts!("where r.id = any($1) order by r.created_at, r.id", ids).fetch_all(conn).await?)
}

/// The artifact of a locked task; nobody else promotes or validates it until the transaction ends.
pub async fn lock(tx: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<Artifact> {
    let found = artifacts!("where r.org_id = $1 and r.id = $2 for no key update", org_id.as_str(), id);
    found.fetch_optional(tx).await?.ok_or(Error::NotFound { kind: "artifact" })
}

/// What the attempt has published with this key and content.
pub async fn published(tx: &mut PgConnection, like: &Artifact) -> Result<Option<Artifact>> {
    let found = artifacts!(
        "where r.attempt_id = $1 and r.artifact_key is not distinct from $2 and r.content_hash = $3",
        like.attempt_id,
        like.artifact_key,
        like.content_hash,
    );
    Ok(found.fetch_optional(tx).await?)
}

/// Artifacts of a task, from the first.
pub async fn of_task(conn: &mut PgConnection, task_id: &str) -> Result<Vec<Artifact>> {
    Ok(artifacts!("where r.task_id = $1 order by r.created_at, r.id", task_id).fetch_all(conn).await?)
}

/// How many of these the organization has.
pub async fn known(conn: &mut PgConnection, org_id: &OrgId, ids: &[String]) -> Result<i64> {
    scalar!(
        conn,
        r#"select count(*) as "count!" from svc_runtime.artifact_instances where org_id = $1 and id = any($2)"#,
        org_id.as_str(),
        ids,
    )
}

pub async fn insert(tx: &mut PgConnection, artifact: &Artifact, published_by: &str) -> Result<()> {
    execute!(
        tx,
        "insert into svc_runtime.artifact_instances (id, org_id, project_id, task_id, attempt_id, kind, content_hash,
           confidence, artifact_key, branch_id, uri, depends_on, metadata, created_at, published_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        artifact.id,
        artifact.org_id,
        artifact.project_id,
        artifact.task_id,
        artifact.attempt_id,
        artifact.kind,
        artifact.content_hash,
        artifact.confidence,
        artifact.artifact_key,
        artifact.branch_id,
        artifact.uri,
        artifact.depends_on,
        artifact.metadata,
        artifact.created_at,
        published_by,
    )
}

/// Makes room on the mainline for `successor`: whoever comes to one key waits here for each other.
pub async fn supersede(tx: &mut PgConnection, successor: &Artifact) -> Result<()> {
    let Some(key) = &successor.artifact_key else { return Ok(()) };
    let place = format!("{}/{}/{key}", successor.org_id, successor.project_id);
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended($1, 0))", place).execute(&mut *tx).await?;
    execute!(
        tx,
        "update svc_runtime.artifact_instances set superseded_by = $4
         where org_id = $1 and project_id = $2 and artifact_key = $3 and branch_id is null and superseded_by is null
           and id <> $4",
        successor.org_id,
        successor.project_id,
        key,
        successor.id,
    )
}

/// "Sets `branch_id` to null in place."
pub async fn promote(tx: &mut PgConnection, id: &str, who: &str, now: Timestamp) -> Result<()> {
    execute!(
        tx,
        "update svc_runtime.artifact_instances set branch_id = null, promoted_at = $2, promoted_by = $3 where id = $1",
        id,
        now,
        who,
    )
}

/// What the latest word of each validator says of the artifact, the worst of all; kept with it.
pub async fn judge(tx: &mut PgConnection, id: &str) -> Result<()> {
    let latest: Vec<Verdict> = sqlx::query_scalar!(
        r#"select distinct on (validator_kind) result as "result: Verdict" from svc_runtime.artifact_validations
           where artifact_id = $1 order by validator_kind, position desc"#,
        id,
    )
    .fetch_all(&mut *tx)
    .await?;
    let worst = latest.into_iter().max();
    execute!(tx, "update svc_runtime.artifact_instances set validation_status = $2 where id = $1", id, worst as _,)
}

/// What a list of artifacts may ask for; one of the first two is there.
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
pub struct ArtifactFilter {
    pub task_id: Option<String>,
    pub project_id: Option<String>,
    pub kind: Option<String>,
    /// `main` for the mainline.
    pub branch_id: Option<String>,
}

pub async fn page(
    conn: &mut PgConnection,
    org_id: &OrgId,
    filter: &ArtifactFilter,
    listing: &ListWindow,
) -> Result<(Vec<Artifact>, i64)> {
    Ok(page!(
        conn,
        listing,
        artifacts,
        r#"select count(*) as "total!" from svc_runtime.artifact_instances r "#,
        "where r.org_id = $1 and ($2::text is null or r.task_id = $2) and ($3::text is null or r.project_id = $3)
           and ($4::text is null or r.kind = $4) and ($5::text is null or coalesce(r.branch_id, 'main') = $5)",
        " and ($6::timestamptz is null or (r.created_at, r.id) < ($6, $7))
         order by r.created_at desc, r.id desc
         limit $8 offset $9",
        org_id.as_str(),
        filter.task_id,
        filter.project_id,
        filter.kind,
        filter.branch_id,
    ))
}
