//! SQL of the storage integrations.

use contract::storage_integration::{AccessKey, DatabaseUser, SasToken, StorageCredentials, StorageKind};
use contract::{EnvId, Keyring, OrgId, Redacted, StorageIntegration, StorageIntegrationId, Timestamp};
use platform::http::page::PageRequest;
use platform::{App, Error, OnConstraint, Result, execute, scalar};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::secret::source::{KUBERNETES_SECRET, KeptSecret};

const NAME_KEY: &str = "storage_integrations_env_id_name_key";

/// A storage integration without its credentials.
#[derive(Debug, Clone)]
pub struct KeptIntegration {
    pub storage_integration_id: StorageIntegrationId,
    pub name: String,
    pub kind: StorageKind,
    pub allowed_prefixes: Vec<String>,
    pub blocked_prefixes: Vec<String>,
    pub enabled: bool,
    pub credential_type: String,
    /// Since when it has these credentials, if they are kept here.
    pub credentials_at: Option<Timestamp>,
    /// Where they come from, if it is a Secret of Kubernetes.
    pub secret: Option<KeptSecret>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

struct IntegrationRow {
    org_id: String,
    env_id: String,
    storage_integration_id: String,
    name: String,
    kind: Value,
    allowed_prefixes: Vec<String>,
    blocked_prefixes: Vec<String>,
    enabled: bool,
    credential_type: String,
    credentials_at: Option<Timestamp>,
    secret: Option<Value>,
    secret_problem: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// A query for integrations `i` of environments `e`: all columns, then this.
macro_rules! integrations {
    ($tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            IntegrationRow,
            "select e.org_id, i.env_id, i.storage_integration_id, i.name, i.kind, i.allowed_prefixes,
                    i.blocked_prefixes, i.enabled, i.credential_type, i.credentials_at, i.secret, i.secret_problem,
                    i.created_at, i.updated_at
             from storage_integrations i join environments e using (env_id) " + $tail,
            $($argument),*
        )
    };
}

impl TryFrom<IntegrationRow> for KeptIntegration {
    type Error = Error;

    fn try_from(row: IntegrationRow) -> Result<Self> {
        let source = row.secret.map(serde_json::from_value).transpose().map_err(Error::internal)?;
        let secret = source.map(|source| KeptSecret { source, problem: row.secret_problem });
        Ok(Self {
            storage_integration_id: row.storage_integration_id.into(),
            name: row.name,
            kind: serde_json::from_value(row.kind).map_err(Error::internal)?,
            allowed_prefixes: row.allowed_prefixes,
            blocked_prefixes: row.blocked_prefixes,
            enabled: row.enabled,
            credential_type: row.credential_type,
            credentials_at: row.credentials_at,
            secret,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

/// The record that credentials are sealed for.
fn record(id: &str) -> String {
    format!("storage_integration:{id}")
}

pub async fn page(conn: &mut PgConnection, env_id: &EnvId, page: &PageRequest) -> Result<(Vec<KeptIntegration>, i64)> {
    let rows = integrations!(
        "where i.env_id = $1 and ($2::timestamptz is null or (i.created_at, i.storage_integration_id) < ($2, $3))
         order by i.created_at desc, i.storage_integration_id desc
         limit $4",
        env_id.as_str(),
        page.after_time(),
        page.after_id(),
        page.fetch(),
    )
    .fetch_all(&mut *conn)
    .await?;
    let integrations = rows.into_iter().map(KeptIntegration::try_from).collect::<Result<_>>()?;
    Ok((integrations, count(conn, env_id).await?))
}

pub async fn count(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    scalar!(conn, r#"select count(*) as "total!" from storage_integrations where env_id = $1"#, env_id.as_str(),)
}

pub async fn find(
    conn: &mut PgConnection,
    env_id: &EnvId,
    id: &StorageIntegrationId,
) -> Result<Option<KeptIntegration>> {
    let row = integrations!("where i.env_id = $1 and i.storage_integration_id = $2", env_id.as_str(), id.as_str());
    row.fetch_optional(conn).await?.map(KeptIntegration::try_from).transpose()
}

/// A storage integration, and whose it is.
pub struct PlacedIntegration {
    pub org_id: OrgId,
    pub env_id: EnvId,
    pub integration: KeptIntegration,
}

/// All that are enabled, of every environment; nobody else changes them meanwhile.
pub async fn enabled(conn: &mut PgConnection) -> Result<Vec<PlacedIntegration>> {
    let rows = integrations!("where i.enabled order by i.env_id, i.storage_integration_id for update of i");
    let placed = rows.fetch_all(conn).await?.into_iter().map(|row| {
        let (org_id, env_id) = (row.org_id.clone().into(), row.env_id.clone().into());
        KeptIntegration::try_from(row).map(|integration| PlacedIntegration { org_id, env_id, integration })
    });
    placed.collect()
}

fn name_taken(integration: &KeptIntegration) -> Error {
    let message =
        format!("the environment has a storage integration named `{}`: choose another name", integration.name);
    Error::conflict("name_taken", message)
}

pub async fn insert(conn: &mut PgConnection, env_id: &EnvId, integration: &KeptIntegration) -> Result<()> {
    sqlx::query!(
        "insert into storage_integrations
             (storage_integration_id, env_id, name, kind, allowed_prefixes, blocked_prefixes, enabled, credential_type,
              created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, 'anonymous', $8, $9)",
        integration.storage_integration_id.as_str(),
        env_id.as_str(),
        integration.name,
        json!(integration.kind),
        &integration.allowed_prefixes,
        &integration.blocked_prefixes,
        integration.enabled,
        integration.created_at,
        integration.updated_at,
    )
    .execute(conn)
    .await
    .on_constraint(NAME_KEY, || name_taken(integration))?;
    Ok(())
}

pub async fn update(conn: &mut PgConnection, integration: &KeptIntegration) -> Result<()> {
    sqlx::query!(
        "update storage_integrations
         set name = $2, kind = $3, allowed_prefixes = $4, blocked_prefixes = $5, enabled = $6, updated_at = $7
         where storage_integration_id = $1",
        integration.storage_integration_id.as_str(),
        integration.name,
        json!(integration.kind),
        &integration.allowed_prefixes,
        &integration.blocked_prefixes,
        integration.enabled,
        integration.updated_at,
    )
    .execute(conn)
    .await
    .on_constraint(NAME_KEY, || name_taken(integration))?;
    Ok(())
}

/// As they are kept for the integration of this id; nothing of those that hold no secret.
pub fn sealed(app: &App, id: &str, credentials: &StorageCredentials) -> Result<Option<Vec<u8>>> {
    let text = match credentials {
        StorageCredentials::Anonymous | StorageCredentials::Ambient | StorageCredentials::Sealed { .. } => None,
        StorageCredentials::AccessKey(key) => Some(serde_json::to_string(key).map_err(Error::internal)?),
        StorageCredentials::Password(user) => Some(serde_json::to_string(user).map_err(Error::internal)?),
        StorageCredentials::SasToken(token) => Some(serde_json::to_string(token).map_err(Error::internal)?),
    };
    let seal = |text| app.keyring().seal(&record(id), &Redacted::new(text), app.entropy());
    text.map(seal).transpose().map_err(Error::internal)
}

/// Other credentials from now on; those of before are gone.
pub async fn give(
    app: &App,
    conn: &mut PgConnection,
    integration: &mut KeptIntegration,
    credentials: &StorageCredentials,
) -> Result<()> {
    let id = &integration.storage_integration_id;
    let sealed = sealed(app, id.as_str(), credentials)?;
    let since = sealed.is_some().then(|| app.now());
    sqlx::query!(
        "update storage_integrations
         set credential_type = $2, credentials = $3, credentials_at = $4, secret = null, secret_problem = null
         where storage_integration_id = $1",
        id.as_str(),
        credentials.as_str(),
        sealed,
        since,
    )
    .execute(conn)
    .await?;
    credentials.as_str().clone_into(&mut integration.credential_type);
    (integration.credentials_at, integration.secret) = (since, None);
    Ok(())
}

pub async fn delete(conn: &mut PgConnection, id: &StorageIntegrationId) -> Result<()> {
    execute!(conn, "delete from storage_integrations where storage_integration_id = $1", id.as_str())
}

/// Forgets all of an environment that is removed, their credentials with them.
pub async fn delete_all_in(conn: &mut PgConnection, env_id: &EnvId) -> Result<()> {
    execute!(conn, "delete from storage_integrations where env_id = $1", env_id.as_str())
}

/// Every storage integration of the environment with its credentials, as a data plane must know them.
pub async fn governed(conn: &mut PgConnection, keyring: &Keyring, env_id: &EnvId) -> Result<Vec<StorageIntegration>> {
    let rows = sqlx::query!(
        "select storage_integration_id, name, kind, allowed_prefixes, blocked_prefixes, enabled, credential_type,
                credentials
         from storage_integrations where env_id = $1 order by created_at, storage_integration_id",
        env_id.as_str(),
    )
    .fetch_all(conn)
    .await?;
    let mut integrations = Vec::with_capacity(rows.len());
    for row in rows {
        let opened = opened(keyring, &row.storage_integration_id, &row.credential_type, row.credentials.as_deref());
        if row.credential_type == KUBERNETES_SECRET && row.credentials.is_none() {
            // whoever reads Secrets again has warned of it
            tracing::debug!(storage_integration.id = %row.storage_integration_id, "its Secret gives no credentials");
        } else if let Err(error) = &opened {
            // without it the rest of the rules would wait, revoked keys among them
            tracing::error!(
                storage_integration.id = %row.storage_integration_id,
                error = %error.with_sources(),
                "the credentials of a storage integration cannot be opened: it is sent as disabled",
            );
        }
        integrations.push(StorageIntegration {
            name: row.name,
            kind: serde_json::from_value(row.kind).map_err(Error::internal)?,
            allowed_prefixes: row.allowed_prefixes,
            blocked_prefixes: row.blocked_prefixes,
            enabled: row.enabled && opened.is_ok(),
            credentials: opened.unwrap_or_default(),
        });
    }
    Ok(integrations)
}

pub fn opened(keyring: &Keyring, id: &str, credential_type: &str, sealed: Option<&[u8]>) -> Result<StorageCredentials> {
    match (credential_type, sealed) {
        ("anonymous", None) => Ok(StorageCredentials::Anonymous),
        ("ambient", None) => Ok(StorageCredentials::Ambient),
        ("kubernetes_secret", None) => Err(Error::internal("its Secret gives no credentials")),
        ("access_key" | "password" | "sas_token" | "kubernetes_secret", Some(sealed)) => {
            let text = keyring.open(&record(id), sealed).map_err(Error::internal)?;
            read(text.expose())
        }
        _ => Err(Error::internal("credentials of an unknown type")),
    }
}

/// Credentials as they were sealed: which they are, their members say.
fn read(text: &str) -> Result<StorageCredentials> {
    if let Ok(key) = serde_json::from_str::<AccessKey>(text) {
        return Ok(StorageCredentials::AccessKey(key));
    }
    if let Ok(token) = serde_json::from_str::<SasToken>(text) {
        return Ok(StorageCredentials::SasToken(token));
    }
    let user = serde_json::from_str::<DatabaseUser>(text);
    user.map(StorageCredentials::Password).map_err(|_| Error::internal("neither a key, a token nor a password"))
}
