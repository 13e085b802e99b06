//! The decision of all policies together on one query.

use super::Action;
use crate::PolicyId;

/// The verdict of all policies together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub effect: Effect,
    pub message: Option<String>,
    /// Policies of which a rule denied, restricted or allowed, in the order they were evaluated.
    pub matched: Vec<(PolicyId, String, Action)>,
    pub policies_evaluated: usize,
}

impl Decision {
    /// The decision on a statement in a word, and a reason for when no rule gives one.
    pub fn in_words(&self, writes: bool) -> (&'static str, &'static str) {
        match self.effect {
            Effect::Allow if self.matched.is_empty() => ("allow", "no policy matches"),
            Effect::Allow => ("allow", "allowed by policy"),
            Effect::ReadOnly if writes => ("deny", "policy lets you only read here"),
            Effect::ReadOnly => ("read_only", "policy lets you only read here"),
            Effect::Deny => ("deny", "denied by policy"),
            Effect::DenyTable => ("deny", "table denied by policy"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    Allow,
    ReadOnly,
    Deny,
    /// Denied by `TableIs` or `StageIs`: answers alike whether or not the table or stage exists.
    DenyTable,
}
