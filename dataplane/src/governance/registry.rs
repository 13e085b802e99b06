//! Where agents make themselves known: the organization's registry, in the control plane.
//!
//! Our certificate says for which organization. Away, nobody is registered, and nothing here pretends.

use std::time::Duration;

use contract::agent::{Refusal, Registered, Registration};

use super::link::Link;
use crate::Error;

const WITHIN: Duration = Duration::from_secs(5);

/// The way there; none where there is no control plane.
#[derive(Debug, Clone, Default)]
pub struct Registry(Option<Link>);

impl Registry {
    pub fn new(link: Link) -> Self {
        Self(Some(link))
    }

    pub async fn register(&self, said: &Registration) -> Result<Registered, Error> {
        let Some(link) = &self.0 else { return Err(Error::ControlPlaneAway) };
        let answer = match tokio::time::timeout(WITHIN, link.register_agent(said)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(status)) => {
                tracing::warn!(code = ?status.code(), message = status.message(), "an agent could not be registered");
                return Err(Error::ControlPlaneAway);
            }
            Err(_) => return Err(Error::ControlPlaneAway),
        };
        answer.map_err(|refusal| match refusal {
            Refusal::Full { limit } => Error::AgentsFull { limit },
            Refusal::ParentUnknown => Error::AgentNotRegistered { field: "parent_agent_id" },
        })
    }
}
