//! The limits under which the environments of a cluster move to another version of the data plane.

/// The speed of a rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// Environments that are being moved at the same time.
    pub max_in_flight: usize,
    /// Rising percentages; a wave opens when the one before is done. 100 follows by itself.
    pub waves: Vec<u8>,
}

impl Default for Rollout {
    fn default() -> Self {
        Self { max_in_flight: 10, waves: vec![1, 10, 100] }
    }
}
