//! The document as a whole: a path for each of the table's, and what the operations share.

use std::collections::BTreeSet;

use platform::http::idempotency;
use platform::http::route::Route;
use platform::http::signature::Shapes;
use serde_json::{Map, Value, json};

use super::{answers, naming, operation};

const ABOUT: &str = "\
Every answer carries `X-Request-Id`: the caller's own if it sent one that is well formed. Every error \
has one body; its codes are explained at [/docs/errors](/docs/errors). Lists are pages: follow \
`pagination.cursor`. Times are ISO 8601 in UTC. Ids are opaque.";

/// OpenAPI 3.1 of these rows.
pub fn document(rows: &[&Route]) -> Value {
    let mut shapes = Shapes::default();
    let mut ids = BTreeSet::new();
    let mut paths = Map::new();
    let mut tags = Vec::new();
    for row in rows {
        let operation = operation::operation(row, &unused(&mut ids, operation::id(row)), &mut shapes);
        let tag = operation::tag(row);
        if !tags.contains(&tag) {
            tags.push(tag);
        }
        let path = paths.entry(row.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(row.method.as_str().to_ascii_lowercase(), operation);
        }
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sluice",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": tags.iter().map(|tag| json!({"name": tag})).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": operation::credentials(),
            "headers": answers::headers(),
            "responses": answers::refusals(),
        },
    });
    naming::settle(&mut document, shapes, answers::bodies());
    for row in rows {
        forget_secret(&mut document, row);
    }
    document
}

/// An answer that is given again holds no secret, so its shape does not promise one, and has a member that says so.
fn forget_secret(document: &mut Value, row: &Route) {
    let Some(secret) = row.secret.filter(|_| idempotency::counts(row)) else { return };
    let operation =
        document.get("paths").and_then(|paths| paths.get(row.path)?.get(row.method.as_str().to_ascii_lowercase()));
    let answers = operation.and_then(|operation| operation.get("responses")?.as_object()).into_iter().flatten();
    let shapes: Vec<String> = answers
        .filter_map(|(_, answer)| answer.pointer("/content/application~1json/schema/$ref")?.as_str())
        .map(|reference| reference.trim_start_matches('#').to_owned())
        .collect();
    for shape in shapes {
        let required = document.pointer_mut(&shape).and_then(|shape| shape.get_mut("required")?.as_array_mut());
        if let Some(required) = required {
            required.retain(|name| name != secret.member);
        }
        let members = document.pointer_mut(&shape).and_then(|shape| shape.get_mut("properties")?.as_object_mut());
        if let Some(members) = members {
            let about = "Where an answer is given again: what it does not hold, and what to do instead.";
            members.insert(idempotency::WITHHELD.to_owned(), json!({"type": "string", "description": about}));
        }
    }
}

/// One handler may stand on several rows; each has an id of its own.
fn unused(ids: &mut BTreeSet<String>, id: String) -> String {
    let numbered = (2..).map(|number| format!("{id}_{number}"));
    let free = std::iter::once(id.clone()).chain(numbered).find(|id| !ids.contains(id)).unwrap_or(id);
    ids.insert(free.clone());
    free
}
