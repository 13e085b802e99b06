//! Kubernetes, as far as the control plane has to do with it. Nothing else here names `kube`.
//!
//! Organizations and Environments are resources: REST writes them as the field manager
//! `sluice-controlplane` and takes nothing from another manager (`write`); what anybody writes is
//! followed into rows (`follow`). An operator runs what they describe and says so in their status.

pub mod environments;
mod fields;
mod follow;
pub mod organizations;
mod rbac;
mod refusal;
mod said;
mod secrets;
mod settings;
mod write;

use std::time::Duration;

use async_trait::async_trait;
use kube::Client;
use platform::provisioner::{Placement, Provision, ProvisionError, Provisioner};
use platform::resources::Resources;
use platform::{Config, Error, Result};
use tokio::sync::Semaphore;

pub use crds::annotation::KEY_REVISION;
pub use rbac::RULES;

/// The field manager of everything that REST writes.
pub const MANAGER: &str = "sluice-controlplane";

/// How long the API server may take to answer a request that somebody waits for.
const PATIENCE: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Requests that wait for the API server at once: it may take as long as it likes, the rest of
/// `/v1` goes on.
const WAITING_MAX: usize = 8;

/// No API server is configured, or it cannot be talked to.
#[derive(Debug, thiserror::Error)]
pub enum NoCluster {
    #[error("no Kubernetes configuration: {0}")]
    Configuration(#[from] kube::config::InferConfigError),
    #[error("the Kubernetes client cannot be made: {0}")]
    Client(#[from] kube::Error),
}

/// The cluster that resources are in.
pub struct Cluster {
    client: Client,
    /// Where REST makes organizations; an environment is where its organization is.
    namespace: String,
    /// Empty: all.
    watched: Vec<String>,
    waiting: Semaphore,
}

contract::opaque!(Cluster);

impl Cluster {
    /// The cluster this process runs in, or the one that `KUBECONFIG` names.
    pub async fn connect(config: &Config) -> Result<Self, NoCluster> {
        let mut access = kube::Config::infer().await?;
        access.connect_timeout = Some(CONNECT_TIMEOUT);
        let own = access.default_namespace.clone();
        Ok(Self::new(Client::try_from(access)?, config, own))
    }

    /// Over a client. `own` is the namespace that REST writes into unless the settings say another.
    pub fn new(client: Client, config: &Config, own: String) -> Self {
        let watched = config.watch_namespaces.iter().filter(|name| !name.is_empty()).cloned().collect();
        let namespace = config.namespace.clone().filter(|name| !name.is_empty()).unwrap_or(own);
        Self { client, namespace, watched, waiting: Semaphore::new(WAITING_MAX) }
    }

    /// The answer of the API server to somebody who waits, in its time.
    async fn asked<T>(&self, request: impl Future<Output = kube::Result<T>>) -> Result<T> {
        const AWAY: &str = "the Kubernetes API cannot be reached";
        let Ok(_waiting) = self.waiting.try_acquire() else {
            return Err(Error::Unavailable(AWAY));
        };
        match tokio::time::timeout(PATIENCE, request).await {
            Ok(answer) => answer.map_err(refusal::refusal),
            Err(_) => Err(Error::Unavailable(AWAY)),
        }
    }
}

#[async_trait]
impl Provisioner for Cluster {
    /// The operator does, from the resource.
    async fn provision(&self, _: &Provision) -> Result<Placement, ProvisionError> {
        Err(ProvisionError::Unattended)
    }

    fn resources(&self) -> Option<&dyn Resources> {
        Some(self)
    }
}
