//! Logs of queries: uploaded as lines, and replayed.
//!
//! "Raw JSONL body, one query per line, content type `application/jsonl`"; "a shadow upload line is
//! `{sql, duration_ms?, row_count?, result_hash?}`".

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use contract::wire::SQL_BYTES_MAX;
use contract::{ReplayId, Timestamp, UploadId};
use platform::http::body;
use platform::http::call::Call;
use platform::http::json::{Accepted, Json};
use platform::http::signature::{Body, Signature, Takes};
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::comparing;
use super::states::SessionStatus;
use super::store::{self, NewReplay};
use crate::domain::{environments, query};

/// "Maximum upload size of a shadow-mode query log: not shown."
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// And how long it may take to send.
const BODY_WITHIN: Duration = Duration::from_mins(5);
/// One JSON object a line.
const KINDS: [&str; 2] = ["application/jsonl", "application/x-ndjson"];
const LINES_MAX: usize = 100_000;
/// Lines that an environment may keep, over all its uploads.
const KEPT_MAX: i64 = 200_000;
/// And bytes of their statements; the same again may be under way in replays, or kept for reports.
const KEPT_BYTES_MAX: i64 = 256 * 1024 * 1024;
/// What a query is thought to take of which nothing is known.
const DURATION_MS: f64 = 100.0;
const CONCURRENCY: std::ops::RangeInclusive<i32> = 1..=16;
const CONCURRENCY_DEFAULT: i32 = 4;
/// The longest time that a line may say a query took: a day.
const DURATION_MS_MAX: f64 = 86_400_000.0;

/// One query of a log.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    pub sql: String,
    pub duration_ms: Option<f64>,
    pub row_count: Option<i64>,
    pub result_hash: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ShadowUpload {
    upload_id: UploadId,
    id: UploadId,
    queries_received: usize,
    status: &'static str,
    estimated_replay_minutes: u64,
}

/// The body of an upload.
pub struct Log(Bytes);

impl FromRequest<App> for Log {
    type Rejection = Error;

    async fn from_request(request: Request, _: &App) -> Result<Self> {
        let given = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !KINDS.contains(&essence.as_str()) {
            return Err(Error::UnsupportedMedia { expected: KINDS[0] });
        }
        body::is_plain(request.headers())?;
        body::read(request.into_body(), BODY_BYTES_MAX, BODY_WITHIN).await.map(Self)
    }
}

impl Takes for Log {
    fn takes(said: &mut Signature<'_>) {
        said.body = Some(Body { kinds: &KINDS, schema: None, is_required: true });
    }
}

pub async fn upload(cx: Call, Log(body): Log) -> Result<Accepted<ShadowUpload>> {
    let lines = lines(&body)?;
    let upload_id = UploadId::fresh(cx.now(), cx.app.entropy());
    let mut tx = cx.begin().await?;
    let env_id = cx.env_id()?;
    let kept = store::kept(&mut tx, &env_id).await?;
    let lines_more = i64::try_from(lines.len()).map_err(Error::internal)?;
    let bytes_more = lines.iter().map(|line| line.sql.len()).sum::<usize>();
    let bytes_more = i64::try_from(bytes_more).map_err(Error::internal)?;
    if kept.lines.saturating_add(lines_more) > KEPT_MAX || kept.bytes.saturating_add(bytes_more) > KEPT_BYTES_MAX {
        let message = format!(
            "the uploads of this environment have {KEPT_MAX} lines and {KEPT_BYTES_MAX} bytes of statements at most: \
             they are kept for 30 days"
        );
        return Err(Error::conflict("too_many_lines", message));
    }
    store::insert_upload(&mut tx, &upload_id, (&env_id, cx.caller.actor_id()), &lines, cx.now()).await?;
    tx.commit().await?;
    Ok(Accepted(ShadowUpload {
        id: upload_id.clone(),
        upload_id,
        queries_received: lines.len(),
        status: "queued",
        estimated_replay_minutes: estimate(&lines),
    }))
}

/// Every line that is not blank, or 400 with the number of the first that is none.
fn lines(body: &[u8]) -> Result<Vec<Line>> {
    let text = std::str::from_utf8(body).map_err(|_| Error::invalid("body", "UTF-8", "the body is not UTF-8"))?;
    let mut lines = Vec::new();
    for (at, written) in text.lines().enumerate().filter(|(_, written)| !written.trim().is_empty()) {
        if lines.len() == LINES_MAX {
            let message = format!("a log has {LINES_MAX} queries at most");
            return Err(Error::invalid("body", format!("1..{LINES_MAX} lines"), message));
        }
        lines.push(line(written).map_err(|(member, message)| {
            let field = format!("line {}{member}", at + 1);
            Error::invalid(
                field.clone(),
                "{sql, duration_ms?, row_count?, result_hash?}",
                format!("{field}: {message}"),
            )
        })?);
    }
    if lines.is_empty() {
        return Err(Error::invalid("body", "required", "the log has no query"));
    }
    Ok(lines)
}

fn line(written: &str) -> Result<Line, (&'static str, String)> {
    let mut line: Line = serde_json::from_str(written).map_err(|error| {
        let message = error.to_string();
        ("", message.split(" at line ").next().unwrap_or_default().to_owned())
    })?;
    if line.sql.trim().is_empty() || line.sql.len() > SQL_BYTES_MAX || line.sql.contains('\0') {
        return Err((".sql", "a statement of at most 1 MB is wanted".to_owned()));
    }
    if line.duration_ms.is_some_and(|ms| !(0.0..=DURATION_MS_MAX).contains(&ms)) {
        return Err((".duration_ms", format!("milliseconds from 0 to {DURATION_MS_MAX}")));
    }
    if line.row_count.is_some_and(|count| count < 0) {
        return Err((".row_count", "a count of rows is not negative".to_owned()));
    }
    if let Some(given) = &line.result_hash {
        let hash = comparing::hash_of(given).ok_or((".result_hash", "`sha256:` and 64 hex digits".to_owned()))?;
        line.result_hash = Some(hash);
    }
    Ok(line)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a hundred thousand days are not many minutes"
)]
fn estimate(lines: &[Line]) -> u64 {
    let total: f64 = lines.iter().map(|line| line.duration_ms.unwrap_or(DURATION_MS)).sum();
    ((total / f64::from(CONCURRENCY_DEFAULT) / 60_000.0).ceil() as u64).max(1)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ShadowReplayInput")]
#[serde(deny_unknown_fields)]
pub struct WantedReplay {
    upload_id: UploadId,
    concurrency: Option<i32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ShadowReplay {
    replay_id: ReplayId,
    id: ReplayId,
    upload_id: UploadId,
    status: &'static str,
    concurrency: i32,
    started_at: Timestamp,
}

pub async fn replay(cx: Call, Json(wanted): Json<WantedReplay>) -> Result<Accepted<ShadowReplay>> {
    let concurrency = wanted.concurrency.unwrap_or(CONCURRENCY_DEFAULT);
    if !CONCURRENCY.contains(&concurrency) {
        return Err(Error::invalid("concurrency", "1..16", "`concurrency` is from 1 to 16"));
    }
    let (env_id, now) = (cx.env_id()?, cx.now());
    let caller = query::caller(&cx)?;
    let mut tx = cx.begin().await?;
    if !store::has_upload(&mut tx, &env_id, &wanted.upload_id).await? {
        return Err(Error::NotFound { kind: "upload" });
    }
    let session = store::latest(&mut tx, &env_id).await?.filter(|session| session.status == SessionStatus::Running);
    let session =
        session.ok_or_else(|| Error::conflict("no_session", "no shadow session is running: start one first"))?;
    environments::lock(&mut tx, &env_id).await?;
    if store::is_replayed(&mut tx, &wanted.upload_id).await? {
        return Err(Error::conflict("running", "this upload is being replayed: wait until that has ended"));
    }
    if store::replayed_bytes(&mut tx, &env_id).await? >= KEPT_BYTES_MAX {
        let message = format!(
            "the replays of this environment hold {KEPT_BYTES_MAX} bytes of statements: wait until those under way \
             have ended; those that did not match are kept for 30 days after their session"
        );
        return Err(Error::conflict("too_much_replayed", message));
    }
    let replay_id = ReplayId::fresh(now, cx.app.entropy());
    let replay = NewReplay {
        replay_id: &replay_id,
        session: &session,
        upload_id: Some(&wanted.upload_id),
        env_id: &env_id,
        concurrency,
    };
    store::insert_replay(&mut tx, &replay, now).await?;
    store::insert_logged(&mut tx, &replay, &wanted.upload_id, &caller).await?;
    tx.commit().await?;
    let upload_id = wanted.upload_id;
    Ok(Accepted(ShadowReplay {
        id: replay_id.clone(),
        replay_id,
        upload_id,
        status: "running",
        concurrency,
        started_at: now,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_none_is_refused_by_its_number() {
        for (body, field) in [
            ("", "body"),
            ("\n \n", "body"),
            ("{\"sql\": \"select 1\"}\n\nselect 1", "line 3"),
            ("{}", "line 1"),
            ("{\"sql\": \" \"}", "line 1.sql"),
            ("{\"sql\": \"a\", \"more\": 1}", "line 1"),
            ("{\"sql\": \"a\", \"duration_ms\": -1}", "line 1.duration_ms"),
            ("{\"sql\": \"a\", \"row_count\": -1}", "line 1.row_count"),
            ("{\"sql\": \"a\", \"result_hash\": \"x\"}", "line 1.result_hash"),
        ] {
            let details = lines(body.as_bytes()).unwrap_err().problem().details;
            assert_eq!(details["field"], field, "{body}");
        }
        assert!(lines(&[0xff]).is_err());
    }

    #[test]
    fn an_estimate_is_a_minute_at_least() {
        let line = |duration_ms| Line { sql: "a".to_owned(), duration_ms, row_count: None, result_hash: None };
        assert_eq!(estimate(&[line(None)]), 1);
        assert_eq!(estimate(&vec![line(Some(60_000.0)); 9]), 3);
    }
}
