//! JSON-RPC around `rmcp`: messages are read before it, and each refusal is answered as one.

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Messages of one batch, which revision 2025-03-26 has and later ones have not.
const BATCH_MAX: usize = 20;
/// The revision is told in this header from 2025-06-18 on, so that who sends a batch sends none.
const VERSION: &str = "mcp-protocol-version";
const VERSION_OF_BATCHES: &str = "2025-03-26";
/// Bytes of an answer that is put into another form.
const ANSWER_BYTES_MAX: usize = 64 << 20;
pub const JSON: &str = "application/json";
pub const EVENTS: &str = "text/event-stream";

/// A body that holds messages.
#[derive(Debug, PartialEq)]
pub enum Sent {
    One(Value),
    Batch(Vec<Value>),
}

/// A JSON-RPC error before there is anything to answer with.
#[derive(Debug, PartialEq)]
pub struct Malformed {
    id: Value,
    code: i32,
    message: String,
}

impl Malformed {
    fn request(id: &Value, message: impl Into<String>) -> Self {
        Self { id: id.clone(), code: -32_600, message: message.into() }
    }

    pub fn to_json(&self) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "error": {"code": self.code, "message": self.message}})
    }
}

impl IntoResponse for Malformed {
    fn into_response(self) -> Response {
        (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, JSON)], self.to_json().to_string()).into_response()
    }
}

/// Reads a body: one message, or a batch of a client of the revision that has batches. Messages of a batch are checked
/// one by one, when each is its turn.
pub fn read(body: &[u8], headers: &HeaderMap) -> Result<Sent, Malformed> {
    let sent: Value = serde_json::from_slice(body).map_err(|_| Malformed {
        id: Value::Null,
        code: -32_700,
        message: "the body is not JSON".to_owned(),
    })?;
    let Value::Array(batch) = sent else {
        return checked(sent).map(Sent::One);
    };
    let refused = |message: &str| Err(Malformed::request(&Value::Null, message));
    match batch.len() {
        _ if headers.get(VERSION).is_some_and(|version| version != VERSION_OF_BATCHES) => {
            refused("this revision of the protocol has no batches: send one message at a time")
        }
        0 => refused("a batch has at least one message"),
        BATCH_MAX.. if batch.len() > BATCH_MAX => refused("a batch has at most 20 messages"),
        _ => Ok(Sent::Batch(batch)),
    }
}

/// A message of a batch, where nothing is initialized.
pub fn of_batch(message: Value) -> Result<Value, Malformed> {
    let message = checked(message)?;
    if message.get("method").is_some_and(|method| method == "initialize") {
        let id = message.get("id").unwrap_or(&Value::Null);
        return Err(Malformed::request(id, "initialize is sent alone, not in a batch"));
    }
    Ok(message)
}

/// Holds a message to JSON-RPC 2.0 as the protocol uses it: an id is a string or an integer, params are an object.
fn checked(message: Value) -> Result<Value, Malformed> {
    let Value::Object(members) = &message else {
        return Err(Malformed::request(&Value::Null, "a JSON-RPC message is an object"));
    };
    let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
    let id = members.get("id").filter(|id| is_id(id)).unwrap_or(&Value::Null);
    let refused = |message: &str| Err(Malformed::request(id, message));
    if members.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return refused("`jsonrpc` of a message is \"2.0\"");
    }
    if members.get("id").is_some_and(|id| !is_id(id)) {
        return refused("`id` of a request is a string or an integer; a notification has none");
    }
    match members.get("method") {
        Some(Value::String(_)) if members.get("params").is_some_and(|params| !params.is_object()) => {
            refused("`params` of a message is an object")
        }
        Some(Value::String(_)) => Ok(message),
        None if members.contains_key("result") || members.contains_key("error") => Ok(message),
        _ => refused("`method` of a message is a string"),
    }
}

/// Whether a client takes nothing but an event stream.
pub fn takes_events_alone(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    accepted.peek().is_some()
        && accepted
            .flat_map(|value| value.split(','))
            .filter_map(|entry| entry.split(';').next())
            .all(|kind| kind.trim().eq_ignore_ascii_case(EVENTS))
}

fn is_json(response: &Response) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(JSON.as_bytes()))
}

/// An answer whose refusal, if it is one, is a JSON-RPC error too.
pub async fn in_json_rpc(response: Response) -> Response {
    if is_json(&response) || !(response.status().is_client_error() || response.status().is_server_error()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let text = to_bytes(body, ANSWER_BYTES_MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let message = if text.trim().is_empty() { parts.status.to_string() } else { text.trim().to_owned() };
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(Malformed::request(&Value::Null, message).to_json().to_string()))
}

/// An answer of JSON as an event stream of one event.
pub async fn as_events(response: Response) -> Response {
    if !is_json(&response) || response.status() != StatusCode::OK {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(text) = to_bytes(body, ANSWER_BYTES_MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    parts.headers.remove(header::CONTENT_LENGTH);
    // JSON as it is written here has no line break outside of its strings, and escapes those within.
    let events = [b"event: message\ndata: ".as_slice(), &text, b"\n\n"].concat();
    Response::from_parts(parts, Body::from(events))
}

/// The message in an answer; a notification is answered by none.
pub async fn answered(response: Response) -> Option<Value> {
    let body = in_json_rpc(response).await.into_body();
    let text = to_bytes(body, ANSWER_BYTES_MAX).await.ok()?;
    serde_json::from_slice(&text).ok()
}

/// The answer to a batch: one array, or nothing where all were notifications.
pub fn of_all(answers: Vec<Value>) -> Response {
    if answers.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    ([(header::CONTENT_TYPE, JSON)], Value::Array(answers).to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(body: &Value) -> Option<i32> {
        read(body.to_string().as_bytes(), &HeaderMap::new()).err().map(|error| error.code)
    }

    #[test]
    fn a_message_is_held_to_json_rpc() {
        let good = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        ];
        for message in good {
            assert_eq!(code(&message), None, "{message}");
        }
        let bad = [
            json!("x"),
            json!(1),
            json!([]),
            json!({}),
            json!({"id": 1, "method": "ping"}),
            json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 1, "method": 7}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}),
            json!({"jsonrpc": "2.0", "id": 1}),
        ];
        for message in bad {
            assert_eq!(code(&message), Some(-32_600), "{message}");
        }
        let broken = read(b"{", &HeaderMap::new()).unwrap_err();
        assert_eq!(broken.to_json()["error"]["code"], -32_700);
    }

    #[test]
    fn batches_are_of_one_revision_and_bounded() {
        let batch = |count| json!(vec![json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}); count]);
        assert_eq!((code(&batch(20)), code(&batch(21))), (None, Some(-32_600)));
        for (version, taken) in [("2025-03-26", true), ("2025-06-18", false)] {
            let mut headers = HeaderMap::new();
            headers.insert(VERSION, HeaderValue::from_static(version));
            assert_eq!(read(batch(2).to_string().as_bytes(), &headers).is_ok(), taken, "{version}");
        }
        let beginning = json!({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}});
        assert_eq!(of_batch(beginning).unwrap_err().to_json()["id"], 3);
    }

    #[test]
    fn a_client_of_event_streams_is_known_by_what_it_accepts() {
        for (accept, alone) in [
            ("text/event-stream", true),
            ("text/event-stream;q=1", true),
            ("application/json, text/event-stream", false),
            ("*/*", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(takes_events_alone(&headers), alone, "{accept}");
        }
        assert!(!takes_events_alone(&HeaderMap::new()));
    }
}
