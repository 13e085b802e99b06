//! The states of a request, and what moves it.

use schemars::JsonSchema;
use serde::Serialize;

/// "`pending`, `approved`, `denied`, `revoked`". An approved one whose time has passed stays
/// `approved`: its `expires_at` says that it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JitStatus {
    Pending,
    Approved,
    Denied,
    Revoked,
}

/// What moves a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JitTransition {
    Approve,
    Deny,
    Revoke,
}

impl JitStatus {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Approved, Self::Denied, Self::Revoked];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Revoked => "revoked",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// `None`: not from here.
    pub const fn after(self, trigger: JitTransition) -> Option<Self> {
        match (self, trigger) {
            (Self::Pending, JitTransition::Approve) => Some(Self::Approved),
            (Self::Pending, JitTransition::Deny) => Some(Self::Denied),
            (Self::Approved, JitTransition::Revoke) => Some(Self::Revoked),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_moves_as_the_table_says_and_no_other_way() {
        use JitStatus::{Approved, Denied, Pending, Revoked};
        use JitTransition::{Approve, Deny, Revoke};
        for (from, to) in [
            (Pending, [Some(Approved), Some(Denied), None]),
            (Approved, [None, None, Some(Revoked)]),
            (Denied, [None, None, None]),
            (Revoked, [None, None, None]),
        ] {
            assert_eq!([Approve, Deny, Revoke].map(|trigger| from.after(trigger)), to, "{from:?}");
        }
    }

    #[test]
    fn a_state_is_stored_as_it_is_told() {
        for status in JitStatus::ALL {
            assert_eq!(JitStatus::parse(status.as_str()), Some(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
    }
}
