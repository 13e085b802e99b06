"""node-postgres: parameters, every type there and back, errors, cancel, many rows; the checks are `node/driver.cjs`."""

import os
import pathlib
import subprocess

import pytest

DRIVER = pathlib.Path(__file__).parent / "node/driver.cjs"


@pytest.mark.parametrize("check", ["types", "parameters", "errors", "cancel", "transactions", "many rows"])
def test_node_postgres(platform, check):
    modules = {"NODE_PATH": os.environ["SLUICE_NODE_MODULES"], "SLUICE_PSQL": platform.psql}
    run = subprocess.run(["node", DRIVER, check], env={**os.environ, **modules}, capture_output=True, text=True,
                         timeout=60, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
