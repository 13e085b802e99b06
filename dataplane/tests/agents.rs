//! The port for agents and programs (5440): credentials, the protocol of tools, the raw Arrow route.

use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use arrow::ipc::reader::StreamReader;
use axum::body::Body;
use axum::http::Request;
use contract::policy::MaskFunction;
use dataplane::testing::{analyst_key, demo_key, denying, filtering, masking};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::agents_router::{as_json, post, router, rpc, tool, whole};
use crate::world::world;

#[tokio::test]
async fn each_revision_of_the_protocol_is_agreed_on() {
    let world = world().await;
    let router = router(&world);
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let params =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = rpc(&router, demo_key(), "initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "sluice");
    }
    let version = "2026-07-28";
    let meta = json!({"io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}});
    let headers = [("mcp-protocol-version", version), ("mcp-method", "server/discover")];
    let answer = as_json(post(&router, "/mcp", demo_key(), &headers, &message).await).await;
    let versions = &answer["result"]["supportedVersions"];
    assert_eq!(*versions, json!(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]), "{answer}");
    world.stop().await;
}

#[tokio::test]
async fn the_list_of_tools_is_the_table_of_tools() {
    let world = world().await;
    let answer = rpc(&router(&world), demo_key(), "tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let named: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let table: Vec<_> = dataplane::agents::tools::all().map(|row| row.tool.name.to_string()).collect();
    assert_eq!(named.len(), 24);
    assert_eq!(named, table);
    let run_sql = &tools[0];
    assert_eq!(run_sql["annotations"]["destructiveHint"], true);
    assert_eq!(run_sql["inputSchema"]["required"], json!(["sql"]));
    assert_eq!(run_sql["outputSchema"]["properties"]["truncated"]["type"], "boolean");
    world.stop().await;
}

#[tokio::test]
async fn rows_are_objects_governed_and_written_down_like_any_query() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", MaskFunction::Full)]);
    let router = router(&world);
    let arguments = json!({"sql": "select id, ssn, balance, ssn from customer where id = $1", "params": [2]});
    let (result, is_error) = tool(&router, analyst_key(), "run_sql", arguments).await;
    assert!(!is_error, "{result}");
    assert_eq!(result["rows"].to_string(), r#"[{"id":2,"ssn":"***","balance":20.25,"ssn_2":"***"}]"#);
    assert_eq!((&result["columns_masked"], &result["row_count"]), (&json!(["ssn"]), &json!(1)));
    let (started, finished) = world.last();
    assert_eq!(started.origin.as_str(), "mcp");
    assert_eq!((finished.rows_returned, finished.micro_credits), (1, 1_000_000));
    world.stop().await;
}

#[tokio::test]
async fn what_is_more_than_was_asked_for_is_cut_and_says_so() {
    let world = world().await;
    let router = router(&world);
    for (rows, truncated) in [(3, false), (2, true)] {
        let arguments = json!({"sql": "select id from customer order by id", "max_rows": rows});
        let (result, _) = tool(&router, demo_key(), "run_sql", arguments).await;
        assert_eq!((&result["row_count"], &result["truncated"]), (&json!(rows), &json!(truncated)));
    }
    let (_, finished) = world.last();
    assert_eq!((finished.outcome.as_str(), finished.rows_returned), ("completed", 2));
    world.stop().await;
}

#[tokio::test]
async fn errors_of_tools_are_results_with_codes() {
    let world = world().await;
    let router = router(&world);
    let cases = [
        ("run_sql", json!({"sql": "slct"}), "SVC_ERR_400_BAD_SQL"),
        ("run_sql", json!({"sql": "select * from nowhere"}), "SVC_ERR_404_TABLE_NOT_FOUND"),
        ("run_sql", json!({"sql": "select 1", "max_rows": 0}), "SVC_ERR_400_INVALID_PARAMS"),
        ("run_sql", json!({"sql": "select 1", "timeout_ms": 300_001}), "SVC_ERR_400_INVALID_PARAMS"),
        ("run_sql", json!({"sql": 1}), "SVC_ERR_400_INVALID_PARAMS"),
        ("run_sql", json!({}), "SVC_ERR_400_INVALID_PARAMS"),
        ("run_sql_readonly", json!({"sql": "delete from customer"}), "SVC_ERR_403_SCOPE_VIOLATION"),
        (
            "run_sql_readonly",
            json!({"sql": "with a as (select 1) insert into customer (id) select 9"}),
            "SVC_ERR_403_SCOPE_VIOLATION",
        ),
        ("run_sql_arrow", json!({"sql": "drop table customer"}), "SVC_ERR_403_SCOPE_VIOLATION"),
        ("describe_table", json!({"table_name": "nowhere"}), "SVC_ERR_404_TABLE_NOT_FOUND"),
        ("describe_table", json!({"table_name": "customer", "sample_rows": 6}), "SVC_ERR_400_INVALID_PARAMS"),
        ("enforce_abac_policy", json!({"context": {"time_of_day": "noon"}}), "SVC_ERR_400_INVALID_PARAMS"),
        ("register_agent", json!({"agent_id": "", "framework": "crewai"}), "SVC_ERR_400_INVALID_PARAMS"),
        // This world has no control plane: nobody is told that they are known.
        ("register_agent", json!({"agent_id": "planner", "framework": "crewai"}), "SVC_ERR_502_CONTROL_PLANE_DOWN"),
    ];
    for (name, arguments, code) in cases {
        let (result, is_error) = tool(&router, demo_key(), name, arguments.clone()).await;
        assert!(is_error, "{name} {arguments}");
        assert_eq!(result["error"]["code"], code, "{name} {arguments}: {result}");
    }
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 3);
    world.stop().await;
}

#[tokio::test]
async fn a_key_without_the_scope_is_refused_and_the_refusal_is_written_down() {
    let world = world().await;
    let scopes = |texts: &[&str]| contract::Scopes::try_from(texts.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
    world.change(|rules| rules.keys.iter_mut().for_each(|key| key.scopes = scopes(&["schema:read"]).unwrap()));
    let router = router(&world);
    for row in dataplane::agents::tools::all() {
        let mut arguments = json!({});
        for name in row.tool.input_schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            let schema = &row.tool.input_schema["properties"][name.as_str().unwrap()];
            let is_branch = name == "branch_id";
            let text = json!(if is_branch { "0123456789abcdef0123456789abcdef" } else { "select 1" });
            arguments[name.as_str().unwrap()] = if schema["type"] == "array" { json!([text]) } else { text };
        }
        let (result, is_error) = tool(&router, demo_key(), &row.tool.name, arguments).await;
        assert!(is_error, "{}: {result}", row.tool.name);
        assert_eq!(result["error"]["code"], "SVC_ERR_403_SCOPE_VIOLATION", "{}", row.tool.name);
        assert_eq!(world.last().1.outcome.as_str(), "refused");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_key_made_for_an_agent_registers_no_other() {
    let world = world().await;
    world.change(|rules| rules.keys.iter_mut().for_each(|key| key.agent_id = Some("planner".to_owned())));
    let router = router(&world);
    for (agent_id, code) in [("clerk", "POLICY_DENIED"), ("planner", "SVC_ERR_502_CONTROL_PLANE_DOWN")] {
        let said = json!({"agent_id": agent_id, "framework": "crewai"});
        let (result, is_error) = tool(&router, demo_key(), "register_agent", said).await;
        assert!(is_error && result["error"]["code"] == code, "{agent_id}: {result}");
        let (started, finished) = world.last();
        assert_eq!((started.sql.as_str(), finished.outcome.as_str()), ("CALL register_agent", "refused"));
    }
    world.stop().await;
}

#[tokio::test]
async fn tables_are_listed_and_described_as_the_caller_sees_them() {
    let world = world().await;
    world.run("create table hidden (id integer)").await.unwrap();
    world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    let router = router(&world);
    let (listed, _) = tool(&router, demo_key(), "list_tables", json!({"like": "CUST%", "include_columns": true})).await;
    let table = &listed["tables"][0];
    assert_eq!((&table["table_name"], &table["row_estimate"]), (&json!("customer"), &json!(3)), "{listed}");
    assert_eq!((listed["tables"].as_array().unwrap().len(), table["columns"].as_array().unwrap().len()), (1, 5));
    let arguments = json!({"table_name": "customer", "sample_rows": 5});
    let (described, _) = tool(&router, analyst_key(), "describe_table", arguments).await;
    assert_eq!(described["row_estimate"], Value::Null, "rows are hidden: {described}");
    assert_eq!(described["sample"].as_array().unwrap().len(), 2);
    let masked = described["columns"].as_array().unwrap().iter().filter(|column| column["masked"] == true);
    assert_eq!(masked.map(|column| column["column_name"].clone()).collect::<Vec<_>>(), ["ssn"]);
    world.stop().await;
}

#[tokio::test]
async fn policies_are_told_without_running_anything() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", MaskFunction::Full)]);
    let router = router(&world);
    let question = json!({"query": "delete from customer", "context": {"user_role": "owner"}});
    let (refused, is_error) = tool(&router, analyst_key(), "enforce_abac_policy", question).await;
    assert!(is_error && refused["error"]["code"] == "FORBIDDEN", "{refused}");
    let question = |role: &str| json!({"query": "delete from customer", "context": {"user_role": role}});
    let (judged, _) = tool(&router, demo_key(), "enforce_abac_policy", question("analyst")).await;
    assert_eq!((&judged["decision"], &judged["code"]), (&json!("deny"), &json!("FORBIDDEN")), "an analyst only reads");
    let (judged, _) = tool(&router, demo_key(), "enforce_abac_policy", question("developer")).await;
    assert_eq!((&judged["decision"], &judged["masked_columns"]), (&json!("allow"), &json!(["main.customer.ssn"])));
    let (started, finished) = world.last();
    assert_eq!((started.sql.as_str(), finished.outcome.as_str()), ("CALL enforce_abac_policy", "completed"));
    world.change(|rules| rules.abac_policies = vec![denying("customer", &[])]);
    let question = json!({"table": "customer"});
    let (judged, _) = tool(&router, demo_key(), "enforce_abac_policy", question).await;
    assert_eq!((&judged["decision"], &judged["masked_columns"]), (&json!("deny"), &json!([])), "{judged}");
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 3);
    world.stop().await;
}

#[tokio::test]
async fn nobody_comes_in_without_a_key_and_no_page_under_another_name() {
    let world = world().await;
    let router = router(&world);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for path in ["/mcp", "/v1/query/arrow"] {
        for (key, code) in [("", "SVC_ERR_401_MISSING_AUTH"), ("svc_test_x", "SVC_ERR_401_INVALID_KEY")] {
            let response = post(&router, path, key, &[], &list).await;
            assert_eq!((response.status().as_u16(), response.headers().contains_key("www-authenticate")), (401, true));
            assert!(response.headers().contains_key("x-request-id"));
            assert!(as_json(response).await.to_string().contains(code), "{path}");
        }
    }
    for (name, value, status) in [
        ("origin", "https://evil.example", 403),
        ("origin", "http://localhost:3000", 200),
        ("accept", "text/html", 406),
        ("content-type", "text/plain", 415),
    ] {
        let response = post(&router, "/mcp", demo_key(), &[(name, value)], &list).await;
        assert_eq!(response.status(), status, "{name}: {value}");
        let answer = as_json(response).await;
        assert_eq!(answer["error"]["code"] == -32_600, status != 200, "{name}: {value}: {answer}");
    }
    let elsewhere = Request::post("/mcp").header("host", "evil.example").header("content-type", "application/json");
    let elsewhere = elsewhere.header("apikey", demo_key()).body(Body::from(list.to_string())).unwrap();
    assert_eq!(router.clone().oneshot(elsewhere).await.unwrap().status(), 403);
    world.stop().await;
}

#[tokio::test]
async fn what_is_not_one_message_is_answered_in_json_rpc() {
    let world = world().await;
    let router = router(&world);
    for (body, code) in [(json!([]), -32_600), (json!("x"), -32_600)] {
        let answer = as_json(post(&router, "/mcp", demo_key(), &[], &body).await).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    for params in [
        json!({"name": "no_such_tool", "arguments": {}}),
        json!({"name": "run_sql", "arguments": "{\"sql\": \"select 1\"}"}),
        json!({"arguments": {}}),
    ] {
        let refused = rpc(&router, demo_key(), "tools/call", params).await;
        assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    }
    for method in ["prompts/list", "resources/list", "resources/templates/list", "no/such/method"] {
        let refused = rpc(&router, demo_key(), method, json!({})).await;
        assert_eq!(refused["error"]["code"], -32_601, "{method}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("method not found: {method}")), "{message}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_batch_is_answered_in_one_array_and_an_event_stream_to_who_takes_that_alone() {
    let world = world().await;
    let router = router(&world);
    let call = |id: i32, sql: &str| {
        let params = json!({"name": "run_sql_readonly", "arguments": {"sql": sql}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let batch = json!([call(1, "select 1 as a"), told, json!("x"), call(2, "select 2 as a")]);
    let answers = as_json(post(&router, "/mcp", demo_key(), &[], &batch).await).await;
    let ids: Vec<_> = answers.as_array().unwrap().iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1), Value::Null, json!(2)], "{answers}");
    assert_eq!(answers[2]["result"]["structuredContent"]["rows"], json!([{"a": 2}]));
    let silent = post(&router, "/mcp", demo_key(), &[], &json!([told])).await;
    assert_eq!((silent.status().as_u16(), whole(silent).await.0.len()), (202, 0));

    let streamed =
        post(&router, "/mcp", demo_key(), &[("accept", "text/event-stream")], &call(3, "select 3 as a")).await;
    assert_eq!(streamed.headers()["content-type"], "text/event-stream");
    let text = String::from_utf8(whole(streamed).await.0).unwrap();
    let data = text.strip_prefix("event: message\ndata: ").and_then(|rest| rest.strip_suffix("\n\n")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(data).unwrap()["id"], 3);
    world.stop().await;
}

#[tokio::test]
async fn a_small_arrow_answer_has_exact_headers_and_a_large_one_trailers() {
    let world = world().await;
    let router = router(&world);
    for (rows, in_headers) in [(3, true), (1_000_000, false)] {
        let body = json!({"sql": format!("select range as n from range({rows})")});
        let response = post(&router, "/v1/query/arrow", demo_key(), &[], &body).await;
        assert_eq!(response.headers()["content-type"], "application/vnd.apache.arrow.stream");
        assert_eq!(response.headers()["x-cache-hit"], "false");
        let headers = response.headers().clone();
        let (stream, trailers) = whole(response).await;
        let told = if in_headers { headers } else { trailers };
        assert_eq!(told["x-rows-affected"], rows.to_string());
        assert!(told.contains_key("x-execution-time-ms"));
        let batches = StreamReader::try_new(stream.as_slice(), None).unwrap().map(Result::unwrap);
        assert_eq!(batches.map(|batch| batch.num_rows()).sum::<usize>(), rows);
    }
    assert_eq!(world.last().0.origin.as_str(), "arrow");
    world.stop().await;
}

#[tokio::test]
async fn a_long_arrow_answer_has_the_values_of_all_its_rows() {
    let world = world().await;
    let router = router(&world);
    let sql = "select range as n, 'row ' || range as t, case when range % 2 = 0 then range end as e from range(300000)";
    let response = post(&router, "/v1/query/arrow", demo_key(), &[], &json!({"sql": sql})).await;
    let (stream, _) = whole(response).await;
    let mut expected = 0_i64;
    for batch in StreamReader::try_new(stream.as_slice(), None).unwrap() {
        let batch = batch.unwrap();
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        let (texts, even) = (batch.column(1).as_string::<i32>(), batch.column(2).as_primitive::<Int64Type>());
        for (row, number) in numbers.iter().enumerate() {
            assert_eq!((number, texts.value(row)), (Some(expected), format!("row {expected}").as_str()));
            assert_eq!(even.is_valid(row), expected % 2 == 0, "{expected}");
            expected += 1;
        }
    }
    assert_eq!(expected, 300_000);
    world.stop().await;
}

#[tokio::test]
async fn errors_of_the_arrow_route_are_body_three() {
    let world = world().await;
    let router = router(&world);
    let router = &router;
    let refused =
        |body: Value| async move { as_json(post(router, "/v1/query/arrow", demo_key(), &[], &body).await).await };
    let cases = [
        (json!({"sql": "slct"}), "SVC_ERR_400_BAD_SQL"),
        (json!({"sql": "select 1", "timeout_ms": 0}), "SVC_ERR_400_INVALID_PARAMS"),
        (json!({"sql": "select 1", "format": "arrow"}), "SVC_ERR_400_INVALID_PARAMS"),
        (json!({"sql": "select cast('x' as integer)"}), "SVC_ERR_400_BAD_SQL"),
    ];
    for (body, code) in cases {
        let error = refused(body.clone()).await;
        assert_eq!(error["error"], code, "{body}");
        assert_eq!(error.as_object().unwrap().keys().collect::<Vec<_>>(), ["error", "message"]);
    }
    world.change(|rules| rules.organization.tier = contract::Tier::Growth);
    assert_eq!(refused(json!({"sql": "select 1"})).await["error"], "FORBIDDEN");
    world.stop().await;
}

#[tokio::test]
async fn the_health_of_the_port_needs_no_key() {
    let world = world().await;
    let router = router(&world);
    for path in ["/health", "/ready"] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        assert_eq!(router.clone().oneshot(request).await.unwrap().status(), 200, "{path}");
    }
    let request = Request::get("/nothing").body(Body::empty()).unwrap();
    assert_eq!(router.clone().oneshot(request).await.unwrap().status(), 404);
    world.stop().await;
}

#[tokio::test]
async fn an_agent_that_a_header_declares_is_bounded() {
    let world = world().await;
    let router = router(&world);
    let long = "x".repeat(257);
    let before = world.entries().len();
    for header in ["x-agent-id", "x-agent-framework"] {
        for bad in ["", "a\tb", &long] {
            let body = json!({"sql": "select 1"});
            let refused = post(&router, "/v1/query/arrow", demo_key(), &[(header, bad)], &body).await;
            assert_eq!(refused.status(), 400, "{header}: {bad:?}");
            let told = as_json(refused).await;
            assert!(told["message"].as_str().is_some_and(|message| message.contains(header)), "{told}");
        }
    }
    assert_eq!(world.entries().len(), before);
    world.stop().await;
}
