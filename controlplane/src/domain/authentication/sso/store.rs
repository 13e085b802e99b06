//! Providers, attempts and identities in PostgreSQL.

use contract::{OrgId, Timestamp, UserId};
use platform::{App, Result, execute};
use sqlx::PgConnection;

use crate::domain::tenancy::organizations;

#[derive(Debug, Clone)]
pub struct SsoConnection {
    pub org_id: OrgId,
    pub issuer: String,
    pub client_id: String,
    /// Sealed for [`record`].
    pub client_secret: Vec<u8>,
    pub email_domains: Vec<String>,
    pub default_role: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What a sealed client secret belongs to.
pub fn record(org_id: &OrgId) -> String {
    format!("sso:{org_id}")
}

pub async fn connection(conn: &mut PgConnection, org_id: &OrgId) -> Result<Option<SsoConnection>> {
    let row = sqlx::query_as!(
        SsoConnection,
        "select org_id, issuer, client_id, client_secret, email_domains, default_role, created_at, updated_at
         from sso_connections
         where org_id = $1",
        org_id.as_str(),
    );
    Ok(row.fetch_optional(conn).await?)
}

/// Another issuer means nobody by the subjects of the one before.
pub async fn put(tx: &mut PgConnection, connection: &SsoConnection) -> Result<()> {
    let SsoConnection { org_id, issuer, client_id, client_secret, email_domains, default_role, created_at, updated_at } =
        connection;
    sqlx::query!(
        "insert into sso_connections
             (org_id, issuer, client_id, client_secret, email_domains, default_role, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (org_id) do update
         set issuer = excluded.issuer, client_id = excluded.client_id, client_secret = excluded.client_secret,
             email_domains = excluded.email_domains, default_role = excluded.default_role,
             updated_at = excluded.updated_at",
        org_id.as_str(),
        issuer.as_str(),
        client_id.as_str(),
        client_secret.as_slice(),
        email_domains.as_slice(),
        default_role.as_str(),
        *created_at,
        *updated_at,
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!("delete from sso_identities where org_id = $1 and issuer <> $2", org_id.as_str(), issuer.as_str())
        .execute(&mut *tx)
        .await?;
    organizations::store::set_sso_provider(tx, org_id, Some(issuer), *updated_at).await
}

pub async fn remove(tx: &mut PgConnection, org_id: &OrgId, now: Timestamp) -> Result<()> {
    sqlx::query!("delete from sso_connections where org_id = $1", org_id.as_str()).execute(&mut *tx).await?;
    sqlx::query!("delete from sso_identities where org_id = $1", org_id.as_str()).execute(&mut *tx).await?;
    organizations::store::set_sso_provider(tx, org_id, None, now).await
}

/// A sign-on between its two halves.
#[derive(Debug)]
pub struct SignOnAttempt {
    pub org_id: OrgId,
    pub browser_sha256: Vec<u8>,
    pub nonce: String,
    /// Sealed for [`attempt_record`].
    pub verifier: Vec<u8>,
    pub expires_at: Timestamp,
}

/// What a sealed verifier belongs to.
pub fn attempt_record(nonce: &str) -> String {
    format!("sso-attempt:{nonce}")
}

pub async fn begin(conn: &mut PgConnection, state_sha256: &[u8], attempt: &SignOnAttempt) -> Result<()> {
    let SignOnAttempt { org_id, browser_sha256, nonce, verifier, expires_at } = attempt;
    execute!(
        conn,
        "insert into sso_attempts (state_sha256, org_id, browser_sha256, nonce, verifier, expires_at)
         values ($1, $2, $3, $4, $5, $6)",
        state_sha256,
        org_id.as_str(),
        browser_sha256.as_slice(),
        nonce.as_str(),
        verifier.as_slice(),
        *expires_at,
    )
}

/// Takes the attempt: it comes back once.
pub async fn take(conn: &mut PgConnection, state_sha256: &[u8]) -> Result<Option<SignOnAttempt>> {
    let row = sqlx::query_as!(
        SignOnAttempt,
        "delete from sso_attempts where state_sha256 = $1
         returning org_id, browser_sha256, nonce, verifier, expires_at",
        state_sha256,
    );
    Ok(row.fetch_optional(conn).await?)
}

/// Whom a subject means.
pub async fn identity(tx: &mut PgConnection, org_id: &OrgId, issuer: &str, subject: &str) -> Result<Option<UserId>> {
    let user_id = sqlx::query_scalar!(
        "select user_id from sso_identities where org_id = $1 and issuer = $2 and subject = $3",
        org_id.as_str(),
        issuer,
        subject,
    );
    Ok(user_id.fetch_optional(tx).await?.map(UserId::from))
}

pub async fn link(tx: &mut PgConnection, org_id: &OrgId, issuer: &str, subject: &str, user_id: &UserId) -> Result<()> {
    execute!(
        tx,
        "insert into sso_identities (org_id, issuer, subject, user_id) values ($1, $2, $3, $4)",
        org_id.as_str(),
        issuer,
        subject,
        user_id.as_str(),
    )
}

/// Forgets attempts that never came back.
pub async fn sweep(app: &App) -> Result<()> {
    execute!(app.pool(), "delete from sso_attempts where expires_at < $1", app.now())
}
