//! Usage as billed, and who is told of it: what data planes reported, summed by hour, environment
//! and operation; the organization's thresholds; the month that ends.
//!
//! "Only alert thresholds can be modified; credit and storage limits follow the tier."
//!
//! Not here: what may still be spent (`credits`), and what a query costs (the data plane).

mod alerts;
mod http;
mod period;
mod quotas;
#[cfg(test)]
mod tests;

pub use alerts::watch;
pub use http::{credit, used};
pub use period::{PERIOD, reset};

use chrono::{DurationRound, TimeDelta};
use contract::report::MicroCredits;
use contract::{Access, EnvId, OrgId, Scope, Timestamp};
use sqlx::PgConnection;

use crate::http::routes::Routes;
use crate::{Error, Result};

pub fn routes() -> Routes {
    use Access::Owner;
    const QUOTAS: &str = "/v1/organizations/{org_id}/billing/quotas";
    Routes::new()
        .get("/v1/organizations/{org_id}/billing/usage", Owner, Scope::BillingRead, http::usage)
        .get(QUOTAS, Owner, Scope::BillingRead, quotas::get)
        .put(QUOTAS, Owner, Scope::BillingWrite, quotas::put)
}

/// The hour of a moment: its first moment.
pub fn hour_of(at: Timestamp) -> Timestamp {
    at.duration_trunc(TimeDelta::hours(1)).unwrap_or(at)
}

/// Adds queries and what they cost to an hour.
pub async fn add_usage(
    tx: &mut PgConnection,
    (org_id, env_id): (&OrgId, &EnvId),
    hour: Timestamp,
    operation: &str,
    queries: i64,
    micro_credits: MicroCredits,
) -> Result<()> {
    sqlx::query!(
        "insert into credit_usage (org_id, env_id, hour, operation, queries, micro_credits)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (org_id, hour, env_id, operation) do update
         set queries = credit_usage.queries + excluded.queries,
             micro_credits = credit_usage.micro_credits + excluded.micro_credits",
        org_id.as_str(),
        env_id.as_str(),
        hour,
        operation,
        queries,
        i64::try_from(micro_credits).map_err(Error::internal)?,
    )
    .execute(tx)
    .await?;
    Ok(())
}
