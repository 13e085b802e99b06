"""An MCP client lists and calls the tools, by the handshake of old and by the protocol without one.

The client checks each structured result against the schema that the tool was listed with.
"""

import asyncio
import base64
import json
import os
import urllib.error
import urllib.request
import uuid

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

URL = os.environ.get("SLUICE_MCP_URL", "")


def with_client(key, act, mode="auto", header="Authorization", scheme="ApiKey "):
    async def connected():
        async with create_mcp_http_client(headers={header: scheme + key}) as http:
            async with Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
                return await act(client)

    return asyncio.run(connected())


def call(platform, name, credential=None, **arguments):
    async def act(client):
        return await client.call_tool(name, arguments)

    return with_client(credential or platform.key, act)


def done(platform, name, **arguments):
    result = call(platform, name, **arguments)
    assert not result.is_error, result.content
    return result.structured_content


def refusal(result):
    """Body 2: the last text of an error, which has no structure."""
    assert result.is_error and result.structured_content is None
    return json.loads(result.content[-1].text)["error"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("header, scheme", [
    ("Authorization", "ApiKey "), ("Authorization", "Bearer "), ("ApiKey", ""), ("X-API-Key", "")])
def test_every_tool_is_listed_with_its_schemas(platform, mode, header, scheme):
    async def act(client):
        return client.protocol_version, (await client.list_tools()).tools

    version, tools = with_client(platform.key, act, mode, header, scheme)
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert {tool.name for tool in tools} == set(TOOLS) and len(tools) == 24
    for tool in tools:
        assert tool.description and tool.input_schema["type"] == "object" and tool.output_schema["type"] == "object"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_that_only_speaks_over_standard_input_is_bridged(platform, mode):
    program = os.path.join(os.environ["CARGO_TARGET_DIR"], "debug", "sluice")
    known = {name: os.environ[name] for name in ["LD_LIBRARY_PATH", "SLUICE_URL", "SLUICE_ENV_ID"]}
    bridge = StdioServerParameters(command=program, args=["mcp"], env={**known, "SLUICE_KEY": platform.key})

    async def bridged():
        async with Client(bridge, mode=mode) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            return client.protocol_version, names, await client.call_tool("run_sql", {"sql": "select 42 as answer"})

    version, names, result = asyncio.run(bridged())
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert "store_memory" in names and result.structured_content["rows"] == [{"answer": 42}]


def test_rows_come_structured_and_as_text(platform):
    result = call(platform, "run_sql", sql="select c_custkey, c_name, c_acctbal from customer where c_custkey = $1", params=[1])
    rows = [{"c_custkey": 1, "c_name": "Customer#000000001", "c_acctbal": 711.56}]
    assert result.structured_content["rows"] == rows
    assert json.loads(result.content[0].text) == rows
    assert result.content[1].text == "rows: 1, the whole answer"
    entry = platform.audit_entry(result.structured_content["query_id"])
    assert entry["tables_accessed"] == ["main.customer"] and entry["rows_returned"] == 1


def test_an_arrow_result_is_a_stream_that_arrow_reads(platform):
    result = done(platform, "run_sql_arrow", sql="select r_regionkey, r_name from region order by 1")
    stream = base64.b64decode(result["data"])
    assert (result["format"], result["rows"]) == ("arrow_ipc_base64", 5)
    assert stream[:4] == b"\xff\xff\xff\xff" and b"r_name" in stream


def test_masks_and_scopes_hold_for_tools(platform):
    rules = [{"table": "customer", "column": "c_phone", "function": "full", "exempt_roles": ["owner"]}]
    with platform.analyst({}) as key, platform.policies(("column_masking", rules)):
        result = call(platform, "run_sql", credential=key, sql="select c_phone from customer limit 1")
        assert result.structured_content["rows"] == [{"c_phone": "***"}]
        described = call(platform, "describe_table", credential=key, table_name="customer").structured_content
        assert [c["column_name"] for c in described["columns"] if c["masked"]] == ["c_phone"]
        for name, arguments, code in [("run_sql", {"sql": "drop table customer"}, "SVC_ERR_403_SCOPE_VIOLATION"),
                                      ("search_memory", {"query": "anything"}, "SVC_ERR_403_SCOPE_VIOLATION")]:
            refused = call(platform, name, credential=key, **arguments)
            assert refusal(refused)["code"] == code


def test_a_result_is_no_more_than_a_model_reads_and_says_what_is_missing(platform):
    sql = "select * from customer order by c_custkey"
    result = call(platform, "run_sql", sql=sql, max_rows=10000)
    shown = len(result.structured_content["rows"])
    assert result.structured_content["truncated"] and 50 < shown < 1000
    assert max(len(json.dumps(result.structured_content)), len(result.content[0].text)) < 60_000
    assert result.content[1].text.startswith(f"rows: the first {shown} of 10000 and more, one result has no room for more")
    entry = platform.audit_entry(result.structured_content["query_id"])
    assert (entry["outcome"], entry["rows_returned"]) == ("completed", shown)
    cursor = result.structured_content["next_cursor"]
    behind = done(platform, "run_sql", sql=sql, max_rows=10000, cursor=cursor)["rows"]
    assert [row["c_custkey"] for row in behind] == list(range(shown + 1, shown + 1 + len(behind))) and len(behind) > 50
    other = call(platform, "run_sql", sql="select * from nation", cursor=cursor)
    assert refusal(other)["details"] == {"field": "cursor"}


def test_what_exists_is_listed_and_described(platform):
    listed = done(platform, "list_tables", like="cust%", include_columns=True)
    assert [(t["table_name"], len(t["columns"])) for t in listed["tables"]] == [("customer", 8)]
    described = done(platform, "describe_table", table_name="region", sample_rows=2)
    assert described["row_estimate"] == 5 and len(described["sample"]) == 2
    judged = done(platform, "enforce_abac_policy", query="select * from customer")
    assert judged["decision"] == "allow"


def test_a_memory_is_stored_found_and_forgotten(platform):
    namespace = str(uuid.uuid4())
    stored = done(platform, "store_memory", content="the north region prefers invoices by mail", memory_key="north", namespace=namespace)
    found = done(platform, "search_memory", query="how are invoices sent?", namespace=namespace)
    assert [hit["memory_id"] for hit in found["results"]] == [stored["memory_id"]]
    assert done(platform, "load_memory_exact", key="north", namespace=namespace)["content"].startswith("the north")
    assert len(done(platform, "list_memories", namespace=namespace)["memories"]) == 1
    assert done(platform, "delete_memory", memory_id=stored["memory_id"], mode="forget")["deleted"]
    assert call(platform, "load_memory_exact", key="north", namespace=namespace).is_error


def test_a_session_of_reasoning_is_a_chain(platform):
    session = str(uuid.uuid4())
    for step in ["looked at orders", "decided to refund"]:
        done(platform, "log_reasoning_step", session_id=session, content=step, input={"n": 1.5})
    told = done(platform, "replay_decision", session_id=session, verify_chain=True)
    assert told["chain_valid"] and [step["content"] for step in told["steps"]] == ["looked at orders", "decided to refund"]
    assert session in [listed["session_id"] for listed in done(platform, "get_session_history")["sessions"]]


TOOLS = {
    "run_sql": {"sql": "select 1"},
    "run_sql_readonly": {"sql": "select r_name from region where semantic_match(r_comment, 'furiously')"},
    "run_sql_arrow": {"sql": "select 1"},
    "list_tables": {},
    "describe_table": {"table_name": "region"},
    "register_agent": {"agent_id": "caller", "framework": "python", "capabilities": ["calling"]},
    "enforce_abac_policy": {"table": "region"},
    "store_memory": {"content": "said by the caller of all tools", "memory_key": "all-tools"},
    "search_memory": {"query": "who called all tools?"},
    "load_memory_exact": {"key": "all-tools"},
    "list_memories": {},
    "delete_memory": {"memory_id": lambda done: done["store_memory"]["memory_id"], "mode": "forget"},
    "log_reasoning_step": {"session_id": "all-tools", "content": "I call each of them once"},
    "replay_decision": {"session_id": "all-tools", "verify_chain": True},
    "get_session_history": {},
    "register_trigger": {"name": "all-tools", "concept": "somebody calls all tools"},
    "list_triggers": {},
    "evaluate_triggers": {"content": "somebody calls all tools"},
    "delete_trigger": {"trigger_id": lambda done: done["register_trigger"]["trigger_id"]},
    "create_branch": {"tables": ["region"]},
    "branch_query": {"branch_id": lambda done: done["create_branch"]["branch_id"],
                     "sql": "update region set r_comment = 'seen' where r_regionkey = 0"},
    "branch_list": {},
    "merge_branch": {"branch_id": lambda done: done["create_branch"]["branch_id"], "dry_run": True},
    "discard_branch": {"branch_id": lambda done: done["create_branch"]["branch_id"]},
}


def test_every_tool_answers_in_the_shape_it_was_listed_with(platform):
    """In the order of the list; what a tool needs of an earlier one is taken from its answer."""
    async def act(client):
        done = {}
        for tool in (await client.list_tools()).tools:
            given = TOOLS[tool.name].items()
            result = await client.call_tool(tool.name, {name: v(done) if callable(v) else v for name, v in given})
            assert not result.is_error, (tool.name, result.content)
            done[tool.name] = result.structured_content
        return done

    done = with_client(platform.key, act)
    assert (done["register_agent"]["registration_source"], done["register_agent"]["status"]) == ("mcp", "active")
    assert done["replay_decision"]["chain_valid"] and done["evaluate_triggers"]["results"][0]["matched"]
    assert done["create_branch"]["warnings"] == [], "the demo's tables have keys"
    assert done["merge_branch"]["tables_merged"] == ["main.region"] and done["discard_branch"]["discarded"]


def posted(path, body, key):
    headers = {"authorization": "Bearer " + key, "content-type": "application/json"}
    return urllib.request.Request(URL.replace("/mcp", path), method="POST", data=json.dumps(body).encode(), headers=headers)


def test_a_wrong_key_is_not_let_in(platform):
    for path in ["/mcp", "/v1/query/arrow"]:
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(posted(path, {"sql": "select 1"}, platform.key[:-1] + "!"), timeout=60)
        assert raised.value.code == 401 and b"SVC_ERR_401_INVALID_KEY" in raised.value.read()


def test_the_raw_arrow_route_streams(platform):
    request = posted("/v1/query/arrow", {"sql": "select * from nation order by 1"}, platform.key)
    with urllib.request.urlopen(request, timeout=60) as reply:
        assert reply.headers["x-rows-affected"] == "25" and reply.headers["x-cache-hit"] == "false"
        assert b"n_name" in reply.read()
