//! Who made what lies here (a memory, a trigger, a branch), and who may change or end it.
//!
//! Reading is everybody's who may ask. What somebody has made is theirs to change and to end; what others have
//! made takes the role of a developer, or one above. A key made for an agent changes what is that agent's and
//! nothing else, whatever its role.
//!
//! A declared agent proves nothing: the maker is the agent that the key was made for, else the user, else the
//! key. What was made before makers were written down is nobody's but its agent's.

use contract::Access;

use crate::Error;
use crate::pipeline::CallerContext;

/// Something that is to be changed or ended.
#[derive(Debug, Clone, Copy)]
pub struct Ownership<'a> {
    /// What it is, in a word.
    pub what: &'static str,
    pub by: Option<&'a str>,
    /// The agent that it is kept for, where it is kept for one.
    pub agent_id: Option<&'a str>,
}

impl Ownership<'_> {
    /// May this caller change it, or end it?
    pub fn may_change(&self, standing: &CallerContext) -> Result<(), Error> {
        let (own, bound) = (maker(standing), standing.agent.verified);
        let is_own = self.by == Some(own) || (bound && self.agent_id == Some(own));
        let may_others = !bound && Access::Developer.admits(standing.caller.role);
        if is_own || may_others { Ok(()) } else { Err(Error::NotYours { what: self.what }) }
    }
}

/// Who makes what this caller makes.
pub fn maker(standing: &CallerContext) -> &str {
    let bound = standing.agent.id.as_deref().filter(|_| standing.agent.verified);
    bound.unwrap_or_else(|| standing.caller.actor_id())
}
