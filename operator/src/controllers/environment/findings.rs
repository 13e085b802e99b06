//! The findings of a reconcile about an environment, from which conditions and status are made.

use crds::{ConditionStatus, ConditionType, Environment, Reason};

use super::changes::Changes;
use super::validate::{self, Desired, Invalid, Off};
use super::workload::{self, WorkloadState};
use crate::conditions::find;
use crate::objects::hold::Hold;
use crate::objects::names::label;
use crate::objects::observed::Observed;

#[derive(Debug)]
pub struct Findings<'a> {
    pub observed: &'a Observed,
    pub verdict: &'a Result<Desired, Invalid>,
    pub changes: &'a Changes,
    pub hold: Hold,
    pub off: Option<Off>,
    pub workload: WorkloadState,
}

impl<'a> Findings<'a> {
    pub fn new(
        observed: &'a Observed,
        verdict: &'a Result<Desired, Invalid>,
        changes: &'a Changes,
        hold: Hold,
    ) -> Self {
        let off = validate::off(observed);
        let frozen = || workload::deployment(observed).map_or(0, workload::replicas);
        let wanted = match (verdict, off) {
            (_, Some(_)) => 0,
            (Ok(desired), None) => desired.replicas_now(),
            (Err(_), None) => frozen(),
        };
        let absent = verdict.is_err() && workload::deployment(observed).is_none();
        let workload = match workload::state(observed, wanted, changes.touches_workload()) {
            WorkloadState::Off | WorkloadState::Draining if absent && observed.pods.is_empty() => WorkloadState::Absent,
            state => state,
        };
        Self { observed, verdict, changes, hold, off, workload }
    }

    pub fn environment(&self) -> &'a Environment {
        &self.observed.environment
    }

    /// Something that should be written is held back.
    pub fn held_back(&self) -> bool {
        self.hold != Hold::No && !self.changes.is_empty()
    }

    /// Names of keys that the control plane has not confirmed, and why each.
    pub fn unsynced_keys(&self) -> Vec<(String, Reason)> {
        let unsynced = |key: &std::sync::Arc<crds::ApiKey>| {
            let conditions = key.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
            let synced = find(conditions, ConditionType::CredentialsSynced)?;
            (synced.status == ConditionStatus::False).then_some((key.metadata.name.clone()?, synced.reason))
        };
        let mut found: Vec<_> = self.observed.keys.iter().filter_map(unsynced).collect();
        found.sort();
        found
    }

    /// The certificate that cert-manager keeps carries our labels, so it is seen.
    pub fn is_ours(labels: &std::collections::BTreeMap<String, String>, environment: &str) -> bool {
        labels.get(label::MANAGED_BY).is_some_and(|by| by == label::OPERATOR)
            && labels.get(label::INSTANCE).is_some_and(|name| name == environment)
    }
}
