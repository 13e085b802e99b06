//! The conditions of a status: each has its generation, and a transition time that moves only when its
//! status does.

use crds::{Condition, ConditionStatus, ConditionType, Reason};
use jiff::Timestamp;

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

/// A condition without its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub type_: ConditionType,
    pub status: ConditionStatus,
    pub reason: Reason,
    pub message: String,
}

impl Draft {
    pub fn new(type_: ConditionType, status: ConditionStatus, reason: Reason, message: impl Into<String>) -> Self {
        Self { type_, status, reason, message: message.into() }
    }

    pub fn flag(type_: ConditionType, holds: bool, reason: Reason, message: impl Into<String>) -> Self {
        Self::new(type_, if holds { ConditionStatus::True } else { ConditionStatus::False }, reason, message)
    }

    pub fn is(type_: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self::new(type_, ConditionStatus::True, reason, message)
    }

    pub fn not(type_: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self::new(type_, ConditionStatus::False, reason, message)
    }

    pub fn unknown(type_: ConditionType, reason: Reason, message: impl Into<String>) -> Self {
        Self::new(type_, ConditionStatus::Unknown, reason, message)
    }

    /// As it should be, in whichever sense.
    pub fn fine(type_: ConditionType, status: ConditionStatus) -> Self {
        Self::new(type_, status, Reason::AsSpecified, "")
    }

    /// The same in another condition.
    pub fn of(self, type_: ConditionType) -> Self {
        Self { type_, ..self }
    }

    /// With the generation, and the time of the last transition: now, or what it was.
    pub fn stamped(self, before: &[Condition], generation: i64, now: Timestamp) -> Condition {
        let before = before.iter().find(|it| it.type_ == self.type_ && it.status == self.status);
        Condition {
            type_: self.type_,
            status: self.status,
            observed_generation: generation,
            last_transition_time: before.map_or_else(|| rfc3339(now), |it| it.last_transition_time.clone()),
            reason: self.reason,
            message: self.message.chars().take(MESSAGE_MAX).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_is_dated_and_a_repetition_is_not() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let stamped = |before: &[Condition], (generation, now): (i64, &str), draft: Draft| {
            [draft.stamped(before, generation, at(now))]
        };
        let not = |reason| Draft::not(ConditionType::Ready, reason, "not yet");
        let first = stamped(&[], (1, "2026-01-01T00:00:00.5Z"), not(Reason::Starting));
        assert_eq!(first[0].last_transition_time, "2026-01-01T00:00:00Z");
        let again = stamped(&first, (2, "2026-01-02T00:00:00Z"), not(Reason::Invalid));
        assert_eq!((again[0].last_transition_time.as_str(), again[0].observed_generation), ("2026-01-01T00:00:00Z", 2));
        let fine = Draft::fine(ConditionType::Ready, ConditionStatus::True);
        let ready = stamped(&again, (2, "2026-01-03T00:00:00Z"), fine);
        assert_eq!(ready[0].last_transition_time, "2026-01-03T00:00:00Z");
    }
}
