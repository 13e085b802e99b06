//! A small world for tests: an environment, a key for its owner, one for an analyst.
#![expect(clippy::unwrap_used, reason = "a test that cannot build its world has failed")]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use contract::governance::{Environment, EnvironmentStatus, HexKey, Key, KeySecret, Member, Organization};
use contract::key::{HashCost, Minted, mint};
use contract::policy::abac::{AbacPolicy, AbacRule, Action, Condition};
use contract::policy::{MaskFunction, MaskingRule, Policy, RowFilterRule, Rules};
use contract::{Entropy, EnvironmentSettings, Governance, KeyId, Role, Scopes, Tier};

const PEPPER: [u8; 32] = [1; 32];

struct Keys {
    owner: Minted,
    analyst: Minted,
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let entropy = Entropy::seeded(42);
    let mint = || mint(true, &PEPPER, HashCost::TESTS, &entropy).unwrap();
    Keys { owner: mint(), analyst: mint() }
});

/// The text of the owner's key: every scope.
pub fn demo_key() -> &'static str {
    KEYS.owner.text.expose()
}

/// The text of the analyst's key: every scope, the role of an analyst, region EU.
pub fn analyst_key() -> &'static str {
    KEYS.analyst.text.expose()
}

pub fn owner_id() -> KeyId {
    "k-owner".into()
}

pub fn analyst_id() -> KeyId {
    "k-analyst".into()
}

fn key(key_id: KeyId, minted: &Minted, user: &str) -> Key {
    Key {
        key_id,
        name: user.to_owned(),
        secrets: vec![KeySecret { prefix: minted.prefix.clone(), hash: minted.hash.clone(), not_after: None }],
        scopes: Scopes::all(),
        ip_allowlist: vec![],
        expires_at: None,
        user_id: Some(user.into()),
        attributes: BTreeMap::new(),
        agent_id: None,
        agent_framework: None,
    }
}

/// Version 1: environment `demo` of an enterprise organization, no policies.
pub fn governance() -> Governance {
    let member = |role, region: &str| Member {
        email: format!("{role}@example.com"),
        role,
        status: "active".to_owned(),
        attributes: BTreeMap::from([("region".to_owned(), region.to_owned())]),
    };
    Governance {
        version: 1,
        environment: Environment {
            env_id: "env-1".into(),
            slug: "demo".to_owned(),
            status: EnvironmentStatus::Active,
            settings: EnvironmentSettings { test_mode: true, ..EnvironmentSettings::default() },
            allowed_networks: Vec::new(),
        },
        organization: Organization {
            org_id: "org-1".into(),
            status: "active".to_owned(),
            tier: Tier::Enterprise,
            limits: Tier::Enterprise.limits(),
        },
        key_pepper: HexKey(PEPPER),
        mask_key: HexKey([2; 32]),
        members: BTreeMap::from([
            ("u-owner".into(), member(Role::Owner, "US")),
            ("u-analyst".into(), member(Role::Analyst, "EU")),
        ]),
        keys: vec![key(owner_id(), &KEYS.owner, "u-owner"), key(analyst_id(), &KEYS.analyst, "u-analyst")],
        policies: vec![],
        abac_policies: vec![],
        elevations: vec![],
        agent_capabilities: BTreeMap::new(),
        runtime: false,
        storage_integrations: vec![],
        attached: vec![],
        later_integrations: vec![],
    }
}

/// A masking policy of one rule, from which the owner is exempt.
pub fn masking(table: &str, column: &str, function: MaskFunction) -> Policy {
    let rule = MaskingRule {
        table: table.to_owned(),
        column: column.to_owned(),
        function,
        visible_chars: Some(4),
        exempt_roles: vec![Role::Owner],
    };
    policy(&format!("mask {table}.{column}"), Rules::ColumnMasking(vec![rule]))
}

/// A row filter, from which the owner is exempt.
pub fn filtering(table: &str, filter: &str) -> Policy {
    row_filter(table, filter, false)
}

/// The same, and nothing at all may follow from what it hides.
pub fn filtering_strictly(table: &str, filter: &str) -> Policy {
    row_filter(table, filter, true)
}

fn row_filter(table: &str, filter: &str, strict: bool) -> Policy {
    let exempt_roles = vec![Role::Owner];
    let rule = RowFilterRule { table: table.to_owned(), filter: filter.to_owned(), exempt_roles, strict };
    policy(&format!("filter {table}"), Rules::RowLevelSecurity(vec![rule]))
}

/// What happens where a condition holds, to everybody.
pub fn rule(condition: Condition, values: &[&str], action: Action) -> AbacRule {
    AbacRule {
        condition,
        values: values.iter().map(ToString::to_string).collect(),
        start: None,
        end: None,
        timezone: None,
        action,
        message: None,
        exempt_roles: vec![],
    }
}

/// An ABAC policy of these rules.
pub fn ruled(name: &str, rules: Vec<AbacRule>) -> AbacPolicy {
    AbacPolicy {
        policy_id: name.into(),
        name: name.to_owned(),
        description: None,
        rules,
        priority: 1,
        enabled: true,
        created_at: chrono::DateTime::UNIX_EPOCH,
    }
}

/// Denies a table to everybody but these.
pub fn denying(table: &str, exempt: &[Role]) -> AbacPolicy {
    let rule = rule(Condition::TableIs, &[table], Action::Deny);
    ruled(&format!("no {table}"), vec![AbacRule { exempt_roles: exempt.to_vec(), ..rule }])
}

fn policy(name: &str, rules: Rules) -> Policy {
    Policy {
        policy_id: name.into(),
        name: name.to_owned(),
        enabled: true,
        rules,
        created_at: chrono::DateTime::UNIX_EPOCH,
        updated_at: chrono::DateTime::UNIX_EPOCH,
    }
}
