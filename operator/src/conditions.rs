//! The conditions of a status: each has its generation, and a transition time that moves only when its
//! status does.

use crds::{Condition, ConditionStatus, ConditionType, Reason};
use jiff::Timestamp;

/// Conditions in the making.
#[derive(Debug)]
pub struct Conditions<'a> {
    old: &'a [Condition],
    generation: i64,
    now: Timestamp,
    new: Vec<Condition>,
}

/// As Kubernetes writes times: to the second.
pub fn rfc3339(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The condition of this type, if there is one.
pub fn find(conditions: &[Condition], type_: ConditionType) -> Option<&Condition> {
    conditions.iter().find(|it| it.type_ == type_)
}

/// The longest message that the schema permits.
const MESSAGE_MAX: usize = 1024;

impl<'a> Conditions<'a> {
    pub fn new(old: &'a [Condition], generation: i64, now: Timestamp) -> Self {
        Self { old, generation, now, new: Vec::new() }
    }

    pub fn set(mut self, type_: ConditionType, status: ConditionStatus, reason: Reason, message: &str) -> Self {
        let old = self.old.iter().find(|condition| condition.type_ == type_ && condition.status == status);
        let last_transition_time = old.map_or_else(|| rfc3339(self.now), |old| old.last_transition_time.clone());
        self.new.retain(|condition| condition.type_ != type_);
        self.new.push(Condition {
            type_,
            status,
            observed_generation: self.generation,
            last_transition_time,
            reason,
            message: message.chars().take(MESSAGE_MAX).collect(),
        });
        self
    }

    pub fn flag(self, type_: ConditionType, holds: bool, reason: Reason, message: &str) -> Self {
        let status = if holds { ConditionStatus::True } else { ConditionStatus::False };
        self.set(type_, status, reason, message)
    }

    pub fn done(self) -> Vec<Condition> {
        self.new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_is_dated_and_a_repetition_is_not() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let first = Conditions::new(&[], 1, at("2026-01-01T00:00:00.5Z"))
            .flag(ConditionType::Ready, false, Reason::Starting, "not yet")
            .done();
        assert_eq!(first[0].last_transition_time, "2026-01-01T00:00:00Z");
        let again = Conditions::new(&first, 2, at("2026-01-02T00:00:00Z"))
            .flag(ConditionType::Ready, false, Reason::Invalid, "another reason")
            .done();
        assert_eq!((again[0].last_transition_time.as_str(), again[0].observed_generation), ("2026-01-01T00:00:00Z", 2));
        let ready = Conditions::new(&again, 2, at("2026-01-03T00:00:00Z"))
            .flag(ConditionType::Ready, true, Reason::AsSpecified, "")
            .done();
        assert_eq!(ready[0].last_transition_time, "2026-01-03T00:00:00Z");
    }
}
