//! Links in PostgreSQL.

use contract::Timestamp;
use platform::http::text::Email;
use platform::{App, Result, execute, scalar};
use sqlx::PgConnection;

use super::Purpose;

#[derive(Debug)]
pub struct Addressee {
    pub id: String,
    pub email_verified_at: Option<Timestamp>,
    /// It has a membership that a password or a link opens.
    pub enters: bool,
}

/// The account of an address. Two links for it are written one after the other.
pub async fn account(tx: &mut PgConnection, email: &Email) -> Result<Option<Addressee>> {
    let row = sqlx::query_as!(
        Addressee,
        r#"
        select a.account_id as id, a.email_verified_at,
               exists (
                   select 1
                   from users u
                   join organizations o on o.org_id = u.org_id
                   where u.account_id = a.account_id and u.status = 'active' and not o.enforce_sso
               ) as "enters!"
        from accounts a
        where a.email = $1
        for no key update of a
        "#,
        email.as_str(),
    );
    Ok(row.fetch_optional(tx).await?)
}

pub async fn written_since(tx: &mut PgConnection, account_id: &str, since: Timestamp) -> Result<i64> {
    scalar!(
        tx,
        r#"select count(*) as "count!" from account_links where account_id = $1 and created_at > $2"#,
        account_id,
        since,
    )
}

pub async fn insert(
    tx: &mut PgConnection,
    token_sha256: &[u8],
    account_id: &str,
    purpose: Purpose,
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<()> {
    execute!(
        tx,
        "insert into account_links (token_sha256, account_id, purpose, created_at, expires_at)
         values ($1, $2, $3, $4, $5)",
        token_sha256,
        account_id,
        purpose.as_str(),
        now,
        expires_at,
    )
}

/// A link that was mailed.
#[derive(Debug)]
pub struct MailedLink {
    pub token_sha256: Vec<u8>,
    pub account_id: String,
    pub email: String,
    pub expires_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

pub async fn find(tx: &mut PgConnection, token_sha256: &[u8], purpose: Purpose) -> Result<Option<MailedLink>> {
    let row = sqlx::query_as!(
        MailedLink,
        "select l.token_sha256, l.account_id, a.email, l.expires_at, l.ended_at
         from account_links l
         join accounts a on a.account_id = l.account_id
         where l.token_sha256 = $1 and l.purpose = $2
         for update of l",
        token_sha256,
        purpose.as_str(),
    );
    Ok(row.fetch_optional(tx).await?)
}

pub async fn end(tx: &mut PgConnection, token_sha256: &[u8], now: Timestamp) -> Result<()> {
    execute!(tx, "update account_links set ended_at = $2 where token_sha256 = $1", token_sha256, now)
}

/// Ends the open links of one purpose: another takes their place.
pub async fn end_all(tx: &mut PgConnection, account_id: &str, purpose: Purpose, now: Timestamp) -> Result<()> {
    execute!(
        tx,
        "update account_links set ended_at = $3 where account_id = $1 and purpose = $2 and ended_at is null",
        account_id,
        purpose.as_str(),
        now,
    )
}

pub async fn verified(tx: &mut PgConnection, account_id: &str, now: Timestamp) -> Result<()> {
    execute!(
        tx,
        "update accounts set email_verified_at = $2, updated_at = $2 where account_id = $1 and email_verified_at is null",
        account_id,
        now,
    )
}

pub async fn sweep(app: &App, before: Timestamp) -> Result<()> {
    execute!(app.pool(), "delete from account_links where created_at < $1", before)
}
