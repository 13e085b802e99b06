"""Shared by the tests of chart, manifests and images."""

import pytest

import workspace
from chart import HERE, MANIFESTS, helm, kustomize, read

EVERYTHING = str(HERE / "values/everything.yaml")


@pytest.fixture(scope="session")
def installations():
    """Every way in which the platform is installed, as lists of objects."""
    return {
        "chart, defaults": helm(hooks=True),
        "chart, everything": helm("--values", EVERYTHING, hooks=True),
        "chart, everything cluster-wide": helm("--values", EVERYTHING, "--set-json", "watchNamespaces=[]", hooks=True),
        "kustomize base": kustomize(MANIFESTS / "base"),
        "kustomize kind": kustomize(MANIFESTS / "overlays/kind"),
        "kustomize production": kustomize(MANIFESTS / "overlays/production"),
        "one file": read(MANIFESTS / "install.yaml"),
    }


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """A copy of the workspace, which its tests leave as it is."""
    return workspace.copy(tmp_path_factory.mktemp("workspace") / "tree")
