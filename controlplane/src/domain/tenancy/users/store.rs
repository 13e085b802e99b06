//! Users in PostgreSQL.

mod invitation;
mod owner;

use contract::caller::Attributes;
use contract::{OrgId, Role, Timestamp, UserId};
use platform::http::page::PageRequest;
use platform::http::text::Email;
use platform::{App, Error, Result, execute, scalar};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;
use sqlx::types::Json;

pub use self::invitation::{Invitation, Invitee, accept, invitation, invitation_delivered, invite, renew_invitation};
pub use self::owner::{Owner, Owning, answered_for, insert_owner, owner, owner_like, owning};

/// A user, as it is stored and answered.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct User {
    pub id: UserId,
    pub user_id: UserId,
    pub email: String,
    pub name: Option<String>,
    pub role: String,
    pub status: String,
    pub mfa_enabled: bool,
    #[schemars(with = "Attributes")]
    pub attributes: Json<Attributes>,
    pub last_login: Option<Timestamp>,
    /// On invite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invitation_expires_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl User {
    pub fn is_owner(&self) -> bool {
        self.role == Role::Owner.as_str()
    }

    pub fn is_admin(&self) -> bool {
        self.role == Role::Admin.as_str()
    }
}

/// The filters of the list.
#[derive(Debug, Clone, Copy)]
pub struct UserFilter<'a> {
    pub role: Option<&'a str>,
    pub status: Option<&'a str>,
}

pub async fn list(
    conn: &mut PgConnection,
    org_id: &OrgId,
    filter: UserFilter<'_>,
    page: &PageRequest,
) -> Result<Vec<User>> {
    let rows = sqlx::query_as!(
        User,
        r#"
        select user_id as id, user_id, email, name, role, status, mfa_enabled,
               attributes as "attributes: Json<Attributes>", last_login, invitation_expires_at,
               created_at, updated_at
        from users
        where org_id = $1
          and ($2::text is null or role = $2)
          and ($3::text is null or status = $3)
          and ($4::timestamptz is null or (created_at, user_id) > ($4, $5))
        order by created_at, user_id
        limit $6
        "#,
        org_id.as_str(),
        filter.role,
        filter.status,
        page.after_time(),
        page.after_id(),
        page.fetch(),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows)
}

pub async fn count(conn: &mut PgConnection, org_id: &OrgId, filter: UserFilter<'_>) -> Result<i64> {
    scalar!(
        conn,
        r#"
        select count(*) as "count!"
        from users
        where org_id = $1
          and ($2::text is null or role = $2)
          and ($3::text is null or status = $3)
        "#,
        org_id.as_str(),
        filter.role,
        filter.status,
    )
}

/// The user of that id in this organization.
pub async fn get(conn: &mut PgConnection, org_id: &OrgId, user_id: &UserId) -> Result<User> {
    sqlx::query_as!(
        User,
        r#"
        select user_id as id, user_id, email, name, role, status, mfa_enabled,
               attributes as "attributes: Json<Attributes>", last_login, invitation_expires_at,
               created_at, updated_at
        from users
        where org_id = $1 and user_id = $2
        "#,
        org_id.as_str(),
        user_id.as_str(),
    )
    .fetch_optional(conn)
    .await?
    .ok_or(Error::NotFound { kind: "user" })
}

/// The user with this address.
pub async fn by_email(conn: &mut PgConnection, org_id: &OrgId, email: &Email) -> Result<Option<User>> {
    let user_id = sqlx::query_scalar!(
        "select user_id from users where org_id = $1 and email = $2",
        org_id.as_str(),
        email.as_str(),
    );
    match user_id.fetch_optional(&mut *conn).await? {
        Some(user_id) => get(conn, org_id, &user_id.into()).await.map(Some),
        None => Ok(None),
    }
}

/// An invited user whom the organization's provider has brought in: without an account of theirs.
pub async fn come_vouched_for(conn: &mut PgConnection, user_id: &UserId, now: Timestamp) -> Result<()> {
    execute!(
        conn,
        "update users
         set vouched_for = true, status = 'active', invitation_sha256 = null, invitation_expires_at = null, updated_at = $2
         where user_id = $1",
        user_id.as_str(),
        now,
    )
}

/// Somebody new whom the organization's provider has brought in.
pub async fn insert_vouched_for(
    conn: &mut PgConnection,
    app: &App,
    uninvited_user: &UninvitedUser<'_>,
) -> Result<UserId> {
    let user_id = UserId::fresh(app.now(), app.entropy());
    sqlx::query!(
        "insert into users (user_id, org_id, email, name, role, status, vouched_for, created_at, updated_at)
         values ($1, $2, $3, $4, $5, 'active', true, $6, $6)",
        user_id.as_str(),
        uninvited_user.org_id.as_str(),
        uninvited_user.email.as_str(),
        uninvited_user.name,
        uninvited_user.role.as_str(),
        app.now(),
    )
    .execute(conn)
    .await?;
    Ok(user_id)
}

/// Whether the user can sign in by what is their own.
pub async fn has_account(conn: &mut PgConnection, user_id: &UserId) -> Result<bool> {
    scalar!(conn, r#"select account_id is not null as "has!" from users where user_id = $1"#, user_id.as_str(),)
}

/// Who comes without having been invited.
#[derive(Debug)]
pub struct UninvitedUser<'a> {
    pub org_id: &'a OrgId,
    pub email: &'a Email,
    pub name: Option<&'a str>,
    pub role: Role,
}

pub async fn set_role(conn: &mut PgConnection, user_id: &UserId, role: Role, now: Timestamp) -> Result<()> {
    execute!(
        conn,
        "update users set role = $2, updated_at = $3 where user_id = $1",
        user_id.as_str(),
        role.as_str(),
        now,
    )
}

pub async fn suspend(conn: &mut PgConnection, user_id: &UserId, now: Timestamp) -> Result<()> {
    execute!(conn, "update users set status = 'suspended', updated_at = $2 where user_id = $1", user_id.as_str(), now)
}

/// Back to what the user was: `active` if the invitation had been accepted, else `invited`.
pub async fn reactivate(conn: &mut PgConnection, user_id: &UserId, now: Timestamp) -> Result<()> {
    execute!(
        conn,
        "update users
         set status = case when account_id is null and not vouched_for then 'invited' else 'active' end, updated_at = $2
         where user_id = $1",
        user_id.as_str(),
        now,
    )
}

pub async fn set_attributes(
    conn: &mut PgConnection,
    user_id: &UserId,
    attributes: &Attributes,
    now: Timestamp,
) -> Result<()> {
    execute!(
        conn,
        "update users set attributes = $2, updated_at = $3 where user_id = $1",
        user_id.as_str(),
        Json(attributes) as _,
        now,
    )
}

/// Notes when the user has opened a session.
pub async fn signed_in(conn: &mut PgConnection, user_id: &UserId, now: Timestamp) -> Result<()> {
    execute!(conn, "update users set last_login = $2 where user_id = $1", user_id.as_str(), now)
}

pub async fn remove(conn: &mut PgConnection, user_id: &UserId) -> Result<()> {
    execute!(conn, "delete from users where user_id = $1", user_id.as_str())
}

/// Admins besides this user who can act.
pub async fn other_admins(conn: &mut PgConnection, org_id: &OrgId, user_id: &UserId) -> Result<i64> {
    scalar!(
        conn,
        r#"
        select count(*) as "count!"
        from users
        where org_id = $1 and user_id <> $2 and role = 'admin' and status = 'active'
        "#,
        org_id.as_str(),
        user_id.as_str(),
    )
}

/// People who are to hear of something.
#[derive(Debug)]
pub struct Audience<'a> {
    /// Who has one of these values of the attribute.
    pub attribute: &'a str,
    pub values: &'a [String],
    /// And who owns or administers the organization.
    pub admins: bool,
    /// And who has this address.
    pub email: &'a str,
}

/// Addresses of the people among them who can act.
pub async fn addresses(
    conn: &mut PgConnection,
    org_id: &OrgId,
    audience: &Audience<'_>,
    most: i64,
) -> Result<Vec<String>> {
    let found = sqlx::query_scalar!(
        "select email from users
         where org_id = $1 and status = 'active' and role <> 'service_account'
           and (attributes ->> $2 = any($3) or $4 and role in ('owner', 'admin') or email = $5)
         order by email
         limit $6",
        org_id.as_str(),
        audience.attribute,
        audience.values,
        audience.admins,
        audience.email,
        most,
    );
    Ok(found.fetch_all(conn).await?)
}
