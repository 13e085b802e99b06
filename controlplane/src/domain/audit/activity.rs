//! The queries of one agent, and the verdicts of policies on them.
//!
//! "`activity` (`total_queries`, `queries_today`, `queries_this_hour`, `avg_execution_time_ms`,
//! `tables_accessed`, `credits_consumed_today`, `last_query_at`) and `policy_summary`
//! (`queries_allowed`, `queries_denied`, `columns_masked`, `rows_filtered`)". Days and hours are
//! UTC's. A query is denied when a policy, a grant or its caller's rights refused it; what failed
//! otherwise was allowed. `columns_masked` counts those of each answer and its conditions, `rows_filtered` the
//! queries that a row filter held: rows nobody saw are counted by nobody.

use chrono::NaiveTime;
use contract::capability::hour_of;
use contract::{EnvId, KeyId, Timestamp};
use platform::Result;
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;

use crate::domain::billing::credit;

/// Names of tables that one answer lists.
const TABLES_MAX: i64 = 1_000;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentActivity")]
pub struct Activity {
    total_queries: i64,
    queries_today: i64,
    queries_this_hour: i64,
    avg_execution_time_ms: f64,
    tables_accessed: Vec<String>,
    credits_consumed_today: f64,
    last_query_at: Option<Timestamp>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentPolicySummary")]
pub struct PolicySummary {
    queries_allowed: i64,
    queries_denied: i64,
    columns_masked: i64,
    rows_filtered: i64,
}

/// What was asked with one key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeyUsage {
    total_queries: i64,
    queries_today: i64,
    total_credits: f64,
    last_query_at: Option<Timestamp>,
}

/// Of a key that is made for an agent: by the agent its queries are found.
pub async fn of_key(
    conn: &mut PgConnection,
    env_id: &EnvId,
    (agent_id, key_id): (&str, &KeyId),
    now: Timestamp,
) -> Result<KeyUsage> {
    let today = now.date_naive().and_time(NaiveTime::MIN).and_utc();
    let row = sqlx::query!(
        r#"select count(*) as "total!", count(*) filter (where s.at >= $4) as "today!",
                  coalesce(sum(e.micro_credits), 0)::bigint as "credits!", max(s.at) as last_at
           from query_starts s
           left join query_ends e on e.env_id = s.env_id and e.query_id = s.query_id
           where s.env_id = $1 and s.agent_id = $2 and s.key_id = $3"#,
        env_id.as_str(),
        agent_id,
        key_id.as_str(),
        today,
    )
    .fetch_one(conn)
    .await?;
    Ok(KeyUsage {
        total_queries: row.total,
        queries_today: row.today,
        total_credits: credit(u64::try_from(row.credits).unwrap_or_default()),
        last_query_at: row.last_at,
    })
}

pub async fn of_agent(
    conn: &mut PgConnection,
    env_id: &EnvId,
    agent_id: &str,
    now: Timestamp,
) -> Result<(Activity, PolicySummary)> {
    let today = now.date_naive().and_time(NaiveTime::MIN).and_utc();
    let row = sqlx::query!(
        r#"select count(*) as "total!",
                  count(*) filter (where s.at >= $3) as "today!",
                  count(*) filter (where s.at >= $4) as "this_hour!",
                  coalesce(avg(e.execution_time_ms) filter (where e.entry ->> 'outcome' = 'completed'), 0)
                      as "average!",
                  coalesce(sum(e.micro_credits) filter (where e.at >= $3), 0)::bigint as "credits!",
                  max(s.at) as last_at,
                  count(*) filter (where e.entry ->> 'outcome' = 'refused' and (e.entry ->> 'error_code')
                      in ('POLICY_DENIED', 'SVC_ERR_403_TABLE_DENIED', 'SVC_ERR_403_SCOPE_VIOLATION', 'FORBIDDEN'))
                      as "denied!",
                  coalesce(sum(jsonb_array_length(s.entry -> 'columns_masked')), 0)::bigint as "masked!",
                  count(*) filter (where s.entry -> 'policy_verdicts' @> '[{"action": "filter"}]') as "filtered!"
           from query_starts s
           left join query_ends e on e.env_id = s.env_id and e.query_id = s.query_id
           where s.env_id = $1 and s.agent_id = $2"#,
        env_id.as_str(),
        agent_id,
        today,
        hour_of(now),
    )
    .fetch_one(&mut *conn)
    .await?;
    let tables_accessed = sqlx::query_scalar!(
        r#"select distinct accessed as "table!"
           from query_starts s, unnest(s.tables_accessed) as accessed
           where s.env_id = $1 and s.agent_id = $2
           order by accessed
           limit $3"#,
        env_id.as_str(),
        agent_id,
        TABLES_MAX,
    );
    let activity = Activity {
        total_queries: row.total,
        queries_today: row.today,
        queries_this_hour: row.this_hour,
        avg_execution_time_ms: row.average,
        tables_accessed: tables_accessed.fetch_all(conn).await?,
        credits_consumed_today: credit(u64::try_from(row.credits).unwrap_or_default()),
        last_query_at: row.last_at,
    };
    let summary = PolicySummary {
        queries_allowed: row.total - row.denied,
        queries_denied: row.denied,
        columns_masked: row.masked,
        rows_filtered: row.filtered,
    };
    Ok((activity, summary))
}
