// The official MCP client of TypeScript: `node tools.cjs <check>` does one check and ends with 0 when it holds.
// It holds each structured result against the schema that the tool was listed with, and throws where it does not fit.
"use strict";

const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const HEADERS = { Authorization: `ApiKey ${process.env.SLUICE_KEY}` };
const CUSTOMERS = "select c_custkey, c_name, c_address, c_comment from customer where c_custkey <= 700 order by c_custkey";

// A client whose requests pass through `send`, which may change them.
async function connected(send = fetch) {
  const client = new Client({ name: "blackbox", version: "1.0.0" });
  const options = { requestInit: { headers: HEADERS }, fetch: send };
  const transport = new StreamableHTTPClientTransport(new URL(process.env.SLUICE_MCP_URL), options);
  await client.connect(transport);
  return { client, transport };
}

async function done(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError ?? false, false, `${name}: ${JSON.stringify(result.content)}`);
  return result.structuredContent;
}

// The names of the tools that say they only read.
async function readers(client) {
  const { tools } = await client.listTools();
  return tools.filter((tool) => tool.annotations.readOnlyHint).map((tool) => tool.name);
}

const checks = {
  async list() {
    const { client } = await connected();
    const { tools } = await client.listTools();
    assert.equal(tools.length, 24);
    for (const { name, description, inputSchema, outputSchema, annotations } of tools) {
      assert.ok(description.length > 20 && typeof annotations.readOnlyHint === "boolean", name);
      assert.deepEqual([inputSchema.type, outputSchema.type], ["object", "object"], name);
    }
    assert.deepEqual(client.getServerVersion().name, "sluice");
    assert.match(client.getInstructions(), /Snowflake/);
    await client.close();
  },

  async reads() {
    const { client } = await connected();
    const mark = randomUUID();
    await done(client, "store_memory", { content: "written in TypeScript", memory_key: mark, namespace: mark });
    await done(client, "log_reasoning_step", { session_id: mark, content: "called each tool that reads" });
    const calls = {
      run_sql_readonly: { sql: "select r_name from region order by 1" },
      run_sql_arrow: { sql: "select r_name from region order by 1" },
      list_tables: { include_columns: true },
      describe_table: { table_name: "region", sample_rows: 2 },
      enforce_abac_policy: { query: "select * from region" },
      search_memory: { query: "who wrote it?", namespace: mark },
      load_memory_exact: { key: mark, namespace: mark },
      list_memories: { namespace: mark },
      replay_decision: { session_id: mark, verify_chain: true },
      get_session_history: {},
      list_triggers: {},
      branch_list: {},
    };
    assert.deepEqual((await readers(client)).sort(), Object.keys(calls).sort());
    const told = {};
    for (const [name, args] of Object.entries(calls)) told[name] = await done(client, name, args);
    assert.equal(told.run_sql_readonly.rows.length, 5);
    assert.equal(told.load_memory_exact.content, "written in TypeScript");
    assert.equal(told.replay_decision.chain_valid, true);
    await client.close();
  },

  // What one result has no room for comes by its cursor: all rows, each once.
  async pages() {
    const { client } = await connected();
    const keys = [];
    let cursor;
    let pages = 0;
    do {
      const page = await done(client, "run_sql_readonly", { sql: CUSTOMERS, ...(cursor ? { cursor } : {}) });
      keys.push(...page.rows.map((row) => row.c_custkey));
      cursor = page.next_cursor;
      pages += 1;
    } while (cursor);
    assert.deepEqual(keys, Array.from({ length: 700 }, (_, at) => at + 1));
    assert.ok(pages > 1, `${pages} pages`);
    await client.close();
  },

  async errors() {
    const { client } = await connected();
    await client.listTools(); // from here on it knows the schemas
    const refused = async (name, args) => {
      const result = await client.callTool({ name, arguments: args });
      assert.ok(result.isError && result.structuredContent === undefined, JSON.stringify(result));
      const { error } = JSON.parse(result.content.at(-1).text);
      assert.ok(result.content[0].text.includes(error.message), result.content[0].text);
      return error;
    };
    const missing = await refused("run_sql", { sql: "select * from custommer" });
    assert.equal(missing.code, "SVC_ERR_404_TABLE_NOT_FOUND");
    assert.match(missing.message, /did you mean main\.customer\?/);
    const column = await refused("run_sql_readonly", { sql: "select no_such_column from region" });
    assert.ok(column.details.columns.includes("r_name"), JSON.stringify(column));
    assert.equal((await refused("run_sql_readonly", { sql: "drop table region" })).code, "SVC_ERR_403_SCOPE_VIOLATION");
    assert.equal((await refused("run_sql", { sql: 1 })).details.field, "sql");
    assert.equal((await refused("run_sql", { sql: "select 1", cursor: "x" })).details.field, "cursor");
    const unknown = await client.callTool({ name: "no_such_tool", arguments: {} }).then(() => null, (error) => error);
    assert.equal(unknown.code, -32602);
    assert.match(unknown.message, /no_such_tool/);
    await client.close();
  },

  // As behind a gateway that asks for nothing but an event stream.
  async events() {
    const kinds = new Set();
    const { client } = await connected(async (url, init) => {
      const headers = new Headers(init.headers);
      if (init.method === "POST") headers.set("accept", "text/event-stream");
      const response = await fetch(url, { ...init, headers });
      if (response.status === 200) kinds.add(response.headers.get("content-type").split(";")[0]);
      return response;
    });
    assert.equal((await client.listTools()).tools.length, 24);
    assert.deepEqual((await done(client, "run_sql", { sql: "select 42 as answer" })).rows, [{ answer: 42 }]);
    assert.deepEqual([...kinds], ["text/event-stream"]);
    await client.close();
  },

  // As by a client of an older revision, of each that is still spoken.
  async older() {
    for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18"]) {
      const { client, transport } = await connected((url, init) => {
        const asked = init.method === "POST" ? JSON.parse(init.body) : {};
        if (asked.method !== "initialize") return fetch(url, init);
        asked.params.protocolVersion = revision;
        return fetch(url, { ...init, body: JSON.stringify(asked) });
      });
      assert.equal(transport.protocolVersion, revision);
      assert.equal((await client.listTools()).tools.length, 24);
      assert.deepEqual((await done(client, "run_sql", { sql: "select 42 as answer" })).rows, [{ answer: 42 }]);
      await client.close();
    }
  },
};

async function main() {
  const check = checks[process.argv[2]];
  assert.ok(check, `no check ${process.argv[2]}; there are: ${Object.keys(checks).join(", ")}`);
  await check();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
