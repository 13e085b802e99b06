"""`hatidata-agent` as it comes from PyPI, method by method: a client for agents that others have written.

Left out are what fails in the package itself, before or without asking a platform:
`ControlPlaneClient` before `login()` (it asks for an organization without a name), `HatiDataAgent.set_state` and the
tool `set_agent_state` (`IndexError`), and a hybrid query without a cloud key.
"""

import json
import os
import subprocess
import sys
import uuid

import psycopg2
import pytest
import requests
from hatidata_agent import ControlPlaneClient, HatiDataAgent
from hatidata_agent.langchain import HatiDataSQLDatabase

# What the package makes for itself over SQL.
SCHEMAS = ["_hatidata_memory_local", "_hatidata_cot_local", "_hatidata_triggers_local"]


@pytest.fixture(scope="module")
def cp(platform):
    return ControlPlaneClient(base_url=platform.url, api_key=platform.key, org_id=platform.org)


@pytest.fixture(scope="module")
def wire(platform):
    return {"host": platform.place.hostname, "port": platform.place.port, "password": platform.key}


@pytest.fixture(scope="module")
def agent(wire):
    with HatiDataAgent(agent_id="sdk-agent", framework="custom", **wire) as agent:
        yield agent
        for schema in SCHEMAS:
            agent.execute(f'drop schema if exists "{schema}" cascade')


# --- the control plane ---

def test_who_signs_in_is_in_their_organization(platform):
    person = ControlPlaneClient(base_url=platform.url, email=os.environ["SLUICE_OWNER_EMAIL"],
                                password=os.environ["SLUICE_OWNER_PASSWORD"])
    assert person.health_check()
    assert person.login()["org"]["id"] == platform.org == person.org_id
    assert isinstance(person.list_memories(), list) and isinstance(person.list_branches(), list)


def test_memories(cp):
    name = f"sdk-{uuid.uuid4()}"
    kept = cp.create_memory(agent_id=name, content="the user prefers dark mode")
    assert [memory["id"] for memory in cp.list_memories(agent_id=name)] == [kept["id"]]
    assert cp.list_memories(agent_id=name, memory_type="fact") == []
    assert kept["id"] in [memory["id"] for memory in cp.list_memories()]
    assert cp.search_memory("dark mode preferred", agent_id=name, top_k=3)[0]["id"] == kept["id"]
    assert cp.embedding_stats()["ready"] >= 1
    assert cp.delete_memory(kept["id"])["deleted"]


def test_triggers(cp):
    made = cp.create_trigger(name=f"sdk-{uuid.uuid4()}", concept="personal data exposure", threshold=0.5)
    assert made["id"] in [trigger["id"] for trigger in cp.list_triggers()]
    assert cp.test_trigger(made["id"], "personal data exposure")["would_fire"]
    assert cp.delete_trigger(made["id"])["deleted"]


def test_branches(cp, platform):
    branch = cp.create_branch(agent_id="sdk-agent", tables=["region"], description="from outside")
    one = branch["id"]
    assert cp.get_branch(one)["description"] == "from outside"
    assert one in [listed["id"] for listed in cp.list_branches()]
    assert cp.branch_diff(one)["tables"]["main.region"] == {"added": 0, "changed": 0, "deleted": 0}
    assert cp.branch_conflicts(one)["has_conflicts"] is False
    cost = cp.branch_cost(one)
    assert (cost["storage_rows"], cost["tables"]) == (10, {"main.region": {"rows": 5, "base_rows": 5}})
    analytics = cp.branch_analytics()
    assert analytics["by_status"]["active"] >= 1 and analytics["by_agent"]["sdk-agent"] >= 1
    assert cp.merge_branch(one)["status"] == "merged"
    assert cp.discard_branch(cp.create_branch(agent_id="sdk-agent", tables=["nation"])["id"])["discarded"]


def test_reasoning(cp, platform):
    session, traces = cp.build_cot_session("sdk-agent", platform.org, [
        {"type": "Thought", "content": {"text": "look at regions"}},
        {"type": "ToolCall", "content": {"tool": "sql", "query": "select 1"}}])
    ids = [trace["trace_id"] for trace in traces]
    assert cp.ingest_cot(traces) == {"ingested": 2, "trace_ids": ids}
    assert cp.ingest_cot(traces)["ingested"] == 0
    assert session in [listed["session_id"] for listed in cp.list_cot_sessions()]
    told = cp.replay_cot(session)
    assert (told["total_steps"], [step["trace_id"] for step in told["steps"]]) == (2, ids)
    assert json.loads(told["steps"][0]["content"]) == {"text": "look at regions"}
    verified = cp.verify_cot(session)
    assert verified["chain_valid"] and verified["invalid_hashes"] == []


def test_roles_for_a_while(cp, platform):
    with platform.analyst({}) as key:
        analyst = ControlPlaneClient(base_url=platform.url, api_key=key, org_id=platform.org)
        asked = analyst.request_jit("developer", "fix the nightly load", duration_hours=2)
        assert (asked["status"], asked["duration_minutes"]) == ("pending", 120)
        assert asked["id"] in [request["id"] for request in cp.list_jit_grants()]
        with pytest.raises(requests.HTTPError, match="403"):
            analyst.list_jit_grants()


def test_keys_of_agents(cp, platform, wire):
    name = f"sdk-{uuid.uuid4()}"
    made = cp.create_agent_key(name, framework="langchain", description="counts regions", plan=None,
                               allowed_schemas=["sdk_none"], allowed_tables=["region"], expires_in_days=1)
    one = made["id"]
    try:
        assert (made["agent_name"], made["status"], made["allowed_tables"]) == (name, "active", ["region"])
        with HatiDataAgent(**{**wire, "password": made["raw_key"]}, agent_id=name, framework="langchain") as bound:
            assert bound.query("select count(*) as n from region") == [{"n": 5}]
            with pytest.raises(psycopg2.Error):
                bound.query("select count(*) from nation")
        assert one in [key["id"] for key in cp.list_agent_keys()]
        assert "raw_key" not in cp.get_agent_key(one) and cp.get_agent_key(one)["effective_limits"]
        changed = cp.update_agent_key(one, agent_name="Regions", description="more", allowed_schemas=[],
                                      allowed_tables=["region", "nation"])
        assert (changed["agent_name"], changed["allowed_tables"]) == ("Regions", ["nation", "region"])
        rotated = cp.rotate_agent_key(one)
        assert (rotated["old_key_id"], rotated["grace_period_hours"]) == (one, 72)
        with HatiDataAgent(**{**wire, "password": rotated["new_key"]}, agent_id=name, framework="langchain") as bound:
            assert bound.query("select count(*) as n from nation") == [{"n": 25}]
        # counted when it begins, and charged when it has ended
        platform.wait(lambda: (used := cp.get_agent_key_usage(one))["total_queries"] >= 2 and used["total_credits"] > 0)
        assert cp.get_agent_key_branch_usage(one)["total"] == 0
    finally:
        assert cp.revoke_agent_key(one)["revoked"]


# --- SQL ---

def test_statements(agent):
    assert agent.query("select 1 as one", request_id="req-1") == [{"one": 1}]
    assert agent.query("select r_name from region where r_regionkey = %s", (2,)) == [{"r_name": "ASIA"}]
    agent.execute("create table sdk_numbers (n integer)")
    try:
        assert agent.execute("insert into sdk_numbers values (%s), (%s)", (1, 2)) == 2
    finally:
        agent.execute("drop table sdk_numbers")
    with agent.reasoning_chain("req-2", parent_request_id="req-1") as chain:
        assert chain.query("select 2 as two", step=1) == [{"two": 2}]


def test_memories_over_sql(agent):
    kept = agent.store_memory("invoices leave on friday", metadata={"by": "sdk"}, importance=0.9)
    assert kept in [memory["memory_id"] for memory in agent.search_memory("when do invoices leave", min_importance=0.5)]
    assert agent.delete_memory(kept) and not agent.delete_memory(kept)
    assert agent.get_state("nothing") is None


def test_context_by_words_and_by_vectors(agent):
    assert "ASIA" in [row["r_name"] for row in agent.get_context("region", "Asia", top_k=5)]
    assert set(agent.get_context("main.nation", "france")[0]) == {"n_nationkey", "n_name", "n_regionkey", "n_comment"}
    agent.execute("create table sdk_docs as select 1 as id, [1.0, 0.0]::vector(float, 2) as v "
                  "union all select 2, [0.0, 1.0]::vector(float, 2)")
    try:
        found = agent.get_rag_context("sdk_docs", "v", [0.1, 0.9], top_k=2)
        assert [row["id"] for row in found] == [2, 1]
    finally:
        agent.execute("drop table sdk_docs")


def test_a_hybrid_statement_is_made_ready_first(platform, wire):
    with HatiDataAgent(cloud_key=platform.key, cloud_endpoint=platform.url, **wire) as agent:
        assert agent.query("select r_name from region where semantic_match(r_name, 'asia')") == [{"r_name": "ASIA"}]


def test_the_database_of_a_framework(wire):
    db = HatiDataSQLDatabase(include_tables=["region", "nation"], **wire)
    assert db.run("select count(*) as n from region", fetch="one") == "{'n': 5}"
    assert db.run_no_throw("select nothing").startswith("Error:")
    assert db.get_usable_table_names() == ["nation", "region"]
    assert "CREATE TABLE region" in db.get_table_info(["region"]) and "ASIA" in db.table_info


# --- the package's own tool server ---

def test_its_tool_server(wire, agent):
    calls = [
        ("query", {"sql": "select 1 as one"}), ("read_query", {"sql": "select 1 as one;"}), ("list_schemas", {}),
        ("list_tables", {"schema": "main"}), ("describe_table", {"table_name": "region"}), ("get_usage_stats", {}),
        ("store_memory", {"content": "ships on monday"}), ("search_memory", {"query": "when it ships monday"}),
        ("get_agent_state", {"key": "k"}), ("delete_memory", {"memory_id": "none"}),
        ("log_reasoning_step", {"session_id": "s", "content": "it's a step"}),
        ("replay_decision", {"session_id": "s", "verify_chain": True}), ("get_session_history", {}),
        ("register_trigger", {"name": "late", "concept": "late delivery"}), ("list_triggers", {"status": "active"}),
        ("test_trigger", {"trigger_id": "none", "content": "late"}), ("delete_trigger", {"trigger_id": "none"}),
        ("branch_create", {"name": "apart"}), ("branch_list", {}),
    ]
    told = served(wire, calls)
    assert told["query"] == told["read_query"] == [{"one": 1}] and "main" in told["list_schemas"]
    assert {"region", "nation"} <= {table["table_name"] for table in told["list_tables"]}
    assert {column["column_name"] for column in told["describe_table"]} == {"r_regionkey", "r_name", "r_comment"}
    sizes = {table["table_name"]: table for table in told["get_usage_stats"] if table["table_schema"] == "main"}
    assert (sizes["region"]["column_count"], sizes["region"]["estimated_size"]) == (3, 5)
    assert [memory["content"] for memory in told["search_memory"]] == ["ships on monday"]
    assert (told["get_agent_state"], told["delete_memory"]["deleted"]) == ({"key": "k", "value": None}, False)
    assert (told["replay_decision"]["chain_valid"], told["replay_decision"]["step_count"]) == (True, 1)
    assert [session["session_id"] for session in told["get_session_history"]] == ["s"]
    assert [trigger["name"] for trigger in told["list_triggers"]] == ["late"]
    assert told["test_trigger"]["matched"] is False and told["delete_trigger"]["deleted"]
    branch = told["branch_create"]["branch_id"]
    assert branch in [listed["branch_id"] for listed in told["branch_list"]]
    told = served(wire, [("branch_query", {"branch_id": branch, "sql": "select count(*) as n from region"}),
                         ("branch_merge", {"branch_id": branch}), ("branch_create", {})])
    assert told["branch_query"] == [{"n": 5}] and told["branch_merge"]["status"] == "completed"
    other = {"branch_id": told["branch_create"]["branch_id"]}
    assert served(wire, [("branch_discard", other)])["branch_discard"]["discarded"]


def served(wire, calls):
    """What the tools answer, by their names, over standard input and output."""
    lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}] + [
        {"jsonrpc": "2.0", "id": place, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(calls, 1)]
    command = [sys.executable, "-m", "hatidata_agent.mcp_server", "--host", wire["host"], "--port", str(wire["port"]),
               "--password", wire["password"], "--agent-id", "sdk-agent"]
    ran = subprocess.run(command, input="\n".join(map(json.dumps, lines)), capture_output=True, text=True, timeout=60)
    answers = [json.loads(line)["result"] for line in ran.stdout.splitlines()]
    assert len(answers) == len(lines), ran.stderr
    told = {}
    for (name, _), answer in zip(calls, answers[1:]):
        assert not answer.get("isError"), (name, answer)
        told[name] = json.loads(answer["content"][0]["text"])
    return told
