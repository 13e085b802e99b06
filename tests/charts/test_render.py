"""Rendered charts, and values that the chart refuses."""

import copy
import json

import pytest

import printing
from chart import CHART, HERE, Refused, helm, key, read, run

(EVERYTHING,) = read(HERE / "values/everything.yaml")
(DEFAULTS,) = read(CHART / "values.yaml")


def test_lint_finds_nothing():
    said = run("helm", "lint", str(CHART), "--strict", "--values", str(HERE / "values/everything.yaml"))
    assert "0 chart(s) failed" in said and "WARNING" not in said and "ERROR" not in said


@pytest.mark.parametrize("path", printing.golden().items(), ids=lambda item: item[0].name)
def test_a_render_is_what_is_committed(path):
    file, text = path
    assert file.read_text() == text, "run: ./dev charts"


def test_no_other_golden_render_is_committed():
    assert set((HERE / "golden").iterdir()) == set(printing.golden())


def leaves(schema, path=()):
    """The values that are not made of other values."""
    for name, member in schema["properties"].items():
        if "properties" in member:
            yield from leaves(member, (*path, name))
        elif name != "global":
            yield (*path, name)


LEAVES = list(leaves(json.loads((CHART / "values.schema.json").read_text())))


def at(values, path):
    for name in path:
        values = values[name]
    return values


def put(values, path, value):
    values = copy.deepcopy(values)
    at(values, path[:-1])[path[-1]] = value
    return values


@pytest.mark.parametrize("path", LEAVES, ids=".".join)
def test_every_value_has_an_effect(path):
    with_it, default = EVERYTHING, at(DEFAULTS, path)
    assert at(with_it, path) != default, "tests/charts/values/everything.yaml sets each to something else"
    if path[-1] in ("existingSecret", "key"):
        with_it = put(with_it, ("controlPlane", "database", "url"), "")
    if path == ("ingress", "host"):
        with_it = put(with_it, ("controlPlane", "publicUrl"), "")
    assert helm(hooks=True, values=with_it) != helm(hooks=True, values=put(with_it, path, default))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("operator.replica=3", "replica"),
        ("databse.url=x", "databse"),
        ("controlPlane.database.uri=x", "uri"),
        ("operator.replicas=0", "replicas"),
        ("operator.replicas=many", "replicas"),
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("controlPlane.publicUrl=api.example.com", "publicUrl"),
        ("controlPlane.database.url=mysql://host/db", "url"),
        ("serviceMonitor.interval=soon", "interval"),
        ("watchNamespaces=all", "watchNamespaces"),
        ("listenAddress=localhost", "listenAddress"),
        ("httpIdleSecs=0", "httpIdleSecs"),
        ("dataPlane.toolResultBytes=100", "toolResultBytes"),
        ("dataPlane.plans.idleSecs=0", "idleSecs"),
        ("networkPolicy.dns.ports={0}", "ports"),
        ("dataPlane.pods.nodeSelector.disk=fast", "nodeSelector"),
    ],
)
def test_a_value_that_is_unknown_or_wrong_is_refused_by_name(setting, said):
    with pytest.raises(Refused) as refused:
        helm("--set", setting)
    assert "values don't meet the specifications of the schema" in str(refused.value)
    assert said in str(refused.value)


def test_a_parent_chart_may_pass_its_global_values():
    assert helm("--set", "global.team=platform") == helm()


def test_an_uninstall_keeps_every_definition():
    definitions = [thing for thing in helm() if thing["kind"] == "CustomResourceDefinition"]
    assert len(definitions) == 3
    for definition in definitions:
        assert definition["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_with_a_list_of_namespaces_only_kinds_without_one_are_granted_beyond_it():
    things = helm("--set-json", 'watchNamespaces=["sluice-system","team-a"]', "--set", "rbac.aggregateRoles=false")
    beyond = [rule["resources"] for thing in things if thing["kind"] == "ClusterRole" for rule in thing["rules"]]
    assert beyond == [["storageclasses"]]
    roles = {(t["metadata"]["namespace"], t["metadata"]["name"]) for t in things if t["kind"] == "Role"}
    for namespace in ("sluice-system", "team-a"):
        assert {(namespace, "sluice-operator"), (namespace, "sluice-controlplane")} <= roles


def test_installations_that_share_a_cluster_share_no_object():
    def names(namespace):
        apart = ["--set-json", f'watchNamespaces=["{namespace}"]', "--set", "crds.install=false,rbac.aggregateRoles=false"]
        return {key(thing) for thing in helm(*apart, "--namespace", namespace)}

    assert names("one").isdisjoint(names("two"))


def test_every_binding_names_a_role_and_an_account_that_are_there(installations):
    for name, things in installations.items():
        there = {(t["kind"], t["metadata"].get("namespace"), t["metadata"]["name"]) for t in things}
        for binding in (t for t in things if t["kind"].endswith("RoleBinding")):
            namespace = binding["metadata"].get("namespace")
            assert (binding["roleRef"]["kind"], namespace, binding["roleRef"]["name"]) in there, name
            for subject in binding["subjects"]:
                assert ("ServiceAccount", subject["namespace"], subject["name"]) in there, name


def test_no_role_has_a_wildcard_or_may_give_itself_more(installations):
    for name, things in installations.items():
        for role in (t for t in things if t["kind"] in ("Role", "ClusterRole")):
            for rule in role["rules"]:
                words = [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
                assert "*" not in words, (name, role["metadata"]["name"])
                assert "rbac.authorization.k8s.io" not in words
                assert not {"bind", "escalate", "impersonate"} & set(rule["verbs"])


def test_the_control_plane_gets_the_secrets_that_are_named_and_no_other():
    def granted(*arguments):
        roles = [t for t in helm(*arguments) if t["kind"] in ("Role", "ClusterRole")]
        ours = [role for role in roles if role["metadata"]["name"].startswith("sluice-controlplane")]
        rules = [rule for role in ours for rule in role["rules"] if "secrets" in rule["resources"]]
        return [(rule.get("resourceNames"), rule["verbs"]) for rule in rules]

    assert granted() == []
    named = ["--set-json", 'storageIntegrations.secrets=["lake","logs"]']
    assert granted(*named) == [(["lake", "logs"], ["get"])]
    assert granted(*named, "--set-json", 'watchNamespaces=["a","b"]') == [(["lake", "logs"], ["get"])] * 2


def test_the_database_password_is_in_a_secret_alone():
    for thing in helm("--set", "controlPlane.database.url=postgresql://sluice:hushhush@db/sluice"):
        assert thing["kind"] == "Secret" or "hushhush" not in str(thing)


def test_a_new_database_restarts_the_control_plane_and_nothing_else():
    def templates(url):
        things = helm("--set", f"controlPlane.database.url={url}")
        return {t["metadata"]["name"]: t["spec"]["template"] for t in things if t["kind"] == "Deployment"}

    before, after = templates("postgresql://a/sluice"), templates("postgresql://b/sluice")
    assert [name for name in before if before[name] != after[name]] == ["sluice-controlplane"]


def container(things, name):
    """The one container of a deployment, and its variables by name."""
    deployment = next(t for t in things if t["kind"] == "Deployment" and t["metadata"]["name"] == name)
    pod = deployment["spec"]["template"]["spec"]
    return pod["containers"][0], {variable["name"]: variable.get("value") for variable in pod["containers"][0]["env"]}


def test_every_listener_is_on_the_address_that_is_set():
    for address, host in (("0.0.0.0", "0.0.0.0"), ("::", "[::]")):
        things = helm("--set", f"listenAddress={address}")
        _, operator = container(things, "sluice-operator")
        _, controlplane = container(things, "sluice-controlplane")
        assert (operator["SLUICE_LISTEN"], operator["SLUICE_DATAPLANE_LISTEN"]) == (f"{host}:9090", address)
        for name, port in (("HTTP", 8080), ("GRPC", 8081), ("METRICS", 9090)):
            assert controlplane[f"SLUICE_{name}_LISTEN"] == f"{host}:{port}"


def test_a_variable_that_is_set_already_is_refused_by_name():
    for component, name in (("operator", "RUST_LOG"), ("controlPlane", "SLUICE_SECRET_KEY")):
        with pytest.raises(Refused, match=f"{component}.env: {name} is set already"):
            helm("--set-json", f"{component}.env={json.dumps([{'name': name, 'value': 'x'}])}")
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    with pytest.raises(Refused, match="operator.env: A is set already"):
        helm("--set-json", f"operator.env={json.dumps(twice)}")


def test_on_openshift_ids_are_the_platforms_and_names_are_asked_of_its_dns():
    things = helm("--values", str(CHART / "openshift.yaml"), hooks=True)
    ids = {"runAsUser", "runAsGroup", "fsGroup"}
    pods = [t["spec"]["template"]["spec"] for t in things if t["kind"] == "Deployment"]
    pods += [t["spec"] for t in things if t["kind"] == "Pod"]
    assert len(pods) == 3
    _, operator = container(things, "sluice-operator")
    for security in [pod["securityContext"] for pod in pods] + [json.loads(operator["SLUICE_DATAPLANE_PODS"])["securityContext"]]:
        assert not ids & security.keys()
        assert security["runAsNonRoot"] is True and security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert json.loads(operator["SLUICE_DNS"])["ports"] == [5353]


def test_nobody_signs_up_unless_it_is_said():
    for arguments, expected in (((), "false"), (("--set", "controlPlane.signup=true"), "true")):
        _, variables = container(helm(*arguments), "sluice-controlplane")
        assert variables["SLUICE_SIGNUP"] == expected


def test_a_cloud_finds_accounts_and_pods_by_what_is_set():
    things = helm("--values", str(HERE / "values/everything.yaml"))
    accounts = {t["metadata"]["name"]: t["metadata"] for t in things if t["kind"] == "ServiceAccount"}
    role = accounts["sluice-controlplane"]["annotations"]["eks.amazonaws.com/role-arn"]
    assert role == "arn:aws:iam::123456789012:role/audit"
    assert accounts["sluice-operator"]["labels"]["example.com/account"] == "operator"
    _, operator = container(things, "sluice-operator")
    assert json.loads(operator["SLUICE_DATAPLANE_PODS"])["labels"] == {"azure.workload.identity/use": "true"}
    account = json.loads(operator["SLUICE_DATAPLANE_ACCOUNT"])
    assert account["annotations"] == {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/lake"}


def test_the_database_secret_is_a_file_that_can_be_read_again():
    things = helm("--set", "controlPlane.database.existingSecret=given,controlPlane.database.key=dsn")
    running, variables = container(things, "sluice-controlplane")
    assert "DATABASE_URL" not in variables
    folder, _, name = variables["DATABASE_URL_FILE"].rpartition("/")
    mount = next(mount for mount in running["volumeMounts"] if mount["mountPath"] == folder)
    assert "subPath" not in mount, "a mount of one file is never brought up to date"
    deployment = next(t for t in things if t["metadata"]["name"] == "sluice-controlplane" and t["kind"] == "Deployment")
    volume = next(v for v in deployment["spec"]["template"]["spec"]["volumes"] if v["name"] == mount["name"])
    assert volume["secret"]["secretName"] == "given"
    assert volume["secret"]["items"] == [{"key": "dsn", "path": name}]
