//! Who owns an organization.

use contract::{OrgId, Timestamp, UserId};
use platform::http::text::Email;
use platform::{App, Error, Result, scalar};
use sqlx::PgConnection;

/// The first user of an organization.
#[derive(Debug)]
pub struct Owner<'a> {
    pub org_id: &'a OrgId,
    pub account_id: &'a str,
    pub email: &'a Email,
    pub name: Option<&'a str>,
}

pub async fn insert_owner(conn: &mut PgConnection, app: &App, owner: &Owner<'_>) -> Result<UserId> {
    let now = app.now();
    let user_id = UserId::fresh(now, app.entropy());
    sqlx::query!(
        "insert into users (user_id, org_id, account_id, email, name, role, status, created_at, updated_at)
         values ($1, $2, $3, $4, $5, 'owner', 'active', $6, $6)",
        user_id.as_str(),
        owner.org_id.as_str(),
        owner.account_id,
        owner.email.as_str(),
        owner.name,
        now,
    )
    .execute(conn)
    .await?;
    Ok(user_id)
}

/// The account behind a user becomes the owner of another organization.
pub async fn owner_like(conn: &mut PgConnection, app: &App, user_id: &UserId, org_id: &OrgId) -> Result<UserId> {
    let now = app.now();
    let owner_id = UserId::fresh(now, app.entropy());
    let made = sqlx::query!(
        "insert into users (user_id, org_id, account_id, email, name, role, status, created_at, updated_at)
         select $1, $2, account_id, email, name, 'owner', 'active', $4, $4
         from users
         where user_id = $3 and account_id is not null",
        owner_id.as_str(),
        org_id.as_str(),
        user_id.as_str(),
        now,
    )
    .execute(conn)
    .await?;
    (made.rows_affected() == 1).then_some(owner_id).ok_or(Error::NotFound { kind: "user" })
}

/// Who owns an organization, or is invited to.
#[derive(Debug)]
pub struct Owning {
    pub user_id: UserId,
    pub email: String,
    pub status: String,
    pub expires_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
}

pub async fn owning(conn: &mut PgConnection, org_id: &OrgId) -> Result<Option<Owning>> {
    let row = sqlx::query_as!(
        Owning,
        "select user_id, email, status, invitation_expires_at as expires_at, invitation_delivered_at as delivered_at
         from users
         where org_id = $1 and role = 'owner'
         for update",
        org_id.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row)
}

pub async fn owner(conn: &mut PgConnection, org_id: &OrgId) -> Result<Option<UserId>> {
    let user_id =
        sqlx::query_scalar!("select user_id from users where org_id = $1 and role = 'owner'", org_id.as_str())
            .fetch_optional(conn)
            .await?;
    Ok(user_id.map(UserId::from))
}

/// Whether a user has confirmed their address, and somebody answers for the organization: an owner or admin who has, or
/// whoever gave it a tier. A user without an account came by a provider, which has confirmed theirs.
pub async fn answered_for(conn: &mut PgConnection, org_id: &OrgId, user_id: Option<&UserId>) -> Result<bool> {
    scalar!(
        conn,
        r#"
        select not exists (
                   select 1
                   from users u
                   join accounts a on a.account_id = u.account_id
                   where u.user_id = $2 and a.email_verified_at is null
               )
               and (
                   exists (select 1 from organizations where org_id = $1 and tier <> 'free')
                   or exists (
                       select 1
                       from users u
                       join accounts a on a.account_id = u.account_id
                       where u.org_id = $1 and u.role in ('owner', 'admin') and u.status = 'active'
                         and a.email_verified_at is not null
                   )
               ) as "both!"
        "#,
        org_id.as_str(),
        user_id.map(UserId::as_str),
    )
}
