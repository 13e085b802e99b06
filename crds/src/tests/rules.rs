//! The cases of `crds/cases`, judged by an evaluator of the same language and libraries that the API
//! server has, after its defaults.

use std::collections::BTreeSet;
use std::path::Path;

use kube_cel::{Validator, apply_defaults};
use serde_json::Value;

use super::{schema, structural};
use crate::cases::{self, Case, Rule};

fn cases() -> Vec<Rule> {
    cases::read(Path::new("cases"))
}

/// Every message with which the API server would refuse this object, or this change.
fn refusals(kind: &str, old: Option<&Value>, new: &Value) -> Vec<String> {
    let schema = schema(kind);
    let new = apply_defaults(&schema, new);
    let old = old.map(|old| apply_defaults(&schema, old));
    let plain = structural::refusals(&schema, &new);
    let errors = Validator::new().validate(&schema, &new, old.as_ref()).err();
    plain.into_iter().chain(errors.iter().flatten().map(|error| error.message.clone())).collect()
}

fn judge(kind: &str, case: &Case) -> Vec<String> {
    match &case.change {
        None => refusals(kind, None, &case.created),
        Some(change) => {
            let changed = cases::merged(&case.created, change);
            assert_eq!(refusals(kind, None, &case.created), Vec::<String>::new(), "what {case:?} starts from");
            refusals(kind, Some(&case.created), &changed)
        }
    }
}

#[test]
fn what_a_rule_accepts_nothing_else_refuses() {
    for rule in cases() {
        assert!(!rule.accepted.is_empty(), "{} has no accepted side", rule.file.display());
        for case in &rule.accepted {
            assert_eq!(judge(rule.kind, case), Vec::<String>::new(), "{}: {case:?}", rule.file.display());
        }
    }
}

#[test]
fn what_a_rule_refuses_is_refused_in_its_words() {
    for rule in cases() {
        assert!(!rule.refused.is_empty(), "{} has no refused side", rule.file.display());
        for case in &rule.refused {
            let says = judge(rule.kind, case);
            assert!(
                says.iter().any(|message| message.contains(&rule.says)),
                "{}: {case:?}: {says:?}",
                rule.file.display()
            );
        }
    }
}

fn messages(schema: &Value, found: &mut BTreeSet<String>) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        found.insert(rule["message"].as_str().unwrap().to_owned());
    }
    for member in schema["properties"].as_object().into_iter().flatten().map(|(_, member)| member) {
        messages(member, found);
    }
}

#[test]
fn every_rule_of_every_kind_has_cases() {
    let mut rules = cases();
    for (_, kind) in cases::KINDS {
        let mut found = BTreeSet::new();
        messages(&schema(kind), &mut found);
        assert!(!found.is_empty());
        for message in found {
            assert!(rules.iter().any(|rule| rule.kind == kind && rule.says == message), "{kind}: {message}");
        }
        rules.retain(|rule| rule.kind != kind);
    }
    assert_eq!(rules.len(), 0, "cases of a kind that there is not");
}

#[test]
fn every_rule_of_every_kind_compiles() {
    for (_, kind) in cases::KINDS {
        let compiled = kube_cel::compile_schema(&schema(kind));
        assert!(compiled.compilation_errors().is_empty(), "{kind}: {:?}", compiled.compilation_errors());
    }
}
