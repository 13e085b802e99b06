//! Memories, triggers and branches of agents are one thing behind two surfaces, and a revoked key opens neither.

use reqwest::Method;
use serde_json::{Value, json};
use tests::World;
use tests::world::json_of;

/// The tool server of the world's environment, where its connection info says it is.
pub async fn url(world: &World) -> String {
    let path = format!("/v1/organizations/{}/environments/{}/connection-info", world.org_id, world.env_id);
    world.ok(Method::GET, &path, &world.owner, Value::Null).await["mcp"].as_str().unwrap().to_owned()
}

async fn post(url: &str, key: &str, name: &str, arguments: Value) -> reqwest::Response {
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    reqwest::Client::new().post(url).header("x-api-key", key).json(&message).send().await.unwrap()
}

/// Body 2 of a result that is an error: its last text. It has no structure, which would have to fit the tool's schema.
pub fn refusal(result: &Value) -> Value {
    assert!(result["isError"] == true && result.get("structuredContent").is_none(), "{result}");
    let body = result["content"].as_array().and_then(|texts| texts.last()).and_then(|last| last["text"].as_str());
    serde_json::from_str(body.unwrap()).unwrap()
}

pub async fn tool(url: &str, key: &str, name: &str, arguments: Value) -> Value {
    let answer = json_of(post(url, key, name, arguments).await).await;
    assert_eq!(answer["result"]["isError"], false, "{name}: {answer}");
    answer["result"]["structuredContent"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_is_the_same_over_rest_and_over_the_tools() {
    let world = World::bare().await;
    let (url, auth) = (url(&world).await, format!("ApiKey {}", world.key));
    let memories = format!("/v1/organizations/{}/agent-memory", world.org_id);
    let body = json!({"agent_id": "clerk", "content": "invoices go out on friday"});
    let stored = world.call(Method::POST, &memories, &auth, body).await;
    assert_eq!((stored.status, &stored.body["memory_type"]), (201, &json!("observation")), "{}", stored.body);
    let found = tool(&url, &world.key, "search_memory", json!({"query": "when are invoices sent?"})).await;
    assert_eq!(found["results"][0]["memory_id"], stored.body["id"]);
    assert_eq!(found["results"][0]["agent_id"], "clerk");
    tool(&url, &world.key, "store_memory", json!({"content": "the north region pays late"})).await;
    let path = format!("{memories}/search?query=who%20pays%20late&top_k=1");
    let found = world.ok(Method::GET, &path, &world.owner, Value::Null).await; // the organization's one environment
    assert_eq!(found[0]["content"], "the north region pays late");
    assert!(found[0]["score"].as_f64().unwrap() > 0.5);
    assert_eq!(found[0]["embedding_status"], "ready");
    let stats = world.ok(Method::GET, &format!("{memories}/embedding-stats"), &world.owner, Value::Null).await;
    let told = ["embedder", "dimensions", "ready", "pending", "failed"].map(|name| stats[name].clone());
    assert_eq!(told, [json!("hash-v2"), json!(256), json!(2), json!(0), json!(0)], "{stats}");
    let path = format!("{memories}/{}", stored.body["id"].as_str().unwrap());
    assert_eq!(world.ok(Method::DELETE, &path, &auth, Value::Null).await["deleted"], true);
    assert_eq!(world.call(Method::DELETE, &path, &auth, Value::Null).await.status, 404);
    assert_eq!(world.ok(Method::GET, &memories, &auth, Value::Null).await.as_array().unwrap().len(), 1);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_is_the_keys_or_named_or_the_only_one() {
    let world = World::bare().await;
    let memories = format!("/v1/organizations/{}/agent-memory", world.org_id);
    let (other, _) = world.environment("other").await;
    let stored = json!({"agent_id": "clerk", "content": "kept in the other environment"});
    let path = format!("{memories}?env_id={other}");
    world.ok(Method::POST, &path, &world.owner, stored.clone()).await;
    let unnamed = world.call(Method::POST, &memories, &world.owner, stored.clone()).await;
    assert_eq!((unnamed.status, &unnamed.body["error"]["details"]["field"]), (400, &json!("env_id")));
    let elsewhere = world.call(Method::POST, &path, &format!("ApiKey {}", world.key), stored).await;
    assert_eq!(elsewhere.status, 403, "{}", elsewhere.body);
    let unknown = world.call(Method::GET, &format!("{memories}?env_id=none"), &world.owner, Value::Null).await;
    assert_eq!(unknown.status, 404);
    let here = &world;
    let listed = |path: String| async move { here.ok(Method::GET, &path, &here.owner, Value::Null).await };
    assert_eq!(listed(path.clone()).await.as_array().unwrap().len(), 1);
    assert_eq!(listed(format!("{memories}?env_id={}", world.env_id)).await, json!([]), "environments never meet");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_registers_itself_is_listed_with_what_it_says() {
    let world = World::bare().await;
    let url = url(&world).await;
    let said = json!({"agent_id": "planner", "framework": "crewai", "display_name": "Planner", "version": "2.1",
        "capabilities": ["sql", "planning"], "metadata": {"team": "growth"}});
    let first = tool(&url, &world.key, "register_agent", said.clone()).await;
    assert_eq!((&first["created"], &first["registration_source"]), (&json!(true), &json!("mcp")), "{first}");
    let again = tool(&url, &world.key, "register_agent", said).await;
    assert_eq!((&again["created"], &again["fingerprint"]), (&json!(false), &first["fingerprint"]));
    let child = json!({"agent_id": "child", "framework": "crewai", "parent_agent_id": "nobody"});
    let refused = json_of(post(&url, &world.key, "register_agent", child).await).await["result"].clone();
    assert_eq!(refusal(&refused)["error"]["code"], "SVC_ERR_404_AGENT_NOT_FOUND", "{refused}");
    // Listed once its calls have been reported.
    let path = format!("/v1/environments/{}/agents/planner/activity", world.env_id);
    let listed = async || {
        let answer = world.call(Method::GET, &path, &world.owner, Value::Null).await;
        (answer.status == 200).then_some(answer.body)
    };
    let known = world.until(listed).await;
    assert_eq!((&known["display_name"], &known["version"]), (&json!("Planner"), &json!("2.1")));
    assert_eq!((&known["capabilities"], &known["metadata"]["team"]), (&json!(["sql", "planning"]), &json!("growth")));
    assert_eq!((&known["fingerprint"], &known["trust_level"]), (&first["fingerprint"], &json!("provisional")));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_the_same_over_rest_and_over_the_tools() {
    let world = World::bare().await;
    let (url, auth) = (url(&world).await, format!("ApiKey {}", world.key));
    let branches = format!("/v1/organizations/{}/branches", world.org_id);
    let run = async |sql: &str| tool(&url, &world.key, "run_sql", json!({"sql": sql})).await["rows"].clone();
    run("create table stock (sku integer primary key, amount integer)").await;
    run("insert into stock values (1, 10), (2, 20)").await;
    let body = json!({"agent_id": "clerk", "tables": ["stock"], "description": "a trial"});
    let made = world.call(Method::POST, &branches, &auth, body).await;
    assert_eq!((made.status, &made.body["status"]), (201, &json!("active")), "{}", made.body);
    let id = made.body["id"].as_str().unwrap();
    let one = format!("{branches}/{id}");
    assert_eq!(world.ok(Method::GET, &branches, &world.owner, Value::Null).await[0]["agent_id"], "clerk");
    let on = json!({"branch_id": id, "sql": "update stock set amount = 11 where sku = 1"});
    tool(&url, &world.key, "branch_query", on).await;
    run("update stock set amount = 12 where sku = 1").await;
    let diff = world.ok(Method::GET, &format!("{one}/diff"), &auth, Value::Null).await;
    assert_eq!(diff["tables"]["main.stock"], json!({"added": 0, "changed": 1, "deleted": 0}));
    let conflicts = world.ok(Method::GET, &format!("{one}/conflicts"), &auth, Value::Null).await;
    assert_eq!((&conflicts["has_conflicts"], &conflicts["conflicts"][0]["key"]), (&json!(true), &json!({"sku": 1})));
    let merge = format!("{one}/merge");
    let wrong = world.call(Method::POST, &merge, &auth, json!({"strategy": "mine"})).await;
    assert_eq!((wrong.status, &wrong.body["error"]["details"]["field"]), (400, &json!("strategy")), "{}", wrong.body);
    let merged = world.ok(Method::POST, &merge, &auth, json!({"strategy": "branch_wins"})).await;
    assert_eq!((&merged["status"], &merged["conflicts"]), (&json!("merged"), &json!(1)), "{merged}");
    assert_eq!(run("select amount from stock order by sku").await, json!([{"amount": 11}, {"amount": 20}]));
    assert_eq!(world.ok(Method::GET, &one, &auth, Value::Null).await["status"], "merged");
    assert_eq!(world.call(Method::DELETE, &one, &auth, Value::Null).await.status, 409);
    let unknown = format!("{branches}/{}", "0".repeat(32));
    assert_eq!(world.call(Method::DELETE, &unknown, &auth, Value::Null).await.status, 404);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_without_a_key_is_one_conflict_over_rest_too_and_its_key_can_be_given_there() {
    let world = World::bare().await;
    let (url, auth) = (url(&world).await, format!("ApiKey {}", world.key));
    let branches = format!("/v1/organizations/{}/branches", world.org_id);
    let run = async |sql: &str| tool(&url, &world.key, "run_sql", json!({"sql": sql})).await["rows"].clone();
    run("create table nation (nationkey integer, name varchar)").await;
    run("insert into nation values (7, 'GERMANY')").await;
    for (keys, kind) in [(Value::Null, "table"), (json!({"nation": ["nationkey"]}), "divergent_update")] {
        let mut body = json!({"agent_id": "clerk"});
        if !keys.is_null() {
            body["keys"] = keys.clone();
        }
        let made = world.call(Method::POST, &branches, &auth, body).await;
        assert_eq!((made.status, &made.body["tables"]), (201, &json!(["main.nation"])), "{}", made.body);
        let warnings = made.body["warnings"].as_array().unwrap().len();
        assert_eq!(warnings, usize::from(keys.is_null()), "{}", made.body);
        let one = format!("{branches}/{}", made.body["id"].as_str().unwrap());
        let told = world.ok(Method::GET, &one, &auth, Value::Null).await;
        assert_eq!(told["warnings"], made.body["warnings"]);
        let on = json!({"branch_id": made.body["id"], "sql": "update nation set name = 'theirs'"});
        tool(&url, &world.key, "branch_query", on).await;
        let changes = world.ok(Method::GET, &format!("{one}/changes?table=nation"), &auth, Value::Null).await;
        let was = json!({"nationkey": "7", "name": "GERMANY"});
        assert!(changes["rows"].as_array().unwrap().iter().any(|row| row["before"] == was), "{changes}");
        run("update nation set name = 'ours'").await;
        let conflicts = world.ok(Method::GET, &format!("{one}/conflicts"), &auth, Value::Null).await;
        assert_eq!((&conflicts["total"], &conflicts["conflicts"][0]["kind"]), (&json!(1), &json!(kind)), "{conflicts}");
        let merge = format!("{one}/merge");
        if kind == "table" {
            let merged = world.ok(Method::POST, &merge, &auth, json!({"strategy": "branch_wins"})).await;
            assert_eq!((&merged["status"], &merged["conflicts"]), (&json!("conflicts"), &json!(1)), "{merged}");
        }
        let resolution = json!({"conflict_id": conflicts["conflicts"][0]["conflict_id"], "take": "base"});
        let how = json!({"strategy": "manual", "resolutions": [resolution]});
        assert_eq!(world.ok(Method::POST, &merge, &auth, how).await["status"], "merged");
        assert_eq!(run("select * from nation").await, json!([{"nationkey": 7, "name": "GERMANY"}]));
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_is_the_same_over_rest_and_over_the_tools() {
    let world = World::bare().await;
    let (url, auth) = (url(&world).await, format!("ApiKey {}", world.key));
    let triggers = format!("/v1/organizations/{}/triggers", world.org_id);
    let new = json!({"name": "refunds", "concept": "customer asks for a refund"});
    let made = world.call(Method::POST, &triggers, &auth, new).await;
    assert_eq!((made.status, &made.body["actions"]), (201, &json!(["webhook"])), "{}", made.body);
    let listed = tool(&url, &world.key, "list_triggers", json!({})).await;
    assert_eq!(listed["triggers"][0]["trigger_id"], made.body["id"]);
    let one = format!("{triggers}/{}", made.body["id"].as_str().unwrap());
    let text = json!({"text": "the customer asks for a refund"});
    let tested = world.ok(Method::POST, &format!("{one}/test"), &world.owner, text).await;
    assert_eq!((&tested["would_fire"], &tested["trigger_name"]), (&json!(true), &json!("refunds")));
    let stored = json!({"content": "the customer asks for a refund"});
    let stored = tool(&url, &world.key, "store_memory", stored).await;
    assert_eq!(stored["triggers_fired"], json!([made.body["id"]]));
    let two = json!({"name": "n", "concept": "c", "actions": ["webhook", "write_event"]});
    let refused = world.call(Method::POST, &triggers, &auth, two).await;
    assert_eq!((refused.status, &refused.body["error"]["details"]["field"]), (400, &json!("actions")));
    assert_eq!(world.ok(Method::DELETE, &one, &auth, Value::Null).await["deleted"], true);
    let off = world.ok(Method::GET, &format!("{triggers}?status=inactive"), &auth, Value::Null).await;
    assert_eq!(off[0]["fire_count"], 1);
    let unknown = world.call(Method::DELETE, &format!("{triggers}/none"), &auth, Value::Null).await;
    assert_eq!((unknown.status, &unknown.body["error"]["code"]), (404, &json!("NOT_FOUND")));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_thought_is_told_again_over_rest_with_its_chain() {
    let world = World::bare().await;
    let (url, auth) = (url(&world).await, format!("ApiKey {}", world.key));
    let log = async |session: &str, content: &str| {
        let step =
            json!({"session_id": session, "content": content, "step_type": "thought", "metadata": {"query_id": "q"}});
        tool(&url, &world.key, "log_reasoning_step", step).await
    };
    for (session, content) in [("plan/1", "count"), ("plan/2", "look"), ("plan/1", "compare"), ("plan/1", "decide")] {
        log(session, content).await;
    }
    let get = async |path: &str| world.call(Method::GET, &format!("/v1/cot/{path}"), &auth, Value::Null).await;
    let first = get("sessions?limit=1&envelope=true").await.body;
    assert_eq!((&first["sessions"][0]["session_id"], &first["has_more"]), (&json!("plan/1"), &json!(true)), "{first}");
    let cursor = first["cursor"].as_str().unwrap();
    let second = get(&format!("sessions?limit=1&envelope=true&cursor={cursor}")).await.body;
    assert_eq!((&second["sessions"][0]["step_count"], &second["cursor"]), (&json!(1), &Value::Null));
    let bare = get("sessions").await.body;
    assert_eq!((bare.as_array().unwrap().len(), &bare[0]), (2, &first["sessions"][0]), "{bare}");
    let told = get("sessions/plan%2F1/replay?from_step=1&limit=1").await.body;
    assert_eq!((&told["total_steps"], &told["chain_valid"]), (&json!(3), &Value::Null), "{told}");
    let [step] = told["steps"].as_array().unwrap().as_slice() else { panic!("{told}") };
    assert_eq!((&step["content"], &step["metadata"]["query_id"]), (&json!("compare"), &json!("q")));
    assert_eq!(get("sessions/plan%2F1/replay?verify_chain=true").await.body["chain_valid"], true);
    let verified = get("sessions/plan%2F1/verify").await.body;
    assert_eq!(verified, json!({"session_id": "plan/1", "chain_valid": true, "total_traces": 3, "invalid_hashes": []}));
    for (path, status, field) in [
        ("sessions?limit=0", 400, json!("limit")),
        ("sessions?since=today", 400, json!("since")),
        ("sessions/plan%2F1/replay?limit=1001", 400, json!("limit")),
        ("sessions/nowhere/verify", 404, Value::Null),
    ] {
        let refused = get(path).await;
        assert_eq!((refused.status, &refused.body["error"]["details"]["field"]), (status, &field), "{}", refused.body);
    }
    let mute = world.key_for(&world.env_id, json!({"scopes": ["query:read"]})).await.key;
    let refused = world.call(Method::GET, "/v1/cot/sessions", &format!("ApiKey {mute}"), Value::Null).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_taken_elsewhere_are_written_once_and_all_together() {
    let world = World::bare().await;
    let auth = format!("ApiKey {}", world.key);
    let trace = |id: &str, place: i64, content: Value| {
        json!({"trace_id": id, "session_id": "away", "agent_id": "clerk", "org_id": world.org_id, "step_index": place,
            "trace_type": "Thought", "content": content, "content_hash": "made elsewhere"})
    };
    let ingest =
        async |traces: Value| world.call(Method::POST, "/v1/cot/ingest", &auth, json!({"traces": traces})).await;
    let two = json!([trace("b", 1, json!({"text": "then"})), trace("a", 0, json!("first"))]);
    assert_eq!(ingest(two).await.body, json!({"ingested": 2, "trace_ids": ["a", "b"]}));
    let again = json!([trace("b", 1, json!({"text": "then"})), trace("c", 2, json!("last"))]);
    assert_eq!(ingest(again).await.body, json!({"ingested": 1, "trace_ids": ["b", "c"]}));
    let told = world.ok(Method::GET, "/v1/cot/sessions/away/replay?verify_chain=true", &auth, Value::Null).await;
    let steps: Vec<_> =
        told["steps"].as_array().unwrap().iter().map(|step| step["trace_id"].as_str().unwrap()).collect();
    assert_eq!((steps, &told["chain_valid"]), (vec!["a", "b", "c"], &json!(true)), "{told}");
    assert_eq!(
        (&told["steps"][1]["content"], &told["steps"][1]["agent_id"]),
        (&json!("{\"text\":\"then\"}"), &json!("clerk"))
    );
    assert_eq!(told["steps"][0]["metadata"], json!({"content_hash": "made elsewhere"}));
    let twice = ingest(json!([trace("d", 3, json!("x")), trace("d", 4, json!("y"))])).await;
    assert_eq!(
        (twice.status, &twice.body["error"]["details"]["field"]),
        (400, &json!("trace_ids[1]")),
        "{}",
        twice.body
    );
    let long = ingest(json!([trace("e", 3, json!("x")), trace("f", 4, json!("y".repeat(70_000)))])).await;
    assert_eq!(long.status, 400, "{}", long.body);
    let verified = world.ok(Method::GET, "/v1/cot/sessions/away/verify", &auth, Value::Null).await;
    assert_eq!(
        (&verified["total_traces"], &verified["chain_valid"]),
        (&json!(3), &json!(true)),
        "none of them was written"
    );
    world.end().await;
}

/// An analyst has `agent:*` by their role: what others have made is not theirs to end, by any surface.
#[tokio::test(flavor = "multi_thread")]
async fn an_analyst_reads_what_others_have_made_and_ends_none_of_it() {
    let world = World::new().await;
    let (url, org) = (url(&world).await, format!("/v1/organizations/{}", world.org_id));
    let made = async |path: &str, body: Value| {
        let made = world.ok(Method::POST, &format!("{org}/{path}"), &world.owner, body).await;
        made["id"].as_str().unwrap().to_owned()
    };
    let memory = made("agent-memory", json!({"agent_id": "clerk", "content": "pay on friday"})).await;
    let trigger = made("triggers", json!({"name": "refunds", "concept": "a refund"})).await;
    let branch = made("branches", json!({"agent_id": "clerk", "tables": ["customers"]})).await;
    let analyst = world.user("analyst", json!({})).await;
    let scopes = json!({"user_id": analyst.user_id, "scopes": ["query:read", "query:write", "agent:*"]});
    let key = world.key_for(&world.env_id, scopes).await.key;
    let auth = format!("ApiKey {key}");
    for (method, path, body) in [
        (Method::POST, "agent-memory".to_owned(), json!({"agent_id": "clerk", "content": "never"})),
        (Method::DELETE, format!("agent-memory/{memory}"), Value::Null),
        (Method::POST, "triggers".to_owned(), json!({"name": "refunds", "concept": "nothing"})),
        (Method::DELETE, format!("triggers/{trigger}"), Value::Null),
        (Method::POST, "branches".to_owned(), json!({"agent_id": "clerk", "tables": ["customers"]})),
        (Method::POST, format!("branches/{branch}/merge"), json!({})),
        (Method::DELETE, format!("branches/{branch}"), Value::Null),
    ] {
        let refused = world.call(method.clone(), &format!("{org}/{path}"), &auth, body).await;
        assert_eq!(refused.status, 403, "{method} {path}: {}", refused.body);
    }
    for (name, arguments) in [
        ("delete_memory", json!({"memory_id": memory, "mode": "forget"})),
        ("register_trigger", json!({"name": "refunds", "concept": "nothing"})),
        ("delete_trigger", json!({"trigger_id": trigger})),
        ("merge_branch", json!({"branch_id": branch})),
        ("discard_branch", json!({"branch_id": branch})),
    ] {
        let refused = json_of(post(&url, &key, name, arguments).await).await["result"].clone();
        assert_eq!(refusal(&refused)["error"]["code"], "FORBIDDEN", "{name}: {refused}");
    }
    for path in ["agent-memory", "triggers", "branches"] {
        let read = world.ok(Method::GET, &format!("{org}/{path}"), &auth, Value::Null).await;
        assert_eq!(read.as_array().unwrap().len(), 1, "{path}: {read}");
    }
    let conflicts = world.ok(Method::GET, &format!("{org}/branches/{branch}/conflicts"), &auth, Value::Null).await;
    assert_eq!(conflicts["has_conflicts"], false);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_is_refused_by_the_next_request_of_an_agent() {
    let world = World::bare().await;
    let url = url(&world).await;
    let scopes = json!({"scopes": ["query:read", "agent:*"]});
    let agent = world.key_for(&world.env_id, scopes).await;
    tool(&url, &agent.key, "run_sql", json!({"sql": "select 1 as n"})).await;
    let path = format!("/v1/environments/{}/api-keys/{}", world.env_id, agent.key_id);
    world.ok(Method::DELETE, &path, &world.owner, Value::Null).await;
    assert_eq!(post(&url, &agent.key, "run_sql", json!({"sql": "select 1 as n"})).await.status(), 401);
    let arrow = url.replace("/mcp", "/v1/query/arrow");
    let body = json!({"sql": "select 1"});
    let refused = reqwest::Client::new().post(arrow).bearer_auth(&agent.key).json(&body).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    world.end().await;
}
