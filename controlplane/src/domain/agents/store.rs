//! SQL of the agents of one environment.

use contract::{EnvId, OrgId, Timestamp};
use platform::http::page::PageRequest;
use platform::{Result, page_rows};
use serde_json::{Map, Value};
use sqlx::PgConnection;
use sqlx::types::Json;

#[derive(Debug, Clone)]
pub struct AgentRow {
    pub agent_id: String,
    pub framework: Option<String>,
    pub status: String,
    pub trust_level: String,
    pub registration_source: String,
    pub registered_at: Timestamp,
    pub display_name: Option<String>,
    pub version: Option<String>,
    pub capabilities: Vec<String>,
    pub parent_agent_id: Option<String>,
    pub metadata: Json<Map<String, Value>>,
    pub queries: i64,
    pub last_at: Timestamp,
}

pub async fn page(
    conn: &mut PgConnection,
    (org_id, env_id): (&OrgId, &EnvId),
    page: &PageRequest,
) -> Result<(Vec<AgentRow>, i64)> {
    let rows = page_rows!(
        conn,
        page,
        AgentRow,
        r#"select u.agent_id, a.framework, a.status, a.trust_level, a.registration_source, a.registered_at,
                  a.display_name, a.version, a.capabilities, a.parent_agent_id,
                  a.metadata as "metadata: Json<Map<String, Value>>", u.queries, u.last_at
           from agent_uses u
           join agents a on a.org_id = $1 and a.agent_id = u.agent_id
           where u.env_id = $2 and ($3::timestamptz is null or (u.last_at, u.agent_id) < ($3, $4))
           order by u.last_at desc, u.agent_id desc
           limit $5"#,
        org_id.as_str(),
        env_id.as_str(),
    );
    let total =
        sqlx::query_scalar!(r#"select count(*) as "total!" from agent_uses where env_id = $1"#, env_id.as_str());
    Ok((rows, total.fetch_one(conn).await?))
}

pub async fn find(
    conn: &mut PgConnection,
    (org_id, env_id): (&OrgId, &EnvId),
    agent_id: &str,
) -> Result<Option<AgentRow>> {
    Ok(sqlx::query_as!(
        AgentRow,
        r#"select u.agent_id, a.framework, a.status, a.trust_level, a.registration_source, a.registered_at,
                  a.display_name, a.version, a.capabilities, a.parent_agent_id,
                  a.metadata as "metadata: Json<Map<String, Value>>", u.queries, u.last_at
           from agent_uses u
           join agents a on a.org_id = $1 and a.agent_id = u.agent_id
           where u.env_id = $2 and u.agent_id = $3"#,
        org_id.as_str(),
        env_id.as_str(),
        agent_id,
    )
    .fetch_optional(conn)
    .await?)
}
