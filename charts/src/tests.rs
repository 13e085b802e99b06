//! Printed files are what is committed; values, roles and samples are what the product takes.

use std::collections::BTreeSet;
use std::path::Path;

use clap::{CommandFactory, Parser};
use contract::plan_bounds::PlanBounds;
use contract::wire::TOOL_RESULT_BYTES;
use kube_cel::{Validator, apply_defaults};
use operator::objects::dns::Dns;
use operator::objects::pods::{Account, Pods};
use operator::objects::storage_reach::StorageReach;
use serde::Deserialize;
use serde_json::Value;

use super::*;

fn root() -> &'static Path {
    Path::new("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Every object of a YAML stream.
fn objects(text: &str) -> Vec<Value> {
    let documents = serde_yaml_ng::Deserializer::from_str(text);
    let values = documents.map(|document| serde_yaml_ng::Value::deserialize(document).unwrap());
    values.map(|value| serde_json::to_value(value).unwrap()).filter(|value| !value.is_null()).collect()
}

#[test]
fn every_printed_file_is_committed() {
    assert_eq!(stale(root()).unwrap(), Vec::<&str>::new(), "run: cargo run -p charts --bin chartgen");
}

#[test]
fn the_values_file_reads_back_as_the_defaults() {
    let values: Values = serde_yaml_ng::from_str(&read("charts/sluice/values.yaml")).unwrap();
    assert_eq!(values, Values::default());
}

#[test]
fn every_value_is_documented() {
    let table = read("charts/sluice/VALUES.md");
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| `")).collect();
    assert!(rows.len() > 50, "{}", rows.len());
    assert_eq!(rows.into_iter().filter(|row| row.ends_with("|  |")).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn an_unknown_value_is_refused_at_every_depth() {
    let schema: Value = serde_json::from_str(&read("charts/sluice/values.schema.json")).unwrap();
    let mut open = Vec::new();
    open_objects(&schema, "", &mut open);
    assert_eq!(open, Vec::<String>::new(), "objects with named members that take others");
}

fn open_objects(schema: &Value, path: &str, open: &mut Vec<String>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        open.push(path.to_owned());
    }
    for (name, property) in properties {
        open_objects(property, &format!("{path}/{name}"), open);
    }
}

#[test]
fn every_sample_is_accepted_by_its_definition() {
    let mut kinds = BTreeSet::new();
    for (path, text) in samples::all().unwrap() {
        let sample = objects(&text).remove(0);
        let kind = sample["kind"].as_str().unwrap().to_owned();
        let definition = crds::all().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
        let version = serde_json::to_value(&definition.spec.versions[0]).unwrap();
        let schema = &version["schema"]["openAPIV3Schema"];
        let refused = Validator::new().validate(schema, &apply_defaults(schema, &sample), None).err();
        assert!(refused.is_none(), "{path}: {refused:?}");
        kinds.insert(kind);
    }
    assert_eq!(kinds.len(), crds::all().len(), "a sample of each kind");
}

/// What a deployment's one container is given, by the arguments that read it; a value from elsewhere is
/// 64 hex digits, which fit everywhere. Panics at a variable that no argument reads.
fn arguments<C: CommandFactory>(path: &str, deployment: &str) -> Vec<String> {
    let of = |object: &Value| object["kind"] == "Deployment" && object["metadata"]["name"] == deployment;
    let deployment = objects(&read(path)).into_iter().find(of).unwrap();
    let variables = deployment.pointer("/spec/template/spec/containers/0/env").unwrap().as_array().unwrap().clone();
    let command = C::command();
    let mut arguments = vec![command.get_name().to_owned()];
    for variable in variables.iter().filter(|variable| !is_of_a_library(variable["name"].as_str().unwrap())) {
        let name = variable["name"].as_str().unwrap();
        let reads = |argument: &&clap::Arg| argument.get_env().is_some_and(|env| env == name);
        let argument = command.get_arguments().find(reads).unwrap_or_else(|| panic!("{path}: nobody reads {name}"));
        arguments.push(format!("--{}", argument.get_long().unwrap()));
        if argument.get_action().takes_values() {
            arguments.push(variable["value"].as_str().map_or_else(|| "ab".repeat(32), str::to_owned));
        }
    }
    arguments
}

/// Read by the log, the exporter of spans and the allocator.
fn is_of_a_library(variable: &str) -> bool {
    ["RUST_LOG", "OTEL_EXPORTER_OTLP_HEADERS"].contains(&variable) || variable.starts_with("MALLOC_")
}

const RENDERS: [&str; 2] = ["tests/charts/golden/default.yaml", "tests/charts/golden/everything.yaml"];

#[test]
fn the_control_plane_starts_with_what_the_chart_gives_it() {
    for path in RENDERS {
        let arguments = arguments::<controlplane::Config>(path, "sluice-controlplane");
        let config = controlplane::Config::try_parse_from(arguments).unwrap();
        assert_eq!(config.watch_namespaces.is_empty(), path.contains("default"));
        assert!(config.kubernetes && config.identity().is_some(), "{path}");
        assert!(config.database_url_file.is_some(), "its Secret is read again");
        assert_eq!(config.signup, !path.contains("default"), "{path}");
        assert_eq!(config.storage.storage_hosts.is_empty(), path.contains("default"), "{path}");
        assert_eq!(config.storage.storage_secrets.is_empty(), path.contains("default"), "{path}");
        assert_eq!(config.storage.storage_ambient, !path.contains("default"), "{path}");
    }
}

#[test]
fn the_operator_starts_with_what_the_chart_gives_it() {
    for path in RENDERS {
        let arguments = arguments::<operator::config::Config>(path, "sluice-operator");
        let config = operator::config::Config::try_parse_from(arguments).unwrap();
        assert_eq!(config.watch_namespaces.is_empty(), path.contains("default"));
        let release = config.release();
        assert!(release.control_plane.starts_with("sluice-controlplane."), "{path}");
        assert!(release.control_plane.ends_with(&format!(":{}", contract::wire::port::CONTROL_GRPC)), "{path}");
        let is_default = path.contains("default");
        assert_eq!(release.source.pods == Pods::default(), is_default, "what is so anyway moves no data plane");
        assert_eq!((release.dns == Dns::default(), release.account == Account::default()), (is_default, is_default));
        assert_eq!(release.storage == StorageReach::default(), is_default);
        let told = (release.listen.to_string(), release.http_idle_secs, release.tool_result_bytes);
        let expected = if is_default { ("0.0.0.0", 75, TOOL_RESULT_BYTES) } else { ("::", 350, 20_000) };
        assert_eq!((told.0.as_str(), told.1, told.2), expected);
        let plans = PlanBounds { bytes: 33_554_432, idle_secs: 60, in_engine: 0 };
        assert_eq!(release.plans, if is_default { PlanBounds::DEFAULT } else { plans });
    }
}
