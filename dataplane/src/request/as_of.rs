//! The state that decides the rows of an answer, so that a later statement can give the rest of it, or say that it
//! cannot.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// The generated statement with its values, the definitions, and the commits to its tables, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsOf {
    /// Digest of the generated statement, its values and the role.
    pub(crate) statement: [u8; 32],
    pub(crate) definitions: u64,
    /// By table.
    pub(crate) commits: BTreeMap<String, u64>,
}

impl AsOf {
    pub(crate) fn digest(&self) -> [u8; 32] {
        Sha256::digest(format!("{self:?}")).into()
    }
}
