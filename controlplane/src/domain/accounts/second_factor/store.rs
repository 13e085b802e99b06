//! Second factors in PostgreSQL.

use contract::{SessionId, Timestamp};
use platform::{Result, changed, execute};
use sqlx::PgConnection;

/// The second factor that an account has enrolled, or is about to.
#[derive(Debug)]
pub struct Enrolled {
    pub secret: Vec<u8>,
    pub confirmed_at: Option<Timestamp>,
    pub last_step: Option<i64>,
    pub failures: i32,
    pub waits_until: Option<Timestamp>,
}

/// Codes for one account are judged one after another.
pub async fn lock(tx: &mut PgConnection, account_id: &str) -> Result<Option<Enrolled>> {
    let row = sqlx::query_as!(
        Enrolled,
        "select secret, confirmed_at, last_step, failures, waits_until
         from account_totp
         where account_id = $1
         for update",
        account_id,
    );
    Ok(row.fetch_optional(tx).await?)
}

/// Another secret, until it is confirmed. Says whether there was none that is.
pub async fn begin(tx: &mut PgConnection, account_id: &str, secret: &[u8], now: Timestamp) -> Result<bool> {
    changed!(
        tx,
        "insert into account_totp (account_id, secret, created_at) values ($1, $2, $3)
         on conflict (account_id) do update set secret = excluded.secret, created_at = excluded.created_at
         where account_totp.confirmed_at is null",
        account_id,
        secret,
        now,
    )
}

/// The secret is in its authenticator: from now on its codes are asked for.
pub async fn confirm(
    tx: &mut PgConnection,
    account_id: &str,
    step: i64,
    codes: &[Vec<u8>],
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update account_totp set confirmed_at = $2, last_step = $3, failures = 0, waits_until = null
         where account_id = $1",
        account_id,
        now,
        step,
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!("delete from account_recovery_codes where account_id = $1", account_id).execute(&mut *tx).await?;
    execute!(
        tx,
        "insert into account_recovery_codes (account_id, code_sha256) select $1, unnest($2::bytea[])",
        account_id,
        codes,
    )
}

pub async fn remove(tx: &mut PgConnection, account_id: &str) -> Result<bool> {
    sqlx::query!("delete from account_recovery_codes where account_id = $1", account_id).execute(&mut *tx).await?;
    changed!(tx, "delete from account_totp where account_id = $1", account_id)
}

/// The code of this step was taken: neither it nor one before it is taken again.
pub async fn took(tx: &mut PgConnection, account_id: &str, step: i64) -> Result<()> {
    execute!(tx, "update account_totp set last_step = $2 where account_id = $1", account_id, step)
}

pub async fn succeeded(tx: &mut PgConnection, account_id: &str) -> Result<()> {
    execute!(tx, "update account_totp set failures = 0, waits_until = null where account_id = $1", account_id)
}

pub async fn failed(tx: &mut PgConnection, account_id: &str, waits_until: Option<Timestamp>) -> Result<()> {
    execute!(
        tx,
        "update account_totp set failures = failures + 1, waits_until = $2 where account_id = $1",
        account_id,
        waits_until,
    )
}

/// Uses up a recovery code; false when there is none of this text that is unused.
pub async fn use_recovery(tx: &mut PgConnection, account_id: &str, digest: &[u8], now: Timestamp) -> Result<bool> {
    changed!(
        tx,
        "update account_recovery_codes set used_at = $3
         where account_id = $1 and code_sha256 = $2 and used_at is null",
        account_id,
        digest,
        now,
    )
}

/// The session's holder has shown a second factor.
pub async fn shown(tx: &mut PgConnection, session_id: &SessionId, now: Timestamp) -> Result<()> {
    execute!(tx, "update sessions set second_factor_at = $2 where session_id = $1", session_id.as_str(), now)
}
