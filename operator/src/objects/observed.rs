//! The input of a plan: the content of stores, settings and clock at one time.

use std::net::IpAddr;
use std::sync::Arc;

use contract::plan_bounds::PlanBounds;
use crds::{ApiKey, Environment, Organization};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use telemetry::Destination;

use super::agreed::Agreed;
use super::child::{Child, Key};
use super::contest::Contests;
use super::dns::Dns;
use super::pods::Account;
use super::source::Source;
use super::storage_reach::StorageReach;
use crate::model::Model;

/// One environment and its surroundings. Gathered from caches; asking the API server for any of it
/// would make a settled environment cost requests.
#[derive(Debug, Clone)]
pub struct Observed {
    pub environment: Arc<Environment>,
    /// The one that `spec.organizationRef` names.
    pub organization: Option<Arc<Organization>>,
    /// Every environment of the same organization, this one included or not; of one that runs,
    /// maybe nobody, for it keeps its place.
    pub siblings: Vec<Sibling>,
    /// Every object in the namespace that carries the labels of this environment, whether it should
    /// be there or not; and the volume claim, the account and so on by their name even without labels.
    pub children: Vec<Child>,
    /// The same for Secrets, of which only what a plan needs is known.
    pub secrets: Vec<SecretFacts>,
    /// The Secret of `spec.tls.secretRef`.
    pub given_certificate: GivenCertificate,
    /// The pods of the workload, those that are ending included.
    pub pods: Vec<PodFacts>,
    /// Keys whose `spec.environmentRef` is this environment.
    pub keys: Vec<Arc<ApiKey>>,
    pub authorities: Authorities,
    pub cluster: ClusterFacts,
    pub release: Arc<Release>,
    /// The data plane may move to the release's version and image now; see [`crate::controllers::environment::fleet`].
    pub may_move: bool,
    /// What the last plan found as it should be.
    pub agreed: Option<Arc<Agreed>>,
    /// Children that somebody else decides too.
    pub contests: Arc<Contests>,
    pub now: Timestamp,
}

/// Another environment of the organization, as far as a quota needs to know it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sibling {
    /// Absent orders first: it was there before anybody wrote it down.
    pub created: Option<Timestamp>,
    pub uid: String,
}

/// A Secret without its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretFacts {
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    /// Labels by name.
    pub labels: std::collections::BTreeMap<String, String>,
    /// Uids of the owners.
    pub owners: Vec<String>,
    pub deleting: bool,
    /// What `tls.crt` holds; absent: nothing that can be read, or a key that does not belong to it.
    pub certificate: Option<CertificateFacts>,
}

impl SecretFacts {
    pub fn key(&self) -> Key {
        Key { kind: super::child::Kind::Secret, name: self.name.clone() }
    }
}

/// The leaf of `tls.crt`, and the bundle beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateFacts {
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// Sorted.
    pub dns_names: Vec<String>,
    /// [`AuthorityFacts::id`] of whoever signed it.
    pub issuer: String,
    /// Of `ca.crt`, as [`AuthorityFacts::bundle`].
    pub bundle: String,
}

/// The certificate in a Secret of the user's own, which carries none of our labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenCertificate {
    /// None is given, or it could not be read; the pods that mount it know.
    Unseen,
    Missing,
    /// No certificate with the key that belongs to it.
    Unusable,
    There(CertificateFacts),
}

/// The authorities that sign now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authorities {
    /// Of the identities in the mesh of planes.
    pub internal: Option<AuthorityFacts>,
    /// Of the organization: certificates that clients see.
    pub organization: Option<AuthorityFacts>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityFacts {
    /// Hex SHA-256 of the public key that signs.
    pub id: String,
    /// Hex SHA-256 of the bundle of certificates to trust.
    pub bundle: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodFacts {
    pub name: String,
    pub ready: bool,
    /// It has a deletion timestamp.
    pub ending: bool,
    /// `CrashLoopBackOff`, `ImagePullBackOff`, …: why its container does not run.
    pub waiting: Option<String>,
    /// The scheduler's message.
    pub unschedulable: Option<String>,
}

/// The optional features of the cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// The storage class of the volume allows it to grow; absent: not known.
    pub volume_may_grow: Option<bool>,
    pub has_volume_snapshots: bool,
    pub has_cert_manager: bool,
}

/// The settings of this installation.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    /// Where operator and control plane live.
    pub namespace: String,
    /// What data planes move to.
    pub source: Source,
    /// The tag that they move to.
    pub version: String,
    /// `host:port` of the control plane's gRPC listener.
    pub control_plane: String,
    /// Usually `cluster.local`.
    pub cluster_domain: String,
    /// The address that data planes listen on.
    pub listen: IpAddr,
    /// Seconds that their HTTP connections live between two requests.
    pub http_idle_secs: u64,
    /// Bytes that one result of their tools may hold.
    pub tool_result_bytes: usize,
    /// How much they keep of plans.
    pub plans: PlanBounds,
    /// What is added to their accounts.
    pub account: Account,
    /// The way to the cluster's DNS.
    pub dns: Dns,
    /// The data plane can serve `storage.format: lake`. One that cannot would take the environment
    /// for a native one and keep its data on a disk that goes with the pod.
    pub serves_lake: bool,
    /// What data planes ask a model, and which.
    pub model: Model,
    /// Where data planes send spans.
    pub collector: Destination,
    /// What their storage integrations reach.
    pub storage: StorageReach,
}
