//! Ways by which a result could tell of hidden rows, and how each is found.

pub(super) mod error_channel;
pub(super) mod indistinct_values;
pub(super) mod leakproof;
pub(super) mod limit_ties;
pub(super) mod numeric_range;
pub(super) mod order_dependence;
mod scalar_aggregate;
pub(super) mod single_scan;
