"""The chart and the manifests, rendered by the real helm and kubectl."""

import functools
import json
import os
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts/sluice"
MANIFESTS = ROOT / "manifests"
HERE = Path(__file__).resolve().parent
NAMESPACE = "sluice-system"
BIN = Path(os.environ.get("SLUICE_BIN", ROOT / ".sluice/bin"))
# libyaml reads the same in a tenth of the time; a wheel for a rare machine lacks it.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.cache
def run(tool, *arguments, given=None):
    """Output of a tool of .sluice/bin, which reads `given`; a failure carries what it said.

    It is run once for the same arguments: nothing changes the files that they name meanwhile.
    """
    done = subprocess.run([BIN / tool, *arguments], input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(done.stderr)
    return done.stdout


class Refused(Exception):
    """A tool that ended with an error."""


def helm(*arguments, hooks=False, values=None):
    """The objects of the chart, also by values that no file has."""
    hooks = [] if hooks else ["--no-hooks"]
    own = ["--values", "-"] if values else []
    command = ["template", "sluice", str(CHART), "--namespace", NAMESPACE, *hooks, *own, *arguments]
    return objects(run("helm", *command, given=values and json.dumps(values)))


def kustomize(folder):
    """The objects of a kustomization."""
    return objects(run("kubectl", "kustomize", str(folder)))


def objects(text):
    return [document for document in yaml.load_all(text, LOADER) if document]


def read(path):
    return objects(Path(path).read_text())


def plain(thing):
    """Without what only helm makes and heeds."""
    metadata = thing["metadata"]
    for kind, names in (
        ("labels", ("helm.sh/chart", "app.kubernetes.io/managed-by")),
        ("annotations", ("helm.sh/resource-policy",)),
    ):
        kept = {name: value for name, value in metadata.get(kind, {}).items() if name not in names}
        metadata.pop(kind, None)
        if kept:
            metadata[kind] = kept
    return thing


def key(thing):
    return (thing["apiVersion"], thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"])


def dump(things):
    return "".join("---\n" + yaml.safe_dump(thing, sort_keys=False, width=120) for thing in things)
