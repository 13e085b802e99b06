//! Asking for reviews, and listing them.

use std::mem;

use contract::Timestamp;
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{EntityType, Review, ReviewShown, ReviewStatus, Urgency, request, store, subject};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::listing::{ListWindow, Listed, Records};
use crate::domain::runtime::{actor, fields, people};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewCreation {
    pub(super) entity_type: Option<EntityType>,
    pub(super) entity_id: Option<String>,
    pub(super) project_id: Option<String>,
    pub(super) artifact_id: Option<String>,
    pub(super) attempt_id: Option<String>,
    // `<gate>:<key of the predicate>`
    pub(super) gate_predicate_id: Option<String>,
    reason: Option<String>,
    urgency: Option<Urgency>,
    assigned_to: Option<String>,
    due_at: Option<Timestamp>,
    requested_by: Option<String>,
    #[serde(default)]
    evidence_bundle: fields::Object,
}

/// "Requests a review."
pub async fn create(cx: Call, Json(mut creation): Json<ReviewCreation>) -> Result<Json<ReviewShown>> {
    let reason = fields::maybe_prose("reason", creation.reason.as_deref())?;
    let evidence_bundle = fields::object("evidence_bundle", mem::take(&mut creation.evidence_bundle))?;
    let requested_by = fields::maybe_name("requested_by", creation.requested_by.as_deref())?;
    let assigned_to = people::assignee("assigned_to", creation.assigned_to.as_deref().unwrap_or(people::PM))?;
    let mut tx = cx.begin().await?;
    let mut change = Change::begin(&cx.app, &mut tx).await?;
    to_come("due_at", creation.due_at, change.now)?;
    let subject = subject::of(&cx, &mut change, &creation).await?;
    let review = Review {
        gate_predicate_id: creation.gate_predicate_id,
        reason: reason.unwrap_or_else(|| "a review was requested".to_owned()),
        urgency: creation.urgency.unwrap_or(Urgency::Medium),
        assigned_to,
        evidence_bundle,
        requested_by: requested_by.unwrap_or_else(|| actor::of(&cx.caller)),
        due_at: creation.due_at,
        ..subject
    };
    let review = request(&mut change, &review).await?;
    tx.commit().await?;
    Ok(Json(review.into()))
}

/// A time that is given is one to come.
pub fn to_come(field: &'static str, given: Option<Timestamp>, now: Timestamp) -> Result<()> {
    let refused = || Error::invalid(field, "future", format!("`{field}` is a time to come"));
    if given.is_none_or(|given| given > now) { Ok(()) } else { Err(refused()) }
}

/// "Query `task_id`, `status`, `limit` (default 50, max 200); also filters by project, role,
/// urgency."
pub async fn list(
    cx: Call,
    Query(filter): Query<store::ReviewFilter>,
    Records(listing): Records,
) -> Result<Listed<ReviewShown>> {
    listed(&cx, &filter, &listing).await
}

/// What nobody has looked at yet.
pub async fn pending(
    cx: Call,
    Query(filter): Query<store::ReviewFilter>,
    Records(listing): Records,
) -> Result<Listed<ReviewShown>> {
    listed(&cx, &store::ReviewFilter { status: Some(ReviewStatus::Pending), ..filter }, &listing).await
}

async fn listed(cx: &Call, filter: &store::ReviewFilter, listing: &ListWindow) -> Result<Listed<ReviewShown>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, cx.org_id(), filter, listing).await?;
    Ok(listing.answer(rows, total, |row| (row.created_at, row.id.clone()), ReviewShown::from))
}
