//! `sluice mcp`: the agent tools for clients that only speak over standard input and output.
//!
//! Each line is one JSON-RPC message. It goes to the environment's `/mcp` as it is, with the headers that the
//! Streamable HTTP transport wants; each answer comes back as one line. Nothing is kept between messages but
//! the revision that was agreed on. A client that gives a request up (`notifications/cancelled`) closes its
//! connection, which cancels what runs.

use std::collections::HashMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dataplane::protocols::http::BODY_BYTES_MAX;
use futures::stream::{FuturesUnordered, StreamExt};
use http::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::io::stdin;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};
use tokio_util::sync::CancellationToken;

use super::output::{self, notice};
use super::{Access, Api, Failure};

/// Requests under way at once; more wait in the pipe.
const RUNNING_MAX: usize = 64;
const BOTH: &str = "application/json, text/event-stream";
/// From this revision on headers repeat what a message is about, for those in between.
const REPEATED_SINCE: &str = "2026-07-28";
const PROTOCOL: &str = "MCP-Protocol-Version";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the tools are [default: where the environment says].
    #[arg(long, env = "SLUICE_MCP_URL")]
    mcp_url: Option<String>,
    #[command(flatten)]
    access: Access,
}

pub async fn run(args: Args) -> Result<(), Failure> {
    let api = args.access.api()?;
    let url = match args.mcp_url {
        Some(url) => url,
        None => served(&api).await?,
    };
    Bridge { api: &api, url, agreed: None, running: HashMap::new() }.carry().await
}

/// Where an environment serves its tools.
async fn served(api: &Api) -> Result<String, Failure> {
    let path = format!("{}/environments/{}/connection-info", api.organization().await?, api.env_id().await?);
    let told = api.get(&path).await?;
    let url = told.get("mcp").and_then(Value::as_str).map(str::to_owned);
    url.ok_or_else(|| Failure::NotSo("the environment serves no tools".to_owned()))
}

struct Bridge<'a> {
    api: &'a Api,
    url: String,
    /// The revision of the handshake, where there was one.
    agreed: Option<String>,
    /// What can still be given up, by the id of its request.
    running: HashMap<String, CancellationToken>,
}

/// The outcome of a message.
struct Done {
    id: Option<Value>,
    /// What is answered; a line each.
    said: Vec<Value>,
    /// It was the handshake.
    opened: bool,
}

impl<'a> Bridge<'a> {
    /// Until standard input ends and everything is answered.
    async fn carry(mut self) -> Result<(), Failure> {
        let mut lines = FramedRead::new(stdin(), LinesCodec::new_with_max_length(BODY_BYTES_MAX));
        let mut work = FuturesUnordered::new();
        let mut open = true;
        while open || !work.is_empty() {
            tokio::select! {
                line = lines.next(), if open && work.len() < RUNNING_MAX => match line {
                    None => open = false,
                    Some(line) => match message(line)? {
                        Ok(None) => {}
                        Ok(Some(message)) => work.extend(self.begin(&message)),
                        Err(refusal) => say(&refusal)?,
                    },
                },
                Some(done) = work.next(), if !work.is_empty() => self.end(&done)?,
            }
        }
        Ok(())
    }

    /// What there is to do for a message.
    fn begin(&mut self, message: &Value) -> Option<impl Future<Output = Done> + use<'a>> {
        if method(message) == "notifications/cancelled" {
            let id = message.pointer("/params/requestId").map(Value::to_string).unwrap_or_default();
            if let Some(given_up) = self.running.remove(&id) {
                given_up.cancel();
            }
            return None; // the connection that closes says it
        }
        let id = message.get("id").cloned().filter(|_| message.get("method").is_some());
        let given_up = CancellationToken::new();
        if let Some(id) = &id {
            self.running.insert(id.to_string(), given_up.clone());
        }
        let request = self.request(message);
        let opened = method(message) == "initialize";
        let api = self.api;
        Some(async move {
            let said = tokio::select! {
                said = asked(api, request, id.as_ref()) => said,
                () = given_up.cancelled() => Vec::new(),
            };
            Done { id, said, opened }
        })
    }

    fn end(&mut self, done: &Done) -> Result<(), Failure> {
        if let Some(id) = &done.id {
            self.running.remove(&id.to_string());
        }
        for line in &done.said {
            if let (true, Some(version)) =
                (done.opened, line.pointer("/result/protocolVersion").and_then(Value::as_str))
            {
                self.agreed = Some(version.to_owned());
            }
            say(line)?;
        }
        Ok(())
    }

    fn request(&self, message: &Value) -> RequestBuilder {
        let request = self.api.request_to(Method::POST, &self.url).header(ACCEPT, BOTH).json(message);
        headers(message, self.agreed.as_deref())
            .into_iter()
            .fold(request, |request, (name, value)| request.header(name, value))
    }
}

/// A line of standard input: a message, nothing, or what is answered to what is none.
fn message(line: Result<String, LinesCodecError>) -> Result<Result<Option<Value>, Value>, Failure> {
    let line = match line {
        Ok(line) => line,
        Err(LinesCodecError::MaxLineLengthExceeded) => {
            let message = format!("a message has at most {BODY_BYTES_MAX} bytes");
            return Ok(Err(error(&Value::Null, -32_600, &message)));
        }
        Err(LinesCodecError::Io(error)) => {
            return Err(Failure::Broken(format!("standard input cannot be read: {error}")));
        }
    };
    if line.trim().is_empty() {
        return Ok(Ok(None));
    }
    Ok(match serde_json::from_str::<Value>(&line) {
        Ok(message) if message.is_object() => Ok(Some(message)),
        Ok(_) => Err(error(&Value::Null, -32_600, "the line is not one JSON-RPC message")),
        Err(_) => Err(error(&Value::Null, -32_700, "the line is not JSON")),
    })
}

fn method(message: &Value) -> &str {
    message.get("method").and_then(Value::as_str).unwrap_or_default()
}

/// What the transport wants beside the message.
fn headers(message: &Value, agreed: Option<&str>) -> Vec<(&'static str, String)> {
    let stated = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion").and_then(Value::as_str);
    let Some(version) = stated.or(agreed).filter(|_| method(message) != "initialize") else { return Vec::new() };
    let mut headers = vec![(PROTOCOL, version.to_owned())];
    if version >= REPEATED_SINCE && !method(message).is_empty() {
        headers.push(("Mcp-Method", method(message).to_owned()));
        let name = ["name", "uri"].iter().find_map(|name| message.pointer(&format!("/params/{name}"))?.as_str());
        headers.extend(name.map(|name| ("Mcp-Name", worded(name))));
    }
    headers
}

/// As a header carries it: what is not plain ASCII stands in Base64.
fn worded(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && name.trim() == name;
    if is_plain && !name.starts_with("=?base64?") {
        return name.to_owned();
    }
    format!("=?base64?{}?=", BASE64_STANDARD.encode(name))
}

/// What the platform answers to a message. Whoever waits for an answer gets one.
async fn asked(api: &Api, request: RequestBuilder, id: Option<&Value>) -> Vec<Value> {
    let answered = async {
        let answer = request.send().await.map_err(|error| api.unanswered(&error))?;
        read(api, answer).await
    };
    match (answered.await, id) {
        (Ok(said), _) => said,
        (Err(failure), Some(id)) => vec![error(id, -32_000, &failure.to_string())],
        (Err(failure), None) => {
            notice(&format!("sluice: {failure}"));
            Vec::new()
        }
    }
}

/// Messages of an answer: one as JSON, several as events, none.
async fn read(api: &Api, answer: Response) -> Result<Vec<Value>, Failure> {
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = answer.bytes().await.map_err(|error| api.unanswered(&error))?;
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("text/event-stream") {
        return Ok(events(&String::from_utf8_lossy(&body)));
    }
    match serde_json::from_slice::<Value>(&body) {
        // Also a refusal in JSON-RPC's own words.
        Ok(message) if message.get("jsonrpc").is_some() => Ok(vec![message]),
        _ if status.is_success() && body.is_empty() => Ok(Vec::new()),
        _ => Err(Failure::unread(status.as_u16(), &body, api.url())),
    }
}

/// The messages of a stream of events.
fn events(stream: &str) -> Vec<Value> {
    let stream = stream.replace("\r\n", "\n");
    let message = |event: &str| {
        let data: Vec<_> = event.lines().filter_map(|line| line.strip_prefix("data:")).collect();
        serde_json::from_str(&data.join("\n")).ok()
    };
    stream.split("\n\n").filter_map(message).collect()
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// JSON of one line.
fn say(message: &Value) -> Result<(), Failure> {
    output::write(format!("{message}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, version: Option<&str>) -> Value {
        let meta = version.map(|version| json!({"io.modelcontextprotocol/protocolVersion": version}));
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "_meta": meta}})
    }

    #[test]
    fn headers_repeat_what_the_revision_wants_repeated() {
        let version = |version: &str| (PROTOCOL, version.to_owned());
        let about = |name: &str| vec![("Mcp-Method", "tools/call".to_owned()), ("Mcp-Name", name.to_owned())];
        assert_eq!(headers(&call("run_sql", None), None), []);
        assert_eq!(headers(&call("run_sql", None), Some("2025-11-25")), [version("2025-11-25")]);
        let new = [vec![version("2026-07-28")], about("run_sql")].concat();
        assert_eq!(headers(&call("run_sql", Some("2026-07-28")), Some("2025-11-25")), new);
        let coded = [vec![version("2026-07-28")], about("=?base64?w6Q=?=")].concat();
        assert_eq!(headers(&call("ä", Some("2026-07-28")), None), coded);
        let opening = json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
        assert_eq!(headers(&opening, Some("2025-11-25")), []);
    }

    #[test]
    fn what_is_no_message_is_answered_as_json_rpc_says() {
        let code = |line: &str| message(Ok(line.to_owned())).unwrap().unwrap_err()["error"]["code"].clone();
        assert_eq!((code("{"), code("[]"), code("1")), (json!(-32_700), json!(-32_600), json!(-32_600)));
        assert_eq!(message(Ok(" ".to_owned())).unwrap().unwrap(), None);
        let long = message(Err(LinesCodecError::MaxLineLengthExceeded)).unwrap().unwrap_err();
        assert_eq!(long["id"], Value::Null);
    }

    #[test]
    fn events_are_messages() {
        let stream = "event: message\r\ndata: {\"id\":1}\r\n\r\n: still here\r\n\r\ndata: {\"id\":\r\ndata: 2}\r\n\r\n";
        assert_eq!(events(stream), [json!({"id": 1}), json!({"id": 2})]);
    }
}
