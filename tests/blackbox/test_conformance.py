"""The tool server under the protocol's own conformance suite, in each version that it speaks.

The suite asks a server for tools, prompts and resources of its own, and those the product does not have. A check that
fails for want of one of them is left alone; no other may fail."""

import json
import os
import pathlib
import re
import subprocess

import pytest

CREDENTIAL = pathlib.Path(__file__).parent / "node/credential.mjs"
# What a failed check may say: that there is nothing of the suite's own here to try it on.
WITHOUT_FIXTURE = re.compile(
    r"Not testable|there is no tool test_|json_schema_2020_12_tool|"
    r"(Failed|error|-32601): (method not found: )?(prompts|resources|completion|logging)/|"
    r"InputRequiredResult")
# Scenarios that need nothing of the suite's own.
WHOLE = {
    "2025-06-18": {"server-initialize", "ping", "tools-list"},
    "2025-11-25": {"server-initialize", "ping", "tools-list", "dns-rebinding-protection"},
    "2026-07-28": {"tools-list", "dns-rebinding-protection", "http-header-validation", "server-sse-multiple-streams",
                   "sep-2164-resource-not-found", "input-required-result-unsupported-methods"},
}


@pytest.fixture(scope="module")
def node():
    """The suite wants a newer one than this project."""
    modules = pathlib.Path(os.environ["SLUICE_NODE_MODULES"])
    return next(modules.glob("node-linux-*/bin/node"))


@pytest.fixture(scope="module")
def url(node):
    with subprocess.Popen([node, CREDENTIAL], stdout=subprocess.PIPE, text=True) as way:
        yield f"http://127.0.0.1:{way.stdout.readline().strip()}/mcp"
        way.kill()


@pytest.mark.parametrize("version", WHOLE)
def test_every_check_that_can_be_made_holds(node, url, version, tmp_path):
    suite = pathlib.Path(os.environ["SLUICE_NODE_MODULES"], "@modelcontextprotocol/conformance/dist/index.js")
    run = subprocess.run([node, suite, "server", "--url", url, "--suite", "all", "--spec-version", version, "-o", tmp_path],
                         capture_output=True, text=True, timeout=300, check=False)
    found = {scenario(folder): checks(folder) for folder in tmp_path.iterdir()}
    assert found, run.stdout[-4000:] + run.stderr[-4000:]
    wrong = [(name, check["id"], check.get("errorMessage")) for name, made in found.items() for check in made
             if check["status"] == "FAILURE" and not WITHOUT_FIXTURE.search(check.get("errorMessage") or "")]
    assert not wrong
    failed = {name for name, made in found.items() if any(check["status"] == "FAILURE" for check in made)}
    passed = {name for name, made in found.items() if any(check["status"] == "SUCCESS" for check in made)}
    assert WHOLE[version] <= passed - failed
    if version == "2026-07-28":
        stateless = [check["status"] for check in found["server-stateless"]]
        assert stateless.count("SUCCESS") >= 21, found["server-stateless"]


def scenario(folder):
    """`server-<scenario>-<moment>`."""
    return re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT.*", folder.name).group(1)


def checks(folder):
    return json.loads((folder / "checks.json").read_text())
