//! The cases of every rule, both sides, as files in `crds/cases`: this crate's tests run them with an
//! evaluator of the API server's language, the tests on a cluster run them on the API server itself.
//!
//! `<kind>.json` is an object that is accepted as it is; `<kind>/<rule>.json` holds what the refusal
//! `says`, and cases as JSON merge patches: `create` makes of the object the one that is created,
//! `change` is then made to that.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a case that cannot be read is a failed test"
)]

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// Each folder and its kind.
pub const KINDS: [(&str, &str); 3] =
    [("organization", "Organization"), ("environment", "Environment"), ("api_key", "ApiKey")];

/// One rule of one kind.
#[derive(Debug)]
pub struct Rule {
    pub kind: &'static str,
    pub file: PathBuf,
    /// Part of the message with which the API server refuses.
    pub says: String,
    pub accepted: Vec<Case>,
    pub refused: Vec<Case>,
}

#[derive(Debug)]
pub struct Case {
    pub created: Value,
    /// A merge patch; absent: the creation is what is judged.
    pub change: Option<Value>,
}

/// Every rule in `folder`.
pub fn read(folder: &Path) -> Vec<Rule> {
    KINDS.into_iter().flat_map(|(name, kind)| of_kind(folder, name, kind)).collect()
}

fn of_kind(folder: &Path, name: &str, kind: &'static str) -> Vec<Rule> {
    let object = json(&folder.join(name).with_extension("json"));
    let mut files: Vec<_> = std::fs::read_dir(folder.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let case = |case: &Value| Case { created: merged(&object, &case["create"]), change: case.get("change").cloned() };
    let rule = |file: PathBuf| {
        let rule = json(&file);
        let side = |side: &str| rule[side].as_array().unwrap().iter().map(case).collect();
        let says = rule["says"].as_str().unwrap().to_owned();
        Rule { kind, file, says, accepted: side("accepted"), refused: side("refused") }
    };
    files.into_iter().map(rule).collect()
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// RFC 7386: members replace members, `null` removes.
pub fn merged(target: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut members = target.as_object().cloned().unwrap_or_else(Map::new);
    for (name, value) in patch {
        let before = members.shift_remove(name).unwrap_or_default();
        if !value.is_null() {
            members.insert(name.clone(), merged(&before, value));
        }
    }
    Value::Object(members)
}
