//! Objects and clients that a change of the definitions would break: an object that is stored, a manifest that was
//! accepted, a client that reads a field.
//!
//! Nothing may be removed and nothing tightened. A new CEL rule counts as tightened, since nobody can
//! tell which stored objects it refuses. Loosening, new optional fields and new kinds are free.

use std::collections::BTreeSet;

use serde_json::Value;

use super::at;

/// Why `now` is not a compatible successor of `previous`; empty: it is.
pub fn breaks(previous: &[Value], now: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for before in previous {
        let name = text(at(before, "/metadata/name"));
        match now.iter().find(|after| text(at(after, "/metadata/name")) == name) {
            None => found.push(format!("{name}: the kind is gone")),
            Some(after) => definition(name, &before["spec"], &after["spec"], &mut found),
        }
    }
    found
}

fn definition(name: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    for pointer in ["/group", "/scope", "/names/kind", "/names/plural"] {
        if before.pointer(pointer) != after.pointer(pointer) {
            found.push(format!("{name}: {} changed", pointer.trim_start_matches('/')));
        }
    }
    for version in list(&before["versions"]) {
        let label = text(&version["name"]);
        let Some(successor) = list(&after["versions"]).iter().find(|other| other["name"] == version["name"]) else {
            // also one that was not served: objects may still be stored in it
            found.push(format!("{name}: version {label} is gone"));
            continue;
        };
        if version["served"] == true && successor["served"] != true {
            found.push(format!("{name}: version {label} is not served any more"));
        }
        for part in ["status", "scale"] {
            let was = version["subresources"].get(part);
            if was.is_some() && was != successor["subresources"].get(part) {
                found.push(format!("{name}: {label}: subresource {part} changed or is gone"));
            }
        }
        for field in list(&version["selectableFields"]) {
            if !list(&successor["selectableFields"]).contains(field) {
                found.push(format!("{name}: {label}: {} is not selectable any more", text(&field["jsonPath"])));
            }
        }
        let place = format!("{name}: {label}: ");
        let schema = |version: &Value| at(version, "/schema/openAPIV3Schema").clone();
        fields(&place, &schema(version), &schema(successor), found);
    }
}

/// One node of the schema, and all below it. `place` ends where the name of a member goes.
fn fields(place: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    let here = place.trim_end_matches(['.', ' ', ':']);
    found.extend(node(before, after).into_iter().map(|what| format!("{here}: {what}")));
    for (member, was) in members(before) {
        match after["properties"].get(member) {
            Some(is) => fields(&format!("{place}{member}."), was, is, found),
            None if open(after) => {}
            None => found.push(format!("{place}{member}: the field is gone")),
        }
    }
    for name in strings(&after["required"]).difference(&strings(&before["required"])) {
        // a default is filled in before anything is asked for
        if after["properties"].get(*name).and_then(|member| member.get("default")).is_none() {
            found.push(format!("{place}{name}: required now"));
        }
    }
    for (inner, label) in [("items", "[]."), ("additionalProperties", "*.")] {
        let (was, is) = (&before[inner], &after[inner]);
        if was.is_object() && is.is_object() {
            fields(&format!("{place}{label}"), was, is, found);
        } else if was.is_object() && !open(after) || *was == true && !open(after) {
            found.push(format!("{here}: {inner} is gone"));
        }
    }
}

/// Whether members that no property names are kept.
fn open(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true || schema["additionalProperties"] == true
}

/// What is tightened or changed at one node, apart from what lies below it.
fn node(before: &Value, after: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let (was, is) = (text(&before["type"]), text(&after["type"]));
    if was != is && !(was == "integer" && is == "number") && !is.is_empty() {
        found.push(format!("type was {was}, is {is}"));
    }
    if before["nullable"] == true && after["nullable"] != true {
        found.push("null is not accepted any more".to_owned());
    }
    for key in ["pattern", "format"] {
        let widened = before[key] == "int32" && after[key] == "int64";
        if after.get(key).is_some() && before.get(key) != after.get(key) && !widened {
            found.push(format!("{key} was {}, is {}", before[key], after[key]));
        }
    }
    for key in ["default", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"] {
        let added = key == "default" && before.get(key).is_none();
        if before.get(key) != after.get(key) && !added {
            found.push(format!("{key} was {}, is {}", before[key], after[key]));
        }
    }
    if open(before) && !open(after) && !after["additionalProperties"].is_object() {
        found.push("unknown fields are not kept any more".to_owned());
    }
    found.extend(values(before, after));
    found.extend(bounds(before, after));
    found.extend(rules(before, after));
    found
}

/// Closed lists lose nothing and do not appear.
fn values(before: &Value, after: &Value) -> Vec<String> {
    let Some(is) = after["enum"].as_array() else { return Vec::new() };
    let Some(was) = before["enum"].as_array() else { return vec!["a closed list of values now".to_owned()] };
    was.iter().filter(|value| !is.contains(value)).map(|value| format!("{value} is not accepted any more")).collect()
}

/// Lower bounds do not rise, upper bounds do not fall.
fn bounds(before: &Value, after: &Value) -> Vec<String> {
    let lower = ["minimum", "minLength", "minItems", "minProperties"].map(|key| (key, 1.0));
    let upper = ["maximum", "maxLength", "maxItems", "maxProperties"].map(|key| (key, -1.0));
    let mut found = Vec::new();
    for (key, sign) in lower.into_iter().chain(upper) {
        let Some(is) = after[key].as_f64() else { continue };
        match before[key].as_f64() {
            Some(was) if sign * is <= sign * was => {}
            Some(was) => found.push(format!("{key} was {was}, is {is}")),
            None => found.push(format!("{key} is {is} now")),
        }
    }
    for key in ["exclusiveMinimum", "exclusiveMaximum", "uniqueItems"] {
        if after[key] == true && before[key] != true {
            found.push(format!("{key} now"));
        }
    }
    found
}

fn rules(before: &Value, after: &Value) -> Vec<String> {
    let old: BTreeSet<_> = list(&before["x-kubernetes-validations"]).iter().map(|rule| text(&rule["rule"])).collect();
    let new = list(&after["x-kubernetes-validations"]).iter().filter(|rule| !old.contains(text(&rule["rule"])));
    new.map(|rule| format!("new rule: {}", text(&rule["message"]))).collect()
}

fn members(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn strings(value: &Value) -> BTreeSet<&str> {
    list(value).iter().filter_map(Value::as_str).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
