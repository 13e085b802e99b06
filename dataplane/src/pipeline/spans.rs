//! The span of a query, or of a description of one, with a step for each stage that it walked. The names are
//! those of OpenTelemetry's conventions for databases.
//!
//! It tells what the audit entry tells, as far as that is nobody's own: the statement with every literal
//! as `?`, counts and codes. Neither who asked nor what was answered.

use telemetry::Span;

use super::Query;
use super::stages::audit;
use crate::Error;
use crate::request::trail::Trail;

/// A statement's longest text in a span.
const TEXT_BYTES_MAX: usize = 4 * 1024;

/// Tells how it went, when it is known.
pub(super) fn ended(span: &mut Span, query: &Query, trail: &Trail, rows: u64, error: Option<&Error>) {
    if !span.is_told() {
        return;
    }
    walked(span, query, trail, error);
    let facts = trail.facts();
    if let Some(operation) = facts.operation {
        span.name(operation.as_str());
        span.tell("db.operation.name", operation.as_str());
    }
    let text = facts.redacted.clone().unwrap_or_else(|| sql::digest(&query.ask.sql));
    span.tell("db.query.text", audit::capped(&text, TEXT_BYTES_MAX));
    span.tell("db.response.returned_rows", i64::try_from(rows).unwrap_or(i64::MAX));
    span.tell("sluice.query.id", query.ask.query_id.to_string());
    span.tell("sluice.cache_hit", facts.cache_hit);
    if let Some(plan) = facts.plan {
        span.tell("sluice.plan", plan.as_str());
    }
    if let Some(plan) = facts.engine_plan {
        span.tell("sluice.engine_plan", plan.as_str());
    }
}

/// Tells how it went to say what a statement takes and gives. The statement itself is in the span of its run.
pub(super) fn described(span: &mut Span, query: &Query, trail: &Trail, error: Option<&Error>) {
    if !span.is_told() {
        return;
    }
    walked(span, query, trail, error);
    span.tell("db.operation.name", "DESCRIBE");
}

fn walked(span: &mut Span, query: &Query, trail: &Trail, error: Option<&Error>) {
    for (stage, began, took) in trail.times() {
        span.step(stage.as_str(), began, took);
    }
    span.tell("db.system.name", "duckdb");
    span.tell("sluice.door", query.ask.origin.as_str());
    span.tell("sluice.request.id", query.ask.request_id.to_string());
    if let Some(error) = error {
        span.failed(error.code().stable());
    }
}
