"""Shared by the tests of chart and manifests."""

import pytest

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
