//! `/docs`: the document as a page.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::html::{self, escaped, prose};

/// The page of a document that [`super::document`] made.
pub fn page(document: &Value) -> String {
    let mut body = format!("<p>{}</p>", about(document));
    for tag in list(document, "/tags").iter().filter_map(|tag| tag.get("name")?.as_str()) {
        let _ = write!(body, "<h2>{}</h2>", escaped(tag));
        for (path, method, operation) in operations(document) {
            if list(operation, "/tags").iter().any(|own| own == tag) {
                body.push_str(&section(path, method, operation));
            }
        }
    }
    body.push_str("<h2>Shapes</h2>");
    for (name, schema) in members(document, "/components/schemas") {
        let _ = write!(
            body,
            "<details id=\"{name}\"><summary><code>{name}</code></summary>{about}{shape}</details>",
            name = escaped(name),
            about = paragraph(schema),
            shape = shape(schema),
        );
    }
    html::page("Sluice: API", &body)
}

fn about(document: &Value) -> String {
    let text = document.pointer("/info/description").and_then(Value::as_str).unwrap_or_default();
    prose(&text.replace("[/docs/errors](/docs/errors)", "/docs/errors"))
}

fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    members(document, "/paths").flat_map(|(path, methods)| {
        members(methods, "").map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

fn section(path: &str, method: &str, operation: &Value) -> String {
    let text = |name: &str| operation.get(name).and_then(Value::as_str).unwrap_or_default();
    let old = if operation.get("deprecated") == Some(&Value::Bool(true)) { " class=\"old\"" } else { "" };
    let mut out = format!(
        "<details id=\"{id}\"><summary><code{old}>{method} {path}</code> {summary}</summary><p>{who}</p>",
        id = escaped(text("operationId")),
        method = method.to_ascii_uppercase(),
        path = escaped(path),
        summary = prose(text("summary")),
        who = prose(text("description")),
    );
    let parameters = list(operation, "/parameters");
    if !parameters.is_empty() {
        out.push_str(&html::table(&["parameter", "in", "", "", ""], parameters.iter().map(parameter)));
    }
    if let Some(schema) = operation.pointer("/requestBody/content/application~1json/schema") {
        let _ = write!(out, "<h3>Body</h3>{}", shape(schema));
    }
    let answers = members(operation, "/responses").map(|(status, answer)| vec![status.clone(), answered(answer)]);
    out.push_str("<h3>Answers</h3>");
    out + &html::table(&["status", ""], answers) + "</details>"
}

fn parameter(parameter: &Value) -> Vec<String> {
    let text = |name: &str| parameter.get(name).and_then(Value::as_str).unwrap_or_default();
    let required = parameter.get("required") == Some(&Value::Bool(true));
    vec![
        format!("<code>{}</code>", escaped(text("name"))),
        escaped(text("in")),
        parameter.get("schema").map(kind).unwrap_or_default(),
        if required { "required" } else { "" }.to_owned(),
        prose(text("description")),
    ]
}

/// What is answered: the shape of a success, the page of an error.
fn answered(answer: &Value) -> String {
    if answer.get("$ref").is_some() {
        return "<a href=\"/docs/errors\">error</a>".to_owned();
    }
    let contents = members(answer, "/content").map(|(media, content)| {
        let shape = content.get("schema").map(kind).unwrap_or_default();
        format!("<code>{}</code> {shape}", escaped(media))
    });
    contents.collect::<Vec<_>>().join("<br>")
}

/// The members of an object; for everything else its kind.
fn shape(schema: &Value) -> String {
    let properties: Vec<_> = members(schema, "/properties").collect();
    if properties.is_empty() {
        return format!("<p>{}</p>", kind(schema));
    }
    let required = list(schema, "/required");
    let row = |(name, schema): (&String, &Value)| {
        let is_required = required.iter().any(|required| required == name);
        vec![
            format!("<code>{}</code>", escaped(name)),
            kind(schema),
            if is_required { "" } else { "optional" }.to_owned(),
            prose(schema.get("description").and_then(Value::as_str).unwrap_or_default()),
        ]
    };
    html::table(&["member", "", "", ""], properties.into_iter().map(row))
}

/// A schema in a few words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.rsplit('/').next()) {
        return format!("<a href=\"#{name}\">{name}</a>", name = escaped(name));
    }
    for choice in ["/oneOf", "/anyOf", "/enum"] {
        let choices = list(schema, choice);
        if !choices.is_empty() {
            let word = |value: &Value| match value.as_str() {
                Some(text) => format!("<code>{}</code>", escaped(text)),
                None => kind(value),
            };
            return choices.iter().map(word).collect::<Vec<_>>().join(" | ");
        }
    }
    let kinds = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        Some(Value::String(kind)) => kind.clone(),
        _ => schema.get("const").map_or_else(|| "anything".to_owned(), Value::to_string),
    };
    let mut out = escaped(&kinds);
    if let Some(items) = schema.get("items") {
        let _ = write!(out, " of {}", kind(items));
    }
    let number = |name: &str| schema.get(name).filter(|value| value.is_number()).map(Value::to_string);
    if let (Some(least), Some(most)) = (number("minimum"), number("maximum")) {
        let _ = write!(out, " from {least} to {most}");
    }
    if let Some(format) = schema.get("format").and_then(Value::as_str) {
        let _ = write!(out, " ({})", escaped(format));
    }
    out
}

fn paragraph(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).map(|text| format!("<p>{}</p>", prose(text))).unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn members<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.pointer(pointer).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}
