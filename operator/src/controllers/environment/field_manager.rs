//! The field manager that sets a contested field, from the managed fields that the API server keeps.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::ListParams;
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};
use serde_json::Value;

use crate::cluster::write::MANAGER;
use crate::context::Context;
use crate::objects::child::Key;
use crate::objects::contest::Contests;
use crate::objects::observed::Observed;

/// A webhook writes in the name of whoever is on the way in.
const NOBODY_ELSE: &str = "a webhook, for no other manager has it";

/// What is known of contests, with the names that this plan's lack; absent: it lacks none. One request for each of them,
/// once: the stores keep no managed fields. What cannot be asked now is asked at the next look.
pub async fn name(context: &Context, observed: &Observed, planned: &Contests) -> Option<Contests> {
    let mut known = observed.contests.as_ref().clone();
    let mut named = false;
    for (key, contest) in planned.unnamed() {
        match of(context, &observed.environment.namespace().unwrap_or_default(), key, &contest.field).await {
            Ok(by) => {
                known.named(key, &contest.field, by);
                named = true;
            }
            Err(error) => tracing::warn!(%error, child = %key, "nobody knows whose doing it is"),
        }
    }
    named.then_some(known)
}

/// By a list of one, which needs no right that the operator has not.
async fn of(context: &Context, namespace: &str, key: &Key, field: &str) -> Result<String, kube::Error> {
    let objects: Api<DynamicObject> = Api::namespaced_with(context.client.clone(), namespace, &key.kind.resource());
    let found = objects.list_metadata(&ListParams::default().fields(&format!("metadata.name={}", key.name))).await?;
    let Some(object) = found.items.into_iter().next() else { return Ok("whoever deletes it".to_owned()) };
    let entries = object.metadata.managed_fields.unwrap_or_default();
    Ok(other(&entries, field).unwrap_or_else(|| NOBODY_ELSE.to_owned()))
}

/// The manager that had the field last, beside us.
fn other(entries: &[ManagedFieldsEntry], field: &str) -> Option<String> {
    let has = |entry: &&ManagedFieldsEntry| entry.fields_v1.as_ref().is_some_and(|fields| has(&fields.0, field));
    let theirs = entries.iter().filter(|it| it.manager.as_deref() != Some(MANAGER)).filter(has);
    theirs.max_by_key(|it| it.time.as_ref().map(|time| time.0)).and_then(|it| it.manager.clone())
}

/// Whether a set of fields holds the one at the end of this path, or one that it is a part of. A name in the path may
/// have dots in it.
fn has(set: &Value, path: &str) -> bool {
    let Some(members) = set.as_object() else { return false };
    if path.is_empty() || members.keys().all(|name| name == ".") {
        return true;
    }
    members.iter().any(|(name, below)| rest(name, path).is_some_and(|rest| has(below, rest)))
}

/// What is left of a path below a member: `f:spec`, or an item of a list by what tells it apart, `k:{"name":"x"}`.
fn rest<'a>(member: &str, path: &'a str) -> Option<&'a str> {
    let below = |name: &str| {
        let rest = path.strip_prefix(name)?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
    };
    match member.split_once(':')? {
        ("f", name) => below(name),
        ("k", keys) => {
            let keys: Value = serde_json::from_str(keys).ok()?;
            keys.as_object()?.values().find_map(|key| below(key.as_str()?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn entry(manager: &str, time: &str, fields: &Value) -> ManagedFieldsEntry {
        from_value(json!({"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields})).unwrap()
    }

    #[test]
    fn the_manager_that_has_the_field_is_named() {
        let variable = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {
            r#"k:{"name":"dataplane"}"#: {"f:env": {r#"k:{"name":"ADDED"}"#: {".": {}, "f:name": {}, "f:value": {}}}}}}}}});
        let note = json!({"f:metadata": {"f:annotations": {"f:example.org/a.b": {}}}, "f:spec": {"f:selector": {}}});
        let entries = [
            entry(MANAGER, "2026-01-03T00:00:00Z", &variable),
            entry("meddler", "2026-01-02T00:00:00Z", &variable),
            entry("older", "2026-01-01T00:00:00Z", &variable),
            entry("notes", "2026-01-01T00:00:00Z", &note),
        ];
        for (field, expected) in [
            ("spec.template.spec.containers.dataplane.env.ADDED", Some("meddler")),
            ("spec.template.spec.containers.dataplane.env.ADDED.value", Some("meddler")),
            ("spec.template.spec.containers.dataplane.env", Some("meddler")),
            ("spec.template.spec.containers.dataplane.args", None),
            ("metadata.annotations.example.org/a.b", Some("notes")),
            ("spec.selector.app", Some("notes")),
            ("spec.replicas", None),
        ] {
            assert_eq!(other(&entries, field).as_deref(), expected, "{field}");
        }
    }
}
