"""`./dev` refuses what it does not know, says what to do instead, and removes nothing that is not its own.

What removes something is tried on a copy of the script, in a folder that stands for a checkout: there is
nothing beside it to lose.
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = {"up", "down", "psql", "sluice", "test", "fast", "bench", "soak", "charts", "kind", "sqlx", "cluster", "prepare",
            "doctor", "plugin", "prune", "reset"}


def typed(root, *arguments, state=None):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    if state is not None:
        kept["SLUICE_STATE"] = str(state)
    return subprocess.run([root / "dev", *arguments], env=kept, capture_output=True, text=True, timeout=60)


def refused(done):
    """The last line on the error stream of a command that has failed."""
    assert done.returncode == 1, done
    return done.stderr.splitlines()[-1]


@pytest.fixture
def checkout(tmp_path):
    """What `./dev` reads of a checkout, with one fetched piece."""
    root = tmp_path / "checkout"
    root.mkdir()
    for name in ["dev", "dev.lock", "rust-toolchain.toml"]:
        shutil.copy(ROOT / name, root)
    shutil.copytree(ROOT / ".ci", root / ".ci")
    (root / ".sluice" / "duckdb").mkdir(parents=True)
    (root / ".sluice" / "duckdb" / "libduckdb.so").write_text("fetched")
    return root


def files(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_help_names_every_command_and_every_stage():
    done = typed(ROOT, "help")
    assert (done.returncode, done.stderr) == (0, "")
    assert set(re.findall(r"^\./dev \[?(\w+)", done.stdout, re.M)) == COMMANDS | {"help"}
    taken = (ROOT / "dev").read_text().partition("\nmain() {")[2]
    arms = re.findall(r"^    ([\w |-]+)\)", taken, re.M)
    assert {name.strip() for arm in arms for name in arm.split("|")} == COMMANDS | {"help", "-h", "--help"}
    stages = re.search(r"^all_stages=\((.*)\)", (ROOT / ".ci" / "stages").read_text(), re.M)[1]
    assert f"what CI runs: {stages}\n" in done.stdout


def test_a_command_that_there_is_not_is_answered_with_those_that_there_are():
    done = typed(ROOT, "nonsense")
    assert refused(done) == "dev: no command named nonsense"
    assert done.stdout == "" and done.stderr.startswith(typed(ROOT, "help").stdout)


def test_no_stage_runs_when_one_of_them_is_none():
    done = typed(ROOT, "test", "fmt", "nonsense")
    assert refused(done).startswith("dev: no stage named nonsense; there are: fmt clippy ")
    assert "──" not in done.stdout


def test_what_is_wrong_is_said_before_anything_is_fetched_or_built(checkout):
    before = files(checkout)
    for arguments, said in [
        (["plugin"], "dev: plugin: name the folder of the PATH that kubectl-sluice goes into, as ~/.local/bin"),
        (["plugin", checkout / "nowhere"],
         "dev: plugin: name the folder of the PATH that kubectl-sluice goes into, as ~/.local/bin"),
        (["up", "--now"], "dev: up: unknown argument --now (only --detach)"),
        (["psql"], "dev: nothing runs here: ./dev up --detach"),
        (["sluice", "stage", "ls", "@files"], "dev: nothing runs here: ./dev up --detach"),
    ]:
        done = typed(checkout, *arguments)
        assert (refused(done), done.stdout) == (said, ""), arguments
    assert files(checkout) == before


@pytest.mark.parametrize("is_bare", [False, True])
def test_the_doctor_has_a_fix_for_whatever_is_missing(is_bare, checkout):
    done = typed(checkout if is_bare else ROOT, "doctor")
    lines = done.stdout.splitlines()
    missing = [(line, lines[n + 1].strip()) for n, line in enumerate(lines) if line.startswith("  ✗ ")]
    assert all(re.match(r"fix: \S", fix) for _, fix in missing), missing
    assert done.returncode == (1 if missing else 0)
    fetched = re.findall(r"^  ([✓✗]) fetched +(\S+)", done.stdout, re.M)
    assert len(fetched) == 5
    if is_bare:
        assert [name for sign, name in fetched if sign == "✓"] == [".sluice/duckdb/libduckdb.so"]
        assert {fix for line, fix in missing if " fetched " in line} == {"fix: ./dev prepare"}


def test_a_folder_that_is_no_platforms_state_is_not_removed(checkout, tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter-1").write_text("years of work")
    before = files(tmp_path)
    done = typed(checkout, "reset", state=folder)
    assert refused(done) == f"dev: reset: {folder} is no platform's state, it has no secrets/: nothing was removed"
    assert files(tmp_path) == before


def test_the_state_of_a_second_platform_goes_alone(checkout, tmp_path):
    (tmp_path / "second" / "secrets").mkdir(parents=True)
    before = files(checkout)
    done = typed(checkout, "reset", state=tmp_path / "second")
    assert done.returncode == 0 and not (tmp_path / "second").exists()
    assert files(checkout) == before
    again = typed(checkout, "reset", state=tmp_path / "second")
    assert (again.returncode, "nothing to remove" in again.stdout) == (0, True)


def test_reset_removes_what_was_fetched_and_keeps_the_checkout(checkout):
    done = typed(checkout, "reset")
    assert done.returncode == 0 and not (checkout / ".sluice").exists()
    assert (checkout / "dev").exists()


def test_what_does_not_run_is_not_stopped(checkout):
    # The number of a process that lives, and is not ours to stop.
    (checkout / ".sluice" / "sluice.pid").write_text(str(os.getpid()))
    done = typed(checkout, "down")
    assert (done.returncode, "not running" in done.stdout) == (0, True)
    assert not (checkout / ".sluice" / "sluice.pid").exists()
