"""The official MCP client of TypeScript: tools, results, errors, event streams, older revisions; `node/tools.cjs`."""

import os
import pathlib
import subprocess

import pytest

TOOLS = pathlib.Path(__file__).parent / "node/tools.cjs"


@pytest.mark.parametrize("check", ["list", "reads", "pages", "errors", "events", "older"])
def test_the_client_of_typescript(platform, check):
    known = {"NODE_PATH": os.environ["SLUICE_NODE_MODULES"], "SLUICE_KEY": platform.key}
    run = subprocess.run(["node", TOOLS, check], env={**os.environ, **known}, capture_output=True, text=True,
                         timeout=60, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
