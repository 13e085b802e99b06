//! Columns whose numbers are shorter than their types let them be.

use std::collections::BTreeSet;

use crate::bind::types::width::NumberWidth;

/// Columns of scans, by both their numbers, whose values have at most so many digits before the point.
#[derive(Debug)]
pub(in crate::govern) struct ValueBounds {
    pub(in crate::govern) whole_max: u16,
    pub(in crate::govern) columns: BTreeSet<(usize, usize)>,
}

impl ValueBounds {
    /// How wide a column's numbers are that has this type.
    pub(super) fn width(&self, column: (usize, usize), typed: NumberWidth) -> NumberWidth {
        if self.columns.contains(&column) { typed.at_most(self.whole_max) } else { typed }
    }
}
