//! Where an environment's tables live.
//!
//! One format today: a native file. (A lake of Parquet files is the other one, later; there is no
//! trait until then.)

mod native;

pub use native::{Native, OURS};
