//! What the changes of a client's transaction were let through by. What it holds was chosen by those rules, temporary
//! tables too, and nothing tells which of it other rules would have let through: so it ends when they change.

use std::net::IpAddr;
use std::sync::Arc;

use contract::wire::Who;
use contract::{Governance, Timestamp};

use super::moment::lets_write;
use super::{Result, Stance};
use crate::sessions::standing_in;
use crate::{Ask, Error};

/// Agents that one transaction writes for.
const AGENTS_MAX: usize = 100;

/// One for each agent and address, as of its first change: another one of the same differs only if the transaction is
/// over.
#[derive(Debug, Default)]
pub(super) struct Admitted(Vec<(Option<IpAddr>, Stance)>);

impl Admitted {
    /// A statement that changes something.
    pub fn add(&mut self, rules: &Arc<Governance>, ask: &Ask, now: Timestamp) -> Result<()> {
        if self.0.iter().any(|(peer, then)| *peer == ask.peer && *then.agent() == ask.agent) {
            return Ok(());
        }
        if self.0.len() >= AGENTS_MAX {
            let what = format!("a transaction that writes for more than {AGENTS_MAX} agents");
            return Err(Error::Unsupported { what });
        }
        let caller = standing_in(rules, &ask.who, ask.peer, now)?;
        self.0.push((ask.peer, Stance::of(Arc::clone(rules), caller, ask.agent.clone(), now)));
        Ok(())
    }

    /// Would all of it be let through now? What only read has nothing here.
    pub fn still_holds(&self, rules: &Arc<Governance>, who: &Who, now: Timestamp) -> bool {
        self.0.iter().all(|(peer, then)| {
            let Ok(caller) = standing_in(rules, who, *peer, now) else { return false };
            caller.may_query(true).is_ok()
                && lets_write(rules, &caller, then.agent(), now)
                && Stance::of(Arc::clone(rules), caller, then.agent().clone(), now).is_as(then)
        })
    }
}
