//! Scopes of keys.

use std::collections::BTreeSet;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Unknown, words};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
