//! The children of an environment: every kind of object that stands for one in the cluster.
//!
//! One enum both for what there should be and for what there is, so that the two can be compared.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// SHA-256 of the object as it was last applied, without this annotation. What is no longer wanted
/// leaves no other trace in a live object.
pub const APPLIED_HASH: &str = "sluice.dev/applied-hash";

contract::named! {
    /// The kinds of children, in the order in which they are applied: the workload last.
    #[derive(PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Kind {
        ServiceAccount = "ServiceAccount",
        PersistentVolumeClaim = "PersistentVolumeClaim",
        ConfigMap = "ConfigMap",
        Secret = "Secret",
        /// Of cert-manager.
        Certificate = "Certificate",
        Service = "Service",
        NetworkPolicy = "NetworkPolicy",
        PodDisruptionBudget = "PodDisruptionBudget",
        Deployment = "Deployment",
        /// Of the snapshot controller: the last state of a volume that goes.
        VolumeSnapshot = "VolumeSnapshot",
        /// Ours: a key of the environment.
        ApiKey = "ApiKey",
    }
}

impl Kind {
    /// Group, version, kind and plural, for requests.
    pub fn resource(self) -> ApiResource {
        let (group, version, plural) = match self {
            Self::ServiceAccount => ("", "v1", "serviceaccounts"),
            Self::PersistentVolumeClaim => ("", "v1", "persistentvolumeclaims"),
            Self::ConfigMap => ("", "v1", "configmaps"),
            Self::Secret => ("", "v1", "secrets"),
            Self::Service => ("", "v1", "services"),
            Self::NetworkPolicy => ("networking.k8s.io", "v1", "networkpolicies"),
            Self::PodDisruptionBudget => ("policy", "v1", "poddisruptionbudgets"),
            Self::Deployment => ("apps", "v1", "deployments"),
            Self::Certificate => ("cert-manager.io", "v1", "certificates"),
            Self::VolumeSnapshot => ("snapshot.storage.k8s.io", "v1", "volumesnapshots"),
            Self::ApiKey => (crds::GROUP, crds::VERSION, "apikeys"),
        };
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, self.as_str()), plural)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A child by kind and name; all are in the environment's namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    pub kind: Kind,
    pub name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// The children that are whole objects: each kind once, with its type.
macro_rules! children {
    ($($(#[$doc:meta])* $kind:ident: $object:ty),+ $(,)?) => {
        /// A child as a whole object. Secrets are not among them: their values stay out of plans.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Child {
            $($(#[$doc])* $kind(Arc<$object>)),+
        }

        impl Child {
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind),+
                }
            }

            pub fn metadata(&self) -> &ObjectMeta {
                match self {
                    $(Self::$kind(object) => &object.metadata),+
                }
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                match self {
                    $(Self::$kind(object) => &mut Arc::make_mut(object).metadata),+
                }
            }

            /// What [`Self::text`] wrote. No Secret and no key: they are no children here.
            pub fn read(kind: Kind, json: &[u8]) -> Result<Self, serde_json::Error> {
                match kind {
                    $(Kind::$kind => serde_json::from_slice(json).map(Arc::new).map(Self::$kind),)+
                    Kind::Secret | Kind::ApiKey => Err(serde_json::Error::custom(format!("{kind} is no child"))),
                }
            }

            /// [`Self::json`] written down.
            pub fn text(&self) -> Result<Vec<u8>, serde_json::Error> {
                match self {
                    $(Self::$kind(object) => serde_json::to_vec(object.as_ref())),+
                }
            }

            /// The object as it goes over the wire, `apiVersion` and `kind` included.
            pub fn json(&self) -> Result<Value, serde_json::Error> {
                match self {
                    $(Self::$kind(object) => serde_json::to_value(object.as_ref())),+
                }
            }
        }
    };
}

children! {
    ServiceAccount: ServiceAccount,
    PersistentVolumeClaim: PersistentVolumeClaim,
    ConfigMap: ConfigMap,
    Service: Service,
    NetworkPolicy: NetworkPolicy,
    PodDisruptionBudget: PodDisruptionBudget,
    Deployment: Deployment,
    /// `cert-manager.io/v1`.
    Certificate: DynamicObject,
    /// `snapshot.storage.k8s.io/v1`.
    VolumeSnapshot: DynamicObject,
}

impl Child {
    /// With [`APPLIED_HASH`] upon it, and the same as JSON.
    pub fn hashed(mut self) -> (Self, Value) {
        // to write a value of plain fields as JSON does not fail
        let mut json = self.json().unwrap_or_default();
        let hash = hex::encode(Sha256::digest(json.to_string()));
        let annotations = self.metadata_mut().annotations.get_or_insert_default();
        annotations.insert(APPLIED_HASH.to_owned(), hash);
        let annotations = serde_json::to_value(annotations).unwrap_or_default();
        if let Some(metadata) = json.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("annotations".to_owned(), annotations);
        }
        (self, json)
    }

    pub fn key(&self) -> Key {
        Key { kind: self.kind(), name: self.metadata().name.clone().unwrap_or_default() }
    }
}
