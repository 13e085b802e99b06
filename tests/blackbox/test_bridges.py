"""Programs between a client and the platform: postgres_fdw, PgBouncer, and DuckDB's extension for PostgreSQL."""

import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from decimal import Decimal

import duckdb
import duckdb_extension_postgres_scanner
import psycopg
import pytest

from matrix import needed

BOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
POSTGRES = pathlib.Path(os.environ["SLUICE_PG"]).resolve() / "bin"
# Servers that refuse to run as root run as nobody.
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}


@pytest.fixture
def folder():
    """A folder that a server may write to."""
    with tempfile.TemporaryDirectory(prefix="sluice-bridge.") as made:
        if NOBODY:
            os.chown(made, NOBODY["user"], NOBODY["group"])
        yield made


@contextlib.contextmanager
def people(platform, name):
    """A table of the platform, made by a client of its own."""
    with psycopg.connect(platform.psql, autocommit=True) as connection:
        connection.execute(f"create table {name} (id integer primary key, name text, exact numeric(10,2), at timestamptz)")
        connection.execute(f"insert into {name} values (1, 'Ada', 12.34, '2024-02-29 12:34:56+00')")
        try:
            yield connection
        finally:
            connection.execute(f"drop table {name}")


def served(folder, *command):
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False, **NOBODY)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture
def postgres(folder):
    """A PostgreSQL with nothing in it, over its socket alone."""
    data, log = f"{folder}/data", f"{folder}/log"
    served(folder, POSTGRES / "initdb", "-D", data, "-U", "sluice", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
    served(folder, POSTGRES / "pg_ctl", "-D", data, "-l", log, "-w", "-o", f"-k {folder} -c listen_addresses='' -c fsync=off",
           "start")
    try:
        with psycopg.connect(host=folder, user="sluice", dbname="postgres", autocommit=True) as connection:
            yield connection
    finally:
        served(folder, POSTGRES / "pg_ctl", "-D", data, "-m", "immediate", "stop")


def test_postgres_fdw_imports_reads_and_writes(platform, postgres):
    place = platform.place
    with people(platform, "fdw_people") as own:
        for statement in [
            "create extension postgres_fdw",
            f"create server sluice foreign data wrapper postgres_fdw options (host '{place.hostname}', "
            f"port '{place.port}', dbname '{place.path[1:]}')",
            f"create user mapping for sluice server sluice options (user 'agent', password '{platform.key}')",
            "import foreign schema main limit to (nation, region, fdw_people) from server sluice into public",
        ]:
            postgres.execute(statement)
        told = "select r_name, count(*) from nation join region on n_regionkey = r_regionkey group by 1 order by 1 limit 1"
        assert postgres.execute(told).fetchall() == [("AFRICA", 5)]
        assert postgres.execute("select exact from fdw_people where name = 'Ada'").fetchone() == (Decimal("12.34"),)
        postgres.execute("insert into fdw_people values (2, 'it''s', -0.5, now()), (3, null, null, null)")
        assert postgres.execute("update fdw_people set name = 'Eve' where id = 2").rowcount == 1
        assert postgres.execute("delete from fdw_people where id = 3").rowcount == 1
        with pytest.raises(psycopg.Error, match="rolled back"), postgres.transaction():
            postgres.execute("delete from fdw_people")
            raise psycopg.Error("rolled back")
        assert own.execute("select id, name from fdw_people order by id").fetchall() == [(1, "Ada"), (2, "Eve")]


@pytest.fixture(params=["transaction", "session"])
def bounced(platform, folder, request):
    """The URL of a PgBouncer with two connections to the platform, over its socket alone: a port that was free may be not."""
    needed(BOUNCER, "PgBouncer", "pgbouncer")
    place = platform.place
    config = pathlib.Path(folder, "pgbouncer.ini")
    config.write_text(f"""[databases]
demo = host={place.hostname} port={place.port} dbname={place.path[1:]} user=agent password='{platform.key}'
[pgbouncer]
listen_port = 6432
unix_socket_dir = {folder}
auth_type = any
pool_mode = {request.param}
default_pool_size = 2
logfile = {folder}/log
ignore_startup_parameters = extra_float_digits
""")
    config.chmod(0o644)
    url = f"postgresql://anybody@/demo?host={folder}&port=6432"
    server = subprocess.Popen([BOUNCER, config], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **NOBODY)

    def answers():
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url) as connection:
            return connection.execute("select 1").fetchone() == (1,)

    try:
        platform.wait(answers)
        yield url
    finally:
        server.terminate()
        server.wait()


def test_many_clients_share_the_connections_of_pgbouncer(platform, bounced):
    def client(number):
        with psycopg.connect(bounced, prepare_threshold=None) as connection:
            connection.execute("insert into bounced_people (id, name) values (%s, %s)", (number, f"client {number}"))
            connection.execute("set local statement_timeout = 20000")
            count = connection.execute("select count(*) from bounced_people where id = %s", (number,)).fetchone()
            connection.commit()
            with contextlib.suppress(psycopg.errors.UndefinedTable):
                connection.execute("select * from no_such_table")
            connection.rollback()
            return count

    with people(platform, "bounced_people") as own, concurrent.futures.ThreadPoolExecutor(8) as clients:
        assert list(clients.map(client, range(2, 22))) == [(1,)] * 20
        assert own.execute("select count(*) from bounced_people").fetchone() == (21,)


@pytest.fixture
def attached(platform):
    """DuckDB with the platform as a database `sl`."""
    folder = pathlib.Path(duckdb_extension_postgres_scanner.__file__).parent
    extension = next(folder.rglob("*.duckdb_extension"))
    with duckdb.connect() as connection:
        connection.execute(f"load '{extension}'")
        connection.execute(f"attach '{platform.psql}' as sl (type postgres)")
        yield connection


def test_the_extension_of_duckdb_reads_creates_and_inserts(platform, attached):
    told = "select count(*), max(n_name) from sl.main.nation where n_regionkey = 1"
    assert attached.execute(told).fetchone() == (5, "UNITED STATES")
    assert attached.execute("select count(*), sum(l_quantity) > 0 from sl.main.lineitem").fetchone()[1]
    attached.execute("create table sl.main.duck_people (id integer, name varchar, exact decimal(10,2), made timestamptz)")
    try:
        attached.execute("insert into sl.main.duck_people values (1, 'it''s', 12.34, '2024-02-29 12:34:56+00'), (2, null, null, null)")
        attached.execute("insert into sl.main.duck_people (id, name) select n_nationkey + 10, n_name from sl.main.nation")
        assert attached.execute("select count(*), min(exact) from sl.main.duck_people").fetchone() == (27, Decimal("12.34"))
        with psycopg.connect(platform.psql) as own:
            assert own.execute("select name from duck_people where id = 10").fetchone() == ("ALGERIA",)
        # it names rows by their place in a file of PostgreSQL's, which none of these has
        for statement in ["update sl.main.duck_people set name = 'x' where id = 1", "delete from sl.main.duck_people"]:
            with pytest.raises(duckdb.Error, match="ctid"):
                attached.execute(statement)
    finally:
        attached.execute("drop table sl.main.duck_people")
