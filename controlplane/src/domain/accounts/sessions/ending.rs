//! The end of sessions before their time: one, or all of a user, an account or an identity provider.

use contract::{OrgId, SessionId, Timestamp, UserId};
use platform::{Result, changed, execute};
use sqlx::PgConnection;

/// Ends one session of a user; false when it has none of that id that is open.
pub async fn end_of_user(
    tx: &mut PgConnection,
    user_id: &UserId,
    session_id: &SessionId,
    now: Timestamp,
) -> Result<bool> {
    changed!(
        tx,
        "update sessions set ended_at = $3
         where session_id = $1 and user_id = $2 and ended_at is null and expires_at > $3",
        session_id.as_str(),
        user_id.as_str(),
        now,
    )
}

/// Ends every session of a user and says how many were open.
pub async fn end_all(tx: &mut PgConnection, user_id: &UserId, now: Timestamp) -> Result<u64> {
    let ended = sqlx::query!(
        "update sessions set ended_at = $2 where user_id = $1 and ended_at is null and expires_at > $2",
        user_id.as_str(),
        now,
    )
    .execute(tx)
    .await?;
    Ok(ended.rows_affected())
}

/// Ends every session of an account but one, wherever it is signed in, and says how many were open.
pub async fn end_all_of_account(
    tx: &mut PgConnection,
    account_id: &str,
    but: Option<&SessionId>,
    now: Timestamp,
) -> Result<u64> {
    let ended = sqlx::query!(
        "update sessions set ended_at = $3
         where user_id in (select user_id from users where account_id = $1)
           and ($2::text is null or session_id <> $2)
           and ended_at is null and expires_at > $3",
        account_id,
        but.map(SessionId::as_str),
        now,
    );
    Ok(ended.execute(tx).await?.rows_affected())
}

/// Ends every session that a token of the federation provider has opened.
pub async fn end_all_of_provider(conn: &mut PgConnection, provider_id: &str, now: Timestamp) -> Result<u64> {
    let ended = sqlx::query!(
        "update sessions set ended_at = $2
         where ended_at is null and expires_at > $2
           and session_id in (select session_id from federated_tokens where provider_id = $1)",
        provider_id,
        now,
    );
    Ok(ended.execute(conn).await?.rows_affected())
}

/// Ends every session of an organization that its OpenID provider opened.
pub async fn end_all_by_sso(tx: &mut PgConnection, org_id: &OrgId, now: Timestamp) -> Result<u64> {
    let ended = sqlx::query!(
        "update sessions set ended_at = $2
         where method = 'sso' and ended_at is null and expires_at > $2
           and user_id in (select user_id from users where org_id = $1)",
        org_id.as_str(),
        now,
    );
    Ok(ended.execute(tx).await?.rows_affected())
}

/// Ends a session; one that has ended stays as it is.
pub(super) async fn end(tx: &mut PgConnection, session_id: &SessionId, now: Timestamp) -> Result<()> {
    execute!(
        tx,
        "update sessions set ended_at = coalesce(ended_at, $2) where session_id = $1",
        session_id.as_str(),
        now
    )
}
