"""A copy of the workspace, as a checkout on the machine that builds an image has it."""

import contextlib
import json
import os
import shutil
import subprocess

from chart import ROOT

IS_REAL = os.environ.get("SLUICE_IMAGES") == "real"  # test_layers.py
LONG_AGO = 1577836800  # the first of January 2020: before every layer is built


def copy(root):
    """What git knows or would add, every file of it old; and where images are real, what `./dev prepare` has made."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    said = subprocess.run(listed, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    for name in filter(None, said.split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    library = ".sluice/duckdb/libduckdb.so"
    (root / library).parent.mkdir(parents=True)
    if IS_REAL:
        shutil.copy(ROOT / library, root / library)
        shutil.copytree(ROOT / "controlplane/dashboard/dist", root / "controlplane/dashboard/dist")
    else:
        (root / library).write_text("no library: nothing is linked")
    for path in root.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return root


@contextlib.contextmanager
def edited(path):
    """A file of a copy has other contents while the block runs."""
    text, times = path.read_text(), (path.stat().st_atime, path.stat().st_mtime)
    path.write_text(text + "edited")
    try:
        yield
    finally:
        path.write_text(text)
        os.utime(path, times)


def skeleton(root, folder):
    subprocess.run([root / ".ci/skeleton", folder], check=True)
    return folder


def contents(folder):
    """The bytes and the mode of each file by its path from the folder."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {str(file.relative_to(folder)): (file.read_bytes(), file.stat().st_mode) for file in files}


def targets(root):
    """Package, kind, name and source of each target of ours that cargo looks for."""
    return {
        (package["name"], *target["kind"], target["name"], os.path.relpath(target["src_path"], root))
        for package in metadata(root, "--no-deps", "--offline")["packages"]
        for target in package["targets"]
    }


def dependencies(root):
    """Each package that is not ours, with its features, as the lock has it for this machine."""
    host = subprocess.run(["rustc", "--print", "host-tuple"], check=True, capture_output=True, text=True, cwd=root)
    nodes = metadata(root, "--locked", "--filter-platform", host.stdout.strip())["resolve"]["nodes"]
    return {(node["id"], *node["features"]) for node in nodes if not node["id"].startswith("path+")}


def metadata(root, *arguments):
    command = ["cargo", "metadata", "--format-version", "1", *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=root).stdout)
