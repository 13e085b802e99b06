"""pgx in each of its ways to send a statement, and lib/pq: one tale through each, `go/main.go`."""

import os
import pathlib
import shutil
import subprocess

import pytest

from matrix import needed

FOLDER = pathlib.Path(__file__).parent / "go"
needed(shutil.which("go"), "Go", "golang")


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    program = tmp_path_factory.mktemp("go") / "walk"
    built = subprocess.run(["go", "build", "-o", program, "."], cwd=FOLDER, capture_output=True, text=True, timeout=240)
    assert built.returncode == 0, built.stderr
    return program


@pytest.mark.parametrize("name", ["pgx", "pq"])
def test_a_driver_of_go_walks_from_a_definition_to_a_cancel(platform, walk, name):
    run = subprocess.run([walk, name], env={**os.environ, "SLUICE_PSQL": platform.psql}, capture_output=True, text=True,
                         timeout=90, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
