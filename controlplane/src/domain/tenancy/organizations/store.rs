//! Organizations in PostgreSQL.

use contract::caller::Limits;
use contract::{OrgId, Tier, Timestamp, UserId};
use platform::resources::{self, NamespacedName, NewOrganization, ResourceRevision};
use platform::{Error, OnConstraint, Result, changed, execute, scalar};
use serde_json::Value;
use sqlx::PgConnection;

/// The columns of an organization that are read.
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
    /// Of its resource, if it has one.
    pub namespace: Option<String>,
    pub resource_version: Option<i64>,
    /// Of `contract::caller::Limits`: what differs from the tier's.
    pub quotas: Value,
    /// When its resource was gone.
    pub removed_at: Option<Timestamp>,
}

impl Organization {
    pub fn limits(&self) -> Result<Limits> {
        let own = serde_json::from_value(self.quotas.clone()).map_err(Error::internal)?;
        Ok(self.tier.parse::<Tier>().map_err(Error::internal)?.limits().overridden_by(own))
    }

    /// Where its resource is, if it has one.
    pub fn place(&self) -> Option<NamespacedName> {
        self.namespace.clone().map(|namespace| NamespacedName { namespace, name: self.slug.clone() })
    }

    /// Refuses a resource of this name that is not this organization's: it was deleted and made anew.
    pub fn ensure_same(&self, said: &resources::OrganizationResource) -> Result<()> {
        if said.org_id == self.org_id { Ok(()) } else { Err(Error::NotFound { kind: "organization" }) }
    }
}

pub async fn find(conn: &mut PgConnection, org_id: &OrgId) -> Result<Option<Organization>> {
    let row = sqlx::query_as!(Organization, "select * from organizations where org_id = $1", org_id.as_str())
        .fetch_optional(conn)
        .await?;
    Ok(row)
}

/// The issuer that vouches for its people, as its record shows it.
pub async fn set_sso_provider(
    tx: &mut PgConnection,
    org_id: &OrgId,
    issuer: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    execute!(
        tx,
        "update organizations set sso_provider = $2, updated_at = $3 where org_id = $1",
        org_id.as_str(),
        issuer,
        now,
    )
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
    let org_id = sqlx::query_scalar!("select org_id from organizations where slug = $1 and removed_at is null", slug)
        .fetch_optional(conn)
        .await?;
    Ok(org_id.map(OrgId::from))
}

/// How many organizations the user's account owns.
pub async fn owned(conn: &mut PgConnection, user_id: &UserId) -> Result<i64> {
    scalar!(
        conn,
        r#"
        select count(*) as "count!"
        from users u
        join users me on me.account_id = u.account_id
        where me.user_id = $1 and u.role = 'owner'
        "#,
        user_id.as_str(),
    )
}

/// Whoever makes an organization of this slug, REST or the follower of resources, comes after the other.
pub async fn serialise(conn: &mut PgConnection, slug: &str) -> Result<()> {
    execute!(conn, "select pg_advisory_xact_lock(hashtextextended('organizations:' || $1, 0))", slug)
}

/// One change of the resource, and of what it presumes, at a time. Not the row's lock: who asks the API server
/// meanwhile keeps nobody waiting who removes a member.
pub async fn serialise_change(conn: &mut PgConnection, org_id: &OrgId) -> Result<()> {
    execute!(conn, "select pg_advisory_xact_lock(hashtextextended('organization:' || $1, 0))", org_id.as_str())
}

/// A new organization: `free` and `active`.
pub async fn insert(
    conn: &mut PgConnection,
    org_id: &OrgId,
    new: &NewOrganization<'_>,
    now: Timestamp,
) -> Result<Organization> {
    let NewOrganization { slug, name, billing_email, cloud_region, mfa_required, enforce_sso } = new;
    sqlx::query_as!(
        Organization,
        "insert into organizations
             (org_id, name, slug, billing_email, cloud_region, tier, status, mfa_required, enforce_sso,
              created_at, updated_at)
         values ($1, $2, $3, $4, $5, 'free', 'active', $6, $7, $8, $8)
         returning *",
        org_id.as_str(),
        name,
        slug,
        billing_email,
        cloud_region,
        mfa_required,
        enforce_sso,
        now,
    )
    .fetch_one(conn)
    .await
    .on_constraint("organizations_slug_key", || Error::conflict("slug_taken", format!("the slug `{slug}` is taken")))
}

/// A new organization, as its resource says.
pub async fn insert_resource(
    conn: &mut PgConnection,
    said: &resources::OrganizationResource,
    now: Timestamp,
) -> Result<Organization> {
    let ResourceRevision { namespace, revision, .. } = &said.source;
    sqlx::query_as!(
        Organization,
        "insert into organizations
             (org_id, name, slug, billing_email, cloud_region, tier, quotas, status, mfa_required, enforce_sso,
              namespace, resource_version, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
         returning *",
        said.org_id.as_str(),
        said.name,
        said.slug,
        said.billing_email,
        said.cloud_region,
        said.tier.as_str(),
        serde_json::to_value(said.quotas).map_err(Error::internal)?,
        said.status,
        said.mfa_required,
        said.enforce_sso,
        namespace,
        revision,
        now,
    )
    .fetch_one(conn)
    .await
    .on_constraint("organizations_slug_key", || {
        Error::conflict("slug_taken", format!("the slug `{}` is taken", said.slug))
    })
}

/// What the resource says now. Not what it said before the row's version of it: `None` then.
pub async fn project(
    conn: &mut PgConnection,
    said: &resources::OrganizationResource,
    now: Timestamp,
) -> Result<Option<Organization>> {
    Ok(sqlx::query_as!(
        Organization,
        "update organizations
         set name = $2, billing_email = $3, tier = $4, quotas = $5, status = $6, mfa_required = $7, enforce_sso = $8,
             resource_version = $9, updated_at = $10
         where org_id = $1 and resource_version < $9 and removed_at is null
         returning *",
        said.org_id.as_str(),
        said.name,
        said.billing_email,
        said.tier.as_str(),
        serde_json::to_value(said.quotas).map_err(Error::internal)?,
        said.status,
        said.mfa_required,
        said.enforce_sso,
        said.source.revision,
        now,
    )
    .fetch_optional(conn)
    .await?)
}

/// The resource is gone: nobody queries, and the slug is free. Says whether that is news.
pub async fn remove(conn: &mut PgConnection, org_id: &OrgId, now: Timestamp) -> Result<bool> {
    changed!(
        conn,
        "update organizations set status = 'cancelled', removed_at = $2, updated_at = $2
         where org_id = $1 and removed_at is null",
        org_id.as_str(),
        now,
    )
}

/// The organization whose resource was there before a version.
pub async fn at(conn: &mut PgConnection, place: &NamespacedName, before: i64) -> Result<Option<OrgId>> {
    let org_id = sqlx::query_scalar!(
        "select org_id from organizations
         where namespace = $1 and slug = $2 and resource_version < $3 and removed_at is null",
        place.namespace,
        place.name,
        before,
    );
    Ok(org_id.fetch_optional(conn).await?.map(OrgId::from))
}

/// Every organization that a resource is believed to stand behind.
pub async fn resources(conn: &mut PgConnection) -> Result<Vec<(OrgId, NamespacedName)>> {
    let rows = sqlx::query!(
        r#"select org_id, namespace as "namespace!", slug from organizations
           where namespace is not null and removed_at is null"#,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.org_id.into(), NamespacedName { namespace: row.namespace, name: row.slug }))
        .collect())
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
    execute!(
        conn,
        "update organizations set tier = $2, updated_at = $3 where org_id = $1 and tier <> $2",
        org_id.as_str(),
        tier.as_str(),
        now,
    )
}

/// Tier and status as they are from now on.
pub async fn stand(
    conn: &mut PgConnection,
    org_id: &OrgId,
    tier: &str,
    status: &str,
    now: Timestamp,
) -> Result<Organization> {
    Ok(sqlx::query_as!(
        Organization,
        "update organizations set tier = $2, status = $3, updated_at = $4 where org_id = $1 returning *",
        org_id.as_str(),
        tier,
        status,
        now,
    )
    .fetch_one(conn)
    .await?)
}
