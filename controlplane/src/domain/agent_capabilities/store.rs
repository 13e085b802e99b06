//! SQL of the grants.

use std::collections::{BTreeMap, HashMap};

use contract::capability::{Capabilities, Confined, Grant, hour_of};
use contract::{EnvId, GrantId, Timestamp};
use platform::http::page::PageRequest;
use platform::{Error, Result, execute, page_rows, scalar};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;
use sqlx::types::Json;

use super::status::GrantStatus;

#[derive(Debug, Clone)]
pub struct GrantRow {
    pub grant_id: GrantId,
    pub agent_id: String,
    pub capabilities: Json<Capabilities>,
    pub status: String,
    pub granted_by: String,
    pub granted_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_by: Option<String>,
    pub revoked_at: Option<Timestamp>,
}

impl GrantRow {
    pub fn status(&self) -> Result<GrantStatus> {
        GrantStatus::parse(&self.status).ok_or_else(|| Error::internal("a grant is active or revoked"))
    }
}

/// A grant with what ran under it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CapabilityUsage {
    pub queries_this_hour: i64,
    pub total_queries: i64,
}

pub async fn page(
    conn: &mut PgConnection,
    env_id: &EnvId,
    agent_id: Option<&str>,
    page: &PageRequest,
) -> Result<(Vec<GrantRow>, i64)> {
    let rows = page_rows!(
        conn,
        page,
        GrantRow,
        r#"select grant_id, agent_id, capabilities as "capabilities: Json<Capabilities>", status, granted_by,
                  granted_at, expires_at, revoked_by, revoked_at
           from agent_grants
           where env_id = $1 and ($2::text is null or agent_id = $2)
             and ($3::timestamptz is null or (granted_at, grant_id) < ($3, $4))
           order by granted_at desc, grant_id desc
           limit $5"#,
        env_id.as_str(),
        agent_id,
    );
    let total = sqlx::query_scalar!(
        r#"select count(*) as "total!" from agent_grants where env_id = $1 and ($2::text is null or agent_id = $2)"#,
        env_id.as_str(),
        agent_id,
    );
    Ok((rows, total.fetch_one(conn).await?))
}

pub async fn usage(
    conn: &mut PgConnection,
    grants: &[GrantId],
    now: Timestamp,
) -> Result<HashMap<GrantId, CapabilityUsage>> {
    let ids: Vec<String> = grants.iter().map(ToString::to_string).collect();
    let rows = sqlx::query!(
        r#"select grant_id, sum(queries)::bigint as "total!",
                  coalesce(sum(queries) filter (where hour = $2), 0)::bigint as "this_hour!"
           from agent_grant_uses where grant_id = any ($1) group by grant_id"#,
        &ids[..],
        hour_of(now),
    );
    let rows = rows.fetch_all(conn).await?.into_iter();
    Ok(rows
        .map(|row| {
            (row.grant_id.into(), CapabilityUsage { queries_this_hour: row.this_hour, total_queries: row.total })
        })
        .collect())
}

/// The grant, which stays locked.
pub async fn lock(conn: &mut PgConnection, env_id: &EnvId, grant_id: &GrantId) -> Result<Option<GrantRow>> {
    Ok(sqlx::query_as!(
        GrantRow,
        r#"select grant_id, agent_id, capabilities as "capabilities: Json<Capabilities>", status, granted_by,
                  granted_at, expires_at, revoked_by, revoked_at
           from agent_grants where env_id = $1 and grant_id = $2 for update"#,
        env_id.as_str(),
        grant_id.as_str(),
    )
    .fetch_optional(conn)
    .await?)
}

pub async fn count_active(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    scalar!(
        conn,
        r#"select count(*) as "active!" from agent_grants where env_id = $1 and status = 'active'"#,
        env_id.as_str(),
    )
}

/// What the capabilities of all grants that are not revoked are together.
pub async fn bytes(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    scalar!(
        conn,
        r#"select coalesce(sum(octet_length(capabilities::text)), 0)::bigint as "bytes!"
           from agent_grants where env_id = $1 and status = 'active'"#,
        env_id.as_str(),
    )
}

pub async fn insert(conn: &mut PgConnection, env_id: &EnvId, row: &GrantRow) -> Result<()> {
    execute!(
        conn,
        "insert into agent_grants (grant_id, env_id, agent_id, capabilities, status, granted_by, granted_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        row.grant_id.as_str(),
        env_id.as_str(),
        row.agent_id,
        &row.capabilities as _,
        row.status,
        row.granted_by,
        row.granted_at,
        row.expires_at,
    )
}

pub async fn revoke(
    conn: &mut PgConnection,
    grant_id: &GrantId,
    to: GrantStatus,
    by: &str,
    now: Timestamp,
) -> Result<()> {
    execute!(
        conn,
        "update agent_grants set status = $2, revoked_by = $3, revoked_at = $4 where grant_id = $1",
        grant_id.as_str(),
        to.as_str(),
        by,
        now,
    )
}

/// The agents that were ever granted anything here, each with its grants that are not revoked. Ended
/// ones too: their time is data, and the clock that rules is the data plane's.
pub async fn governed(conn: &mut PgConnection, env_id: &EnvId) -> Result<Confined> {
    let rows = sqlx::query!(
        r#"select agent_id, grant_id, capabilities as "capabilities: Json<Capabilities>", expires_at
           from agent_grants where env_id = $1 and status = 'active' order by granted_at, grant_id"#,
        env_id.as_str(),
    );
    let mut confined = Confined::new();
    for row in rows.fetch_all(&mut *conn).await? {
        let grant =
            Grant { grant_id: row.grant_id.into(), capabilities: row.capabilities.0, expires_at: row.expires_at };
        confined.entry(row.agent_id).or_default().push(grant);
    }
    let ever = sqlx::query_scalar!("select distinct agent_id from agent_grants where env_id = $1", env_id.as_str());
    for agent_id in ever.fetch_all(conn).await? {
        confined.entry(agent_id).or_default();
    }
    Ok(confined)
}

/// The grants of one agent that are not revoked; none if it was never granted anything.
pub async fn of(conn: &mut PgConnection, env_id: &EnvId, agent_id: &str) -> Result<Option<Vec<Grant>>> {
    let rows = sqlx::query!(
        r#"select grant_id, capabilities as "capabilities: Json<Capabilities>", expires_at, status = 'active' as "stands!"
           from agent_grants where env_id = $1 and agent_id = $2 and (status = 'active' or grant_id = (
             select min(grant_id) from agent_grants where env_id = $1 and agent_id = $2))"#,
        env_id.as_str(),
        agent_id,
    )
    .fetch_all(conn)
    .await?;
    let was_granted = !rows.is_empty();
    let active = rows.into_iter().filter(|row| row.stands).map(|row| Grant {
        grant_id: row.grant_id.into(),
        capabilities: row.capabilities.0,
        expires_at: row.expires_at,
    });
    Ok(was_granted.then(|| active.collect()))
}

/// How many grants stand, by agent.
pub async fn active_by_agent(
    conn: &mut PgConnection,
    env_id: &EnvId,
    agents: &[String],
    now: Timestamp,
) -> Result<BTreeMap<String, i64>> {
    let rows = sqlx::query!(
        r#"select agent_id, count(*) as "grants!" from agent_grants
           where env_id = $1 and agent_id = any ($2) and status = 'active' and expires_at > $3
           group by agent_id"#,
        env_id.as_str(),
        agents,
        now,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.agent_id, row.grants)).collect())
}

/// Counts queries that ran under grants of the environment, in the transaction that stores them.
pub async fn used(
    conn: &mut PgConnection,
    env_id: &EnvId,
    uses: impl IntoIterator<Item = (&GrantId, Timestamp)>,
) -> Result<()> {
    let mut hours: BTreeMap<(&GrantId, Timestamp), i64> = BTreeMap::new();
    for (grant_id, at) in uses {
        *hours.entry((grant_id, hour_of(at))).or_default() += 1;
    }
    for ((grant_id, hour), queries) in hours {
        sqlx::query!(
            "insert into agent_grant_uses (grant_id, hour, queries)
             select grant_id, $3, $4 from agent_grants where env_id = $1 and grant_id = $2
             on conflict (grant_id, hour) do update set queries = agent_grant_uses.queries + excluded.queries",
            env_id.as_str(),
            grant_id.as_str(),
            hour,
            queries,
        )
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}
