"""psql, psycopg 2 and 3 and asyncpg connect, query with parameters, and get typed rows."""

import asyncio
import datetime
import subprocess
import uuid
from decimal import Decimal

import asyncpg
import psycopg
import psycopg2
import pytest

TYPED = """select 1::smallint, 2, 3::bigint, 1.5::double, 12.34::decimal(10,2), 'text', true, date '2024-02-29',
           timestamp '2024-02-29 12:34:56.789', '8c7a2e0e-6f0b-4d3a-9d52-0c1d2e3f4a5b'::uuid, null"""
VALUES = (1, 2, 3, 1.5, Decimal("12.34"), "text", True, datetime.date(2024, 2, 29),
          datetime.datetime(2024, 2, 29, 12, 34, 56, 789000), uuid.UUID("8c7a2e0e-6f0b-4d3a-9d52-0c1d2e3f4a5b"), None)
BY_KEY = "select c_custkey, c_name, c_acctbal from customer where c_custkey = "


def asynchronously(platform, act):
    async def connected():
        connection = await asyncpg.connect(platform.psql)
        try:
            return await act(connection)
        finally:
            await connection.close()

    return asyncio.run(connected())


def test_psql_prints_rows(platform):
    run = subprocess.run(["psql", platform.psql, "--no-psqlrc", "-At", "-c", "select count(*) from customer"],
                         capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "15000\n"


def test_psycopg2_gets_typed_rows(platform):
    with psycopg2.connect(platform.psql) as connection, connection.cursor() as cursor:
        cursor.execute(TYPED)
        assert tuple(str(v) if isinstance(v, uuid.UUID) else v for v in cursor.fetchone()) == tuple(
            str(v) if isinstance(v, uuid.UUID) else v for v in VALUES)
        cursor.execute(BY_KEY + "%s", (1,))
        assert cursor.fetchone()[:2] == (1, "Customer#000000001")


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg3_gets_typed_rows(platform, binary):
    with psycopg.connect(platform.psql) as connection:
        assert connection.execute(TYPED, binary=binary).fetchone() == VALUES
        for number in range(1, 8):  # past the point where it prepares on the server
            row = connection.execute(BY_KEY + "%s", (number,), binary=binary).fetchone()
            assert row[0] == number and isinstance(row[2], Decimal)


def test_asyncpg_gets_typed_rows(platform):
    async def act(connection):
        typed = await connection.fetchrow(TYPED)
        assert tuple(typed.values()) == VALUES
        row = await connection.fetchrow(BY_KEY + "$1", 1)
        assert (row[0], row[1]) == (1, "Customer#000000001") and isinstance(row[2], Decimal)

    asynchronously(platform, act)


def test_an_error_carries_its_sqlstate_and_the_stable_code(platform):
    with psycopg.connect(platform.psql, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.UndefinedTable) as raised:
            connection.execute("select * from no_such_table")
        assert raised.value.diag.message_detail.startswith("SVC_ERR_404_TABLE_NOT_FOUND")
        with pytest.raises(psycopg.errors.SyntaxError):
            connection.execute("slct 1")
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_wrong_key_is_refused_with_28p01(platform):
    with pytest.raises(asyncpg.InvalidPasswordError):
        asyncio.run(asyncpg.connect(platform.psql_url(platform.key[:-1] + "!")))


def test_a_running_query_is_cancelled(platform):
    with psycopg.connect(platform.psql, autocommit=True) as connection:
        slow = "select count(*) from lineitem a, lineitem b where a.l_comment < b.l_comment"
        connection.execute("set statement_timeout = 60000")
        import threading
        timer = threading.Timer(0.5, connection.cancel)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(slow)
        timer.join()
        assert connection.execute("select 2").fetchone() == (2,)


def test_a_transaction_rolls_back(platform):
    with psycopg.connect(platform.psql) as connection:
        connection.execute("create table scratch_rollback (n integer)")
        connection.execute("insert into scratch_rollback values (%s), (2)", (1,))
        assert connection.execute("select sum(n) from scratch_rollback").fetchone() == (3,)
        connection.rollback()
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("select * from scratch_rollback")
