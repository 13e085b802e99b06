//! Requests, answers and handlers of tenants.

use chrono::NaiveTime;
use contract::{OrgId, Timestamp};
use platform::http::call::Call;
use platform::http::json::{Created, Json};
use platform::http::page::{PageRequest, Paged};
use platform::http::text::{self, Email, NAME_MAX};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::store::{self, TenantRow};
use crate::domain::billing;
use crate::domain::tenancy::{organizations, users};

/// Tenants of one organization.
const TENANTS_MAX: i64 = 1_000;

/// A tenant as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tenant {
    id: OrgId,
    tenant_id: OrgId,
    name: String,
    slug: String,
    parent_org_id: OrgId,
    status: String,
    user_count: i64,
    query_count_today: i64,
    created_at: Timestamp,
}

async fn told(conn: &mut PgConnection, row: TenantRow, now: Timestamp) -> Result<Tenant> {
    let tenant = organizations::store::find(conn, &row.tenant_id).await?;
    let tenant = tenant.ok_or_else(|| Error::internal("a tenant is an organization"))?;
    let today = now.date_naive().and_time(NaiveTime::MIN).and_utc();
    let everybody = users::store::UserFilter { role: None, status: None };
    Ok(Tenant {
        id: row.tenant_id.clone(),
        user_count: users::store::count(conn, &row.tenant_id, everybody).await?,
        query_count_today: billing::queries_since(conn, &row.tenant_id, today).await?,
        tenant_id: row.tenant_id,
        name: tenant.name,
        slug: tenant.slug,
        parent_org_id: row.parent_org_id,
        status: tenant.status,
        created_at: row.created_at,
    })
}

pub async fn list(cx: Call, page: PageRequest) -> Result<Paged<Tenant>> {
    let mut tx = cx.app.pool().begin_with("begin isolation level repeatable read read only").await?;
    let (rows, total) = store::page(&mut tx, cx.org_id(), &page).await?;
    let mut tenants = Vec::with_capacity(rows.len());
    for row in rows {
        tenants.push(told(&mut tx, row, cx.now()).await?);
    }
    tx.commit().await?;
    Ok(page.of(tenants, total, |tenant| (tenant.created_at, tenant.tenant_id.to_string()), |tenant| tenant))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantCreation {
    name: String,
    slug: String,
    billing_email: Email,
    cloud_region: Option<String>,
}

pub async fn create(cx: Call, Json(input): Json<TenantCreation>) -> Result<Created<Tenant>> {
    let mut tx = cx.begin().await?;
    organizations::store::lock(&mut tx, cx.org_id()).await?;
    if store::is_tenant(&mut tx, cx.org_id()).await? {
        return Err(Error::conflict("is_tenant", "a tenant has no tenants"));
    }
    if store::count(&mut tx, cx.org_id()).await? >= TENANTS_MAX {
        return Err(Error::conflict("too_many", format!("an organization has at most {TENANTS_MAX} tenants")));
    }
    let wish = organizations::OrganizationDraft {
        name: &input.name,
        slug: &input.slug,
        billing_email: &input.billing_email,
        cloud_region: input.cloud_region.as_deref(),
        mfa_required: false,
        enforce_sso: false,
    };
    let made = organizations::own(&cx, &mut tx, &wish).await?;
    let row = TenantRow { tenant_id: made.org_id, parent_org_id: cx.org_id().clone(), created_at: cx.now() };
    store::insert(&mut tx, &row).await?;
    let tenant = told(&mut tx, row, cx.now()).await?;
    tx.commit().await?;
    Ok(Created(tenant))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantChange {
    name: String,
}

/// Only what it is called: its settings, users and data are its own.
pub async fn update(cx: Call, Json(input): Json<TenantChange>) -> Result<Json<Tenant>> {
    let name = text::checked("name", &input.name, NAME_MAX)?;
    let mut tx = cx.begin().await?;
    let row = store::find(&mut tx, cx.org_id(), &cx.id("tenant_id")?).await?;
    let row = row.ok_or(Error::NotFound { kind: "tenant" })?;
    organizations::rename(&cx, &mut tx, &row.tenant_id, name).await?;
    let tenant = told(&mut tx, row, cx.now()).await?;
    tx.commit().await?;
    Ok(Json(tenant))
}
