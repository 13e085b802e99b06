//! Who decides which field of an object: `metadata.managedFields`.
//!
//! A server-side apply says everything that its manager wants, and gives up what it leaves out. So a
//! change is what we decided before ([`ours`]) with the change over it, and nothing of another's.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use serde_json::{Map, Value};

use super::MANAGER;

/// What REST decided of the object `live`, as it is now.
pub fn ours(metadata: &ObjectMeta, live: &Value) -> Value {
    let applied = |entry: &&ManagedFieldsEntry| {
        entry.manager.as_deref() == Some(MANAGER)
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.is_none()
    };
    let entry = metadata.managed_fields.iter().flatten().find(applied);
    let decided = entry.and_then(|entry| entry.fields_v1.as_ref()).map(|fields| select(&fields.0, live));
    decided.filter(Value::is_object).unwrap_or_else(|| Value::Object(Map::new()))
}

/// The members of `live` that `fields` names. A list is one value: it is decided as a whole here.
fn select(fields: &Value, live: &Value) -> Value {
    let members = fields.as_object().into_iter().flatten();
    let named: Vec<(&str, &Value)> =
        members.filter_map(|(name, below)| Some((name.strip_prefix("f:")?, below))).collect();
    if named.is_empty() {
        return live.clone();
    }
    let member = |(name, below): (&str, &Value)| Some((name.to_owned(), select(below, live.get(name)?)));
    Value::Object(named.into_iter().filter_map(member).collect())
}

/// Members of `over` take the place of those in `under`.
pub fn merged(under: Value, over: Value) -> Value {
    match (under, over) {
        (Value::Object(mut under), Value::Object(over)) => {
            for (name, value) in over {
                let before = under.remove(&name).unwrap_or(Value::Null);
                under.insert(name, merged(before, value));
            }
            Value::Object(under)
        }
        (_, over) => over,
    }
}

/// Who last wrote the specification.
pub fn writer(metadata: &ObjectMeta) -> String {
    let writes = |entry: &&ManagedFieldsEntry| {
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
        entry.subresource.is_none() && fields.is_some_and(|fields| fields.get("f:spec").is_some())
    };
    let last =
        metadata.managed_fields.iter().flatten().filter(writes).max_by_key(|entry| entry.time.as_ref().map(|at| at.0));
    last.and_then(|entry| entry.manager.clone()).unwrap_or_else(|| "kubernetes".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(entries: &Value) -> ObjectMeta {
        serde_json::from_value(json!({"managedFields": entries})).unwrap()
    }

    #[test]
    fn what_rest_decided_is_what_it_applied_and_nothing_of_others() {
        let live = json!({"spec": {"name": "Dev", "slug": "dev", "settings": {"cacheEnabled": true, "queryTimeoutMs": 5},
            "scopes": ["a", "b"]}, "status": {"phase": "active"}});
        let fields = json!({"f:spec": {".": {}, "f:slug": {}, "f:settings": {"f:cacheEnabled": {}}, "f:gone": {},
            "f:scopes": {".": {}, "v:\"a\"": {}}}});
        let entry =
            |manager: &str, operation: &str| json!({"manager": manager, "operation": operation, "fieldsV1": fields});
        let metadata_of = |manager, operation| metadata(&json!([entry(manager, operation)]));
        assert_eq!(
            ours(&metadata_of(MANAGER, "Apply"), &live),
            json!({"spec": {"slug": "dev", "settings": {"cacheEnabled": true}, "scopes": ["a", "b"]}})
        );
        for (manager, operation) in [("kubectl", "Apply"), (MANAGER, "Update")] {
            assert_eq!(ours(&metadata_of(manager, operation), &live), json!({}), "{manager} {operation}");
        }
    }

    #[test]
    fn a_change_lies_over_what_was_decided_before() {
        let under = json!({"spec": {"name": "a", "settings": {"x": 1, "y": 2}}});
        let over = json!({"spec": {"settings": {"y": 3}}, "kind": "K"});
        assert_eq!(merged(under, over), json!({"spec": {"name": "a", "settings": {"x": 1, "y": 3}}, "kind": "K"}));
    }

    #[test]
    fn the_writer_is_whoever_touched_the_specification_last() {
        let entry =
            |manager: &str, time: &str, fields: Value| json!({"manager": manager, "time": time, "fieldsV1": fields});
        let spec = json!({"f:spec": {"f:name": {}}});
        let metadata = metadata(&json!([
            entry("kubectl", "2026-01-01T00:00:00Z", spec.clone()),
            entry("argocd", "2026-01-02T00:00:00Z", spec),
            entry("sluice-operator", "2026-01-03T00:00:00Z", json!({"f:metadata": {}})),
        ]));
        assert_eq!(writer(&metadata), "argocd");
    }
}
