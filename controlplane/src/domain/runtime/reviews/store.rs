//! SQL of the reviews.

use contract::{OrgId, Timestamp};
use platform::{Error, Result, execute};
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::PgConnection;

use super::{Review, ReviewStatus, Urgency};
use crate::domain::runtime::listing::{ListWindow, page};

/// A query for reviews: all columns, then this.
macro_rules! reviews {
    ($($tail:literal)+, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            Review,
            r#"select r.id, r.org_id, r.project_id, r.entity_type as "entity_type: _", r.entity_id, r.task_id,
                 r.attempt_id, r.artifact_id, r.gate_evaluation_id, r.gate_predicate_id, r.reason,
                 r.urgency as "urgency: _", r.assigned_to, r.status as "status: _", r.evidence_bundle, r.requested_by,
                 r.due_at, r.resolution_reason, r.reviewer_notes, r.reviewed_by, r.reviewed_at, r.version,
                 r.created_at, r.updated_at
               from svc_runtime.review_requests r "# $(+ $tail)+,
            $($argument),+
        )
    };
}

const fn absent() -> Error {
    Error::NotFound { kind: "review" }
}

pub async fn find(conn: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<Review> {
    let found = reviews!("where r.org_id = $1 and r.id = $2", org_id.as_str(), id);
    found.fetch_optional(conn).await?.ok_or_else(absent)
}

/// The review, and nobody else decides it until the transaction ends.
pub async fn lock(tx: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<Review> {
    let found = reviews!("where r.org_id = $1 and r.id = $2 for no key update", org_id.as_str(), id);
    found.fetch_optional(tx).await?.ok_or_else(absent)
}

/// Reviews of a task, from the first.
pub async fn of_task(conn: &mut PgConnection, task_id: &str) -> Result<Vec<Review>> {
    Ok(reviews!("where r.task_id = $1 order by r.created_at, r.id", task_id).fetch_all(conn).await?)
}

/// Inserts the review, or renews the one that its gate waits for; answers what stands.
pub async fn insert(tx: &mut PgConnection, review: &Review) -> Result<Review> {
    let id = sqlx::query_scalar!(
        "insert into svc_runtime.review_requests (id, org_id, project_id, entity_type, entity_id, task_id, attempt_id,
           artifact_id, gate_evaluation_id, gate_predicate_id, reason, urgency, assigned_to, evidence_bundle,
           requested_by, due_at, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17)
         on conflict (org_id, project_id, entity_id)
           where gate_evaluation_id is not null and status in ('pending', 'in_review', 'deferred')
         do update set gate_evaluation_id = excluded.gate_evaluation_id, task_id = excluded.task_id,
           evidence_bundle = excluded.evidence_bundle, assigned_to = excluded.assigned_to,
           version = review_requests.version + 1, updated_at = excluded.updated_at
         returning id",
        review.id,
        review.org_id,
        review.project_id,
        review.entity_type as _,
        review.entity_id,
        review.task_id,
        review.attempt_id,
        review.artifact_id,
        review.gate_evaluation_id,
        review.gate_predicate_id,
        review.reason,
        review.urgency as _,
        review.assigned_to,
        review.evidence_bundle,
        review.requested_by,
        review.due_at,
        review.created_at,
    )
    .fetch_one(&mut *tx)
    .await?;
    find(tx, &review.org_id.as_str().into(), &id).await
}

/// Stores what may change of a locked review.
pub async fn save(tx: &mut PgConnection, review: &mut Review, now: Timestamp) -> Result<()> {
    review.version = review.version.saturating_add(1);
    review.updated_at = now;
    execute!(
        tx,
        "update svc_runtime.review_requests
         set status = $2, due_at = $3, resolution_reason = $4, reviewer_notes = $5, reviewed_by = $6, reviewed_at = $7,
             version = $8, updated_at = $9
         where id = $1",
        review.id,
        review.status as _,
        review.due_at,
        review.resolution_reason,
        review.reviewer_notes,
        review.reviewed_by,
        review.reviewed_at,
        review.version,
        review.updated_at,
    )
}

/// What a list of reviews may ask for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct ReviewFilter {
    pub task_id: Option<String>,
    pub project_id: Option<String>,
    pub status: Option<ReviewStatus>,
    pub assigned_to: Option<String>,
    pub urgency: Option<Urgency>,
}

pub async fn page(
    conn: &mut PgConnection,
    org_id: &OrgId,
    filter: &ReviewFilter,
    listing: &ListWindow,
) -> Result<(Vec<Review>, i64)> {
    Ok(page!(
        conn,
        listing,
        reviews,
        r#"select count(*) as "total!" from svc_runtime.review_requests r "#,
        "where r.org_id = $1 and ($2::text is null or r.task_id = $2) and ($3::text is null or r.project_id = $3)
           and ($4::text is null or r.status = $4) and ($5::text is null or r.assigned_to = $5)
           and ($6::text is null or r.urgency = $6)",
        " and ($7::timestamptz is null or (r.created_at, r.id) < ($7, $8))
         order by r.created_at desc, r.id desc
         limit $9 offset $10",
        org_id.as_str(),
        filter.task_id,
        filter.project_id,
        filter.status as _,
        filter.assigned_to,
        filter.urgency as _,
    ))
}
