//! `sluice mcp`: messages go in as lines and come back as lines.

use serde_json::{Value, json};
use tests::World;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::{command, logged};

struct Bridge {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Bridge {
    fn start(world: &World, key: &str) -> Self {
        let mut child = command(world, key, &["mcp"]).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, stdin, lines: BufReader::new(stdout).lines() }
    }

    async fn say(&mut self, message: &Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().expect("another line")).unwrap()
    }

    /// The end of standard input is the end of the bridge.
    async fn end(self) -> i32 {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        child.wait().await.unwrap().code().unwrap()
    }
}

fn call(id: u32, sql: &str) -> Value {
    let params = json!({"name": "run_sql", "arguments": {"sql": sql}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn initialize() -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_lines_lists_and_calls_the_tools() {
    let world = World::new().await;
    let mut bridge = Bridge::start(&world, &world.key);
    bridge.say(&initialize()).await;
    assert_eq!(bridge.hear().await["result"]["protocolVersion"], "2025-11-25");
    bridge.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    bridge.say(&json!({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})).await;
    let listed = bridge.hear().await;
    assert_eq!(listed["id"], "list");
    assert!(listed["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "run_sql"), "{listed}");
    bridge.say(&call(2, "select name from customers where id = 1")).await;
    let called = bridge.hear().await;
    assert_eq!(called["result"]["structuredContent"]["rows"], json!([{"name": "Alice"}]), "{called}");
    assert_eq!(bridge.end().await, 0);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_handshake_is_served_by_the_newest_revision() {
    let world = World::new().await;
    let mut bridge = Bridge::start(&world, &world.key);
    let mut message = call(1, "select 1 as n");
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    bridge.say(&message).await;
    let called = bridge.hear().await;
    assert_eq!(called["result"]["structuredContent"]["rows"], json!([{"n": 1}]), "{called}");
    assert_eq!(bridge.end().await, 0);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_given_up_is_cancelled_and_others_are_answered() {
    let world = World::new().await;
    let mut bridge = Bridge::start(&world, &world.key);
    let pairs = "from range(10000000) a(x), range(10000000) b(y) where x * y % 7 = 3";
    bridge.say(&call(1, &format!("create table long as select count(*) as n {pairs}"))).await;
    logged(&world, "range", "running").await;
    bridge.say(&call(2, "select 2 as n")).await;
    assert_eq!(bridge.hear().await["id"], 2, "a long request keeps no other waiting");
    let params = json!({"requestId": 1, "reason": "enough"});
    bridge.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    logged(&world, "range", "cancelled").await;
    assert_eq!(bridge.end().await, 0);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_an_answer_gets_one_also_when_it_is_no() {
    let world = World::new().await;
    let mut bridge = Bridge::start(&world, &world.key);
    bridge.stdin.write_all(b"{\n[]\n\n").await.unwrap();
    assert_eq!(bridge.hear().await["error"]["code"], -32_700);
    assert_eq!(bridge.hear().await["error"]["code"], -32_600);
    bridge.say(&json!({"jsonrpc": "2.0", "id": 3, "method": "no/such"})).await;
    let refused = bridge.hear().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(3), &json!(-32_601)), "{refused}");
    let key = sole_key(&world).await;
    let mut other = Bridge::start(&world, &key.0);
    other.say(&call(1, "select 1 as n")).await;
    assert_eq!(other.hear().await["id"], 1);
    let path = format!("/v1/environments/{}/api-keys/{}", world.env_id, key.1);
    world.ok(reqwest::Method::DELETE, &path, &world.owner, Value::Null).await;
    other.say(&call(2, "select 1 as n")).await;
    let refused = other.hear().await;
    assert_eq!(refused["id"], 2);
    assert!(refused["error"]["message"].as_str().unwrap().contains("SVC_ERR_401_INVALID_KEY"), "{refused}");
    assert_eq!((bridge.end().await, other.end().await), (0, 0));
    world.end().await;
}

/// A key that nobody else uses, and its id.
async fn sole_key(world: &World) -> (String, String) {
    let made = world.key_for(&world.env_id, json!({"scopes": ["query:read", "environment:read"]})).await;
    (made.key, made.key_id)
}
