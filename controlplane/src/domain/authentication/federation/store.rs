//! Providers in PostgreSQL.

use contract::{OrgId, Timestamp, UserId};
use platform::http::page::PageRequest;
use platform::{Error, OnConstraint, Result, execute, scalar};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::FederationConfig;

#[derive(Debug, Clone)]
pub struct Provider {
    pub provider_id: String,
    pub org_id: OrgId,
    pub config: FederationConfig,
    pub status: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

struct ProviderRow {
    provider_id: String,
    org_id: String,
    r#type: String,
    config: Value,
    status: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl TryFrom<ProviderRow> for Provider {
    type Error = Error;

    fn try_from(row: ProviderRow) -> Result<Self> {
        let config = json!({"type": row.r#type, "config": row.config});
        Ok(Self {
            provider_id: row.provider_id,
            org_id: row.org_id.into(),
            config: serde_json::from_value(config).map_err(Error::internal)?,
            status: row.status,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

/// The second half of how a config is sent.
fn stored(config: &FederationConfig) -> Result<Value> {
    let mut sent = serde_json::to_value(config).map_err(Error::internal)?;
    Ok(sent.get_mut("config").map(Value::take).unwrap_or_default())
}

pub async fn insert(tx: &mut PgConnection, provider: &Provider) -> Result<()> {
    sqlx::query!(
        "insert into federation_providers (provider_id, org_id, type, config, status, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $6)",
        provider.provider_id,
        provider.org_id.as_str(),
        provider.config.kind(),
        stored(&provider.config)?,
        provider.status,
        provider.created_at,
    )
    .execute(tx)
    .await
    .on_constraint("federation_providers_audience_key", taken)?;
    Ok(())
}

fn taken() -> Error {
    Error::conflict("audience_taken", "another provider has this tenant and audience: choose another audience")
}

pub async fn update(tx: &mut PgConnection, provider_id: &str, config: &FederationConfig, now: Timestamp) -> Result<()> {
    sqlx::query!(
        "update federation_providers set config = $2, updated_at = $3 where provider_id = $1",
        provider_id,
        stored(config)?,
        now,
    )
    .execute(tx)
    .await
    .on_constraint("federation_providers_audience_key", taken)?;
    Ok(())
}

pub async fn count(conn: &mut PgConnection, org_id: &OrgId) -> Result<i64> {
    scalar!(conn, r#"select count(*) as "count!" from federation_providers where org_id = $1"#, org_id.as_str(),)
}

pub async fn list(conn: &mut PgConnection, org_id: &OrgId, page: &PageRequest) -> Result<Vec<Provider>> {
    let rows = sqlx::query_as!(
        ProviderRow,
        "select provider_id, org_id, type, config, status, created_at, updated_at
         from federation_providers
         where org_id = $1 and ($2::timestamptz is null or (created_at, provider_id) > ($2, $3))
         order by created_at, provider_id
         limit $4",
        org_id.as_str(),
        page.after_time(),
        page.after_id(),
        page.fetch(),
    );
    rows.fetch_all(conn).await?.into_iter().map(Provider::try_from).collect()
}

pub async fn find(conn: &mut PgConnection, provider_id: &str) -> Result<Option<Provider>> {
    let row = sqlx::query_as!(
        ProviderRow,
        "select provider_id, org_id, type, config, status, created_at, updated_at
         from federation_providers
         where provider_id = $1",
        provider_id,
    );
    row.fetch_optional(conn).await?.map(Provider::try_from).transpose()
}

/// The provider that a token of Azure is for.
pub async fn by_audience(conn: &mut PgConnection, tenant_id: &str, audience: &str) -> Result<Option<Provider>> {
    let row = sqlx::query_as!(
        ProviderRow,
        "select provider_id, org_id, type, config, status, created_at, updated_at
         from federation_providers
         where type = 'azure_ad' and config ->> 'tenant_id' = $1 and config ->> 'audience' = $2",
        tenant_id,
        audience,
    );
    row.fetch_optional(conn).await?.map(Provider::try_from).transpose()
}

/// The user a subject means.
pub async fn linked(conn: &mut PgConnection, provider_id: &str, subject: &str) -> Result<Option<UserId>> {
    let user_id = sqlx::query_scalar!(
        "select user_id from federation_subjects where provider_id = $1 and subject = $2",
        provider_id,
        subject,
    );
    Ok(user_id.fetch_optional(conn).await?.map(UserId::from))
}

pub async fn link(conn: &mut PgConnection, provider_id: &str, subject: &str, user_id: &UserId) -> Result<()> {
    execute!(
        conn,
        "insert into federation_subjects (provider_id, subject, user_id) values ($1, $2, $3)",
        provider_id,
        subject,
        user_id.as_str(),
    )
}

pub async fn remove(conn: &mut PgConnection, provider_id: &str) -> Result<()> {
    execute!(conn, "delete from federation_providers where provider_id = $1", provider_id)
}
