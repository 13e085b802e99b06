"""The main job on real input: 22 queries over every protocol give the rows that the engine gives."""

import csv
import functools
import io
import subprocess

import pytest

import direct

MASK = {"table": "customer", "column": "c_phone", "function": "partial", "visible_chars": 4, "exempt_roles": ["owner"]}
FILTER = {"table": "customer", "filter": "c_mktsegment = '{segment}'", "exempt_roles": ["owner"]}


@pytest.fixture(scope="module")
def engine():
    with direct.tpch() as connection:
        yield connection


@pytest.fixture(scope="module")
def governed_engine():
    """The same rows with the filter and the mask worked in by hand."""
    with direct.tpch() as connection:
        connection.execute("ALTER TABLE customer RENAME TO raw_customer")
        connection.execute(
            """create view customer as select * replace (
                 case when length(c_phone) <= 4 then '***' else '***' || right(c_phone, 4) end as c_phone)
               from raw_customer where c_mktsegment = 'BUILDING'"""
        )
        yield connection


def through_psql(platform, key, sql):
    run = subprocess.run(
        ["psql", platform.psql_url(key), "--no-psqlrc", "--csv", "--tuples-only", "--set=ON_ERROR_STOP=1", "--command", sql],
        capture_output=True, text=True, timeout=120, check=False,
    )
    assert run.returncode == 0, run.stderr
    return [[direct.plain(cell) for cell in row] for row in csv.reader(io.StringIO(run.stdout))]


def through_rest(platform, key, sql):
    answer = platform.query(sql, key=key)
    assert answer.status == 200, answer.body
    return [[direct.plain(cell) for cell in row] for row in answer.body["rows"]]


PROTOCOLS = {"psql": through_psql, "rest": through_rest}


@functools.cache
def given(engine, sql):
    """What an engine gives, asked once for all protocols."""
    return direct.rows(engine, sql)


def alike(got, wanted):
    # psql shows NULL as an empty field; no TPC-H answer holds an empty text.
    blank = lambda rows: sorted([["" if cell is None else cell for cell in row] for row in rows])
    assert blank(got) == blank(wanted)


@pytest.mark.parametrize("name", sorted(direct.QUERIES))
@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_the_owner_gets_what_the_engine_gives(platform, engine, protocol, name):
    sql = direct.QUERIES[name]
    alike(PROTOCOLS[protocol](platform, platform.key, sql), given(engine, sql))


@pytest.fixture(scope="module")
def analyst(platform):
    """An analyst of the BUILDING segment, under a mask and a filter on customer."""
    with platform.analyst(attributes={"segment": "BUILDING"}) as key:
        with platform.policies(("column_masking", [MASK]), ("row_level_security", [FILTER])):
            yield key


@pytest.mark.parametrize("name", sorted(direct.QUERIES))
@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_an_analyst_gets_the_governed_answer(platform, governed_engine, analyst, protocol, name):
    sql = direct.QUERIES[name]
    alike(PROTOCOLS[protocol](platform, analyst, sql), given(governed_engine, sql))


def test_the_mask_and_the_filter_show_in_the_audit_log_and_the_usage(platform, analyst):
    before = platform.usage()["credits"]["used"]
    answer = platform.query("select c_phone, c_name from customer order by c_custkey limit 3", key=analyst)
    assert all(row[0].startswith("***") for row in answer.body["rows"])
    assert answer.body["columns_masked"] == ["c_phone"]
    entry = platform.audit_entry(answer.body["query_id"])
    assert entry["rows_returned"] == 3
    assert entry["columns_masked"] == ["c_phone"]
    assert {verdict["action"] for verdict in entry["policy_verdicts"]} == {"mask", "filter"}
    assert "3" not in entry["sql"] and "?" in entry["sql"]
    platform.wait(lambda: platform.usage()["credits"]["used"] >= before + answer.body["credits_consumed"])
