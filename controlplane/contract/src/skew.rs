//! Two versions beside each other: while one is rolled out, control plane and data planes are not of the same one.
//!
//! `before` is how the version before `settings.heal` and bindings reads and writes. What one version adds the other
//! passes over, and what is absent is as it was before: `safe`, no list of addresses, no mark of healing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::binding::{BindBody, Binding, Bound, Named};
use crate::report::{Body, Entry};
use crate::wire::{Forwarded, QueryBody, Who};
use crate::{Governance, Heal};

/// How a data plane of before reads a snapshot: what it does not name it passes over.
mod before {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Value;

    #[derive(Debug, Deserialize)]
    pub struct Governance {
        pub version: u64,
        pub environment: Environment,
        pub policies: Vec<Policy>,
    }

    #[derive(Debug, Deserialize)]
    pub struct Environment {
        pub env_id: String,
        pub slug: String,
        pub status: String,
        pub query_timeout_ms: u64,
        pub max_concurrent_queries: u32,
        pub cache_enabled: bool,
        pub test_mode: bool,
    }

    /// No member of it is new.
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Policy {
        pub policy_id: String,
        pub name: String,
        pub enabled: bool,
        pub r#type: String,
        pub rules: Vec<BTreeMap<String, Value>>,
        pub created_at: String,
        pub updated_at: String,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct QueryBody {
        pub sql: String,
        pub format: String,
    }
}

/// A snapshot as a control plane of before writes it.
fn snapshot_of_before() -> Value {
    let key = "00".repeat(32);
    json!({
        "version": 7,
        "environment": {
            "env_id": "e", "slug": "demo", "status": "active", "query_timeout_ms": 30_000,
            "max_concurrent_queries": 100, "cache_enabled": true, "test_mode": false,
        },
        "organization": {"org_id": "o", "status": "active", "tier": "free", "limits": crate::Tier::Free.limits()},
        "key_pepper": key, "mask_key": key, "members": {}, "keys": [], "abac_policies": [],
        "policies": [{
            "policy_id": "p", "name": "p", "enabled": true, "type": "column_masking",
            "rules": [{"table": "customer", "column": "ssn", "function": "full", "exempt_roles": []}],
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        }],
    })
}

#[test]
fn a_snapshot_of_before_rules_here_and_is_healed_by_rule_alone() {
    let read: Governance = serde_json::from_value(snapshot_of_before()).unwrap();
    assert_eq!((read.version, read.environment.settings.heal), (7, Heal::Safe));
    assert!(read.environment.allowed_networks.is_empty() && !read.runtime);
    assert_eq!(read.policies.len(), 1);
    for wanted in [None, Some(Heal::Auto)] {
        assert_eq!(read.environment.settings.heal.asked(wanted), Heal::Safe, "nobody gets more by asking");
    }
}

#[test]
fn a_snapshot_of_here_rules_at_a_data_plane_of_before_which_learns_nothing_of_healing() {
    let mut here: Governance = serde_json::from_value(snapshot_of_before()).unwrap();
    for heal in [Heal::Off, Heal::Safe, Heal::Auto] {
        here.environment.settings.heal = heal;
        here.environment.allowed_networks = vec!["10.0.0.0/8".parse().unwrap()];
        let sent = serde_json::to_string(&here).unwrap();
        let read: before::Governance = serde_json::from_str(&sent).unwrap();
        let before::Environment { env_id, slug, status, .. } = &read.environment;
        assert_eq!((read.version, env_id.as_str(), slug.as_str(), status.as_str()), (7, "e", "demo", "active"));
        assert!(read.environment.cache_enabled && !read.environment.test_mode);
        let limits = (read.environment.query_timeout_ms, read.environment.max_concurrent_queries);
        assert_eq!(limits, (30_000, 100));
        let [policy] = read.policies.as_slice() else { panic!("{sent}") };
        assert!(policy.enabled && policy.policy_id == "p" && policy.name == "p" && policy.r#type == "column_masking");
        assert!(policy.created_at == policy.updated_at, "{policy:?}");
        let members: BTreeSet<&str> = policy.rules[0].keys().map(String::as_str).collect();
        let known = BTreeSet::from(["table", "column", "function", "visible_chars", "exempt_roles"]);
        assert!(members.is_subset(&known), "whether a rule is bound is never a part of it: {members:?}");
    }
}

#[test]
fn what_a_later_version_adds_to_a_snapshot_is_passed_over_and_what_it_means_is_not_guessed() {
    let mut later = snapshot_of_before();
    later["of_later"] = json!({"a": 1});
    for part in ["environment", "organization"] {
        later[part]["of_later"] = json!(true);
    }
    let read: Governance = serde_json::from_value(later.clone()).unwrap();
    assert_eq!(read, serde_json::from_value(snapshot_of_before()).unwrap());
    // a word that is not known could mean more than is allowed: the snapshot of before stays in force
    later["environment"]["heal"] = json!("bold");
    assert!(serde_json::from_value::<Governance>(later).is_err());
}

#[test]
fn a_statement_that_asks_for_nothing_new_is_asked_as_before_and_any_other_is_not_taken_by_halves() {
    let mut body: QueryBody = serde_json::from_value(json!({"sql": "select 1"})).unwrap();
    let read: before::QueryBody = serde_json::from_value(json!(body)).unwrap();
    assert_eq!((read.sql.as_str(), read.format.as_str()), ("select 1", "json"));
    body.heal = Some(Heal::Off);
    let refused = serde_json::from_value::<before::QueryBody>(json!(body)).unwrap_err().to_string();
    assert!(refused.contains("heal"), "who asks for less is never healed as before: {refused}");
}

#[test]
fn entries_of_before_and_of_later_are_stored_and_say_nothing_of_healing() {
    let started = json!({"sequence": 3, "of_later": 1, "body": {"started": {
        "query_id": "q", "request_id": "r", "org_id": "o", "user_id": null, "key_id": "k", "role": "analyst",
        "source_ip": null, "origin": "rest", "agent": null, "sql": "SELECT ?", "sql_original": "select 1",
        "sql_transpiled": null, "sql_with_rls": null, "operation": null, "tables_accessed": [], "columns_masked": [],
        "policy_verdicts": [], "abac_evaluation": null, "governance_version": 7, "snapshot": null,
        "estimated_micro_credits": 0, "at": "2026-01-01T00:00:00Z", "of_later": "x",
    }}});
    let Entry { sequence: 3, body: Body::Started(read) } = serde_json::from_value(started).unwrap() else {
        panic!("another entry");
    };
    assert_eq!((read.sql_healed, read.grant_id), (None, None));
}

#[test]
fn callers_questions_and_answers_of_later_are_read_without_what_they_add() {
    let caller = json!({"credential": "key", "key_id": "k", "peer": null, "of_later": 1});
    let read: Forwarded = serde_json::from_value(caller).unwrap();
    assert_eq!((read.who, read.origin), (Who::Key { key_id: "k".into() }, None));
    let question = json!({"rules": [{"kind": "mask", "table": "t", "column": "c", "of_later": 1}], "of_later": 1});
    let read: BindBody = serde_json::from_value(question).unwrap();
    assert_eq!(read.rules, [Named::Mask { table: "t".to_owned(), column: "c".to_owned() }]);
    let answer = json!({"rules": [{"state": "bound", "of_later": 1}], "of_later": 1});
    assert_eq!(serde_json::from_value::<Bound>(answer).unwrap().rules, [Binding::Bound]);
    // whoever asks keeps such a rule as not yet bound
    assert!(serde_json::from_value::<Bound>(json!({"rules": [{"state": "of_later"}]})).is_err());
}
