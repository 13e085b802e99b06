//! The cases of `crds/cases`, judged by an evaluator of the same language and libraries that the API
//! server has, after its defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kube_cel::{CompiledSchema, apply_defaults};
use serde_json::Value;

use super::{schema, structural};
use crate::cases::{self, Case, Rule};

fn cases() -> Vec<Rule> {
    cases::read(Path::new("cases"))
}

/// A kind's schema with its rules compiled once, as an API server has them.
struct Judge {
    schema: Value,
    rules: CompiledSchema,
}

impl Judge {
    fn of(kind: &str) -> Self {
        let schema = schema(kind);
        Self { rules: kube_cel::compile_schema(&schema), schema }
    }

    /// Every message with which the API server would refuse this object, or this change.
    fn refusals(&self, old: Option<&Value>, new: &Value) -> Vec<String> {
        let new = apply_defaults(&self.schema, new);
        let old = old.map(|old| apply_defaults(&self.schema, old));
        let plain = structural::refusals(&self.schema, &new);
        let errors = kube_cel::validate_compiled(&self.rules, &new, old.as_ref()).err();
        plain.into_iter().chain(errors.iter().flatten().map(|error| error.message.clone())).collect()
    }

    fn judge(&self, case: &Case) -> Vec<String> {
        match &case.change {
            None => self.refusals(None, &case.created),
            Some(change) => {
                let changed = cases::merged(&case.created, change);
                assert_eq!(self.refusals(None, &case.created), Vec::<String>::new(), "what {case:?} starts from");
                self.refusals(Some(&case.created), &changed)
            }
        }
    }
}

/// Each kind's.
fn judges() -> BTreeMap<&'static str, Judge> {
    cases::KINDS.into_iter().map(|(_, kind)| (kind, Judge::of(kind))).collect()
}

#[test]
fn what_a_rule_accepts_nothing_else_refuses() {
    let judges = judges();
    for rule in cases() {
        assert!(!rule.accepted.is_empty(), "{} has no accepted side", rule.file.display());
        for case in &rule.accepted {
            assert_eq!(judges[rule.kind].judge(case), Vec::<String>::new(), "{}: {case:?}", rule.file.display());
        }
    }
}

#[test]
fn what_a_rule_refuses_is_refused_in_its_words() {
    let judges = judges();
    for rule in cases() {
        assert!(!rule.refused.is_empty(), "{} has no refused side", rule.file.display());
        for case in &rule.refused {
            let says = judges[rule.kind].judge(case);
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
