"""Real clients connect, ask with parameters, and get typed rows; an unknown key is refused."""

import asyncio
import datetime
import decimal

import asyncpg
import psycopg
import psycopg2
import pytest

ORDERS = 150_000  # TPC-H at scale factor 0.1


def test_psql_reads_rows(psql, url):
    done = psql(url, "-c", "select count(*), min(o_orderkey) from orders")
    assert (done.stdout.strip(), done.stderr, done.returncode) == (f"{ORDERS}|1", "", 0)


def test_psql_is_told_what_is_wrong(psql, url):
    done = psql(url, "-v", "VERBOSITY=verbose", "-c", "select nothing from orders")
    assert done.returncode == 1
    assert "42703" in done.stderr and "SVC_ERR_" in done.stderr


def test_psql_with_an_unknown_key_is_refused(psql, refused_url):
    done = psql(refused_url, "-c", "select 1")
    assert done.returncode == 2 and done.stdout == ""


TYPED = "select o_orderkey, o_totalprice, o_orderdate, o_clerk from orders where o_orderkey = {}"
TYPES = [int, decimal.Decimal, datetime.date, str]


def test_psycopg_binds_and_gets_types(url):
    with psycopg.connect(url) as connection:
        row = connection.execute(TYPED.format("%s"), (1,)).fetchone()
        assert [type(value) for value in row] == TYPES


def test_psycopg_prepares_after_five_runs(url):
    with psycopg.connect(url) as connection:
        keys = [connection.execute(TYPED.format("%s"), (1,)).fetchone()[0] for _ in range(8)]
        assert keys == [1] * 8


def test_psycopg_in_binary(url):
    with psycopg.connect(url) as connection, connection.cursor(binary=True) as cursor:
        row = cursor.execute(TYPED.format("%s"), (1,)).fetchone()
        assert [type(value) for value in row] == TYPES


def test_psycopg2_binds_and_gets_types(url):
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute(TYPED.format("%s"), (1,))
        row = cursor.fetchone()
        assert [type(value) for value in row] == TYPES
    connection.close()


def test_asyncpg_binds_and_gets_types(url):
    async def ask():
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchrow(TYPED.format("$1"), 1)
        finally:
            await connection.close()

    row = asyncio.run(ask())
    assert [type(value) for value in row] == TYPES


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2", "asyncpg"])
def test_a_driver_with_an_unknown_key_is_refused(driver, refused_url):
    if driver == "psycopg":
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(refused_url)
    elif driver == "psycopg2":
        with pytest.raises(psycopg2.OperationalError):
            psycopg2.connect(refused_url)
    else:
        with pytest.raises(asyncpg.InvalidPasswordError):
            asyncio.run(asyncpg.connect(refused_url))
