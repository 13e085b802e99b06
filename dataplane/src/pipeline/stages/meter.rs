//! Stage 14. "Metering: credit consumption and metrics."

use contract::report::{CREDIT, MicroCredits};

/// Rows that cost one more credit.
const ROWS_A_CREDIT: u64 = 100_000;

/// What a query cost: its statement, and its rows as they were really delivered.
pub(super) const fn cost(base: MicroCredits, rows_returned: u64) -> MicroCredits {
    base.saturating_add((rows_returned / ROWS_A_CREDIT).saturating_mul(CREDIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credit_is_added_for_each_hundred_thousand_rows() {
        for (rows, credits) in [(0, 1), (99_999, 1), (100_000, 2), (1_000_000, 11)] {
            assert_eq!(cost(CREDIT, rows), credits * CREDIT, "{rows}");
        }
    }
}
