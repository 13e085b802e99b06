//! Stage 4. "Cost estimation: heuristic credit cost."
//!
//! A credit for a SELECT or a definition, two for a change, a tenth for each table beyond the
//! first. What the rows add is known when they have been counted (`meter`).

use contract::policy::abac::Operation;
use contract::report::{CREDIT, MicroCredits};

use super::policy::{Allowed, AllowedAgain};
use super::tables::StatementInfo;
use crate::request::trail::Trail;

/// An allowed statement and what it will cost at least.
#[derive(Debug)]
pub(super) struct Costed {
    pub allowed: Allowed,
    pub estimate: MicroCredits,
}

pub(super) fn estimate(allowed: Allowed, t: &Trail) -> Costed {
    let estimate = told(base(&allowed.about), t);
    Costed { allowed, estimate }
}

/// An allowed plan and what it will cost at least.
#[derive(Debug)]
pub(super) struct CostedAgain {
    pub allowed: AllowedAgain,
    pub estimate: MicroCredits,
}

pub(super) fn estimate_kept(allowed: AllowedAgain, t: &Trail) -> CostedAgain {
    let estimate = told(base(&allowed.about), t);
    CostedAgain { allowed, estimate }
}

/// The estimate of a tool's action: however many tables it names, as of a statement on one.
pub(super) fn estimate_action(about: &StatementInfo, t: &Trail) -> MicroCredits {
    told(of(about.operation), t)
}

fn told(estimate: MicroCredits, t: &Trail) -> MicroCredits {
    let mut facts = t.facts();
    facts.estimate = estimate;
    facts.base = estimate;
    estimate
}

fn base(about: &StatementInfo) -> MicroCredits {
    let further = u64::try_from(about.tables.len().saturating_sub(1)).unwrap_or(u64::MAX);
    of(about.operation).saturating_add(further.saturating_mul(CREDIT / 10))
}

/// Of a statement on one table.
const fn of(operation: Operation) -> MicroCredits {
    match operation {
        Operation::Insert | Operation::Update | Operation::Delete | Operation::Merge => 2 * CREDIT,
        Operation::Select | Operation::Create | Operation::Alter | Operation::Drop => CREDIT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::stages::tables::extract;

    #[test]
    fn credits_go_by_kind_and_tables() {
        let cases = [
            ("select 1", 1_000_000),
            ("select * from a, b, c", 1_200_000),
            ("insert into a select * from b", 2_100_000),
            ("drop table a", 1_000_000),
        ];
        for (text, credits) in cases {
            assert_eq!(
                base(&extract(text, &sql::Variables::default(), &Trail::default()).unwrap().about),
                credits,
                "{text}"
            );
        }
    }
}
