//! The plan for an environment, as data.
//!
//! A plan is carried out from top to bottom: finalizer, writes, deletes, status, events. Each part
//! may fail or never happen; the next plan starts from what is observed then.

use std::sync::Arc;
use std::time::Duration;

use crds::EnvironmentStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::agreed::Agreed;
use super::child::{Child, Key, Kind};
use super::contest::Contests;

/// Everything to do about an environment now. It is settled if all parts are empty and the status stays.
#[derive(Debug, Clone)]
pub struct Plan {
    /// `Add` goes before everything else, `Remove` after everything else.
    pub finalizer: Finalizer,
    /// In this order.
    pub writes: Vec<Write>,
    pub deletes: Vec<Delete>,
    /// The whole of it; written when it differs from the one that stands there.
    pub status: EnvironmentStatus,
    /// Only transitions.
    pub events: Vec<Event>,
    /// When to look again if nothing happens before.
    pub requeue: Duration,
    /// For the next observation: what need not be compared again.
    pub agreed: Option<Arc<Agreed>>,
    /// The same, of repairs, once they have been carried out.
    pub contests: Contests,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finalizer {
    Keep,
    Add,
    /// The last thing that is done: the object is gone after it.
    Remove,
}

/// A change of a child that is not as it should be.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a plan holds a dozen of them, for a moment")]
pub enum Write {
    /// Server-side apply, whole, with force: what is in it is ours. Carries its hash already.
    Apply(Child),
    /// Sign a certificate and apply the Secret that holds it.
    Issue(CertificateOrder),
    /// A strategic merge patch that takes away what others added to this version of an object. An apply comes after.
    Strip { key: Key, version: String, patch: Value },
    /// The Secret with this uid is the user's from now on: without our labels, and without an owner.
    Disown { key: Key, uid: String },
    /// A merge patch of `spec.replicas` of the Deployment with this uid, for an environment of which
    /// nothing else can or should be said any more.
    Scale { key: Key, uid: String, replicas: i32 },
}

impl Write {
    pub fn key(&self) -> Key {
        match self {
            Self::Apply(child) => child.key(),
            Self::Strip { key, .. } | Self::Disown { key, .. } | Self::Scale { key, .. } => key.clone(),
            Self::Issue(order) => Key { kind: Kind::Secret, name: order.metadata.name.clone().unwrap_or_default() },
        }
    }
}

/// The order of a Secret with `tls.crt`, `tls.key` and `ca.crt`.
#[derive(Debug, Clone, PartialEq)]
pub struct CertificateOrder {
    /// Name, namespace, labels and owner of the Secret.
    pub metadata: ObjectMeta,
    pub authority: Authority,
    /// Sorted.
    pub dns_names: Vec<String>,
    pub lifetime: Duration,
    /// The present certificate is good; only `ca.crt` or the metadata is to be brought up to date.
    pub keep_certificate: bool,
    /// For the log and for a dry run.
    pub why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authority {
    /// Of the planes among themselves.
    Internal,
    /// Of the organization with this name, in the Secret `<name>-ca`.
    Organization(String),
}

/// A deletion with the uid as a precondition: a new object of the same name is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    pub key: Key,
    pub uid: String,
    pub why: &'static str,
}

/// A Kubernetes Event about the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Warning, not Normal.
    pub warning: bool,
    pub reason: String,
    /// What was done, as a verb.
    pub action: &'static str,
    pub note: String,
}
