"""The two ways to install cannot diverge: what helm renders by default is what kustomize builds."""

import pytest

import printing
from chart import MANIFESTS, helm, key, kustomize, plain, read


def by_key(things):
    return {key(thing): plain(thing) for thing in things}


def without_namespace(things):
    """`helm install --create-namespace` makes it; kustomize brings it."""
    return [thing for thing in things if thing["kind"] != "Namespace"]


def test_helm_and_kustomize_install_the_same():
    assert by_key(helm()) == by_key(without_namespace(kustomize(MANIFESTS / "base")))


def test_the_single_file_installs_the_same_too():
    single = read(MANIFESTS / "install.yaml")
    assert by_key(single) == by_key(kustomize(MANIFESTS / "base"))


@pytest.mark.parametrize("file", {**printing.base(), **printing.install()}.items(), ids=lambda file: file[0].name)
def test_a_manifest_is_what_the_chart_prints(file):
    path, text = file
    assert path.read_text() == text, "run: ./dev charts"


@pytest.mark.parametrize("overlay", ["kind", "production"])
def test_an_overlay_changes_the_base_and_loses_nothing(overlay):
    base, built = by_key(kustomize(MANIFESTS / "base")), by_key(kustomize(MANIFESTS / "overlays" / overlay))
    assert base.keys() < built.keys()
    for name in ("sluice-operator", "sluice-controlplane"):
        deployment = ("apps/v1", "Deployment", "sluice-system", name)
        assert base[deployment] != built[deployment], name


def test_an_overlay_runs_data_planes_of_the_same_build():
    """kustomize moves the images of containers; the data plane's is a variable of the operator."""
    for overlay in ("kind", "production"):
        built = by_key(kustomize(MANIFESTS / "overlays" / overlay))
        operator = built["apps/v1", "Deployment", "sluice-system", "sluice-operator"]
        container = operator["spec"]["template"]["spec"]["containers"][0]
        variables = {variable["name"]: variable.get("value") for variable in container["env"]}
        repository, _, tag = container["image"].rpartition(":")
        assert variables["SLUICE_DATAPLANE_VERSION"] == tag, overlay
        assert variables["SLUICE_DATAPLANE_IMAGE"] == repository.replace("operator", "dataplane"), overlay
