//! Credits lent to data planes: "`Reserve` moves credits from the organization's month to this
//! proxy"; "a proxy stops spending a grant it could not renew for 5 minutes; the control plane
//! takes it back after 10".
//!
//! Of a month's limit, a log has committed the largest of what it was granted, what it claims to
//! have spent and what its entries prove. Claims and entries arrive apart and describe the same
//! credits, so neither is added to the other; and since the sum over all logs never passes the
//! limit when credits are lent, they cannot be overspent by asking from two places.
//!
//! Not here: what a query costs (the data plane's stage 4), and usage as billed (`credit_usage`).

use chrono::{Datelike, Duration, NaiveDate};
use contract::report::{CREDIT, MicroCredits};
use contract::{EnvId, OrgId, Timestamp};
use platform::{App, Error, Result, execute, scalar};
use sqlx::PgConnection;

use crate::domain::environments;
use crate::domain::tenancy::organizations;

/// A data plane stops spending what it could not renew for this long.
pub const GRANT_SECONDS: u32 = 300;
/// The control plane takes back what was not renewed for this long.
const TAKEN_BACK_AFTER: Duration = Duration::minutes(10);

/// A data plane asks to hold `want`, and says what it spent since its last call.
#[derive(Debug, Clone)]
pub struct Ask {
    pub env_id: EnvId,
    pub log: String,
    pub want: MicroCredits,
    pub spent: MicroCredits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// The tier has no limit: nothing needs to be reserved.
    Unlimited,
    /// Held in all from now on; 0: the month is used up.
    Held(MicroCredits),
}

/// The month of `at` in UTC: its first moment.
pub fn period_of(at: Timestamp) -> Timestamp {
    let first = NaiveDate::from_ymd_opt(at.year(), at.month(), 1).unwrap_or_default();
    first.and_time(chrono::NaiveTime::MIN).and_utc()
}

/// Settles what was spent, and lends what the month still has, up to `want`.
pub async fn reserve(app: &App, ask: &Ask) -> Result<Grant> {
    let now = app.now();
    let mut tx = app.pool().begin().await?;
    let Some((_, org_id, _)) = environments::governed(&mut tx, &ask.env_id).await? else {
        return Err(Error::EnvironmentNotFound);
    };
    let organization = organizations::governed(&mut tx, &org_id).await?.ok_or(Error::EnvironmentNotFound)?;
    let Some(limit) = organization.limits.monthly_credit_limit else {
        return Ok(Grant::Unlimited);
    };
    let period = period_of(now);
    lock(&mut tx, &org_id, period).await?;
    claim(&mut tx, ask, &org_id, period, now).await?;
    take_back(&mut tx, &org_id, period, now).await?;
    let limit = micro(limit.saturating_mul(CREDIT));
    let elsewhere = committed_elsewhere(&mut tx, ask, &org_id, period).await?;
    let held = renew(&mut tx, ask, period, now, limit.saturating_sub(elsewhere).max(0)).await?;
    tx.commit().await?;
    Ok(Grant::Held(u64::try_from(held).unwrap_or(0)))
}

/// Credits that finished queries of a log cost, as their entries prove.
pub async fn settle(
    tx: &mut PgConnection,
    (org_id, env_id, log): (&OrgId, &EnvId, &str),
    at: Timestamp,
    cost: MicroCredits,
) -> Result<()> {
    let period = period_of(at);
    lock(tx, org_id, period).await?;
    execute!(
        tx,
        "insert into credit_grants (env_id, log, org_id, starts, granted, claimed, reported, renewed_at)
         values ($1, $2, $3, $4, 0, 0, $5, $6)
         on conflict (env_id, log, starts) do update set reported = credit_grants.reported + excluded.reported",
        env_id.as_str(),
        log,
        org_id.as_str(),
        period,
        micro(cost),
        at,
    )
}

/// Spent and still lent in a month: what the organization's limit is compared with.
pub async fn committed(conn: &mut PgConnection, org_id: &OrgId, at: Timestamp) -> Result<MicroCredits> {
    let sum = sqlx::query_scalar!(
        r#"select coalesce(sum(greatest(granted, claimed, reported)), 0)::bigint as "sum!"
           from credit_grants where org_id = $1 and starts = $2"#,
        org_id.as_str(),
        period_of(at),
    )
    .fetch_one(conn)
    .await?;
    Ok(u64::try_from(sum).unwrap_or(0))
}

/// One lender at a time for an organization's month.
async fn lock(tx: &mut PgConnection, org_id: &OrgId, period: Timestamp) -> Result<()> {
    if lock_begun(&mut *tx, org_id, period).await? {
        return Ok(());
    }
    sqlx::query!(
        "insert into credit_periods (org_id, starts) values ($1, $2) on conflict do nothing",
        org_id.as_str(),
        period,
    )
    .execute(&mut *tx)
    .await?;
    if lock_begun(tx, org_id, period).await? { Ok(()) } else { Err(Error::internal(sqlx::Error::RowNotFound)) }
}

/// The same for a month in which something was lent or spent; says whether it is one.
async fn lock_begun(tx: &mut PgConnection, org_id: &OrgId, period: Timestamp) -> Result<bool> {
    let row = sqlx::query!(
        "select from credit_periods where org_id = $1 and starts = $2 for update",
        org_id.as_str(),
        period
    );
    Ok(row.fetch_optional(tx).await?.is_some())
}

/// Books what the log says it spent, in the month in which it was lent: its latest.
async fn claim(tx: &mut PgConnection, ask: &Ask, org_id: &OrgId, period: Timestamp, now: Timestamp) -> Result<()> {
    let lent_in = sqlx::query_scalar!(
        "select max(starts) from credit_grants where env_id = $1 and log = $2 and starts <= $3",
        ask.env_id.as_str(),
        ask.log,
        period,
    )
    .fetch_one(&mut *tx)
    .await?;
    for (month, spent) in [(lent_in.unwrap_or(period), ask.spent), (period, 0)] {
        sqlx::query!(
            "insert into credit_grants (env_id, log, org_id, starts, granted, claimed, reported, renewed_at)
             values ($1, $2, $3, $4, 0, $5, 0, $6)
             on conflict (env_id, log, starts) do update set claimed = credit_grants.claimed + excluded.claimed",
            ask.env_id.as_str(),
            ask.log,
            org_id.as_str(),
            month,
            micro(spent),
            now,
        )
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}

/// What is left of grants that were not renewed goes back to the month.
async fn take_back(tx: &mut PgConnection, org_id: &OrgId, period: Timestamp, now: Timestamp) -> Result<()> {
    execute!(
        tx,
        "update credit_grants set granted = greatest(claimed, reported)
         where org_id = $1 and starts = $2 and renewed_at <= $3 and granted > greatest(claimed, reported)",
        org_id.as_str(),
        period,
        now - TAKEN_BACK_AFTER,
    )
}

/// What every other log of the organization has committed of the month.
async fn committed_elsewhere(tx: &mut PgConnection, ask: &Ask, org_id: &OrgId, period: Timestamp) -> Result<i64> {
    scalar!(
        tx,
        r#"select coalesce(sum(greatest(granted, claimed, reported)), 0)::bigint as "sum!"
           from credit_grants
           where org_id = $1 and starts = $2 and (env_id, log) <> ($3, $4)"#,
        org_id.as_str(),
        period,
        ask.env_id.as_str(),
        ask.log,
    )
}

/// Sets the log's grant so that it holds `want`, or all that is there; returns what it holds.
async fn renew(tx: &mut PgConnection, ask: &Ask, period: Timestamp, now: Timestamp, room: i64) -> Result<i64> {
    scalar!(
        tx,
        r#"update credit_grants
           set granted = greatest(greatest(claimed, reported), least(greatest(claimed, reported) + $4, $5)),
               renewed_at = $6
           where env_id = $1 and log = $2 and starts = $3
           returning granted - greatest(claimed, reported) as "held!""#,
        ask.env_id.as_str(),
        ask.log,
        period,
        micro(ask.want),
        room,
        now,
    )
}

/// As the database stores it; what does not fit is more than any month has.
fn micro(credits: MicroCredits) -> i64 {
    i64::try_from(credits).unwrap_or(i64::MAX / 4).min(i64::MAX / 4)
}

#[cfg(test)]
mod tests;
