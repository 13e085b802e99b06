//! `GET /v1/organizations/{org_id}/billing/usage`.

use std::collections::BTreeMap;

use chrono::{Duration, Months};
use contract::report::{CREDIT, MicroCredits};
use contract::{OrgId, Tier, Timestamp};
use platform::http::call::Call;
use platform::http::dates::{self, RangeEnd};
use platform::http::json::{Json, Query};
use platform::{Result, scalar};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::storage;
use crate::domain::billing::credits;

/// A range has at most a year of days, or as many hours as a long month has.
const RANGE_MAX: Duration = Duration::days(366);
const HOURS_MAX: Duration = Duration::days(31);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageInput {
    start_date: Option<String>,
    end_date: Option<String>,
    #[serde(default)]
    group_by: GroupBy,
    /// Counts what the dashboard asked for its own pages among the queries, which is left out otherwise.
    #[serde(default)]
    include_dashboard: bool,
}

/// "`group_by` (`hour`, `day`, `week`; default `day`)".
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GroupBy {
    Hour,
    #[default]
    Day,
    Week,
}

impl GroupBy {
    /// As `date_trunc` names it.
    const fn unit(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }

    /// "`date` being the bucket's start": a moment for hours, else a day; weeks begin on Monday.
    fn date(self, bucket: Timestamp) -> String {
        match self {
            Self::Hour => bucket.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            Self::Day | Self::Week => bucket.date_naive().to_string(),
        }
    }
}

/// Queries and what they cost.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    queries: i64,
    micro_credits: i64,
}

impl Sum {
    fn add(&mut self, row: &UsageBucket) {
        self.queries = self.queries.saturating_add(row.queries);
        self.micro_credits = self.micro_credits.saturating_add(row.micro_credits);
    }
}

/// One hour, day or week of one environment and operation.
struct UsageBucket {
    bucket: Timestamp,
    env_id: String,
    name: String,
    operation: String,
    queries: i64,
    micro_credits: i64,
}

/// What an organization has used.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Usage {
    org_id: OrgId,
    tier: Tier,
    billing_period: BillingPeriod,
    credits: UsageCredits,
    breakdown: UsageBreakdown,
    storage: UsageStorage,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BillingPeriod {
    start: Timestamp,
    end: Timestamp,
}

/// Of the month; `null` is unlimited.
#[derive(Debug, Serialize, JsonSchema)]
struct UsageCredits {
    limit: Option<f64>,
    used: f64,
    remaining: Option<f64>,
    usage_percent: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UsageBreakdown {
    queries: UsageQueries,
    by_environment: Vec<EnvironmentUsage>,
    by_day: Vec<UsageOverTime>,
}

/// `total` counts every operation, also those without a name here.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct UsageQueries {
    total: i64,
    select: i64,
    insert: i64,
    update: i64,
    delete: i64,
    /// What the dashboard asked for its own pages: it costs nothing, and is in no other count unless it is asked for.
    dashboard: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct EnvironmentUsage {
    env_id: String,
    name: String,
    credits_used: f64,
    query_count: i64,
}

/// `date` is a day, or the first moment of the group.
#[derive(Debug, Serialize, JsonSchema)]
struct UsageOverTime {
    date: String,
    credits_used: f64,
    query_count: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UsageStorage {
    /// Null: no data plane has measured yet.
    total_gb: Option<f64>,
    limit_gb: Option<u64>,
}

/// "`start_date` (default period start), `end_date` (default today)". The month's `credits` are
/// those of the period the range ends in; the breakdown is that of the range.
pub async fn usage(cx: Call, Query(input): Query<UsageInput>) -> Result<Json<Usage>> {
    let (now, group_by, include_dashboard) = (cx.now(), input.group_by, input.include_dashboard);
    let end = input.end_date.as_deref().map(|text| dates::moment("end_date", text, RangeEnd::Last));
    let end = end.transpose()?.unwrap_or(now);
    let period = credits::period_of(end.min(now));
    let start = input.start_date.as_deref().map(|text| dates::moment("start_date", text, RangeEnd::Start));
    let start = start.transpose()?.unwrap_or(period);
    match group_by {
        GroupBy::Hour => dates::in_order(start, end, HOURS_MAX, "is longer than 31 days, which is the most by hour")?,
        GroupBy::Day | GroupBy::Week => dates::in_order(start, end, RANGE_MAX, "is longer than 366 days")?,
    }
    let mut conn = cx.app.pool().acquire().await?;
    let rows = rows(&mut conn, cx.org_id(), (start, end), group_by, include_dashboard).await?;
    let dashboard = of_dashboard(&mut conn, cx.org_id(), (start, end)).await?;
    let used = used(&mut conn, cx.org_id(), period).await?;
    let total_gb = storage::total_gb(&mut conn, cx.org_id()).await?;
    let limits = cx.limits;
    let limit = limits.monthly_credit_limit.map(|limit| limit.saturating_mul(CREDIT));
    Ok(Json(Usage {
        org_id: cx.org_id().clone(),
        tier: cx.tier,
        billing_period: BillingPeriod { start: period, end: period + Months::new(1) },
        credits: UsageCredits {
            limit: limit.map(credit),
            used: credit(used),
            remaining: limit.map(|limit| credit(limit.saturating_sub(used))),
            usage_percent: limit.map(|limit| percent(used, limit)),
        },
        breakdown: UsageBreakdown {
            queries: UsageQueries { dashboard, ..by_operation(&rows) },
            by_environment: by_environment(&rows),
            by_day: by_time(&rows, group_by),
        },
        storage: UsageStorage { total_gb, limit_gb: limits.storage_limit_gb },
    }))
}

async fn rows(
    conn: &mut PgConnection,
    org_id: &OrgId,
    (start, end): (Timestamp, Timestamp),
    group_by: GroupBy,
    include_dashboard: bool,
) -> Result<Vec<UsageBucket>> {
    Ok(sqlx::query_as!(
        UsageBucket,
        r#"select date_trunc($4, u.hour, 'UTC') as "bucket!", u.env_id, e.name, u.operation,
                  sum(u.queries + case when $5 then u.dashboard_queries else 0 end)::bigint as "queries!",
                  sum(u.micro_credits)::bigint as "micro_credits!"
           from credit_usage u join environments e on e.env_id = u.env_id
           where u.org_id = $1 and u.hour >= $2 and u.hour <= $3
           group by 1, u.env_id, e.name, u.operation
           having sum(u.queries + case when $5 then u.dashboard_queries else 0 end) > 0
           order by 1"#,
        org_id.as_str(),
        start,
        end,
        group_by.unit(),
        include_dashboard,
    )
    .fetch_all(conn)
    .await?)
}

/// Queries that the dashboard asked for its own pages.
async fn of_dashboard(conn: &mut PgConnection, org_id: &OrgId, (start, end): (Timestamp, Timestamp)) -> Result<i64> {
    scalar!(
        conn,
        r#"select coalesce(sum(dashboard_queries), 0)::bigint as "queries!"
           from credit_usage where org_id = $1 and hour >= $2 and hour <= $3"#,
        org_id.as_str(),
        start,
        end,
    )
}

/// Credits used in the month that `period` starts.
pub async fn used(conn: &mut PgConnection, org_id: &OrgId, period: Timestamp) -> Result<MicroCredits> {
    let sum = sqlx::query_scalar!(
        r#"select coalesce(sum(micro_credits), 0)::bigint as "sum!"
           from credit_usage where org_id = $1 and hour >= $2 and hour < $3"#,
        org_id.as_str(),
        period,
        period + Months::new(1),
    )
    .fetch_one(conn)
    .await?;
    Ok(u64::try_from(sum).unwrap_or(0))
}

fn by_operation(rows: &[UsageBucket]) -> UsageQueries {
    let mut counts = UsageQueries::default();
    for row in rows {
        counts.total = counts.total.saturating_add(row.queries);
        let named = match row.operation.as_str() {
            "select" => &mut counts.select,
            "insert" => &mut counts.insert,
            "update" => &mut counts.update,
            "delete" => &mut counts.delete,
            _ => continue,
        };
        *named = named.saturating_add(row.queries);
    }
    counts
}

fn by_environment(rows: &[UsageBucket]) -> Vec<EnvironmentUsage> {
    let mut sums: BTreeMap<&str, (&str, Sum)> = BTreeMap::new();
    for row in rows {
        sums.entry(&row.env_id).or_insert((&row.name, Sum::default())).1.add(row);
    }
    let item = |(env_id, (name, sum)): (&str, (&str, Sum))| EnvironmentUsage {
        env_id: env_id.to_owned(),
        name: name.to_owned(),
        credits_used: signed(sum.micro_credits),
        query_count: sum.queries,
    };
    sums.into_iter().map(item).collect()
}

/// `by_day` whatever it is grouped by.
fn by_time(rows: &[UsageBucket], group_by: GroupBy) -> Vec<UsageOverTime> {
    let mut sums: BTreeMap<Timestamp, Sum> = BTreeMap::new();
    for row in rows {
        sums.entry(row.bucket).or_default().add(row);
    }
    let item = |(bucket, sum): (Timestamp, Sum)| UsageOverTime {
        date: group_by.date(bucket),
        credits_used: signed(sum.micro_credits),
        query_count: sum.queries,
    };
    sums.into_iter().map(item).collect()
}

/// Micro-credits as a JSON number of at most six decimals.
#[expect(clippy::cast_precision_loss, reason = "nine billion credits are exact")]
pub fn credit(micro: MicroCredits) -> f64 {
    micro as f64 / CREDIT as f64
}

fn signed(micro: i64) -> f64 {
    credit(u64::try_from(micro).unwrap_or(0))
}

/// To two decimals.
fn percent(used: MicroCredits, limit: MicroCredits) -> f64 {
    let share = u128::from(used).saturating_mul(10_000).checked_div(u128::from(limit)).unwrap_or(0);
    f64::from(u32::try_from(share).unwrap_or(u32::MAX)) / 100.0
}
