//! Changes that applying a manifest would make.
//!
//! The API server itself is asked, by a dry run: defaults, immutable fields and every rule have spoken
//! in the answer, and nothing is stored. By default as `kubectl apply` would do it (what its last
//! manifest had and this one has not is removed); with `--field-manager` as a server-side apply of
//! that manager, which is what tools like Flux do.
//!
//! What the operator would then do to Deployment, volume and Services only the operator knows: with
//! the annotation `sluice.dev/dry-run: "true"` on the environment it says so instead of doing it, and
//! this command prints what it said.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use crds::Environment;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::cluster::{Cluster, within};
use super::error::Error;
use super::{MANAGER, Output, read_file};
use crate::progress::say;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

#[derive(Debug, clap::Args)]
pub struct Ask {
    environment: String,
    /// A manifest, among others or alone.
    #[arg(long, short)]
    filename: PathBuf,
    /// As a server-side apply of this manager, and not as `kubectl apply`.
    #[arg(long)]
    field_manager: Option<String>,
}

impl Ask {
    /// Exit status 1: there are differences.
    pub async fn run(self, cluster: &Cluster, output: Output) -> Result<ExitCode, Error> {
        let name = &self.environment;
        let manifest = manifest(&read_file(&self.filename)?, name, &cluster.namespace)?;
        let what = format!("environment {name}");
        let api: Api<Environment> = cluster.api();
        let live = within(api.get_opt(name), &what).await?;
        let live = live.map(|live| serde_json::to_value(live).unwrap_or_default());
        let planned = match (&live, &self.field_manager) {
            (_, Some(manager)) => {
                let params = PatchParams::apply(manager).force().dry_run();
                within(api.patch(name, &params, &Patch::Apply(&manifest)), &what).await?
            }
            (Some(live), None) => {
                let params =
                    PatchParams { dry_run: true, field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
                within(api.patch(name, &params, &Patch::Merge(client_side(live, &manifest)?)), &what).await?
            }
            (None, None) => {
                let object: Environment = serde_json::from_value(manifest)
                    .map_err(|error| Error::Unusable(format!("{}: {error}", self.filename.display())))?;
                let params = PostParams { dry_run: true, field_manager: Some(MANAGER.to_owned()) };
                within(api.create(&params, &object), &what).await?
            }
        };
        let planned = serde_json::to_value(&planned).unwrap_or_default();
        let changes = differences(live.as_ref().unwrap_or(&Value::Null), &planned);
        let said = said_by_operator(live.as_ref());
        let page = || page(name, live.is_some(), &changes, said.as_deref());
        say(&output.pick(page, || json!({"exists": live.is_some(), "changes": changes, "operator": said}))?);
        Ok(super::answer(changes.is_empty()))
    }
}

/// The one Environment of this name in a file of any number of documents.
fn manifest(text: &str, name: &str, namespace: &str) -> Result<Value, Error> {
    let unusable = |error: String| Error::Unusable(format!("the manifest: {error}"));
    for document in serde_yaml_ng::Deserializer::from_str(text) {
        let value = serde_yaml_ng::Value::deserialize(document).map_err(|error| unusable(error.to_string()))?;
        // by way of JSON text: only there is a number of arbitrary precision a number
        let json = serde_json::to_string(&value).map_err(|error| unusable(error.to_string()))?;
        let value: Value = serde_json::from_str(&json).map_err(|error| unusable(error.to_string()))?;
        if at(&value, "/kind") != "Environment" || at(&value, "/metadata/name") != name {
            continue;
        }
        let elsewhere = at(&value, "/metadata/namespace").as_str().filter(|other| *other != namespace);
        return match elsewhere {
            Some(other) => Err(unusable(format!("{name} is in namespace {other}, and {namespace} is looked at (-n)"))),
            None => Ok(value),
        };
    }
    Err(unusable(format!("no Environment {name} in it")))
}

/// The merge patch of `kubectl apply`: the manifest, and `null` for what its last one had and this one
/// has not.
fn client_side(live: &Value, manifest: &Value) -> Result<Value, Error> {
    let last = at(live, "/metadata/annotations").get(LAST_APPLIED).and_then(Value::as_str);
    let last: Value = last
        .map(serde_json::from_str)
        .transpose()
        .map_err(|error| Error::Unusable(error.to_string()))?
        .unwrap_or_default();
    let mut patch = manifest.clone();
    remove(&last, &mut patch);
    // what only the API server may write, and what would be refused as a stale version
    if let Some(members) = patch.as_object_mut() {
        members.shift_remove("status");
    }
    if let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("resourceVersion");
    }
    Ok(patch)
}

fn remove(last: &Value, patch: &mut Value) {
    let (Value::Object(last), Value::Object(patch)) = (last, patch) else { return };
    for (name, value) in last {
        match patch.get_mut(name) {
            Some(now) => remove(value, now),
            None => drop(patch.insert(name.clone(), Value::Null)),
        }
    }
}

/// One line for each leaf of specification, labels and annotations that differs.
fn differences(live: &Value, planned: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for pointer in ["/spec", "/metadata/labels", "/metadata/annotations"] {
        let part = |object: &Value| object.pointer(pointer).cloned().unwrap_or_default();
        let place = pointer.trim_start_matches('/').replace('/', ".");
        compare(&place, &part(live), &part(planned), &mut found);
    }
    found
}

fn compare(place: &str, live: &Value, planned: &Value, found: &mut Vec<String>) {
    if live == planned || place.ends_with(LAST_APPLIED) {
        return;
    }
    let none = Map::new();
    match (live.as_object(), planned.as_object()) {
        (None, None) => found.push(match (live.is_null(), planned.is_null()) {
            (true, _) => format!("+ {place}: {planned}"),
            (_, true) => format!("- {place}: {live}"),
            _ => format!("~ {place}: {live} → {planned}"),
        }),
        (was, is) => {
            let (was, is) = (was.unwrap_or(&none), is.unwrap_or(&none));
            let names: BTreeSet<_> = was.keys().chain(is.keys()).collect();
            for name in names {
                let side = |side: &Map<String, Value>| side.get(name).cloned().unwrap_or_default();
                compare(&format!("{place}.{name}"), &side(was), &side(is), found);
            }
        }
    }
}

/// What the operator would do to the children, if it was asked.
fn said_by_operator(live: Option<&Value>) -> Option<Vec<String>> {
    let live = live?;
    let asked = at(live, "/metadata/annotations").get(crds::annotation::DRY_RUN).is_some_and(|value| value == "true");
    let said = at(live, "/status/plannedChanges").as_array().into_iter().flatten();
    asked.then(|| said.filter_map(Value::as_str).map(str::to_owned).collect())
}

fn page(name: &str, exists: bool, changes: &[String], said: Option<&[String]>) -> String {
    let mut page = match (exists, changes.is_empty()) {
        (_, true) => format!("environment {name} is as the manifest says\n"),
        (true, _) => format!("environment {name} would change\n"),
        (false, _) => format!("environment {name} would be created\n"),
    };
    page.extend(changes.iter().map(|change| format!("  {change}\n")));
    match said {
        Some(said) => {
            page.push_str("\nthe operator holds back, as its annotation asks; it would\n");
            page.extend(said.iter().map(|change| format!("  {change}\n")));
        }
        None if exists && !changes.is_empty() => {
            let dry_run = crds::annotation::DRY_RUN;
            let how = [
                "\nwhat the operator would then do: kubectl annotate env ",
                name,
                " ",
                dry_run,
                "=true, apply, plan again\n",
            ];
            page.extend(how);
        }
        None => {}
    }
    page
}

/// A member that is not there reads as `null`.
fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "kind: Secret\nmetadata: {name: acme-prod}\n---\nkind: Environment\nmetadata: {name: other}\n---\n\
        kind: Environment\nmetadata: {name: acme-prod}\nspec: {slug: prod}\n";

    #[test]
    fn the_environment_is_found_among_other_documents() {
        assert_eq!(manifest(FILE, "acme-prod", "ns").unwrap()["spec"], json!({"slug": "prod"}));
        let missing = manifest(FILE, "acme-dev", "ns").unwrap_err();
        assert_eq!(missing.to_string(), "the manifest: no Environment acme-dev in it");
        let elsewhere = "kind: Environment\nmetadata: {name: a, namespace: there}\n";
        assert!(manifest(elsewhere, "a", "here").unwrap_err().to_string().contains("namespace there"));
        assert!(manifest("a: [", "a", "ns").is_err());
    }

    #[test]
    fn what_the_last_manifest_had_is_removed_and_nothing_else() {
        let last =
            json!({"metadata": {"labels": {"a": "1"}}, "spec": {"slug": "prod", "network": {"allowedCidrs": []}}});
        let live = json!({"metadata": {"annotations": {LAST_APPLIED: last.to_string()}}, "spec": {"suspended": true}});
        let now = json!({"metadata": {"resourceVersion": "1"}, "spec": {"slug": "prod"}, "status": {}});
        let expected = json!({"metadata": {"labels": null}, "spec": {"slug": "prod", "network": null}});
        assert_eq!(client_side(&live, &now).unwrap(), expected);
        assert_eq!(client_side(&json!({}), &now).unwrap(), json!({"metadata": {}, "spec": {"slug": "prod"}}));
    }

    #[test]
    fn each_leaf_that_differs_is_a_line() {
        let live = json!({"spec": {"suspended": false, "network": {"allowedCidrs": ["10.0.0.0/8"]}, "bootstrap": {"fromSnapshot": "a"}}});
        let planned = json!({
            "spec": {"suspended": true, "network": {"allowedCidrs": []}, "name": "x"},
            "metadata": {"annotations": {"a": "b", LAST_APPLIED: "{}"}},
        });
        let expected = [
            "- spec.bootstrap.fromSnapshot: \"a\"",
            "+ spec.name: \"x\"",
            "~ spec.network.allowedCidrs: [\"10.0.0.0/8\"] → []",
            "~ spec.suspended: false → true",
            "+ metadata.annotations.a: \"b\"",
        ];
        assert_eq!(differences(&live, &planned), expected);
        assert_eq!(differences(&live, &live), Vec::<String>::new());
    }

    #[test]
    fn the_operators_word_is_printed_when_it_was_asked() {
        let status = json!({"plannedChanges": ["Deployment/acme-prod: image"]});
        let asked = json!({"metadata": {"annotations": {"sluice.dev/dry-run": "true"}}, "status": status});
        assert_eq!(said_by_operator(Some(&asked)), Some(vec!["Deployment/acme-prod: image".to_owned()]));
        assert_eq!(said_by_operator(Some(&json!({"status": status}))), None);
        let page = page("acme-prod", true, &[], said_by_operator(Some(&asked)).as_deref());
        assert!(page.ends_with("it would\n  Deployment/acme-prod: image\n"), "{page}");
    }
}
