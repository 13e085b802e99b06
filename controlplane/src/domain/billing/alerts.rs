//! Thresholds, and the events of reaching them: "`billing.warning` is emitted when usage reaches
//! `credit_warning_threshold`, `billing.critical` at `credit_critical_threshold`,
//! `billing.quota_exceeded` when usage passes the monthly credit limit". Each once a month.
//!
//! Credits are lent before they are spent and never beyond the limit, so usage ends where the next
//! statement does not fit any more: the limit is passed when less than a statement's least cost is
//! left of it.

use contract::report::{CREDIT, MicroCredits};
use contract::{OrgId, Timestamp};
use platform::events::{self, Event, EventType, Origin};
use platform::{App, Error, Result, changed, execute};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use sqlx::PgConnection;

use super::{credit, period, used};
use crate::domain::tenancy::organizations;

/// The least that a statement costs which costs anything: "SELECT 1".
const LEAST: MicroCredits = CREDIT;

/// "Alerts: … (floats 0.0 to 1.0)": shares of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "BillingAlerts")]
pub struct Alerts {
    pub credit_warning_threshold: f64,
    pub credit_critical_threshold: f64,
    pub storage_warning_threshold: f64,
}

impl Default for Alerts {
    fn default() -> Self {
        Self { credit_warning_threshold: 0.8, credit_critical_threshold: 0.95, storage_warning_threshold: 0.8 }
    }
}

impl Alerts {
    /// "Invalid thresholds return 422 `VALIDATION_ERROR`."
    pub fn check(self) -> Result<()> {
        for (field, threshold) in [
            ("alerts.credit_warning_threshold", self.credit_warning_threshold),
            ("alerts.credit_critical_threshold", self.credit_critical_threshold),
            ("alerts.storage_warning_threshold", self.storage_warning_threshold),
        ] {
            if !(0.0..=1.0).contains(&threshold) {
                return Err(Error::InvalidThreshold { field, message: format!("`{field}` is from 0.0 to 1.0") });
            }
        }
        if self.credit_warning_threshold > self.credit_critical_threshold {
            let message = "`credit_warning_threshold` is not above `credit_critical_threshold`".to_owned();
            return Err(Error::InvalidThreshold { field: "alerts.credit_warning_threshold", message });
        }
        Ok(())
    }

    /// What usage of a limit is told of, and from which share of it on.
    fn reached(self, used: MicroCredits, limit: MicroCredits) -> Vec<(EventType, f64)> {
        let from = |kind, share| (used >= share_of(limit, share)).then_some((kind, share));
        let passed = used.saturating_add(LEAST) > limit;
        [
            from(EventType::BillingWarning, self.credit_warning_threshold),
            from(EventType::BillingCritical, self.credit_critical_threshold),
            passed.then_some((EventType::BillingQuotaExceeded, 1.0)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share from 0 to 1 of what a float holds exactly"
)]
fn share_of(limit: MicroCredits, share: f64) -> MicroCredits {
    (limit as f64 * share).round() as MicroCredits
}

pub async fn find(conn: &mut PgConnection, org_id: &OrgId) -> Result<Alerts> {
    let found = sqlx::query_as!(
        Alerts,
        "select credit_warning_threshold, credit_critical_threshold, storage_warning_threshold
         from billing_alerts where org_id = $1",
        org_id.as_str(),
    );
    Ok(found.fetch_optional(conn).await?.unwrap_or_default())
}

/// As [`find`], and nobody else changes them until the transaction ends.
pub async fn lock(conn: &mut PgConnection, org_id: &OrgId) -> Result<Alerts> {
    organizations::store::lock(&mut *conn, org_id).await?;
    find(conn, org_id).await
}

pub async fn store(conn: &mut PgConnection, org_id: &OrgId, alerts: Alerts, now: Timestamp) -> Result<()> {
    execute!(
        conn,
        "insert into billing_alerts
             (org_id, credit_warning_threshold, credit_critical_threshold, storage_warning_threshold, updated_at)
         values ($1, $2, $3, $4, $5)
         on conflict (org_id) do update
         set credit_warning_threshold = excluded.credit_warning_threshold,
             credit_critical_threshold = excluded.credit_critical_threshold,
             storage_warning_threshold = excluded.storage_warning_threshold,
             updated_at = excluded.updated_at",
        org_id.as_str(),
        alerts.credit_warning_threshold,
        alerts.credit_critical_threshold,
        alerts.storage_warning_threshold,
        now,
    )
}

/// Says what the usage of a month has reached, in the transaction that stored the usage.
pub async fn watch(app: &App, tx: &mut PgConnection, org_id: &OrgId, month: Timestamp) -> Result<()> {
    let Some(organization) = organizations::governed(&mut *tx, org_id).await? else {
        return Ok(());
    };
    let Some(limit) = organization.limits.monthly_credit_limit else {
        return Ok(()); // nothing to reach
    };
    let used = used(&mut *tx, org_id, month).await?;
    let reached = find(&mut *tx, org_id).await?.reached(used, limit.saturating_mul(CREDIT));
    for (kind, threshold) in reached {
        if !first(&mut *tx, org_id, month, kind, app.now()).await? {
            continue;
        }
        let said = json!({
            "threshold": threshold,
            "threshold_percent": (threshold * 1e6).round() / 1e4,
            "current_usage": credit(used),
            "monthly_limit": limit,
            "period_start": month,
            "period_end": period::end_of(month),
        });
        let event = Event::new(kind, org_id.as_str()).after(said);
        events::record(app, &mut *tx, Origin::system(app, org_id.clone()), event).await?;
    }
    Ok(())
}

/// Writes down that it is said; false when it was said before.
pub(super) async fn first(
    tx: &mut PgConnection,
    org_id: &OrgId,
    month: Timestamp,
    kind: EventType,
    now: Timestamp,
) -> Result<bool> {
    changed!(
        tx,
        "insert into billing_notices (org_id, starts, notice, at) values ($1, $2, $3, $4) on conflict do nothing",
        org_id.as_str(),
        month,
        kind.as_str(),
        now,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_reached_at_its_share_and_the_limit_where_no_statement_fits() {
        let alerts = Alerts { credit_warning_threshold: 0.07, ..Alerts::default() };
        for (used, reached) in [
            (6_999_999, vec![]),
            (7_000_000, vec![EventType::BillingWarning]),
            (95_000_000, vec![EventType::BillingWarning, EventType::BillingCritical]),
            (99_000_000, vec![EventType::BillingWarning, EventType::BillingCritical]),
            (99_000_001, vec![EventType::BillingWarning, EventType::BillingCritical, EventType::BillingQuotaExceeded]),
        ] {
            let kinds: Vec<_> = alerts.reached(used, 100 * CREDIT).into_iter().map(|(kind, _)| kind).collect();
            assert_eq!(kinds, reached, "{used}");
        }
    }
}
