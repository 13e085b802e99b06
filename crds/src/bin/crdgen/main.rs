//! Prints the custom resource definitions, and judges changes of them.
//!
//! `crdgen` prints; `crdgen --check [file]` compares with the committed file and asks that exactly one
//! served version is stored; `crdgen --compat <previous.yaml>` refuses what would break an object or a
//! client of the previous release.
#![forbid(unsafe_code)]

mod compat;

use std::error::Error;
use std::io::{Write, stdout};
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::Value;

const USAGE: &str = "usage: crdgen [--check [crds/crds.yaml] | --compat <previous.yaml>]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        [] => print(),
        ["--check"] => check("crds/crds.yaml"),
        ["--check", file] => check(file),
        ["--compat", previous] => compare(previous),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => said(&error.to_string()),
    }
}

#[expect(clippy::print_stderr, reason = "a command says why it failed")]
fn said(error: &str) -> ExitCode {
    eprintln!("crdgen: {error}");
    ExitCode::FAILURE
}

type Done = Result<(), Box<dyn Error>>;

fn print() -> Done {
    Ok(stdout().write_all(crds::yaml()?.as_bytes())?)
}

fn check(file: &str) -> Done {
    let printed = crds::yaml()?;
    if std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))? != printed {
        return Err(format!("{file} is not what the types are: cargo run -p crds --bin crdgen > {file}").into());
    }
    let reasons: Vec<_> = documents(&printed)?.iter().flat_map(stored_versions).collect();
    refused(&reasons)
}

fn compare(previous: &str) -> Done {
    let text = std::fs::read_to_string(previous).map_err(|error| format!("{previous}: {error}"))?;
    let previous = documents(&text).map_err(|error| format!("{previous}: {error}"))?;
    if previous.is_empty() {
        return Err("no definition to compare with".into());
    }
    refused(&compat::breaks(&previous, &documents(&crds::yaml()?)?))
}

fn refused(reasons: &[String]) -> Done {
    if reasons.is_empty() { Ok(()) } else { Err(reasons.join("\ncrdgen: ").into()) }
}

/// Each definition of a YAML stream, as JSON.
fn documents(yaml: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut definitions = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(yaml) {
        let value = serde_yaml_ng::Value::deserialize(document)?;
        let value: Value = serde_json::from_str(&serde_json::to_string(&value)?)?;
        let kind = at(&value, "/kind");
        if kind == "CustomResourceDefinition" {
            definitions.push(value);
        } else if !value.is_null() {
            return Err(format!("not a CustomResourceDefinition: {kind}").into());
        }
    }
    Ok(definitions)
}

/// Objects are stored in one version, which clients can also ask for.
fn stored_versions(definition: &Value) -> Vec<String> {
    let name = at(definition, "/metadata/name").as_str().unwrap_or_default();
    let versions = at(definition, "/spec/versions").as_array().map(Vec::as_slice).unwrap_or_default();
    let stored: Vec<_> = versions.iter().filter(|version| version["storage"] == true).collect();
    match stored.as_slice() {
        [one] if one["served"] == true => Vec::new(),
        [one] => vec![format!("{name}: the stored version {} is not served", one["name"])],
        several => vec![format!("{name}: {} versions are stored, not one", several.len())],
    }
}

/// A member that is not there reads as `null`.
fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(versions: &Value) -> Value {
        json!({"metadata": {"name": "x"}, "spec": {"versions": versions}})
    }

    #[test]
    fn exactly_one_served_version_is_stored() {
        let (old, new) = (json!({"served": true, "storage": false}), json!({"served": true, "storage": true}));
        assert_eq!(stored_versions(&definition(&json!([old, new]))), Vec::<String>::new());
        assert_eq!(stored_versions(&definition(&json!([old]))), ["x: 0 versions are stored, not one"]);
        assert_eq!(stored_versions(&definition(&json!([new, new]))), ["x: 2 versions are stored, not one"]);
        let hidden = json!([{"name": "v1", "served": false, "storage": true}]);
        assert_eq!(stored_versions(&definition(&hidden)), [r#"x: the stored version "v1" is not served"#]);
    }

    #[test]
    fn the_committed_definitions_are_the_types() {
        check("crds.yaml").unwrap();
    }

    #[test]
    fn the_committed_definitions_are_compatible_with_themselves() {
        compare("crds.yaml").unwrap();
    }

    #[test]
    fn a_stream_that_is_not_of_definitions_is_refused() {
        assert!(documents("kind: Secret\n").is_err());
        assert!(documents("- [").is_err());
        assert_eq!(documents("---\n---\nkind: CustomResourceDefinition\n").unwrap().len(), 1);
    }
}
