//! Parts that answers of operations share: headers, errors, and the bodies of errors.

use std::collections::BTreeSet;

use contract::Code;
use serde_json::{Map, Value, json};

/// Headers of every answer of `/v1`, of `/v2`, and beyond.
pub const EVERY: [&str; 1] = ["x-request-id"];
pub const RATES: [&str; 3] = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
pub const RUNTIME_RATES: [&str; 3] = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];

const HEADERS: [(&str, &str, &str); 25] = [
    ("x-request-id", "string", "The caller's own id of the request if it is well formed, else ours."),
    ("x-ratelimit-limit", "integer", "Requests a minute."),
    ("x-ratelimit-remaining", "integer", "Requests left."),
    ("x-ratelimit-reset", "integer", "When all are left again, in Unix seconds."),
    ("ratelimit-limit", "integer", "Requests a minute."),
    ("ratelimit-remaining", "integer", "Requests left."),
    ("ratelimit-reset", "integer", "Seconds until all are left again."),
    ("retry-after", "integer", "Seconds to wait."),
    ("www-authenticate", "string", "How to say who you are."),
    ("idempotent-replayed", "string", "`true`: this was answered before, and was not done again."),
    ("deprecation", "string", "Since when there is a successor, as `@` and Unix seconds."),
    ("sunset", "string", "When the endpoint may be gone."),
    (
        "link",
        "string",
        "Where to read on: the next page of a bare list; of what is deprecated, why, and the successor.",
    ),
    ("etag", "string", "The version, and a hash of the answer: for `If-None-Match` and `If-Match`."),
    ("location", "string", "Where to go on."),
    ("set-cookie", "string", "What only this browser holds."),
    ("cache-control", "string", "`no-store`: nothing keeps it."),
    ("x-query-id", "string", "Names the query's audit entry."),
    ("x-columns-masked", "string", "Columns that are masked, with commas between."),
    ("x-cache-hit", "string", "`true` or `false`."),
    ("x-query-healed", "string", "What was corrected of the statement before it ran; absent where nothing was."),
    ("x-row-count", "integer", "Rows in a body of CSV or Arrow; behind a long one it is a trailer."),
    ("x-credits-consumed", "number", "What they cost; behind a long body it is a trailer."),
    ("x-rows-withheld", "string", "`true`: the first answer had rows, which are not kept; absent where it had none."),
    ("trailer", "string", "Trailers that follow a body that is whole."),
];

pub fn headers() -> Map<String, Value> {
    let header = |(name, kind, about): &(&str, &str, &str)| {
        ((*name).to_owned(), json!({"description": about, "schema": {"type": kind}}))
    };
    HEADERS.iter().map(header).collect()
}

/// References to these headers, as an answer holds them.
pub fn headed<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
    let header = |name: &str| (name.to_owned(), json!({"$ref": format!("#/components/headers/{name}")}));
    names.into_iter().map(header).collect::<Map<_, _>>().into()
}

/// The name of what is answered with this status of an error.
pub fn refusal(status: u16, is_arrow: bool) -> String {
    format!("{}{status}", if is_arrow { "Arrow" } else { "Error" })
}

/// One answer a status of the code table, in each of the two bodies.
pub fn refusals() -> Map<String, Value> {
    let statuses: BTreeSet<u16> = Code::ALL.iter().map(|code| code.http()).collect();
    let both = statuses.iter().flat_map(|status| [(*status, false), (*status, true)]);
    both.map(|(status, is_arrow)| (refusal(status, is_arrow), refused(status, is_arrow))).collect()
}

fn refused(status: u16, is_arrow: bool) -> Value {
    let rows = Code::ALL.iter().filter(|code| code.http() == status);
    let lines: Vec<_> = rows.map(|code| format!("- `{}`: {}", code.stable(), code.meaning())).collect();
    let waits = matches!(status, 409 | 429 | 503).then_some("retry-after");
    let asks = (status == 401).then_some("www-authenticate");
    let body = if is_arrow { "ArrowError" } else { "Error" };
    json!({
        "description": lines.join("\n"),
        "headers": headed(EVERY.into_iter().chain(waits).chain(asks)),
        "content": {"application/json": {"schema": {"$ref": format!("#/components/schemas/{body}")}}},
    })
}

/// "Body 1" and "body 3" of the specification, as `contract::body` renders them.
pub fn bodies() -> Map<String, Value> {
    let codes = |spelled: fn(Code) -> &'static str| {
        let codes: BTreeSet<_> = Code::ALL.iter().map(|code| spelled(*code)).collect();
        json!({"type": "string", "enum": codes})
    };
    let text = json!({"type": "string"});
    let details = json!({
        "type": "object",
        "description": "Particulars: `field` and `constraint` of what does not fit, `reason` of a conflict, …",
        "properties": {
            "stable_code": codes(Code::stable),
            "doc_url": {"type": "string"},
            "sqlstate": {"type": "string", "description": "Of an error in the data."},
        },
        "required": ["stable_code", "doc_url"],
        "additionalProperties": true,
    });
    let error = json!({
        "type": "object",
        "properties": {"code": codes(Code::control_plane), "message": text, "details": details, "request_id": text},
        "required": ["code", "message", "details", "request_id"],
    });
    let one = json!({"type": "object", "properties": {"error": error}, "required": ["error"]});
    let three = json!({
        "type": "object",
        "properties": {"error": codes(Code::stable), "message": text},
        "required": ["error", "message"],
    });
    [("Error".to_owned(), one), ("ArrowError".to_owned(), three)].into_iter().collect()
}
