//! SQL of the tenants.

use contract::{OrgId, Timestamp};
use platform::http::page::PageRequest;
use platform::{Result, execute, page_rows, scalar};
use sqlx::PgConnection;

#[derive(Debug, Clone)]
pub struct TenantRow {
    pub tenant_id: OrgId,
    pub parent_org_id: OrgId,
    pub created_at: Timestamp,
}

pub async fn page(conn: &mut PgConnection, parent: &OrgId, page: &PageRequest) -> Result<(Vec<TenantRow>, i64)> {
    let rows = page_rows!(
        conn,
        page,
        TenantRow,
        "select tenant_id, parent_org_id, created_at
         from tenants
         where parent_org_id = $1 and ($2::timestamptz is null or (created_at, tenant_id) < ($2, $3))
         order by created_at desc, tenant_id desc
         limit $4",
        parent.as_str(),
    );
    Ok((rows, count(conn, parent).await?))
}

pub async fn count(conn: &mut PgConnection, parent: &OrgId) -> Result<i64> {
    scalar!(conn, r#"select count(*) as "total!" from tenants where parent_org_id = $1"#, parent.as_str())
}

pub async fn find(conn: &mut PgConnection, parent: &OrgId, tenant_id: &OrgId) -> Result<Option<TenantRow>> {
    Ok(sqlx::query_as!(
        TenantRow,
        "select tenant_id, parent_org_id, created_at from tenants where parent_org_id = $1 and tenant_id = $2",
        parent.as_str(),
        tenant_id.as_str(),
    )
    .fetch_optional(conn)
    .await?)
}

/// Does the organization stand under another one?
pub async fn is_tenant(conn: &mut PgConnection, org_id: &OrgId) -> Result<bool> {
    scalar!(conn, r#"select exists (select from tenants where tenant_id = $1) as "found!""#, org_id.as_str(),)
}

pub async fn insert(conn: &mut PgConnection, row: &TenantRow) -> Result<()> {
    execute!(
        conn,
        "insert into tenants (tenant_id, parent_org_id, created_at) values ($1, $2, $3)",
        row.tenant_id.as_str(),
        row.parent_org_id.as_str(),
        row.created_at,
    )
}
