//! Who is calling, and what that permits.
//!
//! "A key's `scopes` limit its operations; a `service_account` user is governed by key scopes.
//! Insufficient scope or role returns 403 `FORBIDDEN`." A session needs the role. A key that acts
//! for a user needs that user's role *and* the scope. A key that acts for nobody needs the scope,
//! which then stands for the role.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Code, EnvId, KeyId, OrgId, SessionId, UserId};

/// The text is not one of the closed list it should be from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind}: use one of {allowed}")]
pub struct Unknown {
    pub kind: &'static str,
    pub text: String,
    pub allowed: String,
}

/// A closed list of words, each with its spelling on the wire.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $kind:literal, { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$variant_doc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::caller::Unknown;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| $crate::caller::Unknown {
                    kind: $kind,
                    text: text.to_owned(),
                    allowed: Self::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}
pub(crate) use words;

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

    /// The higher of the two. A service account has no place on this ladder: its keys' scopes
    /// govern it, so nothing raises it and it raises nobody.
    pub const fn raised_to(self, other: Self) -> Self {
        match (self.rung(), other.rung()) {
            (Some(own), Some(higher)) if higher > own => other,
            _ => self,
        }
    }

    const fn rung(self) -> Option<u8> {
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

words!(
    /// One permission of an API key.
    Scope, "scope", {
        QueryRead = "query:read",
        QueryWrite = "query:write",
        SchemaRead = "schema:read",
        SchemaWrite = "schema:write",
        PolicyRead = "policy:read",
        PolicyWrite = "policy:write",
        UserRead = "user:read",
        UserWrite = "user:write",
        KeyRead = "key:read",
        KeyWrite = "key:write",
        AuditRead = "audit:read",
        BillingRead = "billing:read",
        BillingWrite = "billing:write",
        WebhookRead = "webhook:read",
        WebhookWrite = "webhook:write",
        EnvironmentRead = "environment:read",
        EnvironmentWrite = "environment:write",
        /// Every agent operation: memory, reasoning, triggers, branches, `/v2`.
        Agent = "agent:*",
    }
);

/// The scopes of a key, as they were granted: single scopes, or a family with `*`.
/// "A scope ending in `*` grants all sub-scopes."
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Scopes(BTreeSet<String>);

impl Scopes {
    pub fn grants(&self, scope: Scope) -> bool {
        let text = scope.as_str();
        let family = text.split(':').next().unwrap_or(text);
        self.0.contains(text) || self.0.contains(&format!("{family}:*"))
    }

    /// Every scope there is.
    pub fn all() -> Self {
        Self(Scope::ALL.iter().map(|scope| scope.as_str().to_owned()).collect())
    }

    /// Do they limit nothing?
    pub fn are_all(&self) -> bool {
        Scope::ALL.iter().all(|scope| self.grants(*scope))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<Vec<String>> for Scopes {
    type Error = Unknown;

    fn try_from(texts: Vec<String>) -> Result<Self, Unknown> {
        for text in &texts {
            let is_family = text.strip_suffix('*').is_some_and(|family| {
                family.ends_with(':') && Scope::ALL.iter().any(|scope| scope.as_str().starts_with(family))
            });
            if !is_family {
                Scope::from_str(text)?;
            }
        }
        Ok(Self(texts.into_iter().collect()))
    }
}

impl From<Scopes> for Vec<String> {
    fn from(scopes: Scopes) -> Self {
        scopes.0.into_iter().collect()
    }
}

words!(
    /// Tier of an organization.
    Tier, "tier", {
        Free = "free",
        Cloud = "cloud",
        Growth = "growth",
        Enterprise = "enterprise",
    }
);

/// What a tier allows; `None` is custom or unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TierLimits")]
pub struct Limits {
    pub monthly_credit_limit: Option<u64>,
    pub max_concurrent_queries: Option<u32>,
    pub max_rows_per_query: Option<u64>,
    pub storage_limit_gb: Option<u64>,
    pub max_environments: Option<u32>,
    pub max_users: Option<u32>,
    pub max_api_keys_per_environment: Option<u32>,
}

impl Limits {
    /// An organization's own limits where it has any, and these elsewhere.
    pub fn overridden_by(self, own: Self) -> Self {
        Self {
            monthly_credit_limit: own.monthly_credit_limit.or(self.monthly_credit_limit),
            max_concurrent_queries: own.max_concurrent_queries.or(self.max_concurrent_queries),
            max_rows_per_query: own.max_rows_per_query.or(self.max_rows_per_query),
            storage_limit_gb: own.storage_limit_gb.or(self.storage_limit_gb),
            max_environments: own.max_environments.or(self.max_environments),
            max_users: own.max_users.or(self.max_users),
            max_api_keys_per_environment: own.max_api_keys_per_environment.or(self.max_api_keys_per_environment),
        }
    }
}

impl Tier {
    /// The table "Tier quotas".
    pub const fn limits(self) -> Limits {
        let (credits, concurrent, rows, storage, environments, users, keys) = match self {
            Self::Free => (1_000, 10, 100_000, 10, 1, 3, 5),
            Self::Cloud => (10_000, 100, 1_000_000, 500, 5, 25, 50),
            Self::Growth => (100_000, 500, 10_000_000, 5_000, 20, 100, 200),
            Self::Enterprise => {
                return Limits {
                    monthly_credit_limit: None,
                    max_concurrent_queries: None,
                    max_rows_per_query: None,
                    storage_limit_gb: None,
                    max_environments: None,
                    max_users: None,
                    max_api_keys_per_environment: None,
                };
            }
        };
        Limits {
            monthly_credit_limit: Some(credits),
            max_concurrent_queries: Some(concurrent),
            max_rows_per_query: Some(rows),
            storage_limit_gb: Some(storage),
            max_environments: Some(environments),
            max_users: Some(users),
            max_api_keys_per_environment: Some(keys),
        }
    }

    /// Requests a minute and burst of one identity: the table "Rate limits".
    pub const fn rate(self) -> (u32, u32) {
        match self {
            Self::Free => (60, 10),
            Self::Cloud => (300, 50),
            Self::Growth => (1_000, 100),
            Self::Enterprise => (10_000, 500),
        }
    }

    /// "Arrow endpoints: Cloud and Enterprise tiers."
    pub const fn has_arrow(self) -> bool {
        matches!(self, Self::Cloud | Self::Enterprise)
    }
}

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

/// Somebody known: what authentication makes and everything after it asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub org_id: OrgId,
    /// The user of a session, or the one a key acts for.
    pub user_id: Option<UserId>,
    pub email: Option<String>,
    /// `service_account` for a key that acts for nobody.
    pub role: Role,
    pub attributes: BTreeMap<String, String>,
    pub credential: Credential,
}

/// The role column of the Endpoints part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// No credential is asked for.
    Public,
    /// Any authenticated caller.
    Authenticated,
    /// M: any member of the organization.
    Member,
    /// O, A, D; a service account stands under the scopes of its keys.
    Developer,
    /// O, A, Au.
    Auditor,
    /// O, A.
    Admin,
    /// O.
    Owner,
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

    /// As the specification's role column prints it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "none",
            Self::Authenticated => "any",
            Self::Member => "M",
            Self::Developer => "O,A,D",
            Self::Auditor => "O,A,Au",
            Self::Admin => "O,A",
            Self::Owner => "O",
        }
    }
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
    pub fn may(&self, access: Access, scope: Option<Scope>) -> Result<(), Code> {
        let role_fits = access.admits(self.role);
        match &self.credential {
            Credential::Session { .. } => role_fits.then_some(()).ok_or(Code::Forbidden),
            Credential::Key { scopes, acts_for_user, .. } => {
                if let Some(scope) = scope
                    && !scopes.grants(scope)
                {
                    return Err(Code::ScopeViolation);
                }
                let manages = !matches!(access, Access::Public | Access::Authenticated | Access::Member);
                match (*acts_for_user, scope) {
                    (true, None) if role_fits && manages && !scopes.are_all() => Err(Code::ScopeViolation),
                    (true, _) => role_fits.then_some(()).ok_or(Code::Forbidden),
                    (false, Some(_)) => Ok(()),
                    (false, None) => matches!(access, Access::Authenticated).then_some(()).ok_or(Code::Forbidden),
                }
            }
        }
    }

    /// May this caller run a statement that reads, or one that writes?
    pub fn may_query(&self, writes: bool) -> Result<(), Code> {
        let scope = if writes { Scope::QueryWrite } else { Scope::QueryRead };
        if let Credential::Key { scopes, .. } = &self.credential
            && !scopes.grants(scope)
        {
            return Err(Code::ScopeViolation);
        }
        self.role.may_query(writes).then_some(()).ok_or(Code::Forbidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(role: Role, credential: Credential) -> Caller {
        Caller { org_id: "o".into(), user_id: None, email: None, role, attributes: BTreeMap::new(), credential }
    }

    fn key(scopes: &[&str], acts_for_user: bool) -> Credential {
        let scopes = Scopes::try_from(scopes.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()).unwrap();
        Credential::Key { key_id: "k".into(), env_id: "e".into(), scopes, acts_for_user }
    }

    #[test]
    fn a_family_grants_its_scopes_and_no_others() {
        let scopes = Scopes::try_from(vec!["policy:*".to_owned()]).unwrap();
        assert!(scopes.grants(Scope::PolicyRead) && scopes.grants(Scope::PolicyWrite));
        assert!(!scopes.grants(Scope::KeyRead));
    }

    #[test]
    fn unknown_scopes_are_refused() {
        for bad in ["policy", "*", "nosuch:*", "query:*x", "query:", "QUERY:READ"] {
            assert!(Scopes::try_from(vec![bad.to_owned()]).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_organizations_own_limits_come_before_its_tiers() {
        let own = Limits { max_users: Some(7), ..Limits::default() };
        let limits = Tier::Free.limits().overridden_by(own);
        assert_eq!((limits.max_users, limits.max_environments), (Some(7), Some(1)));
    }

    #[test]
    fn a_session_needs_the_role() {
        let session = |role| caller(role, Credential::Session { session_id: "s".into() });
        assert_eq!(session(Role::Admin).may(Access::Admin, Some(Scope::KeyWrite)), Ok(()));
        assert_eq!(session(Role::Analyst).may(Access::Admin, Some(Scope::KeyWrite)), Err(Code::Forbidden));
    }

    #[test]
    fn a_key_for_a_user_needs_both_and_a_bare_key_the_scope() {
        let needs = |c: Caller| c.may(Access::Admin, Some(Scope::KeyWrite));
        assert_eq!(needs(caller(Role::Admin, key(&["key:write"], true))), Ok(()));
        assert_eq!(needs(caller(Role::Admin, key(&["key:read"], true))), Err(Code::ScopeViolation));
        assert_eq!(needs(caller(Role::Analyst, key(&["key:write"], true))), Err(Code::Forbidden));
        assert_eq!(needs(caller(Role::ServiceAccount, key(&["key:*"], false))), Ok(()));
        assert_eq!(caller(Role::ServiceAccount, key(&["key:*"], false)).may(Access::Admin, None), Err(Code::Forbidden));
    }

    #[test]
    fn what_no_scope_names_is_managed_by_a_key_without_limits() {
        let families: Vec<String> = Scope::ALL.iter().map(|scope| scope.as_str().to_owned()).collect();
        let all: Vec<&str> = families.iter().map(String::as_str).collect();
        let (all, limited) = (caller(Role::Owner, key(&all, true)), caller(Role::Owner, key(&all[1..], true)));
        for access in [Access::Owner, Access::Admin, Access::Auditor, Access::Developer] {
            assert_eq!(all.may(access, None), Ok(()));
            assert_eq!(limited.may(access, None), Err(Code::ScopeViolation));
        }
        assert_eq!(limited.may(Access::Member, None), Ok(()));
        assert_eq!(caller(Role::Analyst, key(&[], true)).may(Access::Admin, None), Err(Code::Forbidden));
    }

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

    #[test]
    fn queries_follow_role_and_scope() {
        let session = |role| caller(role, Credential::Session { session_id: "s".into() });
        assert_eq!(session(Role::Analyst).may_query(false), Ok(()));
        assert_eq!(session(Role::Analyst).may_query(true), Err(Code::Forbidden));
        assert_eq!(session(Role::Auditor).may_query(false), Err(Code::Forbidden));
        assert_eq!(caller(Role::Owner, key(&["query:read"], true)).may_query(true), Err(Code::ScopeViolation));
    }
}
