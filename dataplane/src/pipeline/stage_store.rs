//! The files of a stage as the rules of the moment let them be reached.

use contract::Governance;
use sql::StageLocation;

use super::{Pipeline, Result};
use crate::error::StageFileFault;
use crate::storage::stage_files::{ExternalFiles, StageStore};

impl Pipeline {
    /// The files of the stage of this id, which are in the environment unless it has a location.
    pub(in crate::pipeline) fn stage_store(
        &self,
        rules: &Governance,
        stage_id: &str,
        location: Option<&StageLocation>,
    ) -> Result<StageStore> {
        match location {
            Some(location) => self.external(rules, location).map(StageStore::External),
            None => Ok(StageStore::Internal { files: self.stage_files.clone(), id: stage_id.to_owned() }),
        }
    }

    /// The files of this location, if its storage integration is there and allows it.
    pub(in crate::pipeline) fn external(&self, rules: &Governance, location: &StageLocation) -> Result<ExternalFiles> {
        let StageLocation { integration, .. } = location;
        let found = rules.storage_integration(integration);
        let found = found.ok_or_else(|| StageFileFault::NoIntegration { name: integration.clone() })?;
        ExternalFiles::open(found, location, &self.storage_hosts)
    }
}
