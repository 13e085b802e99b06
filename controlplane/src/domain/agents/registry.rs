//! The agents that are known in an organization, and how often each has queried.

use std::collections::BTreeMap;

use contract::agent::{AGENTS_MAX, NAME_BYTES_MAX};
use contract::{EnvId, OrgId, Timestamp};
use platform::{Result, execute, scalar};
use sqlx::PgConnection;

contract::named! {
    /// How an agent came to be known.
    pub enum RegistrationSource {
        Query = "query",
        ApiKey = "api_key",
        CreateAttempt = "v2_create_attempt",
        /// By its own word, through a tool.
        Itself = "mcp",
    }
}

/// Makes the agent known, or its framework if that is news. As far as there is room.
pub async fn register(
    conn: &mut PgConnection,
    org_id: &OrgId,
    (agent_id, framework): (&str, Option<&str>),
    source: RegistrationSource,
    now: Timestamp,
) -> Result<()> {
    if agent_id.is_empty() || agent_id.len() > NAME_BYTES_MAX || agent_id.contains('\0') {
        return Ok(());
    }
    let framework = framework.filter(|name| name.len() <= NAME_BYTES_MAX && !name.contains('\0'));
    execute!(
        conn,
        "insert into agents (org_id, agent_id, framework, status, trust_level, registration_source, registered_at)
         select $1, $2, $3, 'active', 'provisional', $4, $5
         where exists (select from agents where org_id = $1 and agent_id = $2)
            or (select count(*) from agents where org_id = $1) < $6
         on conflict (org_id, agent_id) do update set framework = excluded.framework
         where excluded.framework is not null and agents.framework is distinct from excluded.framework",
        org_id.as_str(),
        agent_id,
        framework,
        source.as_str(),
        now,
        i64::from(AGENTS_MAX),
    )
}

pub async fn is_known(conn: &mut PgConnection, org_id: &OrgId, agent_id: &str) -> Result<bool> {
    scalar!(
        conn,
        r#"select exists (select from agents where org_id = $1 and agent_id = $2) as "known!""#,
        org_id.as_str(),
        agent_id,
    )
}

/// The framework that the agent last declared.
pub async fn framework(conn: &mut PgConnection, org_id: &OrgId, agent_id: &str) -> Result<Option<String>> {
    let framework = sqlx::query_scalar!(
        "select framework from agents where org_id = $1 and agent_id = $2",
        org_id.as_str(),
        agent_id,
    );
    Ok(framework.fetch_optional(conn).await?.flatten())
}

/// Queries of one agent that have been reported.
#[derive(Debug, Clone)]
pub struct Use {
    /// It has asked for more than to be made known: that is done where it is granted, and not where it is reported.
    pub makes_known: bool,
    pub framework: Option<String>,
    pub queries: i64,
    pub first: Timestamp,
    pub last: Timestamp,
}

/// Counts them, in the transaction that stores them.
pub async fn used(
    conn: &mut PgConnection,
    (org_id, env_id): (&OrgId, &EnvId),
    uses: &BTreeMap<String, Use>,
) -> Result<()> {
    for (agent_id, seen) in uses {
        if seen.makes_known {
            register(conn, org_id, (agent_id, seen.framework.as_deref()), RegistrationSource::Query, seen.first)
                .await?;
        }
        sqlx::query!(
            "insert into agent_uses (env_id, agent_id, queries, first_at, last_at)
             select $1, $2, $3, $4, $5
             where exists (select from agents where org_id = $6 and agent_id = $2)
             on conflict (env_id, agent_id) do update
             set queries = agent_uses.queries + excluded.queries,
                 last_at = greatest(agent_uses.last_at, excluded.last_at)",
            env_id.as_str(),
            agent_id,
            seen.queries,
            seen.first,
            seen.last,
            org_id.as_str(),
        )
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}
