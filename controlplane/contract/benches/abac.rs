//! The cost of one decision of a hundred attribute policies: the median and the 99th percentile.
//!
//! "ABAC p99 ≤ 20 µs at 100 policies."

#![expect(clippy::print_stdout, reason = "a bench prints, that is what it is for")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use contract::Role;
use contract::policy::TableRef;
use contract::policy::abac::{self, AbacPolicy, AbacRule, Action, Condition, Context, Operation, Origin, StorageUse};

const POLICIES: usize = 100;
const DECISIONS: usize = 20_000;

/// Every kind of condition in turn, none of which denies this caller: all of them are looked at.
fn policy(number: usize) -> AbacPolicy {
    let (condition, value, action) = match number % 8 {
        0 => (Condition::TableIs, "hidden_*", Action::Deny),
        1 => (Condition::AgentFrameworkIs, "langchain", Action::Allow),
        2 => (Condition::RoleIs, "auditor", Action::Deny),
        3 => (Condition::SourceIpIn, "203.0.113.0/24", Action::Deny),
        4 => (Condition::OperationIs, "drop", Action::Deny),
        5 => (Condition::AttributeIs("region".to_owned()), "EU", Action::Allow),
        6 => (Condition::DayOfWeek, "saturday", Action::ReadOnly),
        _ => (Condition::TimeOfDay, "", Action::ReadOnly),
    };
    let windowed = condition == Condition::TimeOfDay;
    let rule = AbacRule {
        condition,
        values: if windowed { Vec::new() } else { vec![value.to_owned()] },
        start: windowed.then(|| "01:00".to_owned()),
        end: windowed.then(|| "05:00".to_owned()),
        timezone: windowed.then(|| "Europe/Berlin".to_owned()),
        action,
        message: None,
        exempt_roles: Vec::new(),
    };
    AbacPolicy {
        policy_id: format!("policy-{number}").into(),
        name: format!("policy {number}"),
        description: None,
        rules: vec![rule],
        priority: 100,
        enabled: true,
        created_at: chrono::DateTime::UNIX_EPOCH,
    }
}

fn main() {
    let policies: Vec<_> = (0..POLICIES).map(policy).collect();
    let attributes = BTreeMap::from([("region".to_owned(), "EU".to_owned())]);
    let context = Context {
        role: Role::Analyst,
        user_id: Some("user-1"),
        attributes: &attributes,
        agent_id: Some("agent-1"),
        agent_framework: Some("langchain"),
        origin: Origin::Pgwire,
        source_ip: Some([198, 51, 100, 7].into()),
        tables: ["customers", "orders", "lines"].map(|name| TableRef { schema: "main", name }).to_vec(),
        storage: StorageUse::default(),
        operations: vec![Operation::Select],
        when: chrono::DateTime::UNIX_EPOCH.into(),
    };
    let mut took: Vec<_> = (0..DECISIONS)
        .map(|_| {
            let began = Instant::now();
            black_box(abac::evaluate(black_box(&policies), black_box(&context)));
            began.elapsed()
        })
        .collect();
    took.sort_unstable();
    let at = |percent: usize| took.get(DECISIONS * percent / 100).copied().unwrap_or_default();
    println!("{POLICIES} policies, {DECISIONS} decisions: p50 {:?}, p99 {:?}", at(50), at(99));
}
