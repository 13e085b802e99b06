//! Where jobs wait: one table, a row each.

use chrono::Duration;
use contract::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::kind::{BackgroundJob, JobKind};
use super::lane::Lane;
use crate::{App, Error, Result, execute};

/// Waits after the first, second, … failure; after the last one the job has failed.
pub const RETRIES: [Duration; 5] =
    [Duration::seconds(10), Duration::minutes(1), Duration::minutes(10), Duration::hours(1), Duration::hours(6)];
const VERSION: u8 = 1;

/// The job as it is stored. A version that this process does not know stays for one that does.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    v: u8,
    kind: String,
    #[serde(flatten)]
    payload: Value,
}

impl Stored {
    fn of<J: BackgroundJob>(job: &J) -> Result<Self> {
        let payload = serde_json::to_value(job).map_err(Error::internal)?;
        Ok(Self { v: VERSION, kind: J::KIND.to_owned(), payload })
    }
}

/// Queues the job in the transaction of whatever asks for it.
pub async fn enqueue<J: BackgroundJob>(app: &App, tx: &mut PgConnection, job: &J, run_at: Timestamp) -> Result<()> {
    insert(app, tx, Stored::of(job)?, Lane::Common, None, run_at).await
}

/// Queues a job that is asked for again and again: while it waits, it is there once.
pub async fn enqueue_once<J: BackgroundJob>(
    app: &App,
    tx: &mut PgConnection,
    job: &J,
    run_at: Timestamp,
) -> Result<()> {
    let name = unique_name(J::KIND, job)?;
    insert(app, tx, Stored::of(job)?, Lane::Common, Some(&name), run_at).await
}

/// The JSON of kind and payload, the members in their order: two jobs of one name are one.
fn unique_name(kind: &str, payload: &impl Serialize) -> Result<String> {
    #[derive(Serialize)]
    struct Unique<'a, P> {
        kind: &'a str,
        #[serde(flatten)]
        payload: &'a P,
    }
    serde_json::to_string(&Unique { kind, payload }).map_err(Error::internal)
}

async fn insert(
    app: &App,
    tx: &mut PgConnection,
    job: Stored,
    lane: Lane,
    unique: Option<&str>,
    run_at: Timestamp,
) -> Result<()> {
    let now = app.now();
    execute!(
        tx,
        "insert into jobs (job_id, job, unique_name, run_at, created_at, lane)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (unique_name) do nothing",
        contract::ids::fresh(now, app.entropy()),
        Json(job) as _,
        unique,
        run_at,
        now,
        lane.as_str(),
    )
}

/// Puts the periodic jobs into the queue where they are missing.
pub async fn schedule(app: &App, kinds: &'static [JobKind]) -> Result<()> {
    let mut conn = app.pool().acquire().await?;
    for kind in kinds.iter().filter(|kind| kind.period.is_some()) {
        let name = unique_name(kind.name, &Map::new())?;
        let job = Stored { v: VERSION, kind: kind.name.to_owned(), payload: Value::Object(Map::new()) };
        insert(app, &mut conn, job, kind.lane, Some(&name), app.now()).await?;
    }
    Ok(())
}

/// A job that is ours until its lock ends.
#[derive(Debug)]
pub struct Picked {
    pub id: String,
    pub kind: &'static JobKind,
    pub payload: Value,
    pub attempts: i32,
}

/// The one that is due longest, locked for its lane.
pub async fn pick(app: &App, kinds: &'static [JobKind], lane: Lane) -> Result<Option<Picked>> {
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
    let Some(row) = row else {
        return Ok(None);
    };
    let Stored { v: _, kind, payload } = row.job.0;
    let known = kinds.iter().find(|known| known.name == kind);
    let kind = known.ok_or_else(|| Error::internal(format!("no job is of the kind `{kind}`")))?;
    Ok(Some(Picked { id: row.job_id, kind, payload, attempts: row.attempts }))
}

/// Gone, or due again after its period.
pub(super) async fn finish(app: &App, picked: &Picked) -> Result<()> {
    let Some(period) = picked.kind.period else {
        return execute!(app.pool(), "delete from jobs where job_id = $1", picked.id);
    };
    execute!(
        app.pool(),
        "update jobs set run_at = $2, attempts = 0, locked_until = null, last_error = null where job_id = $1",
        picked.id,
        app.now() + period,
    )
}

/// Later, or never again and kept for people to see.
pub(super) async fn retry(app: &App, picked: &Picked, error: &Error) -> Result<()> {
    let attempt = usize::try_from(picked.attempts).unwrap_or_default();
    let (wait, period) = (RETRIES.get(attempt.saturating_sub(1)).copied(), picked.kind.period);
    // What runs again anyway does not wait longer than that.
    let wait = wait.map_or(period, |wait| Some(period.map_or(wait, |period| wait.min(period))));
    let wait = wait.map(|wait| wait.min(picked.kind.lane.longest_wait()));
    tracing::warn!(job.id = picked.id, job.attempts = picked.attempts, error = error.with_sources(), "a job failed");
    execute!(
        app.pool(),
        "update jobs
         set locked_until = null, last_error = $2, run_at = coalesce($3, run_at),
             failed_at = case when $3::timestamptz is null then $4::timestamptz end
         where job_id = $1",
        picked.id,
        error.with_sources(),
        wait.map(|wait| app.now() + wait),
        app.now(),
    )
}
