//! Usage as billed, and who is told of it: what data planes reported, summed by hour, environment
//! and operation; the organization's thresholds; the month that ends.
//!
//! "Only alert thresholds can be modified; credit and storage limits follow the tier."
//!
//! Not here: what may still be spent (`credits`), and what a query costs (the data plane).

mod alerts;
pub mod credits;
mod http;
mod period;
mod quotas;
mod storage;
#[cfg(test)]
mod tests;

pub use alerts::watch;
pub use http::{credit, used};
pub use period::{PERIOD, reset};
pub use storage::measured;

use contract::report::MicroCredits;
use contract::{Access, Code, EnvId, OrgId, Scope, Timestamp};
use platform::http::routes::Routes;
use platform::{Error, Result, execute, scalar};
use sqlx::PgConnection;

pub fn routes() -> Routes {
    use Access::Owner;
    const QUOTAS: &str = "/v1/organizations/{org_id}/billing/quotas";
    Routes::new()
        .get("/v1/organizations/{org_id}/billing/usage", Owner, Scope::BillingRead, http::usage)
        .says("Sums up queries and credits.")
        .refuses(&[Code::InvalidDateRange])
        .get(QUOTAS, Owner, Scope::BillingRead, quotas::get)
        .says("Reads the quotas and the thresholds that warn.")
        .put(QUOTAS, Owner, Scope::BillingWrite, quotas::put)
        .says("Changes the thresholds that warn.")
        .refuses(&[Code::InvalidThresholds])
}

/// Queries of an hour, and what they cost.
#[derive(Debug, Default, Clone, Copy)]
pub struct Used {
    queries: i64,
    /// What the dashboard asked for its own pages; not among `queries`.
    dashboard_queries: i64,
    micro_credits: MicroCredits,
}

impl Used {
    /// One more query.
    pub const fn add(&mut self, micro_credits: MicroCredits, by_dashboard: bool) {
        let count = if by_dashboard { &mut self.dashboard_queries } else { &mut self.queries };
        *count = count.saturating_add(1);
        self.micro_credits = self.micro_credits.saturating_add(micro_credits);
    }
}

/// Adds queries and what they cost to an hour.
pub async fn add_usage(
    tx: &mut PgConnection,
    (org_id, env_id): (&OrgId, &EnvId),
    hour: Timestamp,
    operation: &str,
    used: Used,
) -> Result<()> {
    let Used { queries, dashboard_queries, micro_credits } = used;
    execute!(
        tx,
        "insert into credit_usage (org_id, env_id, hour, operation, queries, dashboard_queries, micro_credits)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (org_id, hour, env_id, operation) do update
         set queries = credit_usage.queries + excluded.queries,
             dashboard_queries = credit_usage.dashboard_queries + excluded.dashboard_queries,
             micro_credits = credit_usage.micro_credits + excluded.micro_credits",
        org_id.as_str(),
        env_id.as_str(),
        hour,
        operation,
        queries,
        dashboard_queries,
        i64::try_from(micro_credits).map_err(Error::internal)?,
    )
}

/// Queries of an organization that ended since a moment, counted by whole hours.
pub async fn queries_since(conn: &mut PgConnection, org_id: &OrgId, since: Timestamp) -> Result<i64> {
    scalar!(
        conn,
        r#"select coalesce(sum(queries), 0)::bigint as "queries!" from credit_usage where org_id = $1 and hour >= $2"#,
        org_id.as_str(),
        since,
    )
}
