//! Settings, variables and arguments of a data plane that another field manager added.
//!
//! An apply takes away only what its own manager once set, so this is a patch of its own: it removes and sets
//! nothing, and so makes no field ours that an apply would then keep.

use serde_json::{Map, Value, json};

use crate::objects::child::Kind;

/// Of a container; what is not wanted there at all.
const UNWANTED: [&str; 1] = ["args"];

/// A strategic merge patch that removes them, and their places.
pub fn removal(kind: Kind, wanted: &Value, live: &Value) -> Option<(Value, Vec<String>)> {
    let (patch, places) = match kind {
        Kind::ConfigMap => of_settings(wanted, live),
        Kind::Deployment => of_containers(wanted, live),
        _ => return None,
    };
    (!places.is_empty()).then_some((patch, places))
}

fn of_settings(wanted: &Value, live: &Value) -> (Value, Vec<String>) {
    let (mut patch, mut places) = (Map::new(), Vec::new());
    for field in ["data", "binaryData"] {
        let ours = |name: &str| wanted.get(field).is_some_and(|it| it.get(name).is_some());
        let names = live.get(field).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let added: Vec<&String> = names.filter(|name| !ours(name)).collect();
        places.extend(added.iter().map(|name| format!("{field}.{name}")));
        if !added.is_empty() {
            let nothing: Map<_, _> = added.into_iter().map(|name| (name.clone(), Value::Null)).collect();
            patch.insert(field.to_owned(), Value::Object(nothing));
        }
    }
    (Value::Object(patch), places)
}

const CONTAINERS: &str = "/spec/template/spec/containers";
const PATH: &str = "spec.template.spec.containers";

fn of_containers(wanted: &Value, live: &Value) -> (Value, Vec<String>) {
    let (mut patches, mut places) = (Vec::new(), Vec::new());
    for container in items(wanted.pointer(CONTAINERS)) {
        let Some(found) = items(live.pointer(CONTAINERS)).find(|other| name(other) == name(container)) else {
            continue;
        };
        let (patch, added) = of_container(container, found);
        if !added.is_empty() {
            patches.push(patch);
            let whole = |place| format!("{PATH}.{}.{place}", name(container));
            places.extend(added.into_iter().map(whole));
        }
    }
    (json!({"spec": {"template": {"spec": {"containers": patches}}}}), places)
}

fn of_container(wanted: &Value, live: &Value) -> (Value, Vec<String>) {
    let ours = |variable: &&Value| items(wanted.get("env")).any(|other| name(other) == name(variable));
    let added: Vec<&str> = items(live.get("env")).filter(|it| !ours(it)).map(name).collect();
    let mut places: Vec<String> = added.iter().map(|name| format!("env.{name}")).collect();
    let mut patch = Map::from_iter([("name".to_owned(), json!(name(wanted)))]);
    if !added.is_empty() {
        let deleted = |name: &&str| json!({"name": name, "$patch": "delete"});
        patch.insert("env".to_owned(), added.iter().map(deleted).collect());
    }
    for field in UNWANTED.into_iter().filter(|field| wanted.get(field).is_none() && live.get(field).is_some()) {
        patch.insert(field.to_owned(), Value::Null);
        places.push(field.to_owned());
    }
    (Value::Object(patch), places)
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

fn name(item: &Value) -> &str {
    item.get("name").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_others_added_is_removed_and_no_other() {
        let wanted = json!({"data": {"SLUICE_STATE": "/s"}});
        let live = json!({"data": {"SLUICE_STATE": "/elsewhere", "LD_PRELOAD": "/x.so"}, "binaryData": {"b": "eA=="}});
        let (patch, places) = removal(Kind::ConfigMap, &wanted, &live).unwrap();
        assert_eq!(patch, json!({"data": {"LD_PRELOAD": null}, "binaryData": {"b": null}}));
        assert_eq!(places, ["data.LD_PRELOAD", "binaryData.b"]);
        assert_eq!(removal(Kind::ConfigMap, &wanted, &wanted), None);
    }

    #[test]
    fn variables_and_arguments_that_others_added_are_removed_from_our_container() {
        let of = |containers: Value| json!({"spec": {"template": {"spec": {"containers": containers}}}});
        let wanted = of(json!([{"name": "dataplane", "env": [{"name": "KEY", "value": "k"}]}]));
        let live = of(json!([
            {"name": "beside", "env": [{"name": "THEIRS"}], "args": ["x"]},
            {"name": "dataplane", "env": [{"name": "ADDED", "value": "1"}, {"name": "KEY", "value": "k"}],
             "args": ["--debug"], "terminationMessagePath": "/dev/log"},
        ]));
        let (patch, places) = removal(Kind::Deployment, &wanted, &live).unwrap();
        let delete = json!([{"name": "ADDED", "$patch": "delete"}]);
        assert_eq!(patch, of(json!([{"name": "dataplane", "env": delete, "args": null}])));
        let of_ours = "spec.template.spec.containers.dataplane";
        assert_eq!(places, [format!("{of_ours}.env.ADDED"), format!("{of_ours}.args")]);
        assert_eq!(removal(Kind::Deployment, &wanted, &wanted), None);
        assert_eq!(removal(Kind::Service, &wanted, &live), None);
    }
}
