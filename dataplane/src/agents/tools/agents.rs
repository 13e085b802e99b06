//! `register_agent`: an agent makes itself known to its organization.
//!
//! The one who calls is the agent from here on: a key that was made for another one may not say so,
//! and the grants and policies of the agent hold for this call already.

use contract::agent::{REGISTERS, Registered, Registration};
use contract::policy::abac::Operation;

use super::{Telling, ToolCall};
use crate::limits::invalid;
use crate::pipeline::ToolAction;
use crate::{Ask, DeclaredAgent, Error};

impl Telling for Registered {}

pub async fn register(call: ToolCall, said: Registration) -> Result<Registered, Error> {
    said.checked().map_err(|wrong| invalid(&wrong.field, wrong.message))?;
    let agent =
        DeclaredAgent::told(("agent_id", Some(said.agent_id.clone())), ("framework", Some(said.framework.clone())))?;
    let ask = Ask { agent, ..call.ask(REGISTERS, None)? };
    let tool_action = ToolAction { ask, tables: Vec::new(), operation: Operation::Insert, reads: Vec::new() };
    let registry = call.pipeline.registry.clone();
    let registered = |_| async move { Ok((registry.register(&said).await?, 1)) };
    call.pipeline.act(tool_action, registered).await
}
