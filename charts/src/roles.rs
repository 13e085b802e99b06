//! The rules of the roles, as named templates, from the tables of the requests that operator and
//! control plane really make. Which role or binding takes them is the chart's.

use std::fmt::Write;

/// Where a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// A kind without namespace.
    Cluster,
    /// Each watched namespace.
    Watched,
    /// The namespace of the release.
    Release,
}

/// Verbs on some resources of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    group: &'static str,
    resources: Vec<&'static str>,
    verbs: &'static [&'static str],
    scope: Scope,
}

fn operator() -> Vec<Rule> {
    use operator::rbac::{RULES, Scope as From};
    joined(RULES.iter().map(|rule| Rule {
        group: rule.group,
        resources: vec![rule.resource],
        verbs: rule.verbs,
        scope: match rule.scope {
            From::Cluster => Scope::Cluster,
            From::Watched => Scope::Watched,
            From::Release => Scope::Release,
        },
    }))
}

fn control_plane() -> Vec<Rule> {
    use controlplane::kubernetes::{RULES, Scope as From};
    joined(RULES.iter().map(|rule| Rule {
        group: rule.group,
        resources: vec![rule.resource],
        verbs: rule.verbs,
        scope: match rule.scope {
            From::Cluster => Scope::Cluster,
            From::Watched => Scope::Watched,
            From::Release => Scope::Release,
        },
    }))
}

/// Rules that differ in nothing but the resource, as one.
fn joined(rules: impl Iterator<Item = Rule>) -> Vec<Rule> {
    let mut joined: Vec<Rule> = Vec::new();
    for rule in rules {
        let same = |known: &&mut Rule| (known.group, known.verbs, known.scope) == (rule.group, rule.verbs, rule.scope);
        match joined.iter_mut().find(same) {
            Some(known) => known.resources.extend(rule.resources),
            None => joined.push(rule),
        }
    }
    joined
}

/// `sluice.rules.<component>.<scope>` for each component and scope; empty where there is no rule.
pub fn template() -> String {
    let mut template = String::from(
        "{{- /* Printed by chartgen from the tables in operator/src/rbac.rs and controlplane/src/kubernetes/rbac.rs. */ -}}\n",
    );
    for (component, rules) in [("operator", operator()), ("controlplane", control_plane())] {
        for (name, scope) in [("cluster", Scope::Cluster), ("watched", Scope::Watched), ("release", Scope::Release)] {
            let _ = writeln!(template, "{{{{- define \"sluice.rules.{component}.{name}\" }}}}");
            for rule in rules.iter().filter(|rule| rule.scope == scope) {
                let _ = writeln!(template, "- apiGroups: [{}]", list(&[rule.group]));
                let _ = writeln!(template, "  resources: [{}]", list(&rule.resources));
                let _ = writeln!(template, "  verbs: [{}]", list(rule.verbs));
            }
            template.push_str("{{- end }}\n");
        }
    }
    template
}

fn list(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("\"{text}\"")).collect::<Vec<_>>().join(", ")
}
