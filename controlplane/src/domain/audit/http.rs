//! Requests and answers of the audit trails.

use chrono::Duration;
use contract::Timestamp;
use platform::events;
use platform::http::call::Call;
use platform::http::dates::{self, RangeEnd};
use platform::http::json::{Json, Query};
use platform::http::page::{PageRequest, Paged};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::store::{self, QueriesInput};
use super::view::{QueryEntry, QueryEntryDetail};

/// "`start_date` (default 24 hours ago), `end_date` (default now)".
const WINDOW: Duration = Duration::hours(24);
const RANGE_MAX: Duration = Duration::days(90);

pub async fn queries(cx: Call, Query(input): Query<QueriesInput>, page: PageRequest) -> Result<Paged<QueryEntry>> {
    let (start, end) = window(cx.now(), input.start_date.as_deref(), input.end_date.as_deref())?;
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, &cx.env_id()?, (start, end), &input, &page).await?;
    Ok(page.of(rows, total, |row| (row.at, row.started.query_id.to_string()), QueryEntry::of))
}

pub async fn query(cx: Call) -> Result<Json<QueryEntryDetail>> {
    let mut conn = cx.app.pool().acquire().await?;
    let row = store::find(&mut conn, &cx.env_id()?, &cx.id("query_id")?).await?;
    Ok(Json(QueryEntryDetail::of(row.ok_or(Error::NotFound { kind: "query" })?)))
}

/// "each environment's `audit/admin` and `verify-chain` show that whole chain".
pub async fn admin(cx: Call, page: PageRequest) -> Result<Paged<events::Recorded>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = events::page(&mut conn, cx.org_id(), &page).await?;
    Ok(page.of(rows, total, |event| (event.timestamp, event.event_id.to_string()), |event| event))
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ChainMark {
    event_id: contract::EventId,
    timestamp: Timestamp,
}

/// What the walk over the chain has found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ChainVerification {
    Whole {
        chain_valid: bool,
        events_verified: i64,
        first_event: Option<ChainMark>,
        last_event: Option<ChainMark>,
        verified_at: Timestamp,
    },
    Broken {
        chain_valid: bool,
        events_verified: i64,
        break_detected_at: events::ChainBreak,
        verified_at: Timestamp,
    },
}

pub async fn verify_chain(cx: Call) -> Result<Json<ChainVerification>> {
    let mut tx = cx.app.pool().begin_with("begin isolation level repeatable read read only").await?;
    let found = events::heads::verify(&cx.app, &mut tx, cx.org_id()).await?;
    tx.commit().await?;
    let mark = |mark: Option<(contract::EventId, Timestamp)>| {
        mark.map(|(event_id, timestamp)| ChainMark { event_id, timestamp })
    };
    let (events_verified, verified_at) = (found.events_verified, cx.now());
    Ok(Json(match found.broken {
        Some(at) => {
            ChainVerification::Broken { chain_valid: false, events_verified, break_detected_at: at, verified_at }
        }
        None => ChainVerification::Whole {
            chain_valid: true,
            events_verified,
            first_event: mark(found.first_event),
            last_event: mark(found.last_event),
            verified_at,
        },
    }))
}

/// "A start date after the end date, or a range over 90 days, returns 422 `INVALID_DATE_RANGE`."
pub(super) fn in_range(start: Timestamp, end: Timestamp) -> Result<()> {
    dates::in_order(start, end, RANGE_MAX, "is longer than 90 days")
}

fn window(now: Timestamp, start: Option<&str>, end: Option<&str>) -> Result<(Timestamp, Timestamp)> {
    let end = end.map(|text| dates::moment("end_date", text, RangeEnd::Last)).transpose()?.unwrap_or(now);
    let start =
        start.map(|text| dates::moment("start_date", text, RangeEnd::Start)).transpose()?.unwrap_or(end - WINDOW);
    in_range(start, end)?;
    Ok((start, end))
}
