//! Whether an answer that is given a part at a time can go on.

use contract::Redacted;

use super::Pipeline;
use crate::request::as_of::AsOf;

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
