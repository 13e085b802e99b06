//! The agent behind a query: declared, or the one that its key was made for.

use contract::{Caller, Governance, report};

use crate::pipeline::Result;
use crate::{AgentName, DeclaredAgent, Error};

/// The agent behind a query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Agent {
    pub id: Option<String>,
    pub framework: Option<String>,
    /// Not only declared: the key was made for it.
    pub verified: bool,
    /// The key names its framework too.
    pub framework_verified: bool,
}

impl Agent {
    /// What a filter may compare with: "a filter that names them is false unless verified".
    pub(in crate::pipeline) fn as_filters_know(&self) -> Option<(&str, Option<&str>)> {
        let id = self.id.as_deref().filter(|_| self.verified)?;
        Some((id, self.framework.as_deref().filter(|_| self.framework_verified)))
    }

    pub(in crate::pipeline) fn told(&self) -> Option<report::Agent> {
        let known = self.id.is_some() || self.framework.is_some();
        known.then(|| report::Agent { agent_id: self.id.clone(), framework: self.framework.clone() })
    }
}

/// A key made for one agent refuses another declaration; anything else is only declared.
pub(in crate::pipeline) fn agent(rules: &Governance, caller: &Caller, declared: &DeclaredAgent) -> Result<Agent> {
    let key = caller.key_id().and_then(|key_id| rules.key(key_id));
    let Some(bound) = key.and_then(|key| key.agent_id.as_ref().map(|id| (id, key.agent_framework.as_ref()))) else {
        let DeclaredAgent { agent_id, framework } = declared.clone();
        let (id, framework) = (agent_id.map(String::from), framework.map(String::from));
        return Ok(Agent { id, framework, verified: false, framework_verified: false });
    };
    let (agent_id, framework) = bound;
    let differs = |declared: &Option<AgentName>, bound: Option<&String>| {
        declared.as_deref().is_some_and(|declared| bound.is_some_and(|bound| bound != declared))
    };
    if differs(&declared.agent_id, Some(agent_id)) || differs(&declared.framework, framework) {
        return Err(Error::PolicyDenied { message: "the key is bound to another agent".to_owned() });
    }
    let framework_verified = framework.is_some();
    let framework = framework.cloned().or_else(|| declared.framework.clone().map(String::from));
    Ok(Agent { id: Some(agent_id.clone()), framework, verified: true, framework_verified })
}
