//! Hashes of passwords and keys, and tokens.

pub mod slow_hash;
pub mod tokens;
