//! The states of a grant.

use contract::Timestamp;

contract::named! {
    /// As it is stored: "`active`, delete, revoked".
    pub enum GrantStatus {
        Active = "active",
        Revoked = "revoked",
    }
}

impl GrantStatus {
    /// `None`: not from here.
    pub const fn after_delete(self) -> Option<Self> {
        match self {
            Self::Active => Some(Self::Revoked),
            Self::Revoked => None,
        }
    }

    /// As it is told: one whose time has passed is `expired`, as a key is.
    pub fn told(self, expires_at: Timestamp, now: Timestamp) -> &'static str {
        if self == Self::Active && expires_at <= now { "expired" } else { self.as_str() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_moves_as_the_table_says_and_no_other_way() {
        let moves = GrantStatus::ALL.map(|from| (from.as_str(), from.after_delete().map(GrantStatus::as_str)));
        assert_eq!(moves, [("active", Some("revoked")), ("revoked", None)]);
        assert!(GrantStatus::ALL.iter().all(|status| GrantStatus::parse(status.as_str()) == Some(*status)));
    }

    #[test]
    fn a_grant_that_has_ended_is_told_so_unless_it_was_revoked() {
        let at = |seconds| chrono::DateTime::from_timestamp(seconds, 0).unwrap();
        let told = |status: GrantStatus, now| status.told(at(10), at(now));
        assert_eq!(
            [told(GrantStatus::Active, 9), told(GrantStatus::Active, 10), told(GrantStatus::Revoked, 10)],
            ["active", "expired", "revoked"]
        );
    }
}
