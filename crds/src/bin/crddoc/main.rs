//! Prints every field, rule, condition, reason and annotation of the custom resources as Markdown:
//! `cargo run -p crds --bin crddoc > crds/fields.md`.
//!
//! Fields come from the definitions that the API server holds; what the values of a closed list mean
//! comes from the types, because a definition has no place for it.
#![forbid(unsafe_code)]

mod table;
mod values;

use std::error::Error;
use std::fmt::Write as _;
use std::io::{Write as _, stdout};

use serde_json::Value;

use table::{Row, rows};
use values::Values;

fn main() -> Result<(), Box<dyn Error>> {
    Ok(stdout().write_all(page()?.as_bytes())?)
}

const HEAD: &str = "# Custom resources of Sluice

<!-- Printed by `cargo run -p crds --bin crddoc > crds/fields.md`; not edited by hand. -->

All kinds are namespaced, and a reference stays in its namespace. A field in **bold** is required.
";

fn page() -> Result<String, Box<dyn Error>> {
    let values = Values::of_types()?;
    let mut page = HEAD.to_owned();
    for definition in crds::all() {
        let definition = serde_json::to_value(&definition)?;
        for version in at(&definition, "/spec/versions").as_array().into_iter().flatten() {
            kind(&mut page, at(&definition, "/spec"), version, &values)?;
        }
    }
    closed_list(&mut page, "Conditions", "Every condition carries `observedGeneration`.", "Condition", &values)?;
    closed_list(&mut page, "Reasons", "Why a condition is what it is.", "Reason", &values)?;
    writeln!(page, "\n## Annotations\n\n| Annotation | Means |\n|---|---|")?;
    for (name, means) in crds::annotation::ALL {
        writeln!(page, "| `{name}` | {means} |")?;
    }
    Ok(page)
}

fn kind(page: &mut String, spec: &Value, version: &Value, values: &Values) -> Result<(), Box<dyn Error>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let names = &spec["names"];
    let short = at(names, "/shortNames/0").as_str().unwrap_or_default();
    let schema = at(version, "/schema/openAPIV3Schema");
    let members = &schema["properties"];
    write!(
        page,
        "\n## {}\n\n{}\n\n`apiVersion: {}/{}`, `kubectl get {}` or `{short}`.\n",
        text(&names["kind"]),
        text(&schema["description"]),
        text(&spec["group"]),
        text(&version["name"]),
        text(&names["plural"]),
    )?;
    for part in ["spec", "status"] {
        write!(page, "\n### {part}\n\n| Field | Type | Default | Limits | Means |\n|---|---|---|---|---|\n")?;
        let found = rows(&members[part], values);
        for Row { path, required, kind, default, limits, means } in found.iter().filter(|row| !repeated(row)) {
            let mark = if *required { "**" } else { "" };
            writeln!(page, "| {mark}`{path}`{mark} | {kind} | {default} | {limits} | {means} |")?;
        }
    }
    page.push_str("\n### Rules\n\n");
    for (path, message) in table::rules("", schema) {
        let at = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
        writeln!(page, "- {at}{message}")?;
    }
    Ok(())
}

/// Conditions have the same members in every kind: their own tables say more.
fn repeated(row: &Row) -> bool {
    row.path.starts_with("conditions[].")
}

fn closed_list(
    page: &mut String,
    title: &str,
    says: &str,
    column: &str,
    values: &Values,
) -> Result<(), Box<dyn Error>> {
    let name = if column == "Condition" { "ConditionType" } else { column };
    write!(page, "\n## {title}\n\n{says}\n\n| {column} | Means |\n|---|---|\n")?;
    for (value, means) in values.named(name).ok_or("the closed list is gone")? {
        writeln!(page, "| `{value}` | {means} |")?;
    }
    Ok(())
}

/// A member that is not there reads as `null`.
fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_is_what_is_printed() {
        let committed = include_str!("../../../fields.md");
        assert!(page().unwrap() == committed, "cargo run -p crds --bin crddoc > crds/fields.md");
    }

    /// `kubectl explain` says something about each.
    #[test]
    fn every_field_of_every_kind_is_described() {
        let values = Values::of_types().unwrap();
        for definition in crds::all() {
            let definition = serde_json::to_value(&definition).unwrap();
            let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
            let rows: Vec<_> = ["spec", "status"].into_iter().flat_map(|part| rows(&schema[part], &values)).collect();
            assert!(rows.len() > 10);
            for row in rows {
                assert!(!row.means.is_empty(), "{} {}", definition["spec"]["names"]["kind"], row.path);
            }
        }
    }

    #[test]
    fn every_value_of_every_closed_list_is_described() {
        for (list, values) in Values::of_types().unwrap().all() {
            for (value, means) in values {
                assert!(!means.is_empty(), "{list} {value}");
            }
        }
    }
}
