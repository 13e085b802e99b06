"""The engine without Sluice around it: what the rows should be."""

import os
import pathlib
import re
from decimal import Decimal

import duckdb

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUERIES = {path.stem: path.read_text() for path in sorted((ROOT / "dataplane/sql/corpus/tpch").glob("q*.sql"))}
TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]


def tpch():
    """TPC-H at scale 0.1 in memory, as `./dev up` seeds it."""
    direct = duckdb.connect()
    direct.execute(f"LOAD '{os.environ['SLUICE_EXTENSIONS']}/tpch.duckdb_extension'")
    direct.execute("CALL dbgen(sf => 0.1)")
    # As the product opens the engine: the warehouse sorts NULLs as the largest value.
    direct.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'")
    return direct


def rows(direct, sql):
    return [[plain(value) for value in row] for row in direct.execute(sql).fetchall()]


def plain(value):
    """A value as every protocol can show it: numbers to 9 digits, all else as text."""
    if value is None:
        return None
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return number(value)
    text = str(value)
    return number(text) if re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", text) else text


def number(value):
    return f"{Decimal(str(value)):.9g}" if value else "0"
