//! The router of the agents' port over a world, asked without a socket.

use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, Request, Response};
use dataplane::agents::memory::Memories;
use dataplane::agents::reasoning::Thoughts;
use dataplane::agents::tools::ResultBudget;
use dataplane::governance::RulesSource;
use dataplane::protocols::agents::{AgentsContext, routes};
use dataplane::protocols::probes::ProbeState;
use dataplane::{Ending, Sessions};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::world::World;

pub fn router(world: &World) -> Router {
    routes(served(world, Ending::default()))
}

pub fn served(world: &World, ending: Ending) -> AgentsContext {
    let pipeline = world.pipeline.clone();
    let sessions = Sessions::new(pipeline.snapshots.clone(), pipeline.clock.clone(), &pipeline.entropy);
    let probe_state = ProbeState {
        began: Instant::now(),
        engine: pipeline.engine.clone(),
        ownership: world.ownership.subscribe(),
        source: watch::channel(RulesSource::Connected).1,
        leaving: CancellationToken::new(),
    };
    AgentsContext {
        pipeline,
        sessions,
        memories: Memories::embedded_by(world.memories.embedder().clone()),
        thoughts: Thoughts::default(),
        triggers: world.triggers.clone(),
        ending,
        limits: connections::ConnectionTimeouts::DEFAULT.limits(),
        budget: ResultBudget::of(dataplane::server::config::TOOL_RESULT_BYTES),
        probe_state,
        local: true,
    }
}

/// POSTs as `key`, as a client does that sends nothing but what it must.
pub async fn post(router: &Router, path: &str, key: &str, headers: &[(&str, &str)], body: &Value) -> Response<Body> {
    let mut request = Request::post(path).body(Body::from(body.to_string())).unwrap();
    let mut put = |name: &str, value: &str| {
        request.headers_mut().insert(HeaderName::try_from(name).unwrap(), value.parse().unwrap());
    };
    put("host", "localhost");
    put("content-type", "application/json");
    if !key.is_empty() {
        put("authorization", &format!("ApiKey {key}"));
    }
    for (name, value) in headers {
        put(name, value);
    }
    router.clone().oneshot(request).await.unwrap()
}

pub async fn whole(response: Response<Body>) -> (Vec<u8>, HeaderMap) {
    let collected = response.into_body().collect().await.unwrap();
    let trailers = collected.trailers().cloned().unwrap_or_default();
    (collected.to_bytes().to_vec(), trailers)
}

pub async fn as_json(response: Response<Body>) -> Value {
    let (body, _) = whole(response).await;
    serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&body)))
}

pub async fn rpc(router: &Router, key: &str, method: &str, params: Value) -> Value {
    rpc_as(router, (key, None), method, params).await
}

async fn rpc_as(router: &Router, (key, agent): (&str, Option<&str>), method: &str, params: Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let headers: Vec<_> = [("accept", "*/*")].into_iter().chain(agent.map(|agent| ("x-agent-id", agent))).collect();
    let answer = as_json(post(router, "/mcp", key, &headers, &message).await).await;
    assert_eq!(answer["id"], 7, "{answer}");
    answer
}

/// Calls a tool; its result, or body 2 of what it is refused with, and whether it is an error.
pub async fn tool(router: &Router, key: &str, name: &str, arguments: Value) -> (Value, bool) {
    tool_as(router, (key, None), name, arguments).await
}

/// The same by a key that says which agent it is.
pub async fn tool_as(router: &Router, who: (&str, Option<&str>), name: &str, arguments: Value) -> (Value, bool) {
    let (result, texts) = called_as(router, who, name, arguments).await;
    let is_error = result["isError"].as_bool().unwrap_or_else(|| panic!("{result}"));
    if is_error {
        assert!(result.get("structuredContent").is_none(), "{name}: no schema holds an error: {result}");
        return (serde_json::from_str(texts.last().unwrap()).unwrap(), true);
    }
    (result["structuredContent"].clone(), false)
}

/// A whole result, and its texts.
pub async fn called(router: &Router, key: &str, name: &str, arguments: Value) -> (Value, Vec<String>) {
    called_as(router, (key, None), name, arguments).await
}

async fn called_as(router: &Router, who: (&str, Option<&str>), name: &str, arguments: Value) -> (Value, Vec<String>) {
    let answer = rpc_as(router, who, "tools/call", json!({"name": name, "arguments": arguments})).await;
    let result = answer["result"].clone();
    let texts = result["content"].as_array().unwrap_or_else(|| panic!("{answer}")).iter();
    let texts = texts.map(|item| item["text"].as_str().unwrap().to_owned()).collect();
    (result, texts)
}
