//! SQL of the credentials that come from Secrets.

use contract::storage_integration::StorageCredentials;
use contract::{EnvId, StorageIntegrationId};
use platform::{App, Error, Result};
use serde_json::json;
use sqlx::PgConnection;

use super::source::{KUBERNETES_SECRET, KeptSecret, SecretSource};
use crate::domain::storage_integrations::store::{self, KeptIntegration};

/// An integration whose credentials come from a Secret, with what was read of it last.
pub struct HeldSecret {
    pub storage_integration_id: StorageIntegrationId,
    pub env_id: EnvId,
    pub source: SecretSource,
    pub problem: Option<String>,
    pub credentials: Option<Vec<u8>>,
}

/// All of them, of every environment.
pub async fn held(conn: &mut PgConnection) -> Result<Vec<HeldSecret>> {
    let rows = sqlx::query!(
        r#"select storage_integration_id, env_id, secret as "secret!", secret_problem, credentials
           from storage_integrations where secret is not null order by env_id, storage_integration_id"#,
    )
    .fetch_all(conn)
    .await?;
    let held = rows.into_iter().map(|row| {
        Ok::<_, Error>(HeldSecret {
            storage_integration_id: row.storage_integration_id.into(),
            env_id: row.env_id.into(),
            source: serde_json::from_value(row.secret).map_err(Error::internal)?,
            problem: row.secret_problem,
            credentials: row.credentials,
        })
    });
    held.collect()
}

/// The integration has this Secret from now on, and the credentials that it gives; what it had before is gone.
pub async fn hold(
    app: &App,
    conn: &mut PgConnection,
    integration: &mut KeptIntegration,
    secret: KeptSecret,
    credentials: Option<&StorageCredentials>,
) -> Result<()> {
    let id = &integration.storage_integration_id;
    let sealed = credentials.map(|given| store::sealed(app, id.as_str(), given)).transpose()?.flatten();
    let since = sealed.is_some().then(|| app.now());
    sqlx::query!(
        "update storage_integrations
         set credential_type = 'kubernetes_secret', credentials = $2, credentials_at = $3, secret = $4, secret_problem = $5
         where storage_integration_id = $1",
        id.as_str(),
        sealed,
        since,
        json!(secret.source),
        secret.problem,
    )
    .execute(conn)
    .await?;
    KUBERNETES_SECRET.clone_into(&mut integration.credential_type);
    (integration.credentials_at, integration.secret) = (since, Some(secret));
    Ok(())
}
