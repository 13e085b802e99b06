"""The Dockerfiles as text; docker itself does not run here."""

import re
import subprocess

import pytest

from chart import ROOT, read
from dockerfile import PACKAGES, PROGRAMS, instructions

BUILDS = {
    "operator": "--profile compact --package operator --bin operator",
    "controlplane": "--release --package controlplane-program --bin controlplane --features dashboard",
    "dataplane": "--release --package dataplane --bin dataplane",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_image_is_built_by_our_compiler_and_holds_nothing_but_the_program(program):
    channel = re.search(r'channel = "(.+)"', (ROOT / "rust-toolchain.toml").read_text())[1]
    said = instructions(ROOT / program / "Dockerfile")
    assert [words for name, words in said if name == "FROM"] == [
        f"rust:{channel}-bookworm AS manifests", f"rust:{channel}-bookworm AS build", "scratch",
    ]
    last = dict(said[-4:])
    assert last["FROM"] == "scratch" and last["COPY"] == "--from=build /rootfs /"
    assert last["USER"] == "65532:65532"
    assert last["ENTRYPOINT"] == f'["/usr/local/bin/{program}"]'


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_image_builds_a_program_that_is_there(program):
    said = instructions(ROOT / program / "Dockerfile")
    runs = [words.split(" &&", maxsplit=1) for name, words in said if name == "RUN"]
    assert [first for first, *_ in runs] == [".ci/skeleton /skeleton", *[f"cargo build --locked {BUILDS[program]}"] * 2]
    assert runs[2][1].split()[:2] == [".ci/rootfs", "/rootfs"]
    copies = [". .", "--from=manifests /skeleton .", ". .", "--from=build /rootfs /"]
    assert [words for name, words in said if name == "COPY"] == copies
    package = ROOT / PACKAGES[program]
    assert f'name = "{program}"' in (package / "Cargo.toml").read_text()
    assert (package / "src/main.rs").exists()


def test_the_build_sees_every_member_of_the_workspace_and_what_it_copies():
    seen = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    members = re.search(r"members = \[(.*?)\]", (ROOT / "Cargo.toml").read_text(), re.DOTALL)[1]
    assert {member.split("/")[0] for member in re.findall(r'"(.+?)"', members)} <= seen
    assert {"Cargo.toml", "Cargo.lock", ".cargo", ".sqlx", "rust-toolchain.toml"} <= seen
    assert {".ci/rootfs", ".ci/skeleton", ".sluice/duckdb/libduckdb.so"} <= seen
    assert seen <= {path for path in seen if path.startswith(".sluice") or (ROOT / path).exists()}


def test_a_program_runs_with_nothing_but_its_root(tmp_path):
    root = tmp_path / "root"
    extra = tmp_path / "beside"
    extra.write_text("#!")
    subprocess.run([ROOT / ".ci/rootfs", root, "/bin/ls", extra], check=True, capture_output=True)
    done = subprocess.run(
        ["unshare", "--map-root-user", "chroot", root, "/usr/local/bin/ls", "/etc", "/usr/local/bin"],
        check=True, capture_output=True, text=True,
    )
    assert {"passwd", "group", "ssl", "beside", "ls"} <= set(done.stdout.split())
    assert ":65532:65532:" in (root / "etc/passwd").read_text()


@pytest.mark.parametrize("program", PROGRAMS[:2])
def test_the_deployment_starts_what_the_image_holds(program):
    (deployment,) = [t for t in read(ROOT / f"manifests/base/{program}.yaml") if t["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["command"] == [f"/usr/local/bin/{program}"]
