"""Arrow's own drivers: ADBC over Flight SQL on 5440, and ADBC over the PostgreSQL wire."""

import datetime
import os
from decimal import Decimal

import adbc_driver_flightsql.dbapi as flightsql
import adbc_driver_manager
import adbc_driver_postgresql.dbapi as postgresql
import pyarrow
import pytest

from matrix import BY_KEY, LAST, MANY, REFUSED, ROWS, SLOW, customer

PROTOCOLS = ["flight", "wire"]

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


@pytest.fixture(params=PROTOCOLS)
def connect(request, platform, opened):
    def connect(key=None, autocommit=True):
        key = key or platform.key
        if request.param == "wire":
            return opened(postgresql.connect(platform.psql_url(key), autocommit=autocommit))
        header = {"adbc.flight.sql.authorization_header": f"Bearer {key}"}
        return opened(flightsql.connect(os.environ["SLUICE_FLIGHT_URL"], db_kwargs=header, autocommit=autocommit))

    return connect


def test_values_of_every_type_come_back_as_they_were_bound(connect):
    cursor = connect().cursor()
    cursor.execute(f"create or replace table adbc_types ({COLUMNS})")
    places = ", ".join(f"${place + 1}" for place in range(EVERY_TYPE.num_columns))
    cursor.executemany(f"insert into adbc_types values ({places})", EVERY_TYPE)
    cursor.execute("select * from adbc_types order by whole nulls last")
    assert cursor.fetch_arrow_table().to_pylist() == EVERY_TYPE.to_pylist()
    cursor.execute("drop table adbc_types")


def test_types_that_are_only_read(connect):
    sql = """select 12.34::decimal(10,2) as exact, array['a', null, 'b'] as words, array[1, 2] as numbers, time '01:02:03.5' as clock,
             '8c7a2e0e-6f0b-4d3a-9d52-0c1d2e3f4a5b'::uuid as id, 18446744073709551615::ubigint as huge"""
    [row] = connect().cursor().execute(sql).fetch_arrow_table().to_pylist()
    assert (row["words"], row["numbers"], row["clock"]) == (["a", None, "b"], [1, 2], datetime.time(1, 2, 3, 500000))
    assert Decimal(row["exact"]) == Decimal("12.34") and int(row["huge"]) == 18446744073709551615


def test_parameters_and_many_writes_at_once(connect):
    cursor = connect().cursor()
    for key in range(1, 4):
        assert cursor.execute(BY_KEY + "$1", (key,)).fetchall() == [(customer(key),)]
    cursor.execute("create or replace table adbc_many (n bigint, what varchar)")
    cursor.executemany("insert into adbc_many values ($1, $2)", [(number, f"row {number}") for number in range(100)])
    assert [int(value) for value in cursor.execute("select count(*), sum(n) from adbc_many").fetchone()] == [100, 4950]
    cursor.execute("drop table adbc_many")


def test_a_transaction_is_rolled_back(connect):
    connection = connect(autocommit=False)
    cursor = connection.cursor()
    cursor.execute("create table adbc_rolled_back (n integer)")
    connection.rollback()
    with pytest.raises(adbc_driver_manager.Error, match="SVC_ERR_404_TABLE_NOT_FOUND"):
        cursor.execute("select * from adbc_rolled_back").fetchall()
    connection.rollback()


def test_masks_hold(connect, platform):
    mask = ("column_masking", [{"table": "customer", "column": "c_phone", "function": "full", "exempt_roles": []}])
    with platform.policies(mask):
        assert connect().cursor().execute("select distinct c_phone from customer").fetchall() == [("***",)]


def test_the_catalog_lists_tables_and_columns(connect):
    connection = connect()
    listed = connection.adbc_get_objects(depth="columns", db_schema_filter="main", table_name_filter="nation")
    [catalog] = listed.read_all().to_pylist()
    [schema] = catalog["catalog_db_schemas"]
    [table] = schema["db_schema_tables"]
    assert (catalog["catalog_name"], schema["db_schema_name"], table["table_name"]) == ("demo", "main", "nation")
    names = ["n_nationkey", "n_name", "n_regionkey", "n_comment"]
    columns = sorted(table["table_columns"], key=lambda column: column["ordinal_position"])
    assert [column["column_name"] for column in columns] == names
    assert connection.adbc_get_table_schema("nation").names == names


@pytest.mark.parametrize("sql, state, code", REFUSED)
def test_an_error_carries_the_stable_code(connect, sql, state, code):
    kind = adbc_driver_manager.Error if state == "0A000" else adbc_driver_manager.ProgrammingError
    cursor = connect().cursor()
    with pytest.raises(kind) as raised:
        cursor.execute(sql).fetchall()
    assert any(code.encode() in value for _, value in raised.value.details) or code in str(raised.value)
    assert cursor.execute("select 1").fetchone() == (1,)


def test_a_wrong_key_is_refused(connect):
    with pytest.raises(adbc_driver_manager.Error, match="SVC_ERR_401_INVALID_KEY|key is not valid"):
        connect("svc_test_" + "x" * 63).cursor().execute("select 1").fetchall()


def test_a_running_query_is_cancelled(connect, cancelling):
    cursor = connect().cursor()
    with pytest.raises(adbc_driver_manager.Error), cancelling(cursor.adbc_cancel):
        cursor.execute(SLOW).fetchall()


def test_many_rows_come_as_arrow(connect):
    table = connect().cursor().execute(MANY).fetch_arrow_table()
    assert table.num_rows == ROWS and tuple(table.to_pylist()[-1].values()) == LAST


def test_a_table_is_written_whole_and_added_to(connect):
    numbers = pyarrow.table({"n": pyarrow.array(range(ROWS), pyarrow.int64()), "what": [f"row {n}" for n in range(ROWS)]})
    cursor = connect().cursor()
    cursor.execute("drop table if exists adbc_ingested")
    for mode, times in [("create", 1), ("append", 2), ("create_append", 3), ("replace", 1)]:
        assert cursor.adbc_ingest("adbc_ingested", numbers, mode=mode) == ROWS, mode
        counted = cursor.execute("select count(*), sum(n) from adbc_ingested").fetchone()
        assert [int(value) for value in counted] == [times * ROWS, times * ROWS * (ROWS - 1) // 2], mode
    with pytest.raises(adbc_driver_manager.Error):
        cursor.adbc_ingest("adbc_ingested", numbers, mode="create")
    cursor.execute("drop table adbc_ingested")
    with pytest.raises(adbc_driver_manager.Error):
        cursor.adbc_ingest("adbc_ingested", numbers, mode="append")


@pytest.mark.parametrize("connect", ["flight"], indirect=True)
def test_every_type_is_written_and_comes_back(connect):
    more = {"exact": pyarrow.array([Decimal("-12.50"), None], pyarrow.decimal128(10, 2)),
            "words": pyarrow.array([["a", None, "it's \"x\""], None]),
            "keyed": pyarrow.array(["k", None]).dictionary_encode(),
            "embedding": pyarrow.array([[0.5, -1.25], None], pyarrow.list_(pyarrow.float32(), 2))}
    wanted = pyarrow.table({**{name: EVERY_TYPE[name] for name in EVERY_TYPE.column_names}, **more})
    cursor = connect().cursor()
    assert cursor.adbc_ingest("adbc_whole", wanted, mode="replace") == 2
    cursor.execute("select * from adbc_whole order by whole nulls last")
    assert cursor.fetch_arrow_table().to_pylist() == wanted.to_pylist()
    cursor.execute("drop table adbc_whole")


@pytest.mark.parametrize("connect", ["flight"], indirect=True)
def test_a_table_may_be_written_by_whom_an_insert_is_allowed(connect, platform):
    rows = pyarrow.table({"n_nationkey": pyarrow.array([99], pyarrow.int32())})
    with platform.analyst(attributes={}) as key:
        cursor = connect(key).cursor()
        for mode in ["append", "create", "replace", "create_append"]:
            with pytest.raises(adbc_driver_manager.Error, match="SVC_ERR_403_SCOPE_VIOLATION"):
                cursor.adbc_ingest("nation", rows, mode=mode)
