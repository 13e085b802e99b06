//! "`billing.period_reset` when the billing period resets": a period is a calendar month in UTC, and
//! what is used and lent is counted by month, so nothing needs to be set to zero. It needs to be said.

use chrono::{Duration, Months};
use contract::{OrgId, Timestamp};
use platform::events::{self, Event, EventType, Origin};
use platform::{App, Result};
use serde_json::json;

use super::{alerts, credit, used};
use crate::domain::billing::credits;

/// How late it may be said.
pub const PERIOD: Duration = Duration::minutes(1);
/// Organizations told at once.
const BATCH: i64 = 100;

/// The month's end: the first moment of the next.
pub fn end_of(month: Timestamp) -> Timestamp {
    month + Months::new(1)
}

/// Tells every organization that was there before the month began.
pub async fn reset(app: &App) -> Result<()> {
    let month = credits::period_of(app.now());
    loop {
        let untold = untold(app, month).await?;
        if untold.is_empty() {
            return Ok(());
        }
        for org_id in untold {
            tell(app, &org_id, month).await?;
        }
    }
}

async fn untold(app: &App, month: Timestamp) -> Result<Vec<OrgId>> {
    let found = sqlx::query_scalar!(
        "select org_id from organizations o
         where created_at < $1 and removed_at is null and status <> 'cancelled'
           and not exists (select from billing_notices n
                           where n.org_id = o.org_id and n.starts = $1 and n.notice = $2)
         order by org_id
         limit $3",
        month,
        EventType::BillingPeriodReset.as_str(),
        BATCH,
    );
    Ok(found.fetch_all(app.pool()).await?.into_iter().map(OrgId::from).collect())
}

async fn tell(app: &App, org_id: &OrgId, month: Timestamp) -> Result<()> {
    let mut tx = app.pool().begin().await?;
    if alerts::first(&mut tx, org_id, month, EventType::BillingPeriodReset, app.now()).await? {
        let before = credits::period_of(month - Duration::days(1));
        let said = json!({
            "period_start": month,
            "period_end": end_of(month),
            "previous_period_start": before,
            "previous_period_usage": credit(used(&mut tx, org_id, before).await?),
        });
        let event = Event::new(EventType::BillingPeriodReset, org_id.as_str()).after(said);
        events::record(app, &mut tx, Origin::system(app, org_id.clone()), event).await?;
    }
    tx.commit().await?;
    Ok(())
}
