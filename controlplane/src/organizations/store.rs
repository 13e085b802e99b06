//! Organizations in PostgreSQL.

use contract::{OrgId, Timestamp, UserId};
use sqlx::PgConnection;

use crate::http::text::Email;
use crate::{Error, OnConstraint, Result};

/// A row, as the room sees it.
#[derive(Debug, Clone)]
pub struct Organization {
    pub org_id: OrgId,
    pub name: String,
    pub slug: String,
    pub billing_email: String,
    pub cloud_region: String,
    pub tier: String,
    pub status: String,
    pub mfa_required: bool,
    pub enforce_sso: bool,
    pub sso_provider: Option<String>,
    pub billing_provider_customer_id: Option<String>,
    pub billing_provider_subscription_id: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

pub async fn find(conn: &mut PgConnection, org_id: &OrgId) -> Result<Option<Organization>> {
    let row = sqlx::query_as!(Organization, "select * from organizations where org_id = $1", org_id.as_str())
        .fetch_optional(conn)
        .await?;
    Ok(row)
}

/// As [`find`], and nobody else changes the organization or its membership until the transaction
/// ends: rules that count users hold under this lock.
pub async fn lock(conn: &mut PgConnection, org_id: &OrgId) -> Result<Organization> {
    sqlx::query_as!(Organization, "select * from organizations where org_id = $1 for no key update", org_id.as_str())
        .fetch_optional(conn)
        .await?
        .ok_or(Error::NotFound { kind: "organization" })
}

pub async fn by_slug(conn: &mut PgConnection, slug: &str) -> Result<Option<OrgId>> {
    let org_id =
        sqlx::query_scalar!("select org_id from organizations where slug = $1", slug).fetch_optional(conn).await?;
    Ok(org_id.map(OrgId::from))
}

/// How many organizations the user's account owns.
pub async fn owned(conn: &mut PgConnection, user_id: &UserId) -> Result<i64> {
    let count = sqlx::query_scalar!(
        r#"
        select count(*) as "count!"
        from users u
        join users me on me.account_id = u.account_id
        where me.user_id = $1 and u.role = 'owner'
        "#,
        user_id.as_str(),
    )
    .fetch_one(conn)
    .await?;
    Ok(count)
}

/// A new organization: `free` and `active`.
#[derive(Debug)]
pub struct New<'a> {
    pub org_id: &'a OrgId,
    pub name: &'a str,
    pub slug: &'a str,
    pub billing_email: &'a Email,
    pub cloud_region: &'a str,
    pub mfa_required: bool,
    pub enforce_sso: bool,
    pub now: Timestamp,
}

pub async fn insert(conn: &mut PgConnection, new: &New<'_>) -> Result<Organization> {
    sqlx::query_as!(
        Organization,
        "insert into organizations
             (org_id, name, slug, billing_email, cloud_region, tier, status, mfa_required, enforce_sso,
              created_at, updated_at)
         values ($1, $2, $3, $4, $5, 'free', 'active', $6, $7, $8, $8)
         returning *",
        new.org_id.as_str(),
        new.name,
        new.slug,
        new.billing_email.as_str(),
        new.cloud_region,
        new.mfa_required,
        new.enforce_sso,
        new.now,
    )
    .fetch_one(conn)
    .await
    .on_constraint("organizations_slug_key", || {
        Error::conflict("slug_taken", format!("the slug `{}` is taken", new.slug))
    })
}

pub async fn update(conn: &mut PgConnection, changed: &Organization, now: Timestamp) -> Result<Organization> {
    let row = sqlx::query_as!(
        Organization,
        "update organizations
         set name = $2, billing_email = $3, mfa_required = $4, enforce_sso = $5, updated_at = $6
         where org_id = $1
         returning *",
        changed.org_id.as_str(),
        changed.name,
        changed.billing_email,
        changed.mfa_required,
        changed.enforce_sso,
        now,
    )
    .fetch_one(conn)
    .await?;
    Ok(row)
}

pub async fn set_tier(conn: &mut PgConnection, org_id: &OrgId, tier: contract::Tier, now: Timestamp) -> Result<()> {
    sqlx::query!(
        "update organizations set tier = $2, updated_at = $3 where org_id = $1 and tier <> $2",
        org_id.as_str(),
        tier.as_str(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}
