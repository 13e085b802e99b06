"""Questions of tools that are not run here to PostgreSQL's catalogue: `questions.jsonl`, one statement a line.

Each asks, in words of our own, what a statement in that file of the tool's repository asks at that version, of the same
tables and by the same functions. `rows` is the whole answer, where that does not depend on what else the environment has;
`refused` is what it is refused by, where it is.
"""

import collections
import json
import pathlib

import psycopg
import pytest

ASKED = collections.defaultdict(list)
for line in pathlib.Path(__file__).with_name("questions.jsonl").read_text().splitlines():
    ASKED[json.loads(line)["tool"]].append(json.loads(line))


@pytest.mark.parametrize("tool", ASKED)
def test_a_tool_is_answered(platform, tool):
    wrong = []
    with psycopg.connect(platform.psql, autocommit=True) as connection:
        for asked in ASKED[tool]:
            try:
                answer = connection.execute(asked["sql"])
                rows = [list(row) for row in answer.fetchall()] if answer.description else None
            except psycopg.Error as error:
                if asked.get("refused", str(error)) in str(error) and "refused" in asked:
                    continue
                wrong.append(f"{asked['file']}, {asked['asks']}: {error}")
                continue
            if asked.get("rows", rows) != rows:
                wrong.append(f"{asked['file']}, {asked['asks']}: {rows}, not {asked['rows']}")
    assert not wrong, "\n".join(wrong)
