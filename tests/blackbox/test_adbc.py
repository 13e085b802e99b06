"""Arrow's own drivers: ADBC over Flight SQL on 5440, and ADBC over the PostgreSQL wire."""

import datetime
import os
import threading
from decimal import Decimal

import adbc_driver_flightsql.dbapi as flightsql
import adbc_driver_manager
import adbc_driver_postgresql.dbapi as postgresql
import pyarrow
import pytest

ROWS = 10_000
DOORS = ["flight", "wire"]

# One value of each type that both drivers can bind.
EVERY_TYPE = pyarrow.table({
    "yes": pyarrow.array([True, None]),
    "small": pyarrow.array([-32768, None], pyarrow.int16()),
    "whole": pyarrow.array([2147483647, None], pyarrow.int32()),
    "big": pyarrow.array([-9223372036854775808, None], pyarrow.int64()),
    "double": pyarrow.array([0.1, None], pyarrow.float64()),
    "word": pyarrow.array(["it's \"quoted\" \\ and ünïcödé 🦆", None]),
    "bytes": pyarrow.array([b"\x00\x01\xfe\xff", None], pyarrow.binary()),
    "day": pyarrow.array([datetime.date(2024, 2, 29), None], pyarrow.date32()),
    "moment": pyarrow.array([datetime.datetime(2024, 2, 29, 12, 34, 56, 789012), None], pyarrow.timestamp("us")),
})
COLUMNS = """yes boolean, small smallint, whole integer, big bigint, double double, word varchar, bytes blob, day date,
             moment timestamp"""


@pytest.fixture(params=DOORS)
def connect(request, platform):
    def connect(key=None, autocommit=True):
        if request.param == "wire":
            return postgresql.connect(platform.psql_url(key or platform.key), autocommit=autocommit)
        header = {"adbc.flight.sql.authorization_header": f"Bearer {key or platform.key}"}
        return flightsql.connect(os.environ["SLUICE_FLIGHT_URL"], db_kwargs=header, autocommit=autocommit)

    return connect


def test_values_of_every_type_come_back_as_they_were_bound(connect):
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"create or replace table adbc_types ({COLUMNS})")
        places = ", ".join(f"${place + 1}" for place in range(EVERY_TYPE.num_columns))
        cursor.executemany(f"insert into adbc_types values ({places})", EVERY_TYPE)
        cursor.execute("select * from adbc_types order by whole nulls last")
        assert cursor.fetch_arrow_table().to_pylist() == EVERY_TYPE.to_pylist()
        cursor.execute("drop table adbc_types")


def test_types_that_are_only_read(connect):
    sql = """select 12.34::decimal(10,2) as exact, ['a', null, 'b'] as words, [1, 2] as numbers, time '01:02:03.5' as clock,
             '8c7a2e0e-6f0b-4d3a-9d52-0c1d2e3f4a5b'::uuid as id, 18446744073709551615::ubigint as huge"""
    with connect() as connection, connection.cursor() as cursor:
        [row] = cursor.execute(sql).fetch_arrow_table().to_pylist()
    assert (row["words"], row["numbers"], row["clock"]) == (["a", None, "b"], [1, 2], datetime.time(1, 2, 3, 500000))
    assert Decimal(row["exact"]) == Decimal("12.34") and int(row["huge"]) == 18446744073709551615


def test_parameters_and_many_writes_at_once(connect):
    with connect() as connection, connection.cursor() as cursor:
        for key in range(1, 4):
            cursor.execute("select c_name from customer where c_custkey = $1", (key,))
            assert cursor.fetchall() == [(f"Customer#{key:09}",)]
        cursor.execute("create or replace table adbc_many (n bigint, what varchar)")
        cursor.executemany("insert into adbc_many values ($1, $2)", [(number, f"row {number}") for number in range(100)])
        cursor.execute("select count(*), sum(n) from adbc_many")
        assert [int(value) for value in cursor.fetchone()] == [100, 4950]
        cursor.execute("drop table adbc_many")


def test_a_transaction_is_rolled_back(connect):
    with connect(autocommit=False) as connection, connection.cursor() as cursor:
        cursor.execute("create table adbc_rolled_back (n integer)")
        connection.rollback()
        with pytest.raises(adbc_driver_manager.Error, match="SVC_ERR_404_TABLE_NOT_FOUND"):
            cursor.execute("select * from adbc_rolled_back").fetchall()
        connection.rollback()


def test_masks_hold(connect, platform):
    mask = ("column_masking", [{"table": "customer", "column": "c_phone", "function": "full", "exempt_roles": []}])
    with platform.policies(mask), connect() as connection, connection.cursor() as cursor:
        assert cursor.execute("select distinct c_phone from customer").fetchall() == [("***",)]


def test_the_catalog_lists_tables_and_columns(connect):
    with connect() as connection:
        listed = connection.adbc_get_objects(depth="columns", db_schema_filter="main", table_name_filter="nation")
        [catalog] = listed.read_all().to_pylist()
        [schema] = catalog["catalog_db_schemas"]
        [table] = schema["db_schema_tables"]
        assert (catalog["catalog_name"], schema["db_schema_name"], table["table_name"]) == ("demo", "main", "nation")
        names = ["n_nationkey", "n_name", "n_regionkey", "n_comment"]
        columns = sorted(table["table_columns"], key=lambda column: column["ordinal_position"])
        assert [column["column_name"] for column in columns] == names
        assert connection.adbc_get_table_schema("nation").names == names


@pytest.mark.parametrize("sql, kind, code", [
    ("select * from no_such_table", adbc_driver_manager.ProgrammingError, "SVC_ERR_404_TABLE_NOT_FOUND"),
    ("selec 1", adbc_driver_manager.ProgrammingError, "SVC_ERR_400_BAD_SQL"),
    ("select * from read_csv('/etc/passwd')", adbc_driver_manager.Error, "TRANSPILATION_ERROR"),
])
def test_an_error_carries_the_stable_code(connect, sql, kind, code):
    with connect() as connection, connection.cursor() as cursor:
        with pytest.raises(kind) as raised:
            cursor.execute(sql).fetchall()
        assert any(code.encode() in value for _, value in raised.value.details) or code in str(raised.value)
        assert cursor.execute("select 1").fetchone() == (1,)


def test_a_wrong_key_is_refused(connect):
    with pytest.raises(adbc_driver_manager.Error, match="SVC_ERR_401_INVALID_KEY|key is not valid"):
        with connect("svc_test_" + "x" * 63) as connection, connection.cursor() as cursor:
            cursor.execute("select 1").fetchall()


def test_a_running_query_is_cancelled(connect):
    with connect() as connection, connection.cursor() as cursor:
        ended = threading.Event()

        def cancel():
            while not ended.wait(0.1):  # until the request has met the statement
                cursor.adbc_cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        try:
            with pytest.raises(adbc_driver_manager.Error):
                cursor.execute("select count(*) from lineitem a, lineitem b where a.l_comment < b.l_comment").fetchall()
        finally:
            ended.set()
            canceller.join()


def test_many_rows_come_as_arrow(connect):
    with connect() as connection, connection.cursor() as cursor:
        table = cursor.execute(f"select range as n, 'row ' || range as what from range({ROWS})").fetch_arrow_table()
        assert table.num_rows == ROWS and table.to_pylist()[-1] == {"n": ROWS - 1, "what": f"row {ROWS - 1}"}


@pytest.mark.parametrize("connect", ["wire"], indirect=True)
def test_a_table_is_written_whole_as_a_copy(connect):
    numbers = pyarrow.table({"n": pyarrow.array(range(ROWS), pyarrow.int64()), "what": [f"row {n}" for n in range(ROWS)]})
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("create or replace table adbc_ingested (n bigint, what varchar)")
        assert cursor.adbc_ingest("adbc_ingested", numbers, mode="append") == ROWS
        assert [int(value) for value in cursor.execute("select count(*), sum(n) from adbc_ingested").fetchone()] == [
            ROWS, ROWS * (ROWS - 1) // 2]
        cursor.execute("drop table adbc_ingested")
