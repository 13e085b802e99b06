"""node-postgres: parameters, every type there and back, errors, cancel, many rows; the checks are `node/driver.cjs`.

Query builders and other drivers of Node define a table, write, read, change and roll back: `node/frameworks.cjs`.
"""

import os
import pathlib
import subprocess

import pytest

NODE = pathlib.Path(__file__).parent / "node"


def holds(platform, script, check):
    modules = {"NODE_PATH": os.environ["SLUICE_NODE_MODULES"], "SLUICE_PSQL": platform.psql}
    run = subprocess.run(["node", NODE / script, check], env={**os.environ, **modules}, capture_output=True, text=True,
                         timeout=60, check=False)
    assert run.returncode == 0, run.stderr[-4000:]


@pytest.mark.parametrize("check", ["types", "parameters", "errors", "cancel", "transactions", "many rows"])
def test_node_postgres(platform, check):
    holds(platform, "driver.cjs", check)


@pytest.mark.parametrize("name", ["postgres.js", "kysely", "drizzle", "knex", "sequelize", "typeorm"])
def test_a_query_builder_walks_from_a_definition_to_a_rollback(platform, name):
    holds(platform, "frameworks.cjs", name)
