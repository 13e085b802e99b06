//! Kubernetes' times from the product's clock.

use contract::Timestamp;

/// The same moment, as Kubernetes' types hold it.
pub fn timestamp(moment: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(moment.timestamp_micros()).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}
