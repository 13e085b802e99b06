"""Questions of clients about tables: psql's backslash commands, SQLAlchemy's reflection, drivers' introspection, COPY."""

import asyncio
import io
import os
import pathlib
import shutil
import subprocess

import asyncpg
import psycopg
import psycopg2
import pytest
import sqlalchemy

PSQLS = [path for path in {shutil.which("psql"), str(pathlib.Path(os.environ["SLUICE_PG"], "bin/psql"))} if path]


@pytest.fixture(scope="module")
def tables(platform):
    """A table with a primary key, a view on it, and one that nobody else may see masked."""
    with psycopg.connect(platform.psql, autocommit=True) as connection:
        for statement in ["drop view if exists listed_view", "drop table if exists listed",
                          "create table listed (id integer, name varchar not null, amount decimal(12,2), "
                          "made timestamp, tags varchar[], primary key (id))",
                          "create view listed_view as select id, name from listed"]:
            connection.execute(statement)
        yield connection
        connection.execute("drop view listed_view")
        connection.execute("drop table listed")


def psql(program, url, command, tuples_only="on"):
    run = subprocess.run([program, url, "--no-psqlrc", "-A", "-P", f"tuples_only={tuples_only}", "-c", command],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and "ERROR" not in run.stderr, f"{command}: {run.stderr}"
    return run.stdout.splitlines()


@pytest.mark.parametrize("program", PSQLS)
def test_psql_lists_and_describes(platform, tables, program):
    def said(command):
        return psql(program, platform.psql, command)

    listed = {"\\dt": "main|listed|table", "\\dv": "main|listed_view|view", "\\d": "main|listed|table", "\\dn": "main|",
              "\\l": "demo|"}
    for command, line in listed.items():
        assert any(found.startswith(line) for found in said(command)), command
    for command in ["\\du", "\\df", "\\di", "\\ds", "\\dx", "\\dp", "\\dT", "\\dt+", "\\d+ listed", "\\d listed_view",
                    "\\dt main.*", "\\dS pg_class", "\\des", "\\dy", "\\do", "\\dC", "\\db", "\\dc", "\\dD",
                    "\\dd", "\\dL"]:
        said(command)
    described = said("\\d listed")
    assert described[:3] == ["id|integer||not null|", "name|character varying||not null|", "amount|numeric(12,2)|||"]
    with_footer = psql(program, platform.psql, "\\d listed", tuples_only="off")
    assert any("PRIMARY KEY, btree (id)" in line for line in with_footer)


def test_a_denied_table_and_a_masked_type_show_nowhere(platform, tables):
    mask = ("column_masking", [{"table": "listed", "column": "amount", "function": "full", "exempt_roles": ["owner"]}])
    with platform.policies(mask), platform.analyst({"region": "EU"}) as key:
        described = psql(PSQLS[0], platform.psql_url(key), "\\d listed")
        assert "amount|text|||" in described


def test_sqlalchemy_reflects_tables_keys_and_views(platform, tables):
    for driver in ["psycopg", "psycopg2"]:
        engine = sqlalchemy.create_engine(platform.psql.replace("postgresql://", f"postgresql+{driver}://"))
        inspector = sqlalchemy.inspect(engine)
        assert "listed" in inspector.get_table_names() and "listed_view" in inspector.get_view_names()
        assert "main" in inspector.get_schema_names()
        assert inspector.get_pk_constraint("listed")["constrained_columns"] == ["id"]
        assert inspector.get_foreign_keys("listed") == [] and inspector.get_indexes("listed") == []
        reflected = sqlalchemy.Table("listed", sqlalchemy.MetaData(), autoload_with=engine)
        kinds = {column.name: str(column.type) for column in reflected.columns}
        assert kinds == {"id": "INTEGER", "name": "VARCHAR", "amount": "NUMERIC(12, 2)", "made": "TIMESTAMP",
                         "tags": "ARRAY"}
        with engine.begin() as connection:
            connection.execute(sqlalchemy.insert(reflected).values(id=1, name="one", amount=1.5))
            assert connection.execute(sqlalchemy.select(reflected.c.name)).scalar_one() == "one"
            connection.execute(sqlalchemy.delete(reflected))
        engine.dispose()


def test_asyncpg_introspects_and_binds_lists(platform, tables):
    async def act():
        connection = await asyncpg.connect(platform.psql)
        try:
            assert await connection.fetchval("select count(*) from region where r_regionkey = any($1::int[])", [1, 2]) == 2
            rows = await connection.fetch("select relname, relkind from pg_catalog.pg_class where relname = $1", "listed")
            assert [tuple(row) for row in rows] == [("listed", "r")]
        finally:
            await connection.close()

    asyncio.run(act())


def test_lists_are_parameters_of_both_psycopgs(platform):
    sql = "select count(*) from nation where n_regionkey = any(%s) and n_name = any(%s)"
    values = ([0, 1], ["ALGERIA", "BRAZIL", "CHINA"])
    with psycopg.connect(platform.psql) as connection:
        assert connection.execute(sql, values).fetchone() == (2,)
    with psycopg2.connect(platform.psql) as connection, connection.cursor() as cursor:
        cursor.execute(sql, values)
        assert cursor.fetchone() == (2,)


def test_copy_carries_rows_out_and_in(platform, tables):
    with psycopg.connect(platform.psql) as connection, connection.cursor() as cursor:
        with cursor.copy("copy listed (id, name, amount) from stdin") as copy:
            for row in [(1, "one\ttab", 1.5), (2, "two\nline", None)]:
                copy.write_row(row)
        assert cursor.execute("select id, name from listed order by id").fetchall() == [(1, "one\ttab"), (2, "two\nline")]
        with cursor.copy("copy (select id, name from listed order by id) to stdout (format binary)") as copy:
            copy.set_types(["int4", "text"])
            assert list(copy.rows()) == [(1, "one\ttab"), (2, "two\nline")]
        connection.rollback()
    with psycopg2.connect(platform.psql) as connection, connection.cursor() as cursor:
        cursor.copy_expert("copy listed (id, name) from stdin with csv", io.StringIO("7,\"a, b\"\n"))
        out = io.StringIO()
        cursor.copy_expert("copy listed (id, name, amount) to stdout with csv header", out)
        assert out.getvalue() == "id,name,amount\n7,\"a, b\",\n"
        connection.rollback()


def test_psql_copies_files(platform, tables, tmp_path):
    file = tmp_path / "regions.csv"
    psql(PSQLS[0], platform.psql, f"\\copy (select r_regionkey, r_name from region order by 1) to '{file}' csv")
    assert file.read_text().splitlines()[0] == "0,AFRICA"
    assert psql(PSQLS[0], platform.psql, f"\\copy listed (id, name) from '{file}' csv") == ["COPY 5"]
    with psycopg.connect(platform.psql, autocommit=True) as connection:
        assert connection.execute("delete from listed").rowcount == 5


def test_cursors_hand_out_rows_a_few_at_a_time(platform):
    with psycopg.connect(platform.psql) as connection, connection.cursor(name="some") as cursor:
        cursor.itersize = 7
        cursor.execute("select n_nationkey from nation order by 1")
        assert cursor.fetchmany(3) == [(0,), (1,), (2,)] and len(cursor.fetchall()) == 22
    with psycopg2.connect(platform.psql) as connection, connection.cursor(name="others") as cursor:
        cursor.itersize = 10
        cursor.execute("select n_nationkey from nation order by 1")
        assert [row[0] for row in cursor] == list(range(25))
