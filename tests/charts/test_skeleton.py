"""The skeleton that .ci/skeleton makes of the workspace: enough for cargo, and nothing of our sources."""

import tomllib

import workspace
from chart import ROOT
from workspace import contents, dependencies, skeleton, targets

EMPTY = b"pub fn main() {}\n"


def test_it_is_the_manifests_and_an_empty_source_for_each_target(tree, tmp_path):
    made = skeleton(tree, tmp_path / "made")
    members = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["members"]
    manifests = {f"{member}/Cargo.toml" for member in members}
    manifests |= {"Cargo.toml", "Cargo.lock", ".cargo/config.toml", "rust-toolchain.toml"}
    sources = {source for *_, source in targets(tree)}
    assert {"operator/build.rs", "controlplane/dashboard/embed.rs", "dataplane/tests/main.rs"} <= sources
    held = {name: said for name, (said, _) in contents(made).items()}
    assert held == {name: (tree / name).read_bytes() for name in manifests} | dict.fromkeys(sources, EMPTY)


def test_it_is_the_same_workspace_to_cargo(tree, tmp_path):
    made = skeleton(tree, tmp_path / "made")
    assert targets(made) == targets(tree)
    assert dependencies(made) == dependencies(tree)


def test_an_edited_source_does_not_change_it_and_a_new_target_does(tmp_path):
    tree = workspace.copy(tmp_path / "tree")
    before = contents(skeleton(tree, tmp_path / "before"))
    for kind in ("rs", "sql", "json", "proto", "py"):
        for source in tree.rglob(f"*.{kind}"):
            source.write_text(source.read_text() + "edited")
    (tree / "controlplane/src/added.rs").write_text("")
    (tree / "dataplane/tests/added.rs").write_text("")
    assert contents(skeleton(tree, tmp_path / "after")) == before
    (tree / "controlplane/src/bin").mkdir()
    (tree / "controlplane/src/bin/added.rs").write_text("")
    assert contents(skeleton(tree, tmp_path / "another")).keys() - before.keys() == {"controlplane/src/bin/added.rs"}
