//! The values as a schema that refuses what it does not know, as a file with a comment on each
//! value, and as a table.

use std::fmt::Write;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::{Error, Values};

/// Width of a comment in `values.yaml`.
const WIDTH: usize = 100;

/// `values.schema.json`.
pub fn json() -> Result<String, Error> {
    let mut text = serde_json::to_string_pretty(&schema())?;
    text.push('\n');
    Ok(text)
}

/// Without references: helm's messages then name the value and not a definition.
fn schema() -> schemars::Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.into_generator().into_root_schema_for::<Values>()
}

/// `values.yaml`: the defaults, each below what it means.
pub fn values() -> Result<String, Error> {
    let schema = schema().to_value();
    let mut text = String::from("# The values of the chart. Printed by chartgen; not edited by hand.\n");
    let mut write = |entry: &Entry<'_>| {
        let indent = "  ".repeat(entry.path.len().saturating_sub(1));
        if entry.path.len() == 1 {
            text.push('\n');
        }
        for line in wrapped(entry.description, WIDTH - indent.len()) {
            let _ = writeln!(text, "{indent}# {line}");
        }
        let name = entry.path.last().copied().unwrap_or_default();
        match entry.default {
            Value::Object(members) if entry.has_members => {
                let _ = writeln!(text, "{indent}{name}:{}", if members.is_empty() { " {}" } else { "" });
            }
            Value::Object(members) if !members.is_empty() => {
                let _ = writeln!(text, "{indent}{name}:");
                for (key, value) in members {
                    let _ = writeln!(text, "{indent}  {key}: {value}");
                }
            }
            value => {
                let _ = writeln!(text, "{indent}{name}: {value}");
            }
        }
    };
    walk(&schema, &serde_json::to_value(Values::default())?, &mut Vec::new(), &mut write)?;
    Ok(text)
}

/// `VALUES.md`.
pub fn table() -> Result<String, Error> {
    let schema = schema().to_value();
    let mut text = String::from(concat!(
        "# Values\n\nPrinted by chartgen from the types that also make `values.yaml` and its schema. ",
        "A value that is not listed is refused.\n\n| Value | Default | Meaning |\n|---|---|---|\n",
    ));
    let mut write = |entry: &Entry<'_>| {
        if !entry.has_members {
            let description = entry.description.replace('\n', " ").replace('|', "\\|");
            let _ = writeln!(text, "| `{}` | `{}` | {description} |", entry.path.join("."), entry.default);
        }
    };
    walk(&schema, &serde_json::to_value(Values::default())?, &mut Vec::new(), &mut write)?;
    Ok(text)
}

/// A value with its place.
struct Entry<'a> {
    path: &'a [&'a str],
    description: &'a str,
    default: &'a Value,
    /// It is made of values that are listed by themselves.
    has_members: bool,
}

/// Every value that has a default, parents before children, in the order of the types.
fn walk<'a>(
    schema: &'a Value,
    defaults: &Value,
    path: &mut Vec<&'a str>,
    write: &mut impl FnMut(&Entry<'_>),
) -> Result<(), Error> {
    let properties = properties(schema).ok_or(Error::Schema("properties"))?;
    for (name, property) in properties {
        let Some(default) = defaults.get(name) else { continue };
        path.push(name);
        let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
        let has_members = self::properties(property).is_some();
        write(&Entry { path, description, default, has_members });
        if has_members {
            walk(property, default, path, write)?;
        }
        path.pop();
    }
    Ok(())
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// The words of a text, in lines.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width - 2 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
