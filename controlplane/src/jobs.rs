//! What happens on its own: every [`Job`] there is, with its schedule, and the queue they wait in.
//!
//! A job is a row, written in the transaction of whatever asks for it, picked with `for update
//! skip locked`, woken by NOTIFY and polled as a fallback. It runs at least once: a worker that
//! dies leaves a lock that ends. What fails is tried again after longer and longer waits, and then
//! kept for people to see.
//!
//! Not here: what runs beside each other, webhook deliveries on ladders of their own
//! (`webhooks::work`) and shadow queries (`shadow_mode::work`), and mail, which waits for a mail server
//! (`mails::work`).

use std::panic::AssertUnwindSafe;
use std::time::Duration as Wait;

use chrono::Duration;
use contract::{EnvId, ExportId, JitRequestId, KeyId, ShadowSessionId, Timestamp};
use futures::FutureExt;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::postgres::PgListener;
use sqlx::types::Json;

use crate::api_keys::{expiry, resource};
use crate::audit::exports;
use crate::authentication::failures::FailedLogin;
use crate::authentication::links::{self, Purpose};
use crate::authentication::{sessions, sso};
use crate::environments::placement;
use crate::events::heads;
use crate::http::idempotency;
use crate::http::text::Email;
use crate::runtime::sweeper;
use crate::{App, Error, Result, billing, jit_access, mails, shadow_mode, webhooks};

/// Waits after the first, second, … failure; after the last one the job has failed.
const RETRIES: [Duration; 5] =
    [Duration::seconds(10), Duration::minutes(1), Duration::minutes(10), Duration::hours(1), Duration::hours(6)];
/// A worker that holds a common job longer is taken for dead.
const LOCK: Duration = Duration::minutes(5);
/// How long a job may take; less than the lock, so that it never runs twice at once.
const PATIENCE: Wait = Wait::from_mins(4);
const VERSION: u8 = 1;

/// All that happens on its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Job {
    /// Forgets sessions that ended long ago. Hourly.
    SweepSessions,
    /// Forgets answers to repeated requests after a day. Hourly.
    SweepIdempotencyKeys,
    /// Forgets deliveries that ended long ago. Hourly.
    SweepWebhookDeliveries,
    /// Forgets shadow sessions and uploads after a month. Hourly.
    SweepShadowMode,
    /// Times out attempts that nobody keeps alive. Every ten seconds.
    SweepLeases,
    /// Signs the heads of audit chains that have moved. Every minute.
    SignHeads,
    /// Tells organizations that a month has begun. Every minute.
    ResetBillingPeriods,
    /// Forgets links and mails of long ago. Hourly.
    SweepLinks,
    SweepMails,
    SweepSignOns,
    /// Mails a link to whoever has an account of this address.
    MailLink {
        purpose: Purpose,
        email: Email,
    },
    /// Records that somebody failed to sign in.
    RecordFailedLogin {
        failed: FailedLogin,
    },
    /// Places the data plane of a new environment.
    ProvisionEnvironment {
        env_id: EnvId,
    },
    /// Says that old secrets of a key are about to end.
    KeyExpiring {
        key_id: KeyId,
        ends: Timestamp,
    },
    /// Says that an elevation is over.
    EndElevation {
        request_id: JitRequestId,
    },
    /// Writes an export of an audit trail to the archive.
    ExportAudit {
        export_id: ExportId,
    },
    /// Stops a shadow session whose hours are over.
    EndShadowSession {
        session_id: ShadowSessionId,
    },
    /// Writes the resource of a key that REST has made, rotated or revoked.
    WriteKey {
        key_id: KeyId,
    },
}

impl Job {
    /// Jobs that are always in the queue, and how often they run.
    pub(crate) const PERIODIC: [(Self, Duration); 10] = [
        (Self::SweepSessions, Duration::hours(1)),
        (Self::SweepIdempotencyKeys, Duration::hours(1)),
        (Self::SweepWebhookDeliveries, Duration::hours(1)),
        (Self::SweepShadowMode, Duration::hours(1)),
        (Self::SweepLeases, sweeper::PERIOD),
        (Self::SignHeads, heads::PERIOD),
        (Self::ResetBillingPeriods, billing::PERIOD),
        (Self::SweepLinks, Duration::hours(1)),
        (Self::SweepMails, Duration::hours(1)),
        (Self::SweepSignOns, Duration::hours(1)),
    ];

    async fn run(&self, app: &App) -> Result<()> {
        match self {
            Self::SweepSessions => sessions::sweep(app).await,
            Self::SweepIdempotencyKeys => idempotency::sweep(app).await,
            Self::SweepWebhookDeliveries => webhooks::sweep(app).await,
            Self::SweepShadowMode => shadow_mode::sweep(app).await,
            Self::SweepLeases => sweeper::sweep(app).await,
            Self::SignHeads => heads::sign_moved(app).await,
            Self::ResetBillingPeriods => billing::reset(app).await,
            Self::SweepLinks => links::sweep(app).await,
            Self::SweepMails => mails::sweep(app).await,
            Self::SweepSignOns => sso::sweep(app).await,
            Self::MailLink { purpose, email } => links::write(app, *purpose, email).await,
            Self::RecordFailedLogin { failed } => failed.record(app).await,
            Self::ProvisionEnvironment { env_id } => placement::provision(app, env_id).await,
            Self::KeyExpiring { key_id, ends } => expiry::say(app, key_id, *ends).await,
            Self::EndElevation { request_id } => jit_access::say(app, request_id).await,
            Self::ExportAudit { export_id } => exports::write(app, export_id).await,
            Self::EndShadowSession { session_id } => shadow_mode::end(app, session_id).await,
            Self::WriteKey { key_id } => resource::write(app, key_id).await,
        }
    }

    const fn lane(&self) -> Lane {
        match self {
            Self::SweepLeases => Lane::Leases,
            _ => Lane::Common,
        }
    }

    fn period(&self) -> Option<Duration> {
        Self::PERIODIC.iter().find(|(job, _)| job == self).map(|(_, period)| *period)
    }
}

/// Jobs of one lane run one after another, beside those of the others: nothing that takes its time
/// keeps a lost lease from being found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Common,
    Leases,
}

impl Lane {
    pub const ALL: [Self; 2] = [Self::Common, Self::Leases];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Leases => "leases",
        }
    }

    /// A worker that holds a job longer is taken for dead. A sweep of leases may run twice at once,
    /// and one whose worker died must not keep the next waiting.
    const fn lock(self) -> Duration {
        match self {
            Self::Common => LOCK,
            Self::Leases => Duration::seconds(3),
        }
    }

    /// The longest wait after a failure. A sweep that failed has found nothing yet.
    const fn longest_wait(self) -> Duration {
        match self {
            Self::Common => Duration::MAX,
            Self::Leases => Duration::seconds(1),
        }
    }

    /// A notification may be missed, and time makes jobs due without one.
    const fn poll(self) -> Wait {
        match self {
            Self::Common => Wait::from_secs(5),
            Self::Leases => Wait::from_secs(1),
        }
    }
}

/// The job as it is stored. A version that this process does not know stays for one that does.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    v: u8,
    #[serde(flatten)]
    job: Job,
}

/// Queues the job in the transaction of whatever asks for it.
pub async fn enqueue(app: &App, tx: &mut PgConnection, job: Job, run_at: Timestamp) -> Result<()> {
    insert(app, tx, job, None, run_at).await
}

async fn insert(app: &App, tx: &mut PgConnection, job: Job, unique: Option<&str>, run_at: Timestamp) -> Result<()> {
    let (now, lane) = (app.now(), job.lane());
    sqlx::query!(
        "insert into jobs (job_id, job, unique_name, run_at, created_at, lane)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (unique_name) do nothing",
        contract::ids::fresh(now, app.entropy()),
        Json(Stored { v: VERSION, job }) as _,
        unique,
        run_at,
        now,
        lane.as_str(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Puts the periodic jobs into the queue where they are missing.
pub async fn schedule(app: &App) -> Result<()> {
    let mut conn = app.pool().acquire().await?;
    for (job, _) in Job::PERIODIC {
        let name = serde_json::to_string(&job).map_err(Error::internal)?;
        insert(app, &mut conn, job, Some(&name), app.now()).await?;
    }
    Ok(())
}

/// Works in a lane until shutdown.
pub async fn work(app: App, lane: Lane) {
    let mut listener = None;
    while !app.shutdown().is_cancelled() {
        match run_lane(&app, lane).await {
            Ok(_) => {}
            Err(error) => tracing::warn!(error = %error, "the job queue cannot be read"),
        }
        if listener.is_none() {
            listener = listen(&app, "jobs").await;
        }
        tokio::select! {
            () = app.shutdown().cancelled() => break,
            () = tokio::time::sleep(lane.poll()) => {}
            heard = hear(listener.as_mut()) => if heard.is_err() { listener = None },
        }
    }
}

/// Hears what is said on a channel; none where there is no connection for it.
pub(crate) async fn listen(app: &App, channel: &str) -> Option<PgListener> {
    let mut listener = PgListener::connect_with(app.pool()).await.ok()?;
    listener.listen(channel).await.ok()?;
    Some(listener)
}

/// Waits for the next word, for ever if nobody listens.
pub(crate) async fn hear(listener: Option<&mut PgListener>) -> Result<(), sqlx::Error> {
    match listener {
        Some(listener) => listener.recv().await.map(|_| ()),
        None => std::future::pending().await,
    }
}

/// Runs every job that is due now, lane after lane, and says how many there were.
#[cfg(test)]
pub async fn run_due(app: &App) -> Result<usize> {
    let mut count = 0;
    for lane in Lane::ALL {
        count += run_lane(app, lane).await?;
    }
    Ok(count)
}

/// Runs every job of a lane that is due now, one after another, and says how many there were.
async fn run_lane(app: &App, lane: Lane) -> Result<usize> {
    let mut count = 0;
    while let Some(picked) = pick(app, lane).await? {
        count += 1;
        match run(app, &picked.job).await {
            Ok(()) => finish(app, &picked).await?,
            Err(error) => retry(app, &picked, &error).await?,
        }
        if app.shutdown().is_cancelled() {
            break;
        }
    }
    Ok(count)
}

/// A job that takes too long or panics has failed; the worker goes on.
async fn run(app: &App, job: &Job) -> Result<()> {
    let bounded = tokio::time::timeout(PATIENCE, job.run(app));
    match AssertUnwindSafe(bounded).catch_unwind().await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(Error::Unavailable("the job took too long")),
        Err(_) => Err(Error::Panicked),
    }
}

#[derive(Debug)]
struct Picked {
    id: String,
    job: Job,
    attempts: i32,
}

async fn pick(app: &App, lane: Lane) -> Result<Option<Picked>> {
    let now = app.now();
    let row = sqlx::query!(
        r#"
        update jobs
        set locked_until = $2, attempts = attempts + 1
        where job_id = (
            select job_id from jobs
            where failed_at is null and run_at <= $1 and lane = $4
              and (locked_until is null or locked_until <= $1)
              and (job ->> 'v')::integer = $3
            order by run_at, job_id
            limit 1
            for update skip locked
        )
        returning job_id, attempts, job as "job: Json<Stored>"
        "#,
        now,
        now + lane.lock(),
        i32::from(VERSION),
        lane.as_str(),
    )
    .fetch_optional(app.pool())
    .await?;
    Ok(row.map(|row| Picked { id: row.job_id, job: row.job.0.job, attempts: row.attempts }))
}

async fn finish(app: &App, picked: &Picked) -> Result<()> {
    let Some(period) = picked.job.period() else {
        sqlx::query!("delete from jobs where job_id = $1", picked.id).execute(app.pool()).await?;
        return Ok(());
    };
    sqlx::query!(
        "update jobs set run_at = $2, attempts = 0, locked_until = null, last_error = null where job_id = $1",
        picked.id,
        app.now() + period,
    )
    .execute(app.pool())
    .await?;
    Ok(())
}

async fn retry(app: &App, picked: &Picked, error: &Error) -> Result<()> {
    let attempt = usize::try_from(picked.attempts).unwrap_or_default();
    let (wait, period) = (RETRIES.get(attempt.saturating_sub(1)).copied(), picked.job.period());
    // What runs again anyway does not wait longer than that.
    let wait = wait.map_or(period, |wait| Some(period.map_or(wait, |period| wait.min(period))));
    let wait = wait.map(|wait| wait.min(picked.job.lane().longest_wait()));
    tracing::warn!(job.id = picked.id, job.attempts = picked.attempts, error = error.with_sources(), "a job failed");
    sqlx::query!(
        "update jobs
         set locked_until = null, last_error = $2, run_at = coalesce($3, run_at),
             failed_at = case when $3::timestamptz is null then $4::timestamptz end
         where job_id = $1",
        picked.id,
        error.with_sources(),
        wait.map(|wait| app.now() + wait),
        app.now(),
    )
    .execute(app.pool())
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestApp;
    use crate::worlds::World;

    async fn waiting(app: &TestApp) -> i64 {
        sqlx::query_scalar("select count(*) from jobs where failed_at is null").fetch_one(app.app.pool()).await.unwrap()
    }

    #[tokio::test]
    async fn a_job_runs_once_it_is_due_and_a_periodic_one_stays() {
        let app = TestApp::start().await;
        schedule(&app.app).await.unwrap();
        schedule(&app.app).await.unwrap();
        let periodic = Job::PERIODIC.len();
        assert_eq!((run_due(&app.app).await.unwrap(), run_due(&app.app).await.unwrap()), (periodic, 0));
        app.advance(Duration::hours(1));
        assert_eq!(run_due(&app.app).await.unwrap(), periodic);
        assert_eq!(usize::try_from(waiting(&app).await), Ok(periodic));
    }

    #[tokio::test]
    async fn a_job_that_fails_is_tried_again_after_longer_waits_and_then_kept() {
        let world = World::start().await;
        let app = &world.app;
        let mut conn = app.app.pool().acquire().await.unwrap();
        // Nothing in this world brings environments up.
        let job = Job::ProvisionEnvironment { env_id: world.env_id.clone() };
        enqueue(&app.app, &mut conn, job, app.app.now()).await.unwrap();
        for wait in RETRIES {
            assert_eq!(run_due(&app.app).await.unwrap(), 1);
            app.advance(wait - Duration::microseconds(1));
            assert_eq!(run_due(&app.app).await.unwrap(), 0);
            app.advance(Duration::microseconds(1));
        }
        assert_eq!((waiting(app).await, run_due(&app.app).await.unwrap()), (1, 1));
        app.advance(Duration::days(1));
        assert_eq!((waiting(app).await, run_due(&app.app).await.unwrap()), (0, 0));
        assert_eq!(world.count("select count(*) from jobs where last_error is not null").await, 1);
    }

    #[tokio::test]
    async fn a_job_that_takes_its_time_keeps_no_lease_from_being_swept() {
        let app = TestApp::start().await;
        schedule(&app.app).await.unwrap();
        assert!(pick(&app.app, Lane::Common).await.unwrap().is_some(), "it is being worked at");
        assert_eq!(pick(&app.app, Lane::Leases).await.unwrap().unwrap().job, Job::SweepLeases);
        assert_eq!(run_lane(&app.app, Lane::Leases).await.unwrap(), 0);
        app.advance(Lane::Leases.lock());
        assert_eq!(run_lane(&app.app, Lane::Leases).await.unwrap(), 1, "whoever had it is taken for dead");
    }

    #[tokio::test]
    async fn a_job_whose_worker_died_is_picked_up_again() {
        let app = TestApp::start().await;
        let mut conn = app.app.pool().acquire().await.unwrap();
        enqueue(&app.app, &mut conn, Job::SweepSessions, app.app.now()).await.unwrap();
        let first = pick(&app.app, Lane::Common).await.unwrap().unwrap();
        assert!(pick(&app.app, Lane::Common).await.unwrap().is_none());
        app.advance(LOCK);
        let second = pick(&app.app, Lane::Common).await.unwrap().unwrap();
        assert_eq!((second.id, second.attempts), (first.id, 2));
    }

    #[tokio::test]
    async fn a_job_of_a_version_to_come_is_left_alone() {
        let app = TestApp::start().await;
        schedule(&app.app).await.unwrap();
        sqlx::query("update jobs set job = job || '{\"v\": 2, \"kind\": \"unheard_of\"}'")
            .execute(app.app.pool())
            .await
            .unwrap();
        assert_eq!(run_due(&app.app).await.unwrap(), 0);
    }
}
