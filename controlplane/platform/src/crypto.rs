//! Hashes of passwords and keys, and tokens.

pub mod key_memory;
pub mod slow_hash;
pub mod tokens;
