"""Questions to every driver: the same for test_jdbc, test_odbc and test_adbc."""

import os

import pytest

ROWS = 10_000
MANY = f"select range as n, 'row ' || range as what from range({ROWS})"
LAST = (ROWS - 1, f"row {ROWS - 1}")
# Longer than any test waits.
SLOW = "select count(*) from lineitem a, lineitem b where a.l_comment < b.l_comment"
BY_KEY = "select c_name from customer where c_custkey = "
# A statement that is refused, the state and the stable code that say why.
REFUSED = [
    ("select * from no_such_table", "42P01", "SVC_ERR_404_TABLE_NOT_FOUND"),
    ("slct 1", "42601", "SVC_ERR_400_BAD_SQL"),
    ("select * from read_csv('/etc/passwd')", "0A000", "TRANSPILATION_ERROR"),
]


def needed(found, what, packages):
    """A driver of the system: where it is missing its tests are skipped, in CI they fail."""
    if not found and "CI" not in os.environ:
        pytest.skip(f"no {what}: apt-get install {packages}", allow_module_level=True)


def customer(key):
    return f"Customer#{key:09}"
