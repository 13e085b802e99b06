//! SQL of the query audit.

use std::collections::{BTreeMap, BTreeSet};

use contract::policy::abac::Operation;
use contract::report::{Finished, Started};
use contract::{EnvId, QueryId, Timestamp};
use platform::http::page::PageRequest;
use platform::{Error, Result, execute, page_rows, scalar};
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::PgConnection;
use sqlx::types::Json;

/// The last stored entry of a log, which stays locked: one report at a time.
pub async fn sequence(conn: &mut PgConnection, env_id: &EnvId, log: &str) -> Result<u64> {
    if let Some(sequence) = locked(&mut *conn, env_id, log).await? {
        return Ok(sequence);
    }
    sqlx::query!(
        "insert into report_logs (env_id, log, sequence) values ($1, $2, 0) on conflict do nothing",
        env_id.as_str(),
        log,
    )
    .execute(&mut *conn)
    .await?;
    locked(conn, env_id, log).await?.ok_or_else(|| Error::internal(sqlx::Error::RowNotFound))
}

/// The same of a log that has reported before.
async fn locked(conn: &mut PgConnection, env_id: &EnvId, log: &str) -> Result<Option<u64>> {
    let sequence = sqlx::query_scalar!(
        "select sequence from report_logs where env_id = $1 and log = $2 for update",
        env_id.as_str(),
        log,
    );
    sequence.fetch_optional(conn).await?.map(u64::try_from).transpose().map_err(Error::internal)
}

pub async fn advance(conn: &mut PgConnection, env_id: &EnvId, log: &str, sequence: u64) -> Result<()> {
    execute!(
        conn,
        "update report_logs set sequence = $3 where env_id = $1 and log = $2",
        env_id.as_str(),
        log,
        i64::try_from(sequence).map_err(Error::internal)?,
    )
}

/// Entries as JSON. The database reads each once, behind `offset 0`: it would do it for each column else. It takes them
/// one after the other: of an `unnest` in `from` it would keep all, twice.
fn texts(entries: impl Iterator<Item = serde_json::Result<String>>) -> Result<Vec<String>> {
    entries.collect::<serde_json::Result<_>>().map_err(Error::internal)
}

/// Stores them, and says whether each was new: a second start of a query is passed over.
pub async fn insert_starts(conn: &mut PgConnection, env_id: &EnvId, started: &[&Started]) -> Result<bool> {
    if started.is_empty() {
        return Ok(true);
    }
    let entries = texts(started.iter().copied().map(Started::to_json))?;
    let stored = sqlx::query!(
        "insert into query_starts
             (env_id, query_id, at, user_id, key_id, agent_id, operation, tables_accessed, by_dashboard, entry)
         select $1, e ->> 'query_id', (e ->> 'at')::timestamptz, e ->> 'user_id', e ->> 'key_id',
                e -> 'agent' ->> 'agent_id', e ->> 'operation',
                array(select jsonb_array_elements_text(e -> 'tables_accessed')),
                coalesce((e ->> 'by_dashboard')::boolean, false), e
         from (select unnest($2::text[])::jsonb as e offset 0) as entries
         on conflict do nothing",
        env_id.as_str(),
        &entries,
    )
    .execute(conn)
    .await?;
    Ok(u64::try_from(started.len()).is_ok_and(|count| count == stored.rows_affected()))
}

/// A query as its end is counted.
#[derive(Debug, Clone, Copy)]
pub struct BegunQuery {
    pub operation: Option<Operation>,
    pub by_dashboard: bool,
}

/// The queries that ended now. An end without a start is refused by the
/// schema; a second end of a query is passed over.
pub async fn insert_ends(conn: &mut PgConnection, env_id: &EnvId, finished: &[&Finished]) -> Result<BTreeSet<QueryId>> {
    if finished.is_empty() {
        return Ok(BTreeSet::new());
    }
    let entries = texts(finished.iter().copied().map(Finished::to_json))?;
    let ended = sqlx::query_scalar!(
        r#"with ended as (
             insert into query_ends (env_id, query_id, at, cache_hit, execution_time_ms, micro_credits, entry)
             select $1, e ->> 'query_id', (e ->> 'at')::timestamptz, (e ->> 'cache_hit')::boolean,
                    (e ->> 'execution_time_ms')::double precision, (e ->> 'micro_credits')::bigint, e
             from (select unnest($2::text[])::jsonb as e offset 0) as entries
             on conflict do nothing
             returning query_id
           )
           select coalesce(array_agg(query_id), '{}') as "ended!" from ended"#,
        env_id.as_str(),
        &entries,
    );
    Ok(ended.fetch_one(conn).await?.into_iter().map(QueryId::from).collect())
}

/// How these queries began. `started` has just been stored: hardly one began in an earlier report and is looked up.
pub async fn begun(
    conn: &mut PgConnection,
    env_id: &EnvId,
    started: &[&Started],
    query_ids: &BTreeSet<QueryId>,
) -> Result<BTreeMap<QueryId, BegunQuery>> {
    let mut begun: BTreeMap<QueryId, BegunQuery> = BTreeMap::new();
    for start in started.iter().filter(|start| query_ids.contains(&start.query_id)) {
        let query = BegunQuery { operation: start.operation, by_dashboard: start.by_dashboard };
        begun.insert(start.query_id.clone(), query);
    }
    let earlier: Vec<String> =
        query_ids.iter().filter(|query_id| !begun.contains_key(*query_id)).map(ToString::to_string).collect();
    if earlier.is_empty() {
        return Ok(begun);
    }
    let rows = sqlx::query!(
        "select query_id, operation, by_dashboard from query_starts where env_id = $1 and query_id = any ($2)",
        env_id.as_str(),
        &earlier,
    );
    for row in rows.fetch_all(conn).await? {
        let operation = row.operation.and_then(|operation| operation.parse::<Operation>().ok());
        begun.insert(row.query_id.into(), BegunQuery { operation, by_dashboard: row.by_dashboard });
    }
    Ok(begun)
}

/// A query: how it began, and how it ended if it has.
#[derive(Debug, Clone)]
pub struct AuditedQuery {
    pub at: Timestamp,
    pub started: Json<Started>,
    pub finished: Option<Json<Finished>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct QueriesInput {
    pub start_date: Option<String>,
    pub end_date: Option<String>,
    user_id: Option<String>,
    agent_id: Option<String>,
    table: Option<String>,
    cache_hit: Option<bool>,
    min_duration_ms: Option<f64>,
    /// With what the dashboard asked for its own pages, which is left out otherwise.
    #[serde(default)]
    include_dashboard: bool,
}

/// Counting stops here: a total above it is said as this.
const TOTAL_MAX: i64 = 100_000;

pub async fn page(
    conn: &mut PgConnection,
    env_id: &EnvId,
    (start, end): (Timestamp, Timestamp),
    input: &QueriesInput,
    page: &PageRequest,
) -> Result<(Vec<AuditedQuery>, i64)> {
    let QueriesInput { user_id, agent_id, table, cache_hit, min_duration_ms, include_dashboard, .. } = input;
    let rows = page_rows!(
        conn,
        page,
        AuditedQuery,
        r#"select s.at, s.entry as "started: Json<Started>", e.entry as "finished?: Json<Finished>"
           from query_starts s
           left join query_ends e on e.env_id = s.env_id and e.query_id = s.query_id
           where s.env_id = $1 and s.at >= $2 and s.at <= $3
             and ($4::text is null or s.user_id = $4)
             and ($5::text is null or s.agent_id = $5)
             and ($6::text is null or lower($6) = any (s.tables_accessed)
                  or exists (select from unnest(s.tables_accessed) t
                             where lower(t) = lower($6) or lower(split_part(t, '.', 2)) = lower($6)))
             and ($7::boolean is null or coalesce(e.cache_hit, false) = $7)
             and ($8::double precision is null or e.execution_time_ms >= $8)
             and ($9 or not s.by_dashboard)
             and ($10::timestamptz is null or (s.at, s.query_id) < ($10, $11))
           order by s.at desc, s.query_id desc
           limit $12"#,
        env_id.as_str(),
        start,
        end,
        user_id.as_deref(),
        agent_id.as_deref(),
        table.as_deref(),
        *cache_hit,
        *min_duration_ms,
        *include_dashboard,
    );
    Ok((rows, count(conn, env_id, (start, end), input).await?))
}

async fn count(
    conn: &mut PgConnection,
    env_id: &EnvId,
    (start, end): (Timestamp, Timestamp),
    input: &QueriesInput,
) -> Result<i64> {
    let QueriesInput { user_id, agent_id, table, cache_hit, min_duration_ms, include_dashboard, .. } = input;
    scalar!(
        conn,
        r#"select count(*) as "total!" from (
             select from query_starts s
             left join query_ends e on e.env_id = s.env_id and e.query_id = s.query_id
             where s.env_id = $1 and s.at >= $2 and s.at <= $3
               and ($4::text is null or s.user_id = $4)
               and ($5::text is null or s.agent_id = $5)
               and ($6::text is null or lower($6) = any (s.tables_accessed)
                    or exists (select from unnest(s.tables_accessed) t
                               where lower(t) = lower($6) or lower(split_part(t, '.', 2)) = lower($6)))
               and ($7::boolean is null or coalesce(e.cache_hit, false) = $7)
               and ($8::double precision is null or e.execution_time_ms >= $8)
               and ($9 or not s.by_dashboard)
             limit $10
           ) as found"#,
        env_id.as_str(),
        start,
        end,
        user_id.as_deref(),
        agent_id.as_deref(),
        table.as_deref(),
        *cache_hit,
        *min_duration_ms,
        *include_dashboard,
        TOTAL_MAX,
    )
}

pub async fn find(conn: &mut PgConnection, env_id: &EnvId, query_id: &QueryId) -> Result<Option<AuditedQuery>> {
    Ok(sqlx::query_as!(
        AuditedQuery,
        r#"select s.at, s.entry as "started: Json<Started>", e.entry as "finished?: Json<Finished>"
           from query_starts s
           left join query_ends e on e.env_id = s.env_id and e.query_id = s.query_id
           where s.env_id = $1 and s.query_id = $2"#,
        env_id.as_str(),
        query_id.as_str(),
    )
    .fetch_optional(conn)
    .await?)
}

/// Those of these queries that have ended, as they began and ended.
pub async fn ended(conn: &mut PgConnection, env_id: &EnvId, query_ids: &[QueryId]) -> Result<Vec<(Started, Finished)>> {
    let ids: Vec<String> = query_ids.iter().map(ToString::to_string).collect();
    let rows = sqlx::query!(
        r#"select s.entry as "started: Json<Started>", e.entry as "finished: Json<Finished>"
           from query_starts s
           join query_ends e on e.env_id = s.env_id and e.query_id = s.query_id
           where s.env_id = $1 and s.query_id = any ($2)"#,
        env_id.as_str(),
        &ids,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.started.0, row.finished.0)).collect())
}
