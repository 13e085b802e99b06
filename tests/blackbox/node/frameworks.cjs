// Query builders and mappers of Node: `node frameworks.cjs <name>` tells one tale through each and ends with 0 when it
// holds: define a table, write rows of every common type, read, change, roll back, and ask what there is.
"use strict";

const assert = require("node:assert/strict");

const URL = process.env.SLUICE_PSQL;
const ROWS = [
  { id: 1, name: "Ada", exact: "12.34", at: new Date("2024-02-29T12:34:56.789Z"), ok: true, data: { tags: ["a", "b"] } },
  { id: 2, name: "it's \"quoted\" \\ 🦆", exact: "-0.50", at: new Date("1999-12-31T23:59:59Z"), ok: false, data: [1, null] },
  { id: 3, name: "", exact: "99999999.99", at: new Date("2038-01-19T03:14:08Z"), ok: null, data: null },
];
const NAMES = ROWS.map(({ name }) => name);
const stop = new Error("roll back");

async function rolledBack(transaction) {
  await assert.rejects(transaction, stop);
}

const tales = {
  async "postgres.js"() {
    const sql = require("postgres")(URL, { max: 2, onnotice: () => {} });
    await sql`create table js_people (id integer primary key, name text, exact numeric(10,2), at timestamptz, ok boolean, data jsonb)`;
    await sql`insert into js_people ${sql(ROWS.map((row) => ({ ...row, data: row.data && sql.json(row.data) })))}`;
    assert.deepEqual([...(await sql`select * from js_people order by id`)], ROWS);
    assert.equal((await sql`select name from js_people where id in ${sql([1, 3])} order by id`).length, 2);
    assert.equal((await sql`select count(*)::int as n from js_people where id = any(${[1, 2]})`)[0].n, 2);
    assert.deepEqual([...(await sql`update js_people set ${sql({ name: "Eve" }, "name")} where id = ${2} returning name`)], [{ name: "Eve" }]);
    await rolledBack(sql.begin(async (sql) => {
      await sql`delete from js_people`;
      throw stop;
    }));
    let seen = 0;
    for await (const rows of sql`select * from customer`.cursor(1000)) seen += rows.length;
    assert.equal(seen, 15_000);
    await assert.rejects(sql`select * from no_such_table`, { code: "42P01" });
    await sql`drop table js_people`;
    await sql.end();
  },

  async kysely() {
    const { Kysely, PostgresDialect, sql } = require("kysely");
    const { Pool } = require("pg");
    const db = new Kysely({ dialect: new PostgresDialect({ pool: new Pool({ connectionString: URL, max: 2 }) }) });
    await db.schema.createTable("kysely_people")
      .addColumn("id", "serial", (column) => column.primaryKey())
      .addColumn("name", "varchar(40)", (column) => column.notNull())
      .addColumn("exact", "numeric(10, 2)")
      .addColumn("at", "timestamptz")
      .addColumn("ok", "boolean")
      .addColumn("data", "jsonb")
      .execute();
    const rows = ROWS.map(({ id, data, ...row }) => ({ ...row, data: data && JSON.stringify(data) }));
    const made = await db.insertInto("kysely_people").values(rows).returning("id").execute();
    assert.deepEqual(made, [{ id: 1 }, { id: 2 }, { id: 3 }]);
    assert.deepEqual(await db.selectFrom("kysely_people").selectAll().orderBy("id").execute(), ROWS);
    const joined = await db.selectFrom("kysely_people as a").innerJoin("kysely_people as b", "a.id", "b.id")
      .select(["a.name", sql`count(*)::int`.as("n")]).groupBy("a.name").orderBy("n").limit(1).execute();
    assert.equal(joined[0].n, 1);
    const changed = await db.updateTable("kysely_people").set({ name: "Eve" }).where("id", "in", [2, 3]).executeTakeFirst();
    assert.equal(changed.numUpdatedRows, 2n);
    await rolledBack(db.transaction().execute(async (trx) => {
      await trx.deleteFrom("kysely_people").execute();
      throw stop;
    }));
    const told = (await db.introspection.getTables()).find(({ name }) => name === "kysely_people");
    assert.deepEqual(told.columns.map(({ name, dataType, isNullable }) => [name, dataType, isNullable]).slice(0, 3),
      [["id", "int4", false], ["name", "varchar", false], ["exact", "numeric", true]]);
    await db.schema.dropTable("kysely_people").execute();
    await db.destroy();
  },

  async drizzle() {
    const { drizzle } = require("drizzle-orm/node-postgres");
    const { pgTable, serial, varchar, numeric, timestamp, boolean, jsonb } = require("drizzle-orm/pg-core");
    const { eq, asc, inArray, sql } = require("drizzle-orm");
    const { Pool } = require("pg");
    const pool = new Pool({ connectionString: URL, max: 2 });
    const db = drizzle(pool);
    const people = pgTable("drizzle_people", {
      id: serial("id").primaryKey(),
      name: varchar("name", { length: 40 }).notNull(),
      exact: numeric("exact", { precision: 10, scale: 2 }),
      at: timestamp("at", { withTimezone: true }),
      ok: boolean("ok"),
      data: jsonb("data"),
    });
    await db.execute(sql`create table "drizzle_people" ("id" serial primary key not null, "name" varchar(40) not null,
      "exact" numeric(10, 2), "at" timestamp with time zone, "ok" boolean, "data" jsonb)`);
    const made = await db.insert(people).values(ROWS.map(({ id, ...row }) => row)).returning({ id: people.id });
    assert.deepEqual(made, [{ id: 1 }, { id: 2 }, { id: 3 }]);
    assert.deepEqual(await db.select().from(people).orderBy(asc(people.id)), ROWS);
    assert.equal((await db.select().from(people).where(inArray(people.id, [1, 3]))).length, 2);
    await db.update(people).set({ name: "Eve" }).where(eq(people.id, 2));
    assert.equal((await db.select({ name: people.name }).from(people).where(eq(people.id, 2)))[0].name, "Eve");
    await rolledBack(db.transaction(async (trx) => {
      await trx.delete(people);
      throw stop;
    }));
    assert.equal(await db.$count(people), 3);
    await db.execute(sql`drop table "drizzle_people"`);
    await pool.end();
  },

  async knex() {
    const db = require("knex")({ client: "pg", connection: URL, pool: { min: 0, max: 2 } });
    await db.schema.createTable("knex_people", (table) => {
      table.increments("id");
      table.string("name", 40).notNullable();
      table.decimal("exact", 10, 2);
      table.timestamp("at");
      table.boolean("ok");
      table.jsonb("data");
    });
    const made = await db("knex_people").insert(ROWS.map(({ id, data, ...row }) => ({ ...row, data: data && JSON.stringify(data) })), "id");
    assert.deepEqual(made, [{ id: 1 }, { id: 2 }, { id: 3 }]);
    assert.deepEqual(await db("knex_people").orderBy("id"), ROWS);
    assert.deepEqual(await db("knex_people").whereIn("id", [1, 2]).orderBy("id").pluck("name"), NAMES.slice(0, 2));
    assert.equal(await db("knex_people").where({ id: 2 }).update({ name: "Eve" }), 1);
    assert.deepEqual(await db("knex_people").count({ n: "*" }).first(), { n: "3" });
    await rolledBack(db.transaction(async (trx) => {
      await trx("knex_people").del();
      throw stop;
    }));
    assert.equal(await db.schema.hasTable("knex_people"), true);
    const told = await db("knex_people").columnInfo();
    assert.deepEqual([told.name.type, told.name.maxLength, told.name.nullable], ["character varying", 40, false]);
    await db.schema.alterTable("knex_people", (table) => table.integer("age").defaultTo(7));
    assert.equal((await db("knex_people").first("age")).age, 7);
    await db.schema.dropTable("knex_people");
    await db.destroy();
  },

  async sequelize() {
    const { Sequelize, DataTypes, Op } = require("sequelize");
    const db = new Sequelize(URL, { dialect: "postgres", logging: false, pool: { max: 2 } });
    await db.authenticate();
    const { STRING, DECIMAL, DATE, BOOLEAN, JSONB, INTEGER } = DataTypes;
    const Person = db.define("person", {
      id: { type: INTEGER, primaryKey: true, autoIncrement: true },
      name: { type: STRING(40), allowNull: false },
      exact: DECIMAL(10, 2),
      at: DATE,
      ok: BOOLEAN,
      data: JSONB,
    }, { tableName: "sequelize_people", timestamps: false });
    await Person.sync({ force: true });
    const made = await Person.bulkCreate(ROWS.map(({ id, ...row }) => row), { returning: true });
    assert.deepEqual(made.map(({ id }) => id), [1, 2, 3]);
    assert.deepEqual(await Person.findAll({ order: ["id"], raw: true }), ROWS);
    const { at } = ROWS[0];
    assert.equal(await Person.count({ where: { at: { [Op.gte]: at }, id: { [Op.in]: [1, 2, 3] } } }), 2);
    assert.equal((await Person.findOne({ where: { at } })).name, "Ada");
    assert.deepEqual(await Person.update({ name: "Eve", at }, { where: { id: 2 } }), [1]);
    const eve = await Person.findByPk(2);
    assert.deepEqual([eve.name, eve.at], ["Eve", at]);
    await rolledBack(db.transaction(async (transaction) => {
      await Person.destroy({ where: {}, transaction });
      throw stop;
    }));
    assert.equal(await Person.count(), 3);
    const table = { tableName: "sequelize_people", schema: "main" }; // it takes public for the schema
    const told = await db.getQueryInterface().describeTable(table);
    assert.deepEqual([told.name.type, told.name.allowNull, told.id.primaryKey], ["CHARACTER VARYING(40)", false, true]);
    await db.getQueryInterface().addColumn(table, "age", { type: INTEGER, defaultValue: 7 });
    assert.equal((await db.query('select age from sequelize_people where id = :id', { replacements: { id: 1 } }))[0][0].age, 7);
    await Person.drop();
    await db.close();
  },

  async typeorm() {
    require("reflect-metadata");
    const { DataSource, EntitySchema, In, MoreThan } = require("typeorm");
    const Person = new EntitySchema({
      name: "Person",
      tableName: "typeorm_people",
      columns: {
        id: { type: "int", primary: true, generated: "increment" },
        name: { type: "varchar" },
        exact: { type: "numeric", precision: 10, scale: 2, nullable: true },
        at: { type: "timestamptz", nullable: true },
        ok: { type: "boolean", nullable: true },
        data: { type: "jsonb", nullable: true },
      },
    });
    const options = { type: "postgres", url: URL, entities: [Person], synchronize: true };
    const first = await new DataSource(options).initialize();
    const made = await first.getRepository(Person).save(ROWS.map(({ id, ...row }) => row));
    assert.deepEqual(made.map(({ id }) => id), [1, 2, 3]);
    await first.destroy();
    // what there is already is what is wanted: nothing is dropped and made again
    const db = await new DataSource(options).initialize();
    const people = db.getRepository(Person);
    assert.deepEqual((await people.find({ order: { id: "ASC" } })).map((row) => ({ ...row })), ROWS);
    assert.equal(await people.countBy({ id: In([1, 3]), at: MoreThan(new Date("2000-01-01")) }), 2);
    await people.update({ id: 2 }, { name: "Eve" });
    assert.equal((await people.findOneBy({ id: 2 })).name, "Eve");
    const counted = await people.createQueryBuilder("p").select("p.ok", "ok").addSelect("count(*)", "n").groupBy("p.ok").getRawMany();
    assert.equal(counted.length, 3);
    await rolledBack(db.transaction(async (manager) => {
      await manager.delete(Person, { id: 1 });
      throw stop;
    }));
    assert.equal(await people.count(), 3);
    await db.createQueryRunner().dropTable("typeorm_people");
    await db.destroy();
  },
};

tales[process.argv[2]]().catch((error) => {
  console.error(error);
  process.exit(1);
});
