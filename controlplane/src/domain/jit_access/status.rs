//! The states of a request, and what moves it.

use schemars::JsonSchema;
use serde::Serialize;

contract::named! {
    /// "`pending`, `approved`, `denied`, `revoked`". An approved one whose time has passed stays
    /// `approved`: its `expires_at` says that it has ended.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum JitStatus {
        Pending = "pending",
        Approved = "approved",
        Denied = "denied",
        Revoked = "revoked",
    }
}

/// A transition of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JitTransition {
    Approve,
    Deny,
    Revoke,
}

impl JitStatus {
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
