"""One statement harms nobody else: whatever it becomes, it is answered or refused with a code, and the platform
goes on. These have ended a platform, or kept it busy until nobody was answered any more."""

import contextlib

import pytest


def nested_recursion(levels):
    sql = "SELECT 1 AS a"
    for level in range(levels):
        sql = f"WITH RECURSIVE r{level}(a) AS (({sql}) UNION ALL SELECT 1 WHERE false) SELECT a FROM r{level}"
    return sql


def doubled_columns(steps):
    chain = ", ".join(f"c{step} AS (SELECT *, * FROM c{step - 1})" for step in range(1, steps))
    return f"WITH c0 AS (SELECT 1 AS a), {chain} SELECT count(*) FROM c{steps - 1}"


STATEMENTS = {
    "subqueries, as deep as they may be": "SELECT " + "(SELECT " * 50 + "1" + ")" * 50,
    "subqueries, too deep": "SELECT " + "(SELECT " * 5_000 + "1" + ")" * 5_000,
    "recursion in recursion": nested_recursion(20),
    "columns that double": doubled_columns(30),
    "an array of many": f"SELECT len([{', '.join('1' for _ in range(20_000))}])",
    "a choice of many": "SELECT CASE 1 " + " ".join(f"WHEN {n} THEN {n}.5" for n in range(10_000)) + " END",
    "tables that there are not": "SELECT 1 FROM " + ", ".join(f"t{n}" for n in range(50_000)),
    "the catalogue, again and again": "SELECT count(*) FROM " + ", ".join(
        f"information_schema.columns a{n}" for n in range(400)),
    "natural joins": "SELECT count(*) FROM nation n0 " + " ".join(f"NATURAL JOIN nation n{n}" for n in range(1, 450)),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_is_answered_or_refused_and_the_next_one_is_answered(platform, name):
    answered_or_refused(platform, STATEMENTS[name])


def test_a_function_that_calls_itself_is_refused(platform):
    with defined(platform, "FUNCTION itself(x INT) RETURNS INT AS 'itself(x)'", "FUNCTION itself(INT)"):
        assert platform.query("SELECT itself(1)").status in {400, 422}
        answered_or_refused(platform, "SELECT itself(1)")


def test_functions_in_functions_are_bounded(platform):
    deep = "(" * 60 + "x" + ")" * 60
    with defined(platform, f"FUNCTION inner_one(x INT) RETURNS INT AS '{deep}'", "FUNCTION inner_one(INT)"):
        calls = "inner_one(" * 30 + "x" + ")" * 30
        with defined(platform, f"FUNCTION outer_one(x INT) RETURNS INT AS '{calls}'", "FUNCTION outer_one(INT)"):
            answered_or_refused(platform, "SELECT outer_one(1)")


def test_views_in_views_are_bounded(platform):
    with contextlib.ExitStack() as made:
        for view in range(16):
            made.enter_context(defined(platform, f"VIEW deep_{view} AS SELECT 1 AS a", f"VIEW deep_{view}"))
        for view in range(15, 0, -1):
            inner = "(SELECT * FROM " * 35 + f"deep_{view - 1}" + ") x" * 35
            assert platform.query(f"CREATE OR REPLACE VIEW deep_{view} AS SELECT * FROM {inner}").status == 200
        answered_or_refused(platform, "SELECT * FROM deep_15")


def test_a_large_view_is_not_put_in_without_end(platform):
    listed = ", ".join(str(n) for n in range(20_000))
    with defined(platform, f"VIEW large AS SELECT 1 AS a WHERE 1 IN ({listed})", "VIEW large"):
        answered_or_refused(platform, "SELECT count(*) FROM " + ", ".join(f"large l{n}" for n in range(200)))


@contextlib.contextmanager
def defined(platform, what, name):
    made = platform.query(f"CREATE {what}")
    assert made.status == 200, made.body
    try:
        yield
    finally:
        platform.query(f"DROP {name}")


def answered_or_refused(platform, sql):
    answer = platform.query(sql, timeout_ms=20_000)
    assert answer.status < 500, f"{answer.status} {answer.body}"
    assert answer.status == 200 or answer.body["error"]["code"], answer.body
    after = platform.query("SELECT 42 AS a")
    assert after.status == 200, after.body
