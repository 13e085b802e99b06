"""Debian's ODBC driver for PostgreSQL through pyodbc: what Excel, Power BI's older connectors and Tableau use."""

import ctypes.util
import datetime
import pathlib
import uuid
from decimal import Decimal

import pytest

from matrix import BY_KEY, LAST, MANY, REFUSED, ROWS, SLOW, customer, needed

DRIVER = next(pathlib.Path("/usr/lib").glob("*/odbc/psqlodbcw.so"), None)
needed(DRIVER and ctypes.util.find_library("odbc"), "ODBC", "odbc-postgresql libodbc2")

import pyodbc  # which wants unixODBC's library


@pytest.fixture
def connect(platform, opened):
    place = platform.place

    def connect(key=None, autocommit=True, **more):
        words = {"DRIVER": DRIVER, "SERVER": place.hostname, "PORT": place.port, "DATABASE": place.path[1:],
                 "UID": place.username, "PWD": key or platform.key, "BoolsAsChar": 0, **more}
        return opened(pyodbc.connect(";".join(f"{name}={value}" for name, value in words.items()), autocommit=autocommit))

    return connect


def test_values_of_every_type_come_back_as_they_were_bound(connect):
    values = {
        "boolean": True, "smallint": -32768, "integer": 2147483647, "bigint": -9223372036854775808, "double": 0.1,
        "decimal(18,4)": Decimal("12345678901234.5678"), "varchar": "it's \"quoted\" \\ and ünïcödé 🦆",
        "date": datetime.date(2024, 2, 29), "time": datetime.time(23, 59, 59),
        "timestamp": datetime.datetime(2024, 2, 29, 12, 34, 56, 789012),
        "uuid": uuid.UUID("8c7a2e0e-6f0b-4d3a-9d52-0c1d2e3f4a5b"), "blob": b"\x00\x01\xfe\xff",
    }
    cursor = connect().cursor()
    columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(values))
    cursor.execute(f"create or replace table odbc_types ({columns}, nothing integer)")
    cursor.execute(f"insert into odbc_types values ({'?, ' * len(values)}?)", *values.values(), None)
    assert cursor.rowcount == 1
    found = cursor.execute("select * from odbc_types").fetchone()
    for (kind, value), back in zip(values.items(), found):
        assert back == value or back.lower() == str(value), kind
    assert found[-1] is None
    cursor.execute("drop table odbc_types")


def test_parameters_and_the_catalog(connect):
    cursor = connect().cursor()
    for key in range(1, 8):
        assert cursor.execute(BY_KEY + "?", key).fetchval() == customer(key)
    assert "nation" in [row.table_name for row in cursor.tables(schema="main", tableType="TABLE")]
    assert [row.column_name for row in cursor.columns(table="nation", schema="main")] == [
        "n_nationkey", "n_name", "n_regionkey", "n_comment"]
    cursor.execute("create or replace table odbc_keyed (id integer primary key)")
    assert [row.column_name for row in cursor.primaryKeys("odbc_keyed", schema="main")] == ["id"]
    cursor.execute("drop table odbc_keyed")


@pytest.mark.parametrize("sql, state, code", REFUSED)
def test_an_error_carries_its_sqlstate_and_the_connection_goes_on(connect, sql, state, code):
    cursor = connect(autocommit=False).cursor()
    assert cursor.execute("select 1").fetchval() == 1
    with pytest.raises(pyodbc.Error) as raised:
        cursor.execute(sql)
    assert raised.value.args[0] in (state, "42S02") and code in raised.value.args[1]
    assert cursor.execute("select 2").fetchval() == 2  # the driver's own savepoint kept the transaction


def test_a_running_query_is_cancelled(connect, cancelling):
    cursor = connect().cursor()
    with pytest.raises(pyodbc.Error) as raised, cancelling(cursor.cancel):
        cursor.execute(SLOW)
    assert raised.value.args[0] in ("57014", "HY008")


def test_a_wrong_key_is_refused(connect, platform):
    with pytest.raises(pyodbc.Error, match="SVC_ERR_401_INVALID_KEY"):
        connect(key=platform.key[:-1] + "!")


@pytest.mark.parametrize("options", [{}, {"UseDeclareFetch": 1, "Fetch": 999}])
def test_many_rows_at_once_and_a_few_at_a_time(connect, options):
    rows = connect(**options).cursor().execute(MANY).fetchall()
    assert len(rows) == ROWS and tuple(rows[-1]) == LAST
