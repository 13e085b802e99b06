//! The permission that a caller lacks for a request, in words that say who can give it.

use std::fmt;

use super::{Access, Role, Scope};
use crate::Code;
use crate::body::Problem;

/// Why a caller may not do something, as far as it is their own key or role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPermission {
    /// The key has no such scope.
    Scope(Scope),
    /// The key is limited, and what is asked for has no scope.
    EveryScope,
    /// The key acts for nobody, and what is asked for is a person's.
    User,
    /// The role does not suffice.
    Role { own: Role, access: Access },
    /// The role does not query so.
    Query { own: Role, writes: bool },
}

impl MissingPermission {
    pub const fn code(self) -> Code {
        match self {
            Self::Scope(_) | Self::EveryScope => Code::ScopeViolation,
            Self::User | Self::Role { .. } | Self::Query { .. } => Code::Forbidden,
        }
    }

    /// The roles that suffice, and the caller's own.
    fn roles(self) -> Option<(Vec<&'static str>, Role)> {
        let (Self::Role { own, .. } | Self::Query { own, .. }) = self else { return None };
        let suffices = |role: Role| match self {
            Self::Role { access, .. } => access.admits(role),
            Self::Query { writes, .. } => role.may_query(writes),
            Self::Scope(_) | Self::EveryScope | Self::User => false,
        };
        let people = Role::ALL.iter().filter(|role| **role != Role::ServiceAccount);
        Some((people.filter(|role| suffices(**role)).map(|role| role.as_str()).collect(), own))
    }

    /// Who can give it: "API keys: O, A"; what an owner alone may, an owner alone gives.
    fn givers(self) -> &'static [&'static str] {
        match self {
            Self::Role { access: Access::Owner, .. } => &["owner"],
            _ => &["owner", "admin"],
        }
    }

    /// The error with what a program needs to go on.
    pub fn told(self, problem: Problem) -> Problem {
        let problem = problem.detail("given_by", self.givers().to_vec());
        match (self, self.roles()) {
            (Self::Scope(scope), _) => problem.detail("scope", scope.as_str()),
            (_, Some((roles, own))) => problem.detail("role", own.as_str()).detail("roles", roles),
            _ => problem,
        }
    }
}

/// Behind the meaning of its code, which it makes more exact.
impl fmt::Display for MissingPermission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let givers = self.givers().join(" or ");
        match (self, self.roles()) {
            (Self::Scope(scope), _) => {
                write!(f, "the key has no scope `{scope}`: the {givers} of the organization makes a key that has it")
            }
            (_, Some((roles, own))) => {
                let roles = roles.join(", ");
                write!(f, "this takes one of the roles {roles}, and yours is {own}: the {givers} can give you one")
            }
            (Self::User, _) => f.write_str("the key acts for no user: sign in, or use a key that acts for one"),
            _ => f.write_str("a key with limited scopes does not manage this: sign in, or use a key with every scope"),
        }
    }
}
