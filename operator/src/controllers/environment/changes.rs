//! The difference between the wanted and the live children of an environment, as writes and deletes.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::validate::{Desired, Off, Tls};
use super::volume::{self, Growth};
use super::{additions, build, certificates, workload};
use crate::objects::agreed::Agreed;
use crate::objects::agreement;
use crate::objects::child::{APPLIED_HASH, Child, Key, Kind};
use crate::objects::contest::{Contests, RepairTiming};
use crate::objects::names::label;
use crate::objects::observed::Observed;
use crate::objects::plan::{Delete, Write};

/// The writes and deletes that bring the children to what is wanted.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    pub writes: Vec<Write>,
    pub deletes: Vec<Delete>,
    /// A child has to go before another can take its name.
    pub waits_for: Option<Key>,
    pub growth: Growth,
    /// One for each write and delete, for people.
    pub lines: Vec<String>,
    /// What is as it should be.
    pub agreed: Option<Arc<Agreed>>,
    /// Repairs, those of these writes included.
    pub contests: Contests,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.deletes.is_empty()
    }

    /// What is undone at once leaves it as it is.
    pub fn touches_workload(&self) -> bool {
        let workload = |key: &Key| key.kind == Kind::Deployment && !self.contests.is_contested(key);
        self.writes.iter().any(|write| workload(&write.key())) || self.waits_for.as_ref().is_some_and(workload)
    }

    pub(super) fn write(&mut self, write: Write, line: String) {
        self.writes.push(write);
        self.lines.push(line);
    }

    /// Sets right what is not as it should be, unless somebody undoes it each time: then at its time. What has never
    /// been said to be as specified is no repair.
    fn repair(&mut self, write: Write, (wanted, field): (&str, &str), observed: &Observed, line: String) {
        let environment = &observed.environment;
        let seen = environment.status.as_ref().and_then(|status| status.observed_generation);
        if seen.is_none() || seen != environment.metadata.generation {
            return self.write(write, line);
        }
        match self.contests.repair(&write.key(), wanted, field, observed.now) {
            RepairTiming::Now => self.write(write, line),
            RepairTiming::Later => self.lines.push(line),
        }
    }

    pub(super) fn delete(&mut self, key: Key, metadata: &ObjectMeta, why: &'static str) {
        let Some(uid) = metadata.uid.clone() else { return };
        self.lines.push(format!("delete {key}: {why}"));
        self.deletes.push(Delete { key, uid, why });
    }

    /// Switches the workload off without touching anything else of it.
    pub(super) fn scale_to_zero(observed: &Observed) -> Self {
        let mut changes = Self::default();
        if let Some(deployment) = workload::deployment(observed).filter(|it| workload::replicas(it) > 0) {
            let metadata = &deployment.metadata;
            let key = Key { kind: Kind::Deployment, name: metadata.name.clone().unwrap_or_default() };
            if let Some(uid) = metadata.uid.clone() {
                let line = format!("scale {key}: {} → 0", workload::replicas(deployment));
                changes.write(Write::Scale { key, uid, replicas: 0 }, line);
            }
        }
        changes
    }
}

/// What an environment needs that cannot be carried out: what runs is left as it is, unless it has
/// to be switched off.
pub fn frozen(observed: &Observed, off: Option<Off>) -> Changes {
    if off.is_some() { Changes::scale_to_zero(observed) } else { Changes::default() }
}

pub fn needed(desired: &Desired, observed: &Observed) -> Changes {
    let mut changes = Changes::default();
    // the size of a volume depends on the cluster; nothing in it is secret: all of it is in what `Debug` writes
    let nothing = Agreed::new(format_args!("{desired:?} {:?}", observed.cluster));
    let known = observed.agreed.as_ref().filter(|it| it.is_as(&nothing)).cloned();
    let mut agreed = known.unwrap_or_else(|| Arc::new(nothing));
    let wanted = build::children(desired);
    let mut keys: BTreeSet<Key> = wanted.iter().map(Write::key).collect();
    match &desired.tls {
        Tls::SelfSigned => {}
        // cert-manager writes it; it may have been ours before
        Tls::CertManager { .. } => drop(keys.insert(Key { kind: Kind::Secret, name: desired.name.tls() })),
        Tls::Given { secret } => {
            disown(Key { kind: Kind::Secret, name: secret.clone() }, &mut keys, observed, &mut changes);
        }
    }
    changes.contests = observed.contests.at(observed.now, &keys);
    for write in wanted {
        match write {
            Write::Apply(child) => apply(child, observed, &mut agreed, &mut changes),
            Write::Issue(order) => {
                if let Some(order) = certificates::due(order, observed) {
                    let (why, names) = (order.why, order.dns_names.join(" "));
                    let write = Write::Issue(order);
                    let line = format!("issue {}: {why}", write.key());
                    changes.repair(write, (&names, "data"), observed, line);
                }
            }
            Write::Strip { .. } | Write::Disown { .. } | Write::Scale { .. } => {}
        }
    }
    orphans(&keys, observed, &mut changes);
    changes.contests.wake();
    changes.agreed = Some(agreed);
    changes
}

fn apply(child: Child, observed: &Observed, agreed: &mut Arc<Agreed>, changes: &mut Changes) {
    let key = child.key();
    let live = observed.children.iter().find(|other| other.key() == key);
    let child = match (child, live) {
        (Child::PersistentVolumeClaim(wanted), Some(Child::PersistentVolumeClaim(live))) => {
            let (claim, growth) = volume::fit(Arc::unwrap_or_clone(wanted), live, observed);
            changes.growth = growth;
            Child::PersistentVolumeClaim(Arc::new(claim))
        }
        (child, _) => child,
    };
    if live.is_some_and(|live| agreed.holds(&key, live)) {
        return;
    }
    let (child, json) = child.hashed();
    let wanted = json.pointer("/metadata/annotations").and_then(|it| it.get(APPLIED_HASH)).and_then(Value::as_str);
    let wanted = wanted.unwrap_or_default();
    let Some(live) = live else {
        changes.repair(Write::Apply(child), (wanted, "the whole"), observed, format!("create {key}"));
        return;
    };
    if live.metadata().deletion_timestamp.is_some() {
        changes.waits_for = Some(key);
    } else if left_over(live, observed) {
        changes.delete(key.clone(), live.metadata(), "left by an earlier environment of this name");
        changes.waits_for = Some(key);
    } else {
        match difference(&key, &json, live) {
            Difference::None => Arc::make_mut(agreed).note(&key, live),
            Difference::Addition(patch, places) => {
                let removes = format!("change {key}: removes {}", places.join(", "));
                let field = places.into_iter().next().unwrap_or_default();
                let version = live.metadata().resource_version.clone().unwrap_or_default();
                changes.repair(Write::Strip { key, version, patch }, (wanted, &field), observed, removes);
            }
            Difference::Change(first) => {
                let field = first.split(": ").next().unwrap_or_default().to_owned();
                changes.repair(Write::Apply(child), (wanted, &field), observed, format!("change {key}: {first}"));
            }
        }
    }
}

enum Difference {
    None,
    /// Taken away before anything else is changed: the patch, and the places.
    Addition(Value, Vec<String>),
    /// The first place.
    Change(String),
}

fn difference(key: &Key, wanted: &Value, live: &Child) -> Difference {
    let live = match live.json() {
        Ok(live) => live,
        Err(error) => return Difference::Change(error.to_string()),
    };
    if let Some((patch, places)) = additions::removal(key.kind, wanted, &live) {
        return Difference::Addition(patch, places);
    }
    agreement::difference(wanted, &live).map_or(Difference::None, Difference::Change)
}

/// A Secret that the specification names is the user's, also where it was made here under another mode: it is not
/// deleted, neither now nor with the environment.
fn disown(key: Key, keys: &mut BTreeSet<Key>, observed: &Observed, changes: &mut Changes) {
    if !keys.insert(key.clone()) {
        return;
    }
    let known = certificates::secret(observed, &key.name).filter(|secret| !secret.deleting);
    if let Some(uid) = known.map(|secret| secret.uid.clone()) {
        let line = format!("release {key}: spec.tls.secretRef names it");
        changes.write(Write::Disown { key, uid }, line);
    }
}

/// Made by us for an environment that has the same name, and is gone or going.
fn left_over(live: &Child, observed: &Observed) -> bool {
    let metadata = live.metadata();
    let ours =
        metadata.labels.iter().flatten().any(|(name, value)| name == label::MANAGED_BY && value == label::OPERATOR);
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let mut environments = owners.iter().filter(|owner| owner.kind == "Environment");
    ours && environments.any(|owner| Some(&owner.uid) != observed.environment.metadata.uid.as_ref())
}

/// What carries our labels and belongs to this environment, and is not wanted any more. What holds
/// data has no owner, and so is never among it.
fn orphans(wanted: &BTreeSet<Key>, observed: &Observed, changes: &mut Changes) {
    let Some(uid) = &observed.environment.metadata.uid else { return };
    for child in &observed.children {
        let (key, metadata) = (child.key(), child.metadata());
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let ours = owners.iter().any(|owner| &owner.uid == uid);
        let data = matches!(key.kind, Kind::PersistentVolumeClaim | Kind::VolumeSnapshot);
        if ours && !data && metadata.deletion_timestamp.is_none() && !wanted.contains(&key) {
            changes.delete(key, metadata, "no longer wanted");
        }
    }
    for secret in &observed.secrets {
        let key = secret.key();
        if secret.owners.contains(uid) && !secret.deleting && !wanted.contains(&key) {
            let metadata = ObjectMeta { uid: Some(secret.uid.clone()), ..ObjectMeta::default() };
            changes.delete(key, &metadata, "no longer wanted");
        }
    }
}
