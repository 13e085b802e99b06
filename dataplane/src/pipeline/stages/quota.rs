//! Stage 5. "Quota check: per-organization credit limit enforcement."
//!
//! The month's credits are the organization's, and many data planes spend them, so this one spends
//! from a grant that the control plane has set aside for it. A query takes its estimate from the
//! grant before it runs and settles when it ends; what it cost beyond the estimate is charged only
//! while the grant has room. A grant that could not be renewed is not spent any more. An
//! organization without a limit needs none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chrono::{Datelike, Months, NaiveTime};
use contract::Timestamp;
use contract::report::{CREDIT, MicroCredits};
use tokio_util::sync::CancellationToken;

use super::Gates;
use super::cost::{Costed, CostedAgain};
use super::policy::{Allowed, AllowedAgain};
use super::tables::StatementInfo;
use crate::Error;
use crate::governance::link::Link;
use crate::pipeline::Result;
use crate::pipeline::authorization::capability::{self, Confinement};

/// What a data plane likes to hold beyond what it needs at once.
const AHEAD: MicroCredits = 50 * CREDIT;
const RENEW_EVERY: Duration = Duration::from_mins(1);
const RESERVE_WITHIN: Duration = Duration::from_secs(3);

/// The credits this data plane holds.
#[derive(Debug, Clone)]
pub struct CreditBudget(Arc<CreditBudgetInner>);

#[derive(Debug)]
struct CreditBudgetInner {
    /// Where to ask for more; none where nobody grants (no organization with a limit runs there).
    link: Option<(Link, String)>,
    held: Mutex<Held>,
    /// One request at a time: what was spent must not be told twice.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Held {
    granted: MicroCredits,
    /// Spent of `granted` since the last grant was told.
    spent: MicroCredits,
    /// Taken by queries that still run.
    taken: MicroCredits,
    /// After this moment nothing may be spent.
    until: Option<Instant>,
}

impl Held {
    fn free(&self, now: Instant) -> MicroCredits {
        match self.until {
            Some(until) if now < until => self.granted.saturating_sub(self.spent).saturating_sub(self.taken),
            _ => 0,
        }
    }
}

/// A statement whose estimate is set aside.
#[derive(Debug)]
pub(super) struct Afforded {
    pub allowed: Allowed,
    pub reservation: Reservation,
}

/// An estimate set aside; given back when dropped unsettled.
#[derive(Debug)]
pub(in crate::pipeline) struct Reservation {
    budget: Option<CreditBudget>,
    estimate: MicroCredits,
}

pub(super) async fn check(gates: &Gates<'_>, costed: Costed) -> Result<Afforded> {
    let Costed { mut allowed, estimate } = costed;
    has_room(gates, allowed.confinement.as_ref(), &mut allowed.about)?;
    let reservation = reserve(gates, estimate).await?;
    Ok(Afforded { allowed, reservation })
}

/// The same of one whose plan is kept.
#[derive(Debug)]
pub(super) struct AffordedAgain {
    pub allowed: AllowedAgain,
    pub reservation: Reservation,
}

pub(super) async fn check_kept(gates: &Gates<'_>, costed: CostedAgain) -> Result<AffordedAgain> {
    let CostedAgain { mut allowed, estimate } = costed;
    has_room(gates, None, &mut allowed.about)?; // no plan of a confined agent is kept
    let reservation = reserve(gates, estimate).await?;
    Ok(AffordedAgain { allowed, reservation })
}

/// Counts it for the agent's grant, and refuses what adds where the organization's storage is full.
pub(super) fn has_room(gates: &Gates<'_>, confinement: Option<&Confinement>, about: &mut StatementInfo) -> Result<()> {
    let Gates { pipeline, query, rules, t } = *gates;
    capability::spend(query, confinement, about, pipeline.clock.now(), t)?;
    query.ledger.storage.has_room(rules, about.operation)
}

/// Sets an estimate aside.
pub(super) async fn reserve(gates: &Gates<'_>, estimate: MicroCredits) -> Result<Reservation> {
    let Gates { pipeline, query, rules, .. } = *gates;
    if rules.organization.limits.monthly_credit_limit.is_none() {
        return Ok(Reservation { budget: None, estimate });
    }
    let now = pipeline.clock.now();
    query.ledger.budget.take(estimate).await.ok_or_else(|| Error::QuotaExceeded { until: next_month(now) })
}

/// The first moment of the month behind this one, in UTC: credits are of a month.
fn next_month(now: Timestamp) -> Timestamp {
    let today = now.date_naive();
    let first = today.with_day(1).and_then(|first| first.checked_add_months(Months::new(1)));
    first.unwrap_or(today).and_time(NaiveTime::MIN).and_utc()
}

/// For a statement that is not run: nothing will be spent.
pub(super) fn unbilled(costed: Costed) -> Afforded {
    Afforded { allowed: costed.allowed, reservation: nothing() }
}

/// For what is not run again.
pub(in crate::pipeline) fn nothing() -> Reservation {
    Reservation { budget: None, estimate: 0 }
}

impl CreditBudget {
    /// `log` names us to the control plane: grants are per log.
    pub fn new(link: Option<(Link, String)>) -> Self {
        Self(Arc::new(CreditBudgetInner { link, held: Mutex::default(), asking: tokio::sync::Mutex::default() }))
    }

    async fn take(&self, estimate: MicroCredits) -> Option<Reservation> {
        if let Some(reservation) = self.take_held(estimate) {
            return Some(reservation);
        }
        self.ask_for(estimate).await;
        self.take_held(estimate)
    }

    fn take_held(&self, estimate: MicroCredits) -> Option<Reservation> {
        let mut held = self.held();
        (held.free(Instant::now()) >= estimate).then(|| {
            held.taken += estimate;
            Reservation { budget: Some(self.clone()), estimate }
        })
    }

    /// Asks to hold what runs, the estimate and something ahead. A failure changes nothing.
    async fn ask_for(&self, estimate: MicroCredits) {
        let Some((link, log)) = &self.0.link else { return };
        let _alone = self.0.asking.lock().await;
        if self.held().free(Instant::now()) >= estimate.max(1) {
            return; // somebody asked while this query waited
        }
        self.renew(link, log, estimate).await;
    }

    async fn renew(&self, link: &Link, log: &str, estimate: MicroCredits) {
        let (want, spent) = {
            let held = self.held();
            (held.taken + estimate + AHEAD, held.spent)
        };
        match tokio::time::timeout(RESERVE_WITHIN, link.reserve(log, want, spent)).await {
            Ok(Ok(grant)) => {
                let granted = if grant.unlimited { u64::MAX / 2 } else { grant.held };
                self.granted(granted, spent, Duration::from_secs(u64::from(grant.expires_in_s)));
            }
            Ok(Err(status)) => tracing::warn!(code = ?status.code(), "credits could not be reserved"),
            Err(_) => tracing::warn!("credits could not be reserved in time"),
        }
    }

    fn granted(&self, granted: MicroCredits, told: MicroCredits, expires_in: Duration) {
        let mut held = self.held();
        held.granted = granted;
        held.spent = held.spent.saturating_sub(told);
        held.until = Some(Instant::now() + expires_in);
    }

    /// Renews what is held, so that it does not expire, until told to stop; then tells what was spent.
    pub async fn keep(self, shutdown: CancellationToken) {
        let Some((link, log)) = self.0.link.clone() else { return };
        loop {
            let last = shutdown.run_until_cancelled(tokio::time::sleep(RENEW_EVERY)).await.is_none();
            let has_grant = self.held().until.is_some();
            if has_grant {
                let _alone = self.0.asking.lock().await;
                self.renew(&link, &log, 0).await;
            }
            if last {
                return;
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// The query ended and cost this much: says what is charged.
    pub fn settle(mut self, cost: MicroCredits) -> MicroCredits {
        let estimate = std::mem::take(&mut self.estimate);
        let Some(budget) = self.budget.take() else { return cost };
        let mut held = budget.held();
        held.taken = held.taken.saturating_sub(estimate);
        let charged = cost.min(estimate.saturating_add(held.free(Instant::now()).saturating_sub(estimate)));
        held.spent += charged;
        charged
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            let mut held = budget.held();
            held.taken = held.taken.saturating_sub(self.estimate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(granted: MicroCredits) -> CreditBudget {
        let budget = CreditBudget::new(None);
        budget.granted(granted, 0, Duration::from_mins(5));
        budget
    }

    #[test]
    fn credits_come_anew_with_the_first_of_a_month() {
        for (now, until) in [
            ("2026-11-27T02:30:00Z", "2026-12-01T00:00:00Z"),
            ("2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"),
            ("2028-01-31T12:00:00Z", "2028-02-01T00:00:00Z"),
        ] {
            assert_eq!(next_month(now.parse().unwrap()), until.parse::<Timestamp>().unwrap(), "{now}");
        }
    }

    #[tokio::test]
    async fn the_last_credit_is_spent_once() {
        let budget = budget(CREDIT);
        let first = budget.take(CREDIT).await.unwrap();
        assert!(budget.take(1).await.is_none());
        drop(first);
        assert_eq!(budget.take(CREDIT).await.unwrap().settle(CREDIT), CREDIT);
        assert!(budget.take(1).await.is_none());
    }

    #[tokio::test]
    async fn cost_beyond_the_estimate_is_charged_while_there_is_room() {
        let budget = budget(3 * CREDIT);
        assert_eq!(budget.take(CREDIT).await.unwrap().settle(2 * CREDIT), 2 * CREDIT);
        assert_eq!(budget.take(CREDIT).await.unwrap().settle(9 * CREDIT), CREDIT);
        assert!(budget.take(1).await.is_none());
    }

    #[tokio::test]
    async fn what_was_told_as_spent_is_not_counted_twice() {
        let budget = budget(3 * CREDIT);
        budget.take(CREDIT).await.unwrap().settle(CREDIT);
        budget.granted(2 * CREDIT, CREDIT, Duration::from_mins(5));
        assert_eq!(budget.held().free(Instant::now()), 2 * CREDIT);
    }

    #[tokio::test]
    async fn an_expired_grant_is_not_spent() {
        let budget = budget(3 * CREDIT);
        budget.granted(3 * CREDIT, 0, Duration::ZERO);
        assert!(budget.take(1).await.is_none());
    }
}
