//! An agent makes itself known, by way of the data plane that it talks to.
//!
//! "The certificate names the environment": the organization is the environment's, whatever the caller
//! says. Said again, it is brought up to date and stays the agent it is. Who was only noticed before,
//! by a query or a key, is from then on known by its own word.

use contract::agent::{AGENTS_MAX, Answer, Refusal, Registered, Registration, fingerprint};
use contract::{EnvId, OrgId, Timestamp};
use platform::{App, Error, Result};
use serde_json::Value;
use sqlx::PgConnection;

use super::registry::{RegistrationSource, is_known};
use crate::domain::environments;

pub async fn register_itself(app: &App, env_id: &EnvId, said: &Registration) -> Result<Answer> {
    said.checked().map_err(|wrong| Error::invalid(wrong.field, "agent", wrong.message))?;
    let now = app.now();
    let mut tx = app.pool().begin().await?;
    let Some((_, org_id, _)) = environments::governed(&mut tx, env_id).await? else {
        return Err(Error::EnvironmentNotFound);
    };
    if let Some(parent) = &said.parent_agent_id
        && !is_known(&mut tx, &org_id, parent).await?
    {
        return Ok(Err(Refusal::ParentUnknown));
    }
    let before = source(&mut tx, &org_id, &said.agent_id).await?;
    let Some(row) = put(&mut tx, &org_id, said, now).await? else {
        return Ok(Err(Refusal::Full { limit: AGENTS_MAX }));
    };
    tx.commit().await?;
    Ok(Ok(Registered {
        fingerprint: fingerprint(&org_id, &said.agent_id),
        agent_id: said.agent_id.clone(),
        framework: said.framework.clone(),
        trust_level: row.trust_level,
        registration_source: row.registration_source,
        status: row.status,
        registered_at: row.registered_at,
        last_seen_at: now,
        created: before.is_none_or(|source| source != RegistrationSource::Itself.as_str()) && row.registered_at == now,
    }))
}

/// How it came to be known, if it is. Nobody else says it meanwhile.
async fn source(conn: &mut PgConnection, org_id: &OrgId, agent_id: &str) -> Result<Option<String>> {
    let source = sqlx::query_scalar!(
        "select registration_source from agents where org_id = $1 and agent_id = $2 for update",
        org_id.as_str(),
        agent_id,
    );
    Ok(source.fetch_optional(conn).await?)
}

struct RegistrationRow {
    status: String,
    trust_level: String,
    registration_source: String,
    registered_at: Timestamp,
}

/// None where there is no room for another.
async fn put(
    conn: &mut PgConnection,
    org_id: &OrgId,
    said: &Registration,
    now: Timestamp,
) -> Result<Option<RegistrationRow>> {
    let row = sqlx::query_as!(
        RegistrationRow,
        "insert into agents (org_id, agent_id, framework, status, trust_level, registration_source, registered_at,
                             display_name, version, capabilities, parent_agent_id, metadata)
         select $1, $2, $3, 'active', 'provisional', $4, $5, $6, $7, $8, $9, $10
         where exists (select from agents where org_id = $1 and agent_id = $2)
            or (select count(*) from agents where org_id = $1) < $11
         on conflict (org_id, agent_id) do update
         set framework = excluded.framework,
             registered_at = case when agents.registration_source = excluded.registration_source
                                  then agents.registered_at else excluded.registered_at end,
             registration_source = excluded.registration_source,
             display_name = excluded.display_name,
             version = excluded.version,
             capabilities = excluded.capabilities,
             parent_agent_id = excluded.parent_agent_id,
             metadata = excluded.metadata
         returning status, trust_level, registration_source, registered_at",
        org_id.as_str(),
        said.agent_id,
        said.framework,
        RegistrationSource::Itself.as_str(),
        now,
        said.display_name,
        said.version,
        &said.capabilities,
        said.parent_agent_id,
        Value::Object(said.metadata.clone()),
        i64::from(AGENTS_MAX),
    );
    Ok(row.fetch_optional(conn).await?)
}
