//! The organization as a data plane must know it.

use contract::caller::Limits;
use contract::governance::Organization;
use contract::{OrgId, Tier};
use platform::{Error, Result};
use sqlx::PgConnection;
use sqlx::types::Json;

pub async fn governed(conn: &mut PgConnection, org_id: &OrgId) -> Result<Option<Organization>> {
    let row = sqlx::query!(
        r#"select status, tier, quotas as "quotas: Json<Limits>" from organizations where org_id = $1"#,
        org_id.as_str()
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    as_stored(org_id.clone(), row.status, &row.tier, row.quotas.0).map(Some)
}

/// An organization by what its row has.
pub fn as_stored(org_id: OrgId, status: String, tier: &str, quotas: Limits) -> Result<Organization> {
    let tier = tier.parse::<Tier>().map_err(Error::internal)?;
    Ok(Organization { org_id, status, tier, limits: tier.limits().overridden_by(quotas) })
}
