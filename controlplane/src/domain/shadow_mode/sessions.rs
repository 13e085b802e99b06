//! Sessions: start, status, stop, and the end of their hours.

use chrono::Duration;
use contract::{EnvId, ReplayId, ShadowSessionId, Timestamp};
use platform::http::call::Call;
use platform::http::json::{Created, Json};
use platform::jobs::kind::BackgroundJob;
use platform::jobs::queue;
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::states::{SessionStatus, SessionTrigger};
use super::store::{self, NewReplay, ShadowSessionRow, Statistics};
use crate::domain::environments;

/// The longest session: thirty days.
const HOURS_MAX: i32 = 720;
/// Sampled queries that are replayed at once.
const CONCURRENCY: i32 = 4;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShadowSessionInput {
    source: String,
    duration_hours: i32,
    sample_rate: f64,
}

/// A session as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShadowSession {
    session_id: ShadowSessionId,
    id: ShadowSessionId,
    status: &'static str,
    source: String,
    duration_hours: i32,
    sample_rate: f64,
    started_at: Timestamp,
    ends_at: Timestamp,
    stopped_at: Option<Timestamp>,
    elapsed_hours: f64,
    statistics: Statistics,
}

impl ShadowSession {
    fn of(session: ShadowSessionRow, statistics: Statistics, now: Timestamp) -> Self {
        let until = session.stopped_at.unwrap_or(now).min(session.ends_at);
        Self {
            id: session.session_id.clone(),
            session_id: session.session_id,
            status: session.status.as_str(),
            source: session.source,
            duration_hours: session.duration_hours,
            sample_rate: session.sample_rate,
            started_at: session.started_at,
            ends_at: session.ends_at,
            stopped_at: session.stopped_at,
            elapsed_hours: hours(until - session.started_at),
            statistics,
        }
    }
}

/// To two decimals.
fn hours(duration: Duration) -> f64 {
    let hundredths = duration.num_seconds().max(0).saturating_mul(100) / 3_600;
    f64::from(i32::try_from(hundredths).unwrap_or(i32::MAX)) / 100.0
}

pub async fn start(cx: Call, Json(wanted): Json<ShadowSessionInput>) -> Result<Created<ShadowSession>> {
    let replayed_in = replayed_in(&cx, &wanted.source).await?;
    if !(1..=HOURS_MAX).contains(&wanted.duration_hours) {
        let message = format!("`duration_hours` is from 1 to {HOURS_MAX}");
        return Err(Error::invalid("duration_hours", format!("1..{HOURS_MAX}"), message));
    }
    if !(wanted.sample_rate > 0.0 && wanted.sample_rate <= 1.0) {
        return Err(Error::invalid("sample_rate", "0.0..1.0", "`sample_rate` is above 0.0 and at most 1.0"));
    }
    let (app, now) = (&cx.app, cx.now());
    let session = ShadowSessionRow {
        session_id: ShadowSessionId::fresh(now, app.entropy()),
        env_id: cx.env_id()?,
        org_id: cx.org_id().clone(),
        status: SessionStatus::Running,
        source: wanted.source,
        replayed_in,
        duration_hours: wanted.duration_hours,
        sample_rate: wanted.sample_rate,
        created_by: cx.caller.actor_id().to_owned(),
        started_at: now,
        ends_at: now + Duration::hours(i64::from(wanted.duration_hours)),
        stopped_at: None,
    };
    let mut tx = cx.begin().await?;
    store::insert_session(&mut tx, &session).await?;
    if let Some(env_id) = &session.replayed_in {
        let replay_id = ReplayId::fresh(now, app.entropy());
        let replay =
            NewReplay { replay_id: &replay_id, session: &session, upload_id: None, env_id, concurrency: CONCURRENCY };
        store::insert_replay(&mut tx, &replay, now).await?;
    }
    let end = EndShadowSession { session_id: session.session_id.clone() };
    queue::enqueue(app, &mut tx, &end, session.ends_at).await?;
    tx.commit().await?;
    Ok(Created(ShadowSession::of(session, Statistics::default(), now)))
}

/// Where queries of this source are replayed; none where nothing is sampled.
async fn replayed_in(cx: &Call, source: &str) -> Result<Option<EnvId>> {
    let refused = |message: String| Error::invalid("source", "live, env:<env_id> or upload", message);
    match (source, source.strip_prefix("env:")) {
        ("live", _) => cx.env_id().map(Some),
        ("upload", _) => Ok(None),
        (_, Some(env_id)) => {
            let env_id = EnvId::from(env_id);
            if environments::belongs(cx.app.pool(), &env_id, cx.org_id()).await? {
                return Ok(Some(env_id));
            }
            Err(refused("`source` names no environment of the organization".to_owned()))
        }
        _ => Err(refused("`source` is `live`, `env:<env_id>` or `upload`".to_owned())),
    }
}

/// The session that runs, or else the last that did.
pub(super) async fn latest(cx: &Call, conn: &mut PgConnection) -> Result<ShadowSessionRow> {
    store::latest(conn, &cx.env_id()?).await?.ok_or(Error::NotFound { kind: "shadow session" })
}

pub async fn status(cx: Call) -> Result<Json<ShadowSession>> {
    let mut conn = cx.app.pool().acquire().await?;
    let session = latest(&cx, &mut conn).await?;
    let statistics = store::statistics(&mut conn, &session.session_id).await?;
    Ok(Json(ShadowSession::of(session, statistics, cx.now())))
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StoppedShadowSession")]
pub struct Stopped {
    session_id: ShadowSessionId,
    id: ShadowSessionId,
    status: &'static str,
    stopped_at: Option<Timestamp>,
    final_statistics: ShadowFinalStatistics,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ShadowFinalStatistics {
    queries_replayed: i64,
    match_rate: f64,
}

pub async fn stop(cx: Call) -> Result<Json<Stopped>> {
    let mut tx = cx.begin().await?;
    let session = latest(&cx, &mut tx).await?;
    let not_running = || Error::conflict("not_running", "no shadow session is running in this environment");
    let to = session.status.after(SessionTrigger::Stop).ok_or_else(not_running)?;
    if !store::stop(&mut tx, &session.session_id, (session.status, to), cx.now()).await? {
        return Err(not_running()); // it ended meanwhile
    }
    let statistics = store::statistics(&mut tx, &session.session_id).await?;
    tx.commit().await?;
    let final_statistics =
        ShadowFinalStatistics { queries_replayed: statistics.queries_replayed, match_rate: statistics.match_rate };
    Ok(Json(Stopped {
        id: session.session_id.clone(),
        session_id: session.session_id,
        status: to.as_str(),
        stopped_at: Some(cx.now()),
        final_statistics,
    }))
}

/// The job that stops a session whose hours are over.
#[derive(Debug, Serialize, Deserialize)]
pub struct EndShadowSession {
    session_id: ShadowSessionId,
}

impl BackgroundJob for EndShadowSession {
    const KIND: &'static str = "end_shadow_session";

    /// The session's hours are over.
    async fn run(&self, app: &App) -> Result<()> {
        const RUNS: SessionStatus = SessionStatus::Running;
        let Some(to) = RUNS.after(SessionTrigger::End) else {
            return Ok(());
        };
        let mut tx = app.pool().begin().await?;
        store::stop(&mut tx, &self.session_id, (RUNS, to), app.now()).await?;
        tx.commit().await?;
        Ok(())
    }
}
