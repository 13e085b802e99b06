//! What decides the rows of an answer, so that a later statement can give the rest of it, or say that it cannot.

use std::collections::BTreeMap;

use contract::Redacted;
use sha2::{Digest, Sha256};

use super::Pipeline;

/// The generated statement with its values, the definitions, and the commits to its tables, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsOf {
    /// Digest of the generated statement, its values and the role.
    pub(super) statement: [u8; 32],
    pub(super) definitions: u64,
    /// By table.
    pub(super) commits: BTreeMap<String, u64>,
}

impl AsOf {
    pub(crate) fn digest(&self) -> [u8; 32] {
        Sha256::digest(format!("{self:?}")).into()
    }
}

impl Pipeline {
    /// Whether the same would decide now.
    pub(crate) fn is_still(&self, as_of: &AsOf) -> bool {
        let has_definitions = self.engine().is_ok_and(|engine| engine.schema_version() == as_of.definitions);
        has_definitions && self.remembered.answers.have_seen(&as_of.commits)
    }

    /// Seals what is given out for a while; it ends with the process.
    pub(crate) fn sealing(&self) -> &[u8; 32] {
        self.remembered.sealing.get_or_init(|| Redacted::new(self.entropy.bytes())).expose()
    }
}
