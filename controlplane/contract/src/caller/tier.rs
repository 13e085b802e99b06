//! Tiers of organizations, and what each allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_organizations_own_limits_come_before_its_tiers() {
        let own = Limits { max_users: Some(7), ..Limits::default() };
        let limits = Tier::Free.limits().overridden_by(own);
        assert_eq!((limits.max_users, limits.max_environments), (Some(7), Some(1)));
    }
}
