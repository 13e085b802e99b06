//! Roles of users, and what each row of the API asks of one.

use serde::{Deserialize, Serialize};

use super::words;

words!(
    /// Role of a user in one organization.
    Role, "role", {
        Owner = "owner",
        Admin = "admin",
        Developer = "developer",
        Analyst = "analyst",
        Auditor = "auditor",
        ServiceAccount = "service_account",
    }
);

impl Role {
    /// Queries by a session: owner, admin, developer all; analyst SELECT; auditor none.
    /// A service account is governed by its key's scopes.
    pub const fn may_query(self, writes: bool) -> bool {
        match self {
            Self::Owner | Self::Admin | Self::Developer | Self::ServiceAccount => true,
            Self::Analyst => !writes,
            Self::Auditor => false,
        }
    }

    /// The higher of the two. A service account has no place in this order: its keys' scopes
    /// govern it, so nothing raises it and it raises nobody.
    pub const fn raised_to(self, other: Self) -> Self {
        match (self.rank(), other.rank()) {
            (Some(own), Some(higher)) if higher > own => other,
            _ => self,
        }
    }

    const fn rank(self) -> Option<u8> {
        match self {
            Self::ServiceAccount => None,
            Self::Auditor => Some(0),
            Self::Analyst => Some(1),
            Self::Developer => Some(2),
            Self::Admin => Some(3),
            Self::Owner => Some(4),
        }
    }
}

crate::named! {
    /// The role column of the Endpoints part, as the specification prints it.
    pub enum Access {
        /// No credential is asked for.
        Public = "none",
        /// Any authenticated caller.
        Authenticated = "any",
        /// M: any member of the organization.
        Member = "M",
        /// O, A, D; a service account stands under the scopes of its keys.
        Developer = "O,A,D",
        /// O, A, Au.
        Auditor = "O,A,Au",
        /// O, A.
        Admin = "O,A",
        /// O.
        Owner = "O",
    }
}

impl Access {
    pub const fn admits(self, role: Role) -> bool {
        match self {
            Self::Public | Self::Authenticated | Self::Member => true,
            Self::Developer => {
                matches!(role, Role::Owner | Role::Admin | Role::Developer | Role::ServiceAccount)
            }
            Self::Auditor => matches!(role, Role::Owner | Role::Admin | Role::Auditor),
            Self::Admin => matches!(role, Role::Owner | Role::Admin),
            Self::Owner => matches!(role, Role::Owner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_raised_and_never_lowered() {
        use Role::{Admin, Analyst, Auditor, Developer, Owner, ServiceAccount};
        for (own, other, raised) in [
            (Analyst, Developer, Developer),
            (Auditor, Analyst, Analyst),
            (Developer, Analyst, Developer),
            (Owner, Admin, Owner),
            (ServiceAccount, Admin, ServiceAccount),
            (Analyst, ServiceAccount, Analyst),
        ] {
            assert_eq!(own.raised_to(other), raised, "{own} and {other}");
        }
    }
}
