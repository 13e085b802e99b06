//! By what something was let through that outlasts its statement: the rows of an open cursor, the changes of a client's
//! transaction. It ends when this is not so any more.

use std::sync::Arc;

use contract::governance::EnvironmentStatus;
use contract::{Caller, Governance, Timestamp};

use crate::DeclaredAgent;
use crate::pipeline::TimeRules;

/// The rules and the caller, with the agent that they declare, at one moment.
#[derive(Debug, Clone)]
pub struct AuthorizationState {
    rules: Arc<Governance>,
    caller: Caller,
    agent: DeclaredAgent,
    moment: Option<TimeRules>,
}

impl AuthorizationState {
    pub fn of(rules: Arc<Governance>, caller: Caller, agent: DeclaredAgent, now: Timestamp) -> Self {
        let moment = TimeRules::of(&rules, &caller, &agent, now);
        Self { rules, caller, agent, moment }
    }

    pub fn agent(&self) -> &DeclaredAgent {
        &self.agent
    }

    /// Whether, while these rules hold, nothing ends it but the end of what the caller has shown.
    ///
    /// They are those of then, and by them no role is lent, no grant counts, and no policy asks for the time.
    pub fn is_lasting_under(&self, rules: &Arc<Governance>) -> bool {
        let is_of_no_time = self.moment.as_ref().is_some_and(|moment| moment.is_of_no_time(rules));
        Arc::ptr_eq(&self.rules, rules) && rules.elevations.is_empty() && is_of_no_time
    }

    /// Does the same apply to the same caller? A role that was lent, a grant, and an hour of the day end by the clock,
    /// without new rules.
    pub fn is_as(&self, then: &Self) -> bool {
        let same_rules = Arc::ptr_eq(&self.rules, &then.rules) || same_rules(&self.rules, &then.rules);
        same_rules && self.caller == then.caller && self.agent == then.agent && self.moment == then.moment
    }
}

/// Is all the same that decides what a caller may do?
fn same_rules(a: &Governance, b: &Governance) -> bool {
    a.policies == b.policies
        && a.abac_policies == b.abac_policies
        && a.agent_capabilities == b.agent_capabilities
        && a.organization == b.organization
        && is_open(a.environment.status) == is_open(b.environment.status)
}

/// Whether an environment of this status answers: the same while it is made and once it is.
pub fn is_open(status: EnvironmentStatus) -> bool {
    match status {
        EnvironmentStatus::Active | EnvironmentStatus::Provisioning => true,
        EnvironmentStatus::Suspended | EnvironmentStatus::Decommissioning => false,
    }
}

#[cfg(test)]
mod tests {
    use contract::governance::Elevation;
    use contract::policy::abac::{Action, Condition};
    use contract::wire::Who;
    use contract::{Clock, Role, SystemClock};

    use super::*;
    use crate::governance::sessions::standing_in;
    use crate::testing::{analyst_id, governance, rule, ruled};

    /// Whether what the analyst was let through by lasts as long as these rules.
    fn lasts(rules: Governance, agent_id: Option<&str>) -> bool {
        let (rules, now) = (Arc::new(rules), SystemClock.now());
        let caller = standing_in(&rules, &Who::Key { key_id: analyst_id() }, None, now).unwrap();
        let agent = DeclaredAgent::told(("agent_id", agent_id.map(str::to_owned)), ("framework", None)).unwrap();
        let then = AuthorizationState::of(Arc::clone(&rules), caller, agent, now);
        assert!(!then.is_lasting_under(&Arc::new(Governance::clone(&rules))), "others may say the same");
        then.is_lasting_under(&rules)
    }

    #[test]
    fn an_environment_that_is_made_by_now_ends_nothing_and_one_that_is_suspended_does() {
        let of = |status| {
            let mut rules = governance();
            rules.environment.status = status;
            rules
        };
        let made = of(EnvironmentStatus::Active);
        assert!(same_rules(&of(EnvironmentStatus::Provisioning), &made));
        assert!(!same_rules(&made, &of(EnvironmentStatus::Suspended)));
    }

    #[test]
    fn a_state_that_the_clock_may_end_does_not_last() {
        let changed = |change: fn(&mut Governance)| {
            let mut rules = governance();
            change(&mut rules);
            rules
        };
        assert!(lasts(governance(), None) && lasts(governance(), Some("bot")));
        let at_an_hour = |rules: &mut Governance| {
            rules.abac_policies = vec![ruled("hours", vec![rule(Condition::DayOfWeek, &["sunday"], Action::Deny)])];
        };
        assert!(!lasts(changed(at_an_hour), None));
        let lent = |rules: &mut Governance| {
            let (effective_at, expires_at) = (SystemClock.now(), SystemClock.now() + chrono::Duration::hours(1));
            let (request_id, user_id) = ("r".into(), "u-analyst".into());
            rules.elevations = vec![Elevation { request_id, user_id, role: Role::Admin, effective_at, expires_at }];
        };
        assert!(!lasts(changed(lent), None));
        let granted = |rules: &mut Governance| _ = rules.agent_capabilities.insert("bot".to_owned(), Vec::new());
        assert!(lasts(changed(granted), None) && !lasts(changed(granted), Some("bot")));
    }
}
