"""Installed objects are valid for every Kubernetes that is supported, and admitted under `restricted`."""

import functools

import jsonschema
import kubernetes_validate
import kubernetes_validate.utils
import pytest

from chart import HERE, MANIFESTS, ROOT, helm, read

RELEASES = [f"1.{minor}" for minor in range(30, 38)]
# For each object the validator reads all definitions of a release, two megabytes, anew.
kubernetes_validate.utils.schema_contents = functools.lru_cache(32)(kubernetes_validate.utils.schema_contents)
# Kinds of others, whose schemas are not Kubernetes'.
FOREIGN = {"monitoring.coreos.com/v1"}
# The volumes that `restricted` admits.
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


@pytest.mark.parametrize("release", RELEASES)
def test_every_object_is_valid_for_this_release_of_kubernetes(release, installations):
    seen = 0
    for name, things in installations.items():
        for thing in things:
            if thing["apiVersion"] not in FOREIGN:
                assert kubernetes_validate.validate(thing, release, strict=True) == release, name
                seen += 1
    assert seen > 100


def test_the_validator_is_strict():
    service = next(thing for thing in helm() if thing["kind"] == "Service")
    service["spec"]["prots"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(service, RELEASES[-1], strict=True)


def pods(things):
    """The specification of each pod that these objects make."""
    for thing in things:
        if thing["kind"] == "Pod":
            yield thing["metadata"]["name"], thing["spec"]
        elif "template" in thing.get("spec", {}):
            yield thing["metadata"]["name"], thing["spec"]["template"]["spec"]


def test_every_pod_is_admitted_by_the_restricted_standard(installations):
    seen = 0
    for things in installations.values():
        for name, pod in pods(things):
            seen += 1
            assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys(), name
            security = pod["securityContext"]
            assert security["runAsNonRoot"] is True and security["runAsUser"] != 0, name
            assert security["seccompProfile"] == {"type": "RuntimeDefault"}, name
            for volume in pod.get("volumes", []):
                assert VOLUMES & volume.keys(), name
            for container in pod["containers"] + pod.get("initContainers", []):
                own = container["securityContext"]
                assert own["allowPrivilegeEscalation"] is False and own["capabilities"] == {"drop": ["ALL"]}, name
                assert own["readOnlyRootFilesystem"] is True, name
                assert "hostPort" not in str(container.get("ports", [])), name
                assert container["resources"]["requests"], name
    assert seen >= 14


def test_no_image_floats(installations):
    for things in installations.values():
        for name, pod in pods(things):
            for container in pod["containers"]:
                _, _, tag = container["image"].rpartition("/")[2].partition(":")
                assert tag not in ("", "latest"), name


def closed(schema):
    """The schema with unknown members refused, which the API server would drop."""
    schema = {name: closed(value) if isinstance(value, dict) else value for name, value in schema.items()}
    if "properties" in schema and schema.get("type") == "object" and "metadata" not in schema["properties"]:
        schema.setdefault("additionalProperties", False)
    return schema


SAMPLES = sorted((MANIFESTS / "samples").rglob("*.yaml"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: str(path.relative_to(MANIFESTS)))
def test_a_sample_fits_its_definition(path):
    schemas = {
        crd["spec"]["names"]["kind"]: crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        for crd in helm()
        if crd["kind"] == "CustomResourceDefinition"
    }
    for thing in read(path):
        schema = closed(schemas[thing["kind"]]["properties"]["spec"])
        jsonschema.Draft7Validator(schema).validate(thing["spec"])


def test_the_namespace_of_every_way_in_enforces_restricted(installations):
    for name, things in installations.items():
        for namespace in (thing for thing in things if thing["kind"] == "Namespace"):
            assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted", name


def test_the_ports_that_kind_opens_are_those_of_its_overlay(installations):
    opened = {
        (mapping["containerPort"], mapping["hostPort"])
        for node in read(ROOT / "kind-config.yaml")[0]["nodes"]
        for mapping in node.get("extraPortMappings", [])
    }
    served = {
        (port["nodePort"], port["port"])
        for thing in installations["kustomize kind"]
        if thing["kind"] == "Service" and thing["spec"].get("type") == "NodePort"
        for port in thing["spec"]["ports"]
    }
    assert served and served <= opened


def test_nothing_is_left_over_in_the_values():
    assert {path.name for path in (HERE / "values").iterdir()} == {"everything.yaml"}
