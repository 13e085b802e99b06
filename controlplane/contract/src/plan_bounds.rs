//! How much a data plane keeps of the plans of texts that come again.

use std::ops::RangeInclusive;

/// All of its own plans, in bytes.
pub const BYTES_RANGE: RangeInclusive<u64> = 0..=1_073_741_824;
/// How long one lives that nobody uses, in seconds.
pub const IDLE_SECS_RANGE: RangeInclusive<u64> = 1..=86_400;
/// Plans that each session of the engine keeps.
pub const IN_ENGINE_RANGE: RangeInclusive<u64> = 0..=1_000;

/// Bounds of the plans that a data plane and its engine keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanBounds {
    /// Bytes of all plans of the data plane, as far as they can be weighed; 0: it keeps none.
    pub bytes: u64,
    /// Seconds after which one goes that nobody uses.
    pub idle_secs: u64,
    /// Plans that each session of the engine keeps; 0: none.
    pub in_engine: u16,
}

impl PlanBounds {
    pub const DEFAULT: Self = Self { bytes: 16 << 20, idle_secs: 600, in_engine: 16 };
}
