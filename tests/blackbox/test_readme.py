"""The README does what it says: its transcripts are typed, in order, into one shell.

The shell stands in a folder that looks like the checkout of a person who has typed `./dev up`:
`dev` is the one of this checkout, `.sluice` the state of the platform under test.
"""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import transcript

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
LINES_MAX = 140


@pytest.fixture
def shell(platform, tmp_path):
    dev = tmp_path / "dev"
    dev.write_text(f'#!/bin/sh\nexec "{ROOT}/dev" "$@"\n')
    dev.chmod(0o755)
    (tmp_path / ".sluice").symlink_to(os.environ["SLUICE_STATE"])
    # What the README reads from `.sluice/env` must come from there.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_") or name == "SLUICE_STATE"}
    with policies_put_back(platform), files_put_back(platform), transcript.Shell(tmp_path, kept) as shell:
        yield shell


@contextlib.contextmanager
def policies_put_back(platform):
    """Policies that are made within go when it closes: other tests query the same environment."""
    path = f"/v1/environments/{platform.env}/policies"
    ids = lambda: {policy["policy_id"] for policy in platform.done("GET", path)["data"]}
    before = ids()
    try:
        yield
    finally:
        for policy in ids() - before:
            platform.done("DELETE", f"{path}/{policy}")


@contextlib.contextmanager
def files_put_back(platform):
    """The table and the file that the transcripts make go when it closes."""
    try:
        yield
    finally:
        for sql in ("drop table if exists visits", "remove @files/phones.csv"):
            assert platform.query(sql).status == 200, sql


def test_the_transcripts_show_what_is_written(shell):
    typed = transcript.commands(README)
    assert typed
    differences = [difference for command in typed if (difference := transcript.difference(shell, command))]
    assert not differences, "\n\n".join(differences)


def test_every_block_is_run_or_typed_by_a_person():
    kinds = {kind for _, kind, _ in transcript.blocks(README)}
    assert kinds <= {"console", "console soon", "sh"}, kinds


def test_the_commands_that_a_person_types_exist():
    helped = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
    lines = [line for _, kind, lines in transcript.blocks(README) if kind == "sh" for line in lines]
    for line in lines + re.findall(r"`(\./dev[^`]*)`", README):
        program, *words = line.split()
        if program == "./dev":
            assert not words or re.search(rf"^\./dev \[?{words[0]}\b", helped, re.MULTILINE), line
        else:
            assert shutil.which(program), line


def test_the_readme_is_read_in_one_go():
    assert len(README.splitlines()) <= LINES_MAX


# --- the reader of transcripts itself ---

SAMPLE = """
```console
$ name=world
$ printf 'hello %s\\n' \\
    "$name"
hello …
$ printf 'no newline'; printf ' at the end' >&2
no newline at the end
```
```sh
rm -rf never
```
"""


def differences(markdown, folder):
    with transcript.Shell(folder, dict(os.environ)) as shell:
        return [transcript.difference(shell, command) for command in transcript.commands(markdown)]


def test_a_transcript_is_one_shell(tmp_path):
    assert differences(SAMPLE, tmp_path) == [None, None, None]


@pytest.mark.parametrize("written, instead", [
    ("hello …", "goodbye …"), ("hello …\n", ""), ("hello …", "hello …\nand more"), ("hello …", "hello wo"), ("$ name=world", "$ true")])
def test_a_difference_is_seen(tmp_path, written, instead):
    assert any(differences(SAMPLE.replace(written, instead), tmp_path))


def test_what_is_soon_is_asked_again(tmp_path):
    again = "$ cat said 2>/dev/null || ! echo news >said\nnews\n"
    assert differences(f"```console soon\n{again}```", tmp_path) == [None]
    (tmp_path / "said").unlink()
    assert any(differences(f"```console\n{again}```", tmp_path))
