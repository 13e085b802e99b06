"""Runs a Dockerfile without docker: a stage is a folder, which a RUN line sees as the root of its system.

What FROM names is not fetched: while a line runs, the programs of this system are bound into the
stage. Instructions and forms of them that our Dockerfiles do not use are refused.
"""

import re
import shutil
import subprocess
from pathlib import PurePosixPath

# Each program that has an image, and the folder of its package.
PACKAGES = {"operator": "operator", "controlplane": "controlplane/program", "dataplane": "dataplane"}
PROGRAMS = list(PACKAGES)

# Binds what this system has at its root and the stage has not, or has only as an empty folder, where
# an earlier line had it bound; then runs the line. The bindings end with the process.
RUN = r"""
for entry in /*; do
  below=$1$entry
  rmdir "$below" 2>/dev/null
  if [ -e "$below" ] || [ -L "$below" ]; then continue; fi
  if [ -L "$entry" ]; then cp -P "$entry" "$below" || exit; fi
  if [ -d "$entry" ] && [ ! -L "$entry" ]; then mkdir "$below" && mount --rbind "$entry" "$below" || exit; fi
done
exec chroot "$1" /bin/sh -c 'cd "$0" && exec /bin/sh -c "$1"' "$2" "$3"
"""


def instructions(path):
    """The instructions as pairs of name and words, comments and continuations removed."""
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]


def build(dockerfile, context, folder, environment, until="image"):
    """The root of each stage by its name, up to this one; `image` is the last. All are below the folder."""
    roots, root, workdir = {}, None, PurePosixPath("/")
    for name, words in instructions(dockerfile):
        if name == "FROM":
            if until in roots:
                break
            stage = words.partition(" AS ")[2] or "image"
            root, workdir = folder / stage, PurePosixPath("/")
            roots[stage] = root
            root.mkdir(parents=True)
        elif name == "WORKDIR":
            workdir /= words
            inside(root, workdir).mkdir(parents=True, exist_ok=True)
        elif name == "COPY":
            source, target = re.fullmatch(r"(\.|--from=\w+ /\w+) ([./]+)", words).groups()
            copy(source, context, roots, inside(root, workdir / target))
        elif name == "RUN":
            command = ["unshare", "--map-root-user", "--mount", "/bin/sh", "-c", RUN, "sh", root, workdir, words]
            subprocess.run(command, check=True, env=environment)
        else:
            assert name in ("USER", "ENTRYPOINT"), name
    return roots


def inside(root, path):
    return root / str(path).lstrip("/")


def copy(source, context, roots, target):
    """Copies files with their times, as docker does; out of the context only what .dockerignore lets in."""
    if source != ".":
        stage, path = source.removeprefix("--from=").split()
        shutil.copytree(inside(roots[stage], path), target, symlinks=True, dirs_exist_ok=True)
        return
    lines = ignored(context / ".dockerignore")
    for file in sorted(context.rglob("*")):
        path = file.relative_to(context)
        if file.is_file() and is_sent(path, lines):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target / path)


def ignored(path):
    """The lines of a .dockerignore as pairs of a pattern and whether what it matches is let in."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    patterns = [re.escape(line.removeprefix("!")).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*") for line in lines]
    return [(re.compile(pattern), line.startswith("!")) for pattern, line in zip(patterns, lines)]


def is_sent(path, lines):
    """Whether docker gets this file: the last line that matches it, or a folder that it is in, decides."""
    names = [str(name) for name in (path, *path.parents)][:-1]
    return next((lets_in for pattern, lets_in in reversed(lines) if any(map(pattern.fullmatch, names))), True)
