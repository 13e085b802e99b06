"""Each Dockerfile, run line by line without docker: the dependencies are compiled in a layer of their own.

cargo compiles nothing here: cargo_stand_in.py says what takes its place. With SLUICE_IMAGES=real cargo
compiles everything, after `./dev prepare`, in about half an hour and some gigabytes for an image:
  SLUICE_IMAGES=real <python> -m pytest --basetemp <folder> tests/charts/test_layers.py -k operator
"""

import json
import os
import shutil
import subprocess

import pytest

from chart import HERE, ROOT
from dockerfile import PACKAGES, PROGRAMS, build
from workspace import IS_REAL, LONG_AGO, contents, edited, targets


@pytest.fixture
def environment(tmp_path):
    """What a RUN line gets of the environment, with the cargo that writes down what it does."""
    cargo = tmp_path / "bin/cargo"
    cargo.parent.mkdir()
    shutil.copy(HERE / "cargo_stand_in.py", cargo)
    cargo.chmod(0o755)
    kept = {name: os.environ[name] for name in ("HOME", "CARGO_HOME", "RUSTUP_HOME") if name in os.environ}
    return kept | {
        "PATH": f"{cargo.parent}:{os.environ['PATH']}",
        "CARGO_TARGET_DIR": "/src/target",  # whatever a person has set: `cargo clean` stays in the stage
        "CARGO_BUILD_BUILD_DIR": "/src/target",
        "SLUICE_CARGO": shutil.which("cargo"),
        "SLUICE_IMAGES": "real" if IS_REAL else "",
        "SLUICE_RECORD": str(tmp_path / "record"),
    }


@pytest.mark.parametrize("program", PROGRAMS)
def test_our_sources_are_built_upon_a_layer_of_the_dependencies_alone(program, tree, environment, tmp_path):
    roots = build(ROOT / program / "Dockerfile", tree, tmp_path / "stages", environment)
    calls = [json.loads(line) for line in (tmp_path / "record").read_text().splitlines()]
    assert [arguments[0] for arguments, _ in calls] == ["metadata", "build", "clean", "build"]
    _, (first, dependencies), (clean, _), (second, ours) = calls
    assert first == second
    assert clean == ["clean", "--locked", *second[2 : second.index("--package")], "--workspace"]
    members = {name for name, *_ in targets(tree)}
    assert set(dependencies) - members
    assert program in ours and set(ours) <= members
    assert (roots["build"] / f"src/{PACKAGES[program]}/src/main.rs").stat().st_mtime == LONG_AGO
    it_runs(roots["image"], program)

    with edited(tree / PACKAGES[program] / "src/main.rs"):
        again = build(ROOT / program / "Dockerfile", tree, tmp_path / "again", environment, until="manifests")
    assert contents(again["manifests"] / "skeleton") == contents(roots["manifests"] / "skeleton")


def it_runs(image, program):
    """The image's program says something, which an empty one does not, with nothing but its image and /proc."""
    (image / "proc").mkdir()
    line = 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$1" --help'
    command = ["unshare", "--map-root-user", "--mount", "/bin/sh", "-c", line, image, f"/usr/local/bin/{program}"]
    assert subprocess.run(command, check=True, capture_output=True).stdout
    beside = {"libduckdb.so"} if program == "dataplane" else set()
    assert set(os.listdir(image / "usr/local/bin")) == {program} | beside
