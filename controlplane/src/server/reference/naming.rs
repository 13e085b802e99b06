//! Names of the shared shapes. A type that is taken and answered has one name if both shapes are the
//! same; else what is taken is named `…Input`.

use std::collections::{BTreeMap, BTreeSet};

use platform::http::signature::Shapes;
use serde_json::{Map, Value};

const SUFFIX: &str = "Input";

/// Writes the shapes into the document, and lets every reference lead to its name.
pub fn settle(document: &mut Value, mut shapes: Shapes, more: Map<String, Value>) {
    let mut named = shapes.answered.take_definitions(true);
    named.extend(more);
    let taken = shapes.taken.take_definitions(true);
    let differing = apart(&taken, &named);
    let leads_to: BTreeMap<String, String> = taken
        .keys()
        .map(|name| (name.clone(), if differing.contains(name) { format!("{name}{SUFFIX}") } else { name.clone() }))
        .collect();
    for (name, schema) in taken {
        if let Some(settled) = leads_to.get(&name) {
            named.entry(settled.clone()).or_insert(schema);
        }
    }
    named.sort_keys();
    if let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
        components.insert("schemas".to_owned(), named.into());
    }
    lead(document, &|name| leads_to.get(name).cloned());
}

/// The taken shapes that differ from what is answered under their name, and those that lead to one.
fn apart(taken: &Map<String, Value>, answered: &Map<String, Value>) -> BTreeSet<String> {
    let settled = |schema: &Value| {
        let mut schema = schema.clone();
        lead(&mut schema, &|name| Some(name.to_owned()));
        schema
    };
    let differs = |(name, schema): &(&String, &Value)| answered.get(*name).is_some_and(|own| *own != settled(schema));
    let mut apart: BTreeSet<String> = taken.iter().filter(differs).map(|(name, _)| name.clone()).collect();
    loop {
        let leads = |schema: &Value| referred(schema).iter().any(|name| apart.contains(name));
        let more: Vec<String> = taken
            .iter()
            .filter(|(name, schema)| answered.contains_key(*name) && !apart.contains(*name) && leads(schema))
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            return apart;
        }
        apart.extend(more);
    }
}

/// Names of the taken shapes that a schema refers to.
fn referred(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut schema = schema.clone();
    walk(&mut schema, &mut |text| found.extend(name_of(text).map(str::to_owned)));
    found
}

/// References to taken shapes lead to these names from now on.
fn lead(schema: &mut Value, name: &dyn Fn(&str) -> Option<String>) {
    walk(schema, &mut |text| {
        if let Some(settled) = name_of(text).and_then(name) {
            *text = format!("#{}/{settled}", Shapes::ANSWERED);
        }
    });
}

fn name_of(reference: &str) -> Option<&str> {
    reference.strip_prefix('#')?.strip_prefix(Shapes::TAKEN)?.strip_prefix('/')
}

/// Shows every `$ref`.
fn walk(value: &mut Value, see: &mut dyn FnMut(&mut String)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if name == "$ref" => see(text),
                    other => walk(other, see),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, see)),
        _ => {}
    }
}
