//! The seam between records and what stands behind them: Kubernetes, or processes of one machine.
//! The control plane asks; somebody else starts data planes.

use std::fmt::Debug;

use async_trait::async_trait;
use contract::{EnvId, OrgId};

use crate::resources::Resources;

/// The environment to bring up.
#[derive(Debug, Clone)]
pub struct Provision {
    pub env_id: EnvId,
    pub org_id: OrgId,
    /// Name of its database.
    pub slug: String,
}

/// Where a data plane can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Host and port of REST, for the control plane alone.
    pub internal: String,
    /// Host and port of the PostgreSQL wire, as callers see them.
    pub pg: (String, u16),
    /// Host and port of Arrow Flight and the agent tools, as callers see them.
    pub tools: (String, u16),
    pub database: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// Worth another attempt.
    #[error("the environment could not be brought up: {0}")]
    Failed(String),
    #[error("nothing here brings environments up")]
    Unattended,
}

#[async_trait]
pub trait Provisioner: Send + Sync + Debug {
    /// Brings a data plane up, or finds the one that is up already.
    async fn provision(&self, environment: &Provision) -> Result<Placement, ProvisionError>;

    /// Has the data plane of an environment that is suspended or removed end, if it is up. Its data stays.
    async fn retire(&self, _env_id: &EnvId) {}

    /// Whoever writes resources. `None`: rows are the truth, and data planes are brought up here.
    fn resources(&self) -> Option<&dyn Resources> {
        None
    }
}

/// For a control plane that stands alone: environments stay `provisioning`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unattended;

#[async_trait]
impl Provisioner for Unattended {
    async fn provision(&self, _: &Provision) -> Result<Placement, ProvisionError> {
        Err(ProvisionError::Unattended)
    }
}
