//! Who is invited: the token in the mail, and what becomes of it.

use contract::caller::Attributes;
use contract::{OrgId, Role, Timestamp, UserId};
use platform::http::text::Email;
use platform::{App, Error, OnConstraint, Result, execute};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::User;

/// Somebody who is invited.
#[derive(Debug)]
pub struct Invitee<'a> {
    pub org_id: &'a OrgId,
    pub email: &'a Email,
    pub name: Option<&'a str>,
    pub role: Role,
    pub token_sha256: &'a [u8],
    pub expires_at: Timestamp,
}

pub async fn invite(conn: &mut PgConnection, app: &App, invitee: &Invitee<'_>) -> Result<User> {
    let now = app.now();
    let user_id = UserId::fresh(now, app.entropy());
    sqlx::query_as!(
        User,
        r#"
        insert into users
            (user_id, org_id, email, name, role, status, invitation_sha256, invitation_expires_at,
             created_at, updated_at)
        values ($1, $2, $3, $4, $5, 'invited', $6, $7, $8, $8)
        returning user_id as id, user_id, email, name, role, status, mfa_enabled,
                  attributes as "attributes: Json<Attributes>", last_login, invitation_expires_at,
                  created_at, updated_at
        "#,
        user_id.as_str(),
        invitee.org_id.as_str(),
        invitee.email.as_str(),
        invitee.name,
        invitee.role.as_str(),
        invitee.token_sha256,
        invitee.expires_at,
        now,
    )
    .fetch_one(conn)
    .await
    .on_constraint("users_org_id_email_key", || {
        Error::conflict("email_taken", format!("{} is a user of this organization already", invitee.email))
    })
}

/// An invitation that somebody presents the token of.
#[derive(Debug)]
pub struct Invitation {
    pub user_id: UserId,
    pub org_id: OrgId,
    pub email: String,
    pub role: String,
    pub status: String,
    pub expires_at: Option<Timestamp>,
}

pub async fn invitation(conn: &mut PgConnection, token_sha256: &[u8]) -> Result<Option<Invitation>> {
    let row = sqlx::query_as!(
        Invitation,
        "select user_id, org_id, email, role, status, invitation_expires_at as expires_at
         from users
         where invitation_sha256 = $1
         for update",
        token_sha256,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row)
}

pub async fn accept(
    conn: &mut PgConnection,
    user_id: &UserId,
    account_id: &str,
    name: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    execute!(
        conn,
        "update users
         set account_id = $2, name = coalesce($3, name), status = 'active',
             invitation_sha256 = null, invitation_expires_at = null, updated_at = $4
         where user_id = $1",
        user_id.as_str(),
        account_id,
        name,
        now,
    )
}

/// Another token: the one before opens nothing any more.
pub async fn renew_invitation(
    conn: &mut PgConnection,
    user_id: &UserId,
    token_sha256: &[u8],
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<()> {
    execute!(
        conn,
        "update users
         set invitation_sha256 = $2, invitation_expires_at = $3, invitation_delivered_at = null, updated_at = $4
         where user_id = $1",
        user_id.as_str(),
        token_sha256,
        expires_at,
        now,
    )
}

pub async fn invitation_delivered(conn: &mut PgConnection, user_id: &UserId, now: Timestamp) -> Result<()> {
    execute!(conn, "update users set invitation_delivered_at = $2 where user_id = $1", user_id.as_str(), now)
}
