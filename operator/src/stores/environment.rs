//! An environment in its store: the fields that are read of the whole fleet, and the rest packed.

use std::sync::Arc;

use crds::{ConditionStatus, ConditionType, Environment, EnvironmentPhase, Reason};
use jiff::Timestamp;
use kube::ResourceExt;

use super::{Dictionaries, Packed, Shape, Unreadable};
use crate::conditions::find;
use crate::objects::hold::Hold;
use crate::objects::source::Source;

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
pub struct KnownEnvironment {
    pub uid: Box<str>,
    pub created: Option<Timestamp>,
    pub deleting: bool,
    pub suspended: bool,
    pub generation: i64,
    pub observed_generation: Option<i64>,
    pub phase: Option<EnvironmentPhase>,
    /// The version that it runs; absent: none yet.
    pub version: Option<Box<str>>,
    /// The version that it chose itself; absent: it goes where the fleet goes.
    pub pinned: Option<Box<str>>,
    /// What runs was started from; absent: nobody has written it down yet.
    pub source: Option<Box<Source>>,
    /// A move to another version did not come to its end in time.
    pub is_late: bool,
    /// It can be moved: its last change was found valid, and nobody holds it.
    pub follows: bool,
    packed: Packed,
}

impl KnownEnvironment {
    pub fn new(environment: &Environment, dictionaries: &Dictionaries) -> Result<Self, serde_json::Error> {
        let metadata = &environment.metadata;
        let status = environment.status.as_ref();
        let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
        let is_valid = find(conditions, ConditionType::SpecValid).is_some_and(|it| it.status == ConditionStatus::True);
        Ok(Self {
            uid: environment.uid().unwrap_or_default().into(),
            created: metadata.creation_timestamp.as_ref().map(|time| time.0),
            deleting: metadata.deletion_timestamp.is_some(),
            suspended: environment.spec.suspended,
            generation: metadata.generation.unwrap_or_default(),
            observed_generation: status.and_then(|status| status.observed_generation),
            phase: status.and_then(|status| status.phase),
            version: status.and_then(|status| status.version.as_deref()).map(Box::from),
            pinned: environment.spec.data_plane.version.as_deref().map(Box::from),
            source: status.and_then(Source::of_status).map(Box::new),
            is_late: conditions.iter().any(|condition| condition.reason == Reason::RolloutTimedOut),
            follows: is_valid && Hold::of(environment) == Hold::No,
            packed: dictionaries.pack(Shape::Environment, environment)?,
        })
    }

    /// As it was brought, but for its managed fields.
    pub fn whole(&self) -> Result<Arc<Environment>, Unreadable> {
        Ok(Arc::new(self.packed.read()?))
    }

    /// Nobody has acted upon its last change.
    pub fn is_behind(&self) -> bool {
        self.observed_generation.is_none_or(|observed| observed < self.generation)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_known_of_an_environment_is_what_was_brought() {
        let condition = json!({"type": "Ready", "status": "False", "reason": "RolloutTimedOut", "message": "late",
                               "observedGeneration": 2, "lastTransitionTime": "2026-01-02T00:00:00Z"});
        let brought: Environment = serde_json::from_value(json!({
            "apiVersion": "sluice.dev/v1alpha1", "kind": "Environment",
            "metadata": {"name": "acme-sales", "namespace": "n", "uid": "u", "generation": 3,
                         "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": "b"}},
            "spec": {"organizationRef": {"name": "acme"}, "slug": "sales", "name": "Sales", "suspended": true},
            "status": {"observedGeneration": 2, "phase": "active", "version": "1.2.3", "conditions": [condition]},
        }))
        .unwrap();
        let chosen = json!({"organizationRef": {"name": "acme"}, "slug": "sales", "name": "Sales",
                            "dataPlane": {"version": "1.2.3"}});
        let known = KnownEnvironment::new(&brought, &Dictionaries::default()).unwrap();
        let again = known.whole().unwrap();
        assert_eq!(serde_json::to_value(&*again).unwrap(), serde_json::to_value(&brought).unwrap());
        assert_eq!((&*known.uid, known.phase), ("u", Some(EnvironmentPhase::Active)));
        assert_eq!((known.version.as_deref(), known.pinned.as_deref()), (Some("1.2.3"), None));
        assert!(known.is_behind() && known.is_late && known.suspended && !known.deleting && !known.follows);
        let chosen = Environment { spec: serde_json::from_value(chosen).unwrap(), ..brought };
        let chosen = KnownEnvironment::new(&chosen, &Dictionaries::default()).unwrap();
        assert_eq!(chosen.pinned.as_deref(), Some("1.2.3"));
    }
}
