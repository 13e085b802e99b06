//! One operation: a row of the route table, and what its handler's signature says.

use std::collections::BTreeSet;

use axum::http::Method;
use contract::{Access, Role, Scope};
use platform::http::call::PathIds;
use platform::http::parameters::Parameters;
use platform::http::route::Route;
use platform::http::signature::{ResponseSignature, Shapes, Signature};
use platform::http::{conditional, idempotency};
use serde_json::{Map, Value, json};

use super::answers::{self, headed, refusal};
use crate::domain::runtime;

/// What stands for the folders of handlers in operation ids and tags, which are part of the API: the first that fits.
const PLACES: &[(&str, &str)] = &[
    ("domain::accounts::", "authentication::"),
    ("domain::agents::agent_memory::", "agent_memory::"),
    ("domain::agents::agent_tools::", "agent_tools::"),
    ("domain::agents::branches::", "branches::"),
    ("domain::agents::reasoning::", "reasoning::"),
    ("domain::agents::triggers::", "triggers::"),
    ("domain::audit::stream::", "events::stream::"),
    ("domain::authentication::federation::", "federation::"),
    ("domain::billing::credits::", "credits::"),
    ("domain::environments::lifecycle::", "environments::standing::"),
    ("domain::promotion::", "environments::promotion::"),
    ("domain::tenancy::", ""),
    ("domain::", ""),
    ("server::", ""),
];

/// The resource and the handler, without the files that are named for their part in a resource.
fn place(row: &Route) -> Vec<&'static str> {
    let path = row.handler.split_once("::").map_or("", |(_, path)| path);
    let named = PLACES.iter().find_map(|(folder, name)| Some((*name, path.strip_prefix(folder)?)));
    let (name, rest) = named.unwrap_or(("", path));
    name.split("::").chain(rest.split("::")).filter(|part| !["", "http"].contains(part)).collect()
}

/// `api_keys_rotate`: the resource module and the handler.
pub fn id(row: &Route) -> String {
    place(row).join("_")
}

/// The resource module; of the runtime the part of it.
pub fn tag(row: &Route) -> String {
    let place = place(row);
    let depth = if place.first() == Some(&"runtime") { 2 } else { 1 };
    place.iter().take(depth).map(|part| part.replace('_', " ")).collect::<Vec<_>>().join(": ")
}

pub fn operation(row: &Route, id: &str, shapes: &mut Shapes) -> Value {
    let said = Signature::read(shapes, row.tell);
    let mut operation = json!({
        "operationId": id,
        "tags": [tag(row)],
        "summary": row.says,
        "description": who(row),
        "parameters": parameters(row, &said),
        "responses": responses(row, &said),
        "security": security(row),
    });
    if let (Some(body), Some(operation)) = (said.body, operation.as_object_mut()) {
        let schema = body.schema.map_or_else(|| json!({"type": "string"}), Value::from);
        let content: Map<_, _> =
            body.kinds.iter().map(|kind| ((*kind).to_owned(), json!({"schema": schema}))).collect();
        operation.insert("requestBody".to_owned(), json!({"required": body.is_required, "content": content}));
    }
    if let (true, Some(operation)) = (row.deprecated, operation.as_object_mut()) {
        operation.insert("deprecated".to_owned(), true.into());
    }
    operation
}

fn roles(access: Access) -> Vec<&'static str> {
    Role::ALL.iter().filter(|role| access.admits(**role)).map(|role| role.as_str()).collect()
}

/// Who may ask, in a sentence.
fn who(row: &Route) -> String {
    let sessions = match row.access {
        Access::Public => return "Open to everybody.".to_owned(),
        Access::Authenticated | Access::Member => "any role".to_owned(),
        access => roles(access).join(", "),
    };
    match row.scope {
        Some(scope) => format!("Sessions: {sessions}. Keys: scope `{scope}`, and the role of the user they act for."),
        None if row.access == Access::Authenticated => "Whoever is known: a session or a key.".to_owned(),
        None => format!("Sessions: {sessions}. Keys: only those that act for such a user."),
    }
}

/// The credentials there are.
pub fn credentials() -> Value {
    json!({
        "session": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "What a login answers as `token`.",
        },
        "key": {
            "type": "apiKey",
            "in": "header",
            "name": "X-API-Key",
            "description": "An API key. `Authorization: ApiKey …` is taken as well.",
        },
    })
}

/// Roles of a session, scope of a key.
fn security(row: &Route) -> Value {
    if row.access == Access::Public {
        return json!([]);
    }
    json!([{"session": roles(row.access)}, {"key": row.scope.map(Scope::as_str).into_iter().collect::<Vec<_>>()}])
}

fn parameters(row: &Route, said: &Signature<'_>) -> Vec<Value> {
    let inside = row.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = inside
        .map(|name| {
            let schema = json!({"type": "string", "minLength": 1, "maxLength": PathIds::bytes_max(name)});
            json!({"name": name, "in": "path", "required": true, "schema": schema})
        })
        .collect();
    parameters.extend(said.query.iter().flat_map(|object| members(object.as_value())));
    if let Some(span) = said.page {
        let limit = json!({"type": "integer", "minimum": 1, "maximum": span.max, "default": span.default});
        parameters.push(json!({"name": "limit", "in": "query", "description": "Length of the page.", "schema": limit}));
        let about = "Where the page before ended: its `pagination.cursor`.";
        parameters.push(
            json!({"name": "cursor", "in": "query", "description": about, "schema": {"type": "string", "minLength": 1}}),
        );
    }
    let header = |name: &str, about: &str| json!({"name": name, "in": "header", "description": about, "schema": {"type": "string"}});
    if conditional::tags_answers(row) && row.method == Method::GET {
        parameters.push(header("If-None-Match", "Tags of what the caller holds already."));
    }
    if row.versioned {
        parameters.push(header("If-Match", "The tag, or `W/\"<updated_at>\"`, of the version that is to be changed."));
    }
    parameters.extend(said.headers.iter().map(|(name, about)| header(name, about)));
    if idempotency::counts(row) {
        let schema = json!({"type": "string", "minLength": 1, "maxLength": idempotency::KEY_BYTES_MAX});
        let about = if row.keyed {
            "A statement that changes something, sent again with the same key and body, answers its count again, and \
             is not run again. One that only reads is run each time."
        } else {
            "A request that is sent again with the same key and body is answered again, not done again."
        };
        parameters.push(json!({"name": "Idempotency-Key", "in": "header", "description": about, "schema": schema}));
    }
    parameters
}

/// The members of an object as parameters of the query. None of them is ever `null`.
fn members(object: &Value) -> Vec<Value> {
    let nothing = Map::new();
    let properties = object.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
    let required = object.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter = json!({"name": name, "in": "query", "required": is_required(name), "schema": some(schema)});
        if let (Some(about), Some(parameter)) = (about, parameter.as_object_mut()) {
            parameter.insert("description".to_owned(), about);
        }
        parameter
    };
    properties.iter().map(parameter).collect()
}

/// The schema without `null`.
fn some(mut schema: Value) -> Value {
    let is_null = |schema: &Value| *schema == json!({"type": "null"});
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array)
        && let [one, null] = choices.as_slice()
        && is_null(null)
    {
        return one.clone();
    }
    if let Some(kinds) = schema.get_mut("type")
        && let Some([kind, null]) = kinds.as_array().map(Vec::as_slice)
        && null == "null"
    {
        *kinds = kind.clone();
    }
    schema
}

fn responses(row: &Route, said: &Signature<'_>) -> Map<String, Value> {
    let is_arrow = row.path.ends_with("/query/arrow");
    let error = |status| json!({"$ref": format!("#/components/responses/{}", refusal(status, is_arrow))});
    let mut responses: Map<String, Value> =
        refused(row, said).into_iter().map(|status| (status.to_string(), error(status))).collect();
    if conditional::tags_answers(row) && row.method == Method::GET {
        let headers = headed(answers::EVERY.into_iter().chain(["etag"]));
        responses.insert("304".to_owned(), json!({"description": "The caller holds it already.", "headers": headers}));
    }
    for answer in &said.answers {
        responses.insert(answer.status.as_str().to_owned(), response(row, answer));
    }
    responses.sort_keys();
    responses
}

fn response(row: &Route, answer: &ResponseSignature) -> Value {
    let rates = if row.path.starts_with(runtime::PREFIX) { answers::RUNTIME_RATES } else { answers::RATES };
    let replayed = idempotency::counts(row).then_some(idempotency::REPLAYED);
    let deprecated: &[&str] = if row.deprecated { &["deprecation", "sunset", "link"] } else { &[] };
    let tag = conditional::tags_answers(row).then_some("etag");
    let headers = answers::EVERY.into_iter().chain(rates).chain(replayed).chain(tag).chain(deprecated.iter().copied());
    let content = answer.content.iter().map(|(kind, schema)| {
        let content = schema.as_ref().map_or_else(|| json!({}), |schema| json!({"schema": schema}));
        ((*kind).to_owned(), content)
    });
    let mut response = json!({
        "description": answer.status.canonical_reason().unwrap_or_default(),
        "headers": headed(headers.chain(answer.headers.iter().copied())),
    });
    let content: Map<String, Value> = content.collect();
    if let (false, Some(response)) = (content.is_empty(), response.as_object_mut()) {
        response.insert("content".to_owned(), content.into());
    }
    response
}

/// Statuses of the errors that the middleware makes for a row like this, and of the row's own.
fn refused(row: &Route, said: &Signature<'_>) -> BTreeSet<u16> {
    let is_guarded = row.access != Access::Public;
    let is_change = row.method != Method::GET && row.scope != Some(Scope::QueryRead);
    let rows: [(bool, &[u16]); 10] = [
        (true, &[500, 503]),
        (is_guarded, &[401, 403, 429]),
        (row.path.starts_with("/v1/"), &[429]),
        (row.path.contains('{'), &[404]),
        (said.body.is_some(), &[400, 413, 415]),
        (!said.query.is_empty() || said.page.is_some(), &[400]),
        (Parameters::are_checked(row), &[400]),
        // `If-Match`, of the wrong form or where nothing compares it.
        (is_guarded, &[400]),
        (row.versioned, &[412]),
        // A state that forbids it, or an `Idempotency-Key` that stands for another request.
        (is_guarded && is_change, &[409]),
    ];
    let middleware = rows.into_iter().filter(|(holds, _)| *holds).flat_map(|(_, statuses)| statuses.iter().copied());
    middleware.chain(row.refuses.iter().map(|code| code.http())).collect()
}
