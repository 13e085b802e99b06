//! The rules of the roles, as named templates, from the tables of the requests that operator and
//! control plane really make. Which role or binding takes them is the chart's.

use std::fmt::Write;

use crds::access::{Rule, Scope};

/// The resources of rules that differ in nothing else.
struct Joined {
    rule: Rule,
    resources: Vec<&'static str>,
}

fn joined(rules: &[Rule]) -> Vec<Joined> {
    let mut joined: Vec<Joined> = Vec::new();
    for rule in rules {
        let resource = rule.resource;
        match joined.iter_mut().find(|known| Rule { resource, ..known.rule } == *rule) {
            Some(known) => known.resources.push(resource),
            None => joined.push(Joined { rule: *rule, resources: vec![resource] }),
        }
    }
    joined
}

/// `sluice.rules.<component>.<scope>` for each component and scope; empty where there is no rule.
pub fn template() -> String {
    let mut template = String::from(
        "{{- /* Printed by chartgen from the tables in operator/src/rbac.rs and controlplane/src/server/kubernetes/rbac.rs. */ -}}\n",
    );
    for (component, rules) in
        [("operator", operator::rbac::RULES), ("controlplane", controlplane::server::kubernetes::RULES)]
    {
        let rules = joined(rules);
        for (name, scope) in [("cluster", Scope::Cluster), ("watched", Scope::Watched), ("release", Scope::Release)] {
            let _ = writeln!(template, "{{{{- define \"sluice.rules.{component}.{name}\" }}}}");
            for Joined { rule, resources } in rules.iter().filter(|joined| joined.rule.scope == scope) {
                let _ = writeln!(template, "- apiGroups: [{}]", list(&[rule.group]));
                let _ = writeln!(template, "  resources: [{}]", list(resources));
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
