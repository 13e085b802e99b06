// node-postgres: `node driver.cjs <check>` does one check of the matrix and ends with 0 when it holds.
"use strict";

const assert = require("node:assert/strict");
const pg = require("pg");
const Cursor = require("pg-cursor");

const URL = process.env.SLUICE_PSQL;
const ROWS = 10_000;

// Dates and times as they are written: what they mean in this process's zone is not the server's affair.
for (const oid of [1082, 1083, 1114]) pg.types.setTypeParser(oid, (text) => text);

const TYPES = {
  yes: ["boolean", true],
  small: ["smallint", -32768],
  whole: ["integer", 2147483647],
  big: ["bigint", "-9223372036854775808"],
  exact: ["decimal(38,4)", "1234567890123456789012345678901234.5678"],
  double: ["double", 0.1],
  word: ["varchar", "it's \"quoted\" \\ and ünïcödé 🦆"],
  day: ["date", "2024-02-29"],
  clock: ["time", "23:59:59.999999"],
  moment: ["timestamp", "2024-02-29 12:34:56.789012"],
  instant: ["timestamptz", new Date("2024-02-29T12:34:56.789Z")],
  id: ["uuid", "8c7a2e0e-6f0b-4d3a-9d52-0c1d2e3f4a5b"],
  bytes: ["blob", Buffer.from([0, 1, 254, 255])],
  numbers: ["integer[]", [1, null, 3]],
  words: ["varchar[]", ["a", "b, \"c\"", null]],
  nothing: ["integer", null],
};

const checks = {
  async types(client) {
    const names = Object.keys(TYPES);
    const columns = names.map((name) => `${name} ${TYPES[name][0]}`).join(", ");
    const places = names.map((_, at) => `$${at + 1}`).join(", ");
    await client.query(`create or replace table node_types (${columns})`);
    const written = await client.query(`insert into node_types values (${places})`, names.map((name) => TYPES[name][1]));
    assert.deepEqual([written.command, written.rowCount], ["INSERT", 1]);
    const { rows } = await client.query("select * from node_types");
    for (const name of names) assert.deepEqual(rows[0][name], TYPES[name][1], name);
    await client.query("drop table node_types");
  },

  async parameters(client) {
    const named = { name: "by key", text: "select c_name from customer where c_custkey = $1" };
    for (let key = 1; key < 8; key += 1) {
      const { rows } = await client.query({ ...named, values: [key] });
      assert.equal(rows[0].c_name, `Customer#${String(key).padStart(9, "0")}`);
    }
    const listed = await client.query("select count(*)::int as n from nation where n_regionkey = any($1)", [[1, 2]]);
    assert.equal(listed.rows[0].n, 10);
    const both = await client.query("select 1 as one; select 2 as two");
    assert.deepEqual(both.map(({ rows }) => rows[0]), [{ one: 1 }, { two: 2 }]);
  },

  async errors(client) {
    const refused = async (sql, expected) => {
      const error = await client.query(sql).then(() => null, (error) => error);
      assert.deepEqual([error?.code, error?.detail], expected, sql);
    };
    await refused("select * from no_such_table", ["42P01", "SVC_ERR_404_TABLE_NOT_FOUND"]);
    await refused("slct 1", ["42601", "SVC_ERR_400_BAD_SQL"]);
    await refused("select * from read_csv('/etc/passwd')", ["0A000", "TRANSPILATION_ERROR"]);
    await refused({ text: "select cast($1 as integer)", values: ["x"] }, ["22P02", "SVC_ERR_400_BAD_SQL"]);
    assert.deepEqual((await client.query("select 1 as one")).rows, [{ one: 1 }]);
  },

  async cancel(client) {
    const slow = "select count(*) from lineitem a, lineitem b where a.l_comment < b.l_comment";
    let query;
    const ended = new Promise((done) => {
      query = new pg.Query(slow, (error) => done(error));
    });
    client.query(query);
    // A request travels on a connection of its own; it is repeated until it has met the statement.
    const timer = setInterval(() => new pg.Client(URL).cancel(client, query), 100);
    const error = await ended;
    clearInterval(timer);
    assert.equal(error?.code, "57014");
    assert.deepEqual((await client.query("select 2 as two")).rows, [{ two: 2 }]);
  },

  async transactions(client) {
    await client.query("begin");
    await client.query("create table node_rolled_back (n integer)");
    await client.query("rollback");
    const gone = await client.query("select * from node_rolled_back").then(() => null, (error) => error);
    assert.equal(gone?.code, "42P01");
  },

  async "many rows"(client) {
    const sql = `select range as n, 'row ' || range as what from range(${ROWS}) where range < $1`;
    const { rows } = await client.query(sql, [ROWS]);
    assert.deepEqual([rows.length, rows[ROWS - 1]], [ROWS, { n: String(ROWS - 1), what: `row ${ROWS - 1}` }]);
    await client.query("begin");
    const cursor = client.query(new Cursor(sql, [ROWS]));
    let read = 0;
    for (let some = await cursor.read(999); some.length > 0; some = await cursor.read(999)) read += some.length;
    await cursor.close();
    await client.query("commit");
    assert.equal(read, ROWS);
  },
};

async function main() {
  const check = checks[process.argv[2]];
  assert.ok(check, `no check ${process.argv[2]}; there are: ${Object.keys(checks).join(", ")}`);
  const client = new pg.Client(URL);
  await client.connect();
  await check(client);
  await client.end();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
