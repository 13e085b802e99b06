//! The deletion of an environment, step by step.
//!
//! Drained, keys revoked, exported, workload removed; then the volume, but only with the policy and
//! with the confirmation, both read again each time. Each step is decided from what is there, so an
//! operator that dies between any two goes on where it was. `status.teardown` is for people.
//! The children that hold no data are owned by the environment and go after it.

use std::sync::Arc;

use crds::{Condition, ConditionType, DeletionPolicy, EnvironmentPhase, EnvironmentStatus, Reason, TeardownStep};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use kube::core::DynamicObject;

use super::changes::Changes;
use super::findings::Findings;
use super::plan::finish;
use super::{build, conditions, status, workload};
use crate::cluster::write;
use crate::conditions::Draft;
use crate::objects::child::{Child, Key, Kind};
use crate::objects::hold::Hold;
use crate::objects::names::{annotation, label};
use crate::objects::observed::Observed;
use crate::objects::plan::{Finalizer, Plan, Write};

const DELETED: &str = "the environment is being deleted";

/// The progress of a deletion.
#[derive(Debug)]
struct Teardown<'a> {
    observed: &'a Observed,
    /// The volume, when it is this environment's to take away.
    volume: Option<&'a Arc<PersistentVolumeClaim>>,
    changes: Changes,
    done: Vec<TeardownStep>,
}

pub fn plan(observed: &Observed, hold: Hold) -> Plan {
    let mut teardown =
        Teardown { observed, volume: volume(observed), changes: Changes::scale_to_zero(observed), done: Vec::new() };
    if !write::has_finalizer(observed.environment.as_ref()) {
        // nothing is held any more, or nothing was ever made
        let status = observed.environment.status.clone().unwrap_or_default();
        return finish(observed, hold, Changes::default(), Finalizer::Keep, status);
    }
    if let Some(obstacle) = teardown.obstacle() {
        let status = teardown.status(hold, obstacle, "waitForConfirmation");
        return finish(observed, hold, Changes::default(), Finalizer::Keep, status);
    }
    let finished = teardown.advance();
    let step = if finished { "removed" } else { teardown.waiting_for() };
    let ready = Draft::not(ConditionType::Ready, Reason::Decommissioning, DELETED);
    let status = teardown.status(hold, ready, step);
    finish(observed, hold, teardown.changes, if finished { Finalizer::Remove } else { Finalizer::Keep }, status)
}

impl Teardown<'_> {
    fn policy(&self) -> DeletionPolicy {
        self.observed.environment.spec.deletion_policy
    }

    /// The volume, if it is to go.
    fn doomed(&self) -> Option<&Arc<PersistentVolumeClaim>> {
        self.volume.filter(|_| self.policy() != DeletionPolicy::Retain)
    }

    /// Why nothing may begin.
    fn obstacle(&self) -> Option<Draft> {
        let volume = self.doomed()?.name_any();
        let slug = &self.observed.environment.spec.slug;
        let confirmed = self.observed.environment.annotations().get(annotation::CONFIRM_DELETE) == Some(slug);
        if !confirmed {
            let name = annotation::CONFIRM_DELETE;
            let message = format!(
                "PersistentVolumeClaim {volume} would be deleted: set the annotation {name}: {slug} to confirm, or spec.deletionPolicy to Retain"
            );
            return Some(Draft::not(ConditionType::Ready, Reason::DeletionNotConfirmed, message));
        }
        if self.policy() == DeletionPolicy::Snapshot && !self.observed.cluster.has_volume_snapshots {
            let message = "spec.deletionPolicy Snapshot needs the VolumeSnapshot API, which this cluster does not have; set Retain or Delete";
            return Some(Draft::not(ConditionType::Ready, Reason::Invalid, message));
        }
        None
    }

    /// Takes every step that can be taken now. Whether all are done.
    fn advance(&mut self) -> bool {
        let workload = workload::deployment(self.observed);
        let drained = workload.is_none_or(|it| workload::replicas(it) == 0) && self.observed.pods.is_empty();
        self.record(TeardownStep::Drained, drained);
        self.revoke_keys();
        let revoked = drained && self.observed.keys.is_empty();
        self.record(TeardownStep::KeysRevoked, revoked);
        if !revoked || !self.export() || self.remove_workload() {
            return false;
        }
        self.record(TeardownStep::WorkloadRemoved, true);
        if let Some(volume) = self.doomed().cloned() {
            self.delete(Kind::PersistentVolumeClaim, &volume.metadata, "deletion was asked for and confirmed");
            return false;
        }
        !self.remove_ownerless()
    }

    fn record(&mut self, step: TeardownStep, done: bool) {
        if done {
            self.done.push(step);
        }
    }

    fn revoke_keys(&mut self) {
        for key in &self.observed.keys {
            self.delete(Kind::ApiKey, &key.metadata, DELETED);
        }
    }

    /// Whether the last state of the volume is kept, where that was asked for. Asked again each
    /// time: a snapshot that somebody took away has to be made anew before the volume goes.
    fn export(&mut self) -> bool {
        let Some(volume) = self.doomed().filter(|_| self.policy() == DeletionPolicy::Snapshot).cloned() else {
            return true;
        };
        if volume.metadata.deletion_timestamp.is_some() {
            self.record(TeardownStep::Exported, true);
            return true;
        }
        let name = snapshot_name(self.observed);
        match snapshot(self.observed, &name) {
            Some(taken) if ready_to_use(taken) => {
                self.record(TeardownStep::Exported, true);
                true
            }
            Some(_) => false,
            None => {
                let (child, _) =
                    Child::VolumeSnapshot(Arc::new(build::volume_snapshot(&volume.metadata, &name))).hashed();
                let line = format!("create {}", child.key());
                self.changes.write(Write::Apply(child), line);
                false
            }
        }
    }

    /// Also what would go on making a Secret. Whether any of it was still there.
    fn remove_workload(&mut self) -> bool {
        let mut there: Vec<(Kind, &ObjectMeta)> = Vec::new();
        there.extend(workload::deployment(self.observed).map(|it| (Kind::Deployment, &it.metadata)));
        there.extend(self.observed.children.iter().filter_map(|child| match child {
            Child::Certificate(it) => Some((Kind::Certificate, &it.metadata)),
            _ => None,
        }));
        let any = !there.is_empty();
        for (kind, metadata) in there {
            self.delete(kind, metadata, DELETED);
        }
        any
    }

    /// What cert-manager wrote for us has no owner; nobody else would take it away.
    fn remove_ownerless(&mut self) -> bool {
        let name = self.observed.environment.name_any();
        let ours =
            self.observed.secrets.iter().filter(|it| it.owners.is_empty() && Findings::is_ours(&it.labels, &name));
        let mut any = false;
        for secret in ours {
            any = true;
            let metadata =
                ObjectMeta { name: Some(secret.name.clone()), uid: Some(secret.uid.clone()), ..ObjectMeta::default() };
            if !secret.deleting {
                self.delete(Kind::Secret, &metadata, DELETED);
            }
        }
        any
    }

    fn delete(&mut self, kind: Kind, metadata: &ObjectMeta, why: &'static str) {
        if metadata.deletion_timestamp.is_none() {
            let key = Key { kind, name: metadata.name.clone().unwrap_or_default() };
            self.changes.delete(key, metadata, why);
        }
    }

    fn waiting_for(&self) -> &'static str {
        match self.done.last() {
            None => "drain",
            Some(TeardownStep::Drained) => "revokeKeys",
            Some(TeardownStep::KeysRevoked) if self.doomed().is_some() && self.policy() == DeletionPolicy::Snapshot => {
                "export"
            }
            Some(TeardownStep::KeysRevoked | TeardownStep::Exported) => "removeWorkload",
            Some(TeardownStep::WorkloadRemoved) => "removeVolume",
        }
    }

    fn status(&self, hold: Hold, ready: Draft, step: &str) -> EnvironmentStatus {
        let observed = self.observed;
        let before = observed.environment.status.clone().unwrap_or_default();
        let mut teardown = before.teardown.clone();
        teardown.extend(&self.done);
        teardown.sort_unstable();
        teardown.dedup();
        EnvironmentStatus {
            phase: Some(EnvironmentPhase::Decommissioning),
            last_step: Some(step.to_owned()),
            teardown,
            ..status::base(observed, &self.conditions(hold, ready, &before.conditions))
        }
    }

    /// Those that a deletion changes; of the others the last word stands, for this generation.
    fn conditions(&self, hold: Hold, ready: Draft, before: &[Condition]) -> Vec<Condition> {
        let waits = ready.reason != Reason::Decommissioning;
        let draining = !waits && !self.done.contains(&TeardownStep::Drained);
        let progressing = Draft { type_: ConditionType::Progressing, ..ready.clone() };
        let mut drafts = vec![
            ready,
            if waits { progressing } else { Draft { status: crds::ConditionStatus::True, ..progressing } },
            conditions::paused(hold),
        ];
        drafts.push(if draining {
            Draft::is(ConditionType::Draining, Reason::WaitingForQueries, "running statements are being let finish")
        } else {
            Draft::not(ConditionType::Draining, Reason::AsSpecified, "")
        });
        let said: Vec<ConditionType> = drafts.iter().map(|draft| draft.type_).collect();
        let others = before.iter().filter(|it| !said.contains(&it.type_)).cloned().map(|condition| Draft {
            type_: condition.type_,
            status: condition.status,
            reason: condition.reason,
            message: condition.message,
        });
        drafts.into_iter().chain(others).map(|draft| conditions::stamped(draft, self.observed)).collect()
    }
}

/// The claim that this environment has taken for its own. One that belongs to somebody else, and
/// which the environment was refused for, is not touched.
fn volume(observed: &Observed) -> Option<&Arc<PersistentVolumeClaim>> {
    let environment = &observed.environment.metadata;
    let name = format!("{}-data", environment.name.as_deref()?);
    let claim = super::volume::claim(observed, &name)?;
    (claim.labels().get(label::ENVIRONMENT_ID) == environment.uid.as_ref()).then_some(claim)
}

/// No other deletion uses it, and the same deletion always does.
fn snapshot_name(observed: &Observed) -> String {
    let environment = &observed.environment;
    let uid = environment.metadata.uid.clone().unwrap_or_default();
    format!("{}-final-{}", environment.name_any(), uid.chars().take(8).collect::<String>())
}

fn snapshot<'a>(observed: &'a Observed, name: &str) -> Option<&'a Arc<DynamicObject>> {
    observed.children.iter().find_map(|child| match child {
        Child::VolumeSnapshot(it) if it.metadata.name.as_deref() == Some(name) => Some(it),
        _ => None,
    })
}

fn ready_to_use(snapshot: &DynamicObject) -> bool {
    snapshot.metadata.deletion_timestamp.is_none()
        && snapshot.data.pointer("/status/readyToUse") == Some(&serde_json::Value::Bool(true))
}
