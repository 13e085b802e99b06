//! Who is calling, and what that permits.
//!
//! "A key's `scopes` limit its operations; a `service_account` user is governed by key scopes.
//! Insufficient scope or role returns 403 `FORBIDDEN`." A session needs the role. A key that acts
//! for a user needs that user's role *and* the scope. A key that acts for nobody needs the scope,
//! which then stands for the role.

mod missing_permission;
mod role;
mod scope;
#[cfg(test)]
mod tests;
mod tier;
mod words;

use std::collections::BTreeMap;

use crate::{EnvId, KeyId, OrgId, SessionId, UserId};

pub use missing_permission::MissingPermission;
pub use role::{Access, Role};
pub use scope::{Scope, Scopes};
pub use tier::{Limits, Tier};
pub use words::Unknown;
pub(crate) use words::words;

/// The credential behind a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    Session {
        session_id: SessionId,
    },
    /// A key is bound to one environment.
    Key {
        key_id: KeyId,
        env_id: EnvId,
        scopes: Scopes,
        acts_for_user: bool,
    },
}

/// Attributes of a user or a key that policies may ask for, by name.
pub type Attributes = BTreeMap<String, String>;

/// Somebody known: what authentication makes and everything after it asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub org_id: OrgId,
    /// The user of a session, or the one a key acts for.
    pub user_id: Option<UserId>,
    pub email: Option<String>,
    /// `service_account` for a key that acts for nobody.
    pub role: Role,
    pub attributes: Attributes,
    pub credential: Credential,
}

impl Caller {
    /// What audit and rate limits call this caller: the key, else the user.
    pub fn actor_id(&self) -> &str {
        match (&self.credential, &self.user_id) {
            (_, Some(user)) => user.as_str(),
            (Credential::Key { key_id, .. }, None) => key_id.as_str(),
            (Credential::Session { session_id }, None) => session_id.as_str(),
        }
    }

    pub fn key_id(&self) -> Option<&KeyId> {
        match &self.credential {
            Credential::Key { key_id, .. } => Some(key_id),
            Credential::Session { .. } => None,
        }
    }

    /// May this caller use a route of this row? `scope` is `None` for resources with no scope
    /// family; a key that acts for nobody has no business there. "A key's scopes limit its operations": one that is
    /// limited at all manages nothing that no scope can name, whomever it acts for.
    pub fn may(&self, access: Access, scope: Option<Scope>) -> Result<(), MissingPermission> {
        let role_fits = access.admits(self.role);
        let lacks_role = MissingPermission::Role { own: self.role, access };
        match &self.credential {
            Credential::Session { .. } => role_fits.then_some(()).ok_or(lacks_role),
            Credential::Key { scopes, acts_for_user, .. } => {
                if let Some(scope) = scope
                    && !scopes.grants(scope)
                {
                    return Err(MissingPermission::Scope(scope));
                }
                let manages = !matches!(access, Access::Public | Access::Authenticated | Access::Member);
                match (*acts_for_user, scope) {
                    (true, None) if role_fits && manages && !scopes.are_all() => Err(MissingPermission::EveryScope),
                    (true, _) => role_fits.then_some(()).ok_or(lacks_role),
                    (false, Some(_)) => Ok(()),
                    (false, None) => {
                        matches!(access, Access::Authenticated).then_some(()).ok_or(MissingPermission::User)
                    }
                }
            }
        }
    }

    /// May this caller run a statement that reads, or one that writes?
    pub fn may_query(&self, writes: bool) -> Result<(), MissingPermission> {
        let scope = if writes { Scope::QueryWrite } else { Scope::QueryRead };
        if let Credential::Key { scopes, .. } = &self.credential
            && !scopes.grants(scope)
        {
            return Err(MissingPermission::Scope(scope));
        }
        self.role.may_query(writes).then_some(()).ok_or(MissingPermission::Query { own: self.role, writes })
    }
}
