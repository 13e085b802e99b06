"""Prints what is made from the chart: manifests/base, manifests/install.yaml and the golden renders.

`./dev charts` runs it; test_manifests.py and test_render.py compare.
"""

import sys

from chart import HERE, MANIFESTS, ROOT, dump, helm, key, kustomize, plain

NOTE = "# Printed from charts/sluice by ./dev charts; not edited by hand.\n"
ROLES = {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}


def home(thing):
    """The file of the base that an object belongs in."""
    if thing["kind"] == "CustomResourceDefinition":
        return "crds"
    if thing["kind"] in ROLES:
        return "rbac"
    return thing["metadata"]["labels"]["app.kubernetes.io/component"]


def base():
    """Path and text of each file of the base that is printed."""
    files = {"crds": [], "rbac": [], "operator": [], "controlplane": []}
    for thing in helm():
        files[home(thing)].append(plain(thing))
    return {MANIFESTS / "base" / f"{name}.yaml": NOTE + dump(things) for name, things in files.items()}


def install():
    """The base as one file, what others refer to first."""
    order = ["Namespace", "CustomResourceDefinition"]
    things = kustomize(MANIFESTS / "base")
    things.sort(key=lambda thing: order.index(thing["kind"]) if thing["kind"] in order else len(order))
    return {MANIFESTS / "install.yaml": NOTE + dump(things)}


def golden():
    """The renders, definitions left out: they are compared where they are made."""
    files = {}
    for name, arguments in (("default", []), ("everything", ["--values", str(HERE / "values/everything.yaml")])):
        things = [thing for thing in helm(*arguments, hooks=True) if thing["kind"] != "CustomResourceDefinition"]
        files[HERE / "golden" / f"{name}.yaml"] = NOTE + dump(sorted(things, key=key))
    return files


def main():
    for part in (base, install, golden):
        for path, text in part().items():
            if not path.exists() or path.read_text() != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                sys.stdout.write(f"written {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
