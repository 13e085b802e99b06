//! The chart and the manifests on a real API server: everything is admitted, the roles are what the
//! cluster enforces, and an uninstall takes nothing that holds data.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::{Ingress, IngressBackend};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubernetes::{
    World,
    commands::{helm, kubectl, run},
    until,
};

const ROOT: &str = "../..";

/// One step of a release's life, confined to its namespace but for the definitions, which other
/// tests use as well.
async fn release(world: &World, step: &[&str], more: &[&str]) -> String {
    let namespace = &world.namespace;
    let chart = format!("{ROOT}/charts/sluice");
    let confined = format!("watchNamespaces=[\"{namespace}\"]");
    let mut arguments = step.to_vec();
    arguments.extend(["sluice", &chart, "--namespace", namespace, "--take-ownership", "--force-conflicts"]);
    arguments.extend(more);
    arguments.extend(["--set-json", &confined, "--set", "rbac.aggregateRoles=false"]);
    helm(&arguments).await
}

/// Waits until the pod security of the namespace has let in the pods of both deployments.
async fn admitted(world: &World, template: &str) {
    for name in ["sluice-operator", "sluice-controlplane"] {
        until(&world.api::<Deployment>(), name, template, |deployment: &Deployment| {
            let status = deployment.status.clone().unwrap_or_default();
            status.observed_generation == deployment.metadata.generation && status.updated_replicas.unwrap_or(0) > 0
        })
        .await;
    }
}

#[tokio::test]
async fn a_release_is_admitted_upgrades_and_leaves_what_holds_data() {
    let world = World::new("chart").await;
    release(&world, &["install"], &["--set", "controlPlane.database.url=postgresql://a:b@c/d"]).await;
    admitted(&world, "installed").await;
    let samples = format!("{ROOT}/manifests/samples");
    world.kubectl(&["apply", "--filename", &samples]).await;

    let everything = format!("{ROOT}/tests/charts/values/everything.yaml");
    let settings = [
        "--values",
        &everything,
        "--set",
        "crds.install=true,serviceMonitor.enabled=false,prometheusRule.enabled=false",
    ];
    release(&world, &["upgrade"], &settings).await;
    admitted(&world, "upgraded").await;

    helm(&["uninstall", "sluice", "--namespace", &world.namespace, "--wait"]).await;
    let left = world.kubectl(&["get", "environments.sluice.dev", "--output", "name"]).await;
    assert_eq!(left, "environment.sluice.dev/acme-dev\n");
    let gone = world.kubectl(&["get", "deployments,roles,secrets", "--output", "name"]).await;
    assert_eq!(gone, "");
}

#[tokio::test]
async fn the_roles_let_each_part_do_its_work_and_nothing_else() {
    let world = World::new("roles").await;
    release(&world, &["install"], &["--set", "crds.install=false"]).await;
    let cases = [
        ("operator", "patch", "deployments.apps", "", "yes"),
        ("operator", "get", "secrets", "", "yes"),
        ("operator", "get", "secrets", "kube-system", "no"),
        ("operator", "patch", "environments.sluice.dev/status", "", "yes"),
        ("operator", "list", "storageclasses.storage.k8s.io", "", "yes"),
        ("operator", "create", "roles.rbac.authorization.k8s.io", "", "no"),
        ("operator", "create", "pods/exec", "", "no"),
        ("controlplane", "patch", "environments.sluice.dev", "", "yes"),
        ("controlplane", "patch", "environments.sluice.dev/status", "", "no"),
        ("controlplane", "get", "secrets", "", "no"),
        ("controlplane", "patch", "deployments.apps", "", "no"),
    ];
    for (part, verb, resource, namespace, expected) in cases {
        let namespace = if namespace.is_empty() { &world.namespace } else { namespace };
        let account = format!("--as=system:serviceaccount:{}:sluice-{part}", world.namespace);
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let subresource = format!("--subresource={subresource}");
        let asked = ["--namespace", namespace, "auth", "can-i", verb, resource, &subresource, &account];
        let said = run("kubectl", &asked, "").await.out; // "no" is an exit status too
        assert_eq!(said.trim(), expected, "{part} {verb} {resource} {subresource} in {namespace}");
    }
}

#[tokio::test]
async fn every_kustomization_and_every_sample_is_taken_by_the_server() {
    let world = World::new("manifests").await;
    let dry = ["apply", "--server-side", "--force-conflicts", "--dry-run=server"];
    for folder in ["base", "overlays/kind", "overlays/production"] {
        let built = kubectl(&["kustomize", &format!("{ROOT}/manifests/{folder}")]).await;
        let moved = built.replace("sluice-system", &world.namespace);
        let mut arguments = dry.to_vec();
        arguments.extend(["--filename", "-"]);
        let said = run("kubectl", &arguments, &moved).await.ok();
        assert!(said.contains("deployment.apps/sluice-operator"), "{folder}: {said}");
    }
    let samples = format!("{ROOT}/manifests/samples");
    let mut arguments = dry.to_vec();
    arguments.extend(["--recursive", "--filename", &samples]);
    let said = world.kubectl(&arguments).await;
    assert_eq!(said.lines().count(), 5, "{said}");
}

/// The port of a container that requests reach by this backend of an Ingress, followed as a controller does: the Service
/// of that name, its port, its pods, and what they call theirs. What does not resolve fails the test.
async fn port_behind(world: &World, backend: &IngressBackend) -> i32 {
    let backend = backend.service.as_ref().unwrap();
    let service = world.api::<Service>().get(&backend.name).await.unwrap().spec.unwrap();
    let named = backend.port.as_ref().unwrap();
    let mut ports = service.ports.iter().flatten();
    let port = ports.find(|port| port.name == named.name && named.number.is_none_or(|number| number == port.port));
    let Some(IntOrString::String(target)) = port.unwrap().target_port.clone() else { panic!("{port:?}") };
    let template = world.api::<Deployment>().get(&backend.name).await.unwrap().spec.unwrap().template;
    let labels = template.metadata.unwrap().labels.unwrap();
    let selector = service.selector.unwrap();
    assert!(selector.iter().all(|(name, value)| labels.get(name) == Some(value)), "{selector:?} of {labels:?}");
    let containers = template.spec.unwrap().containers;
    let mut ports = containers.iter().flat_map(|it| it.ports.iter().flatten());
    ports.find(|port| port.name.as_deref() == Some(&*target)).unwrap().container_port
}

/// No controller of Ingresses can be had where this runs: nothing is routed here. What one would go by is what the
/// server has stored, and that is followed to the port that the control plane answers REST on.
#[tokio::test]
async fn the_ingress_leads_to_the_port_of_rest_by_host_path_and_certificate() {
    let world = World::new("ingress").await;
    let named = "ingress.enabled=true,ingress.className=outside,ingress.host=api.example.com,ingress.tlsSecret=api-tls";
    for (settings, class, host, certificate) in
        [(named, Some("outside"), Some("api.example.com"), Some("api-tls")), ("ingress.enabled=true", None, None, None)]
    {
        let step = ["upgrade", "--install", "--reset-values"];
        release(&world, &step, &["--set", "crds.install=false", "--set", settings]).await;
        let ingress = world.api::<Ingress>().get("sluice-controlplane").await.unwrap().spec.unwrap();
        assert_eq!(ingress.ingress_class_name.as_deref(), class);
        let [rule] = ingress.rules.as_deref().unwrap() else { panic!("{ingress:?}") };
        assert_eq!(rule.host.as_deref(), host);
        let [path] = rule.http.as_ref().unwrap().paths.as_slice() else { panic!("{rule:?}") };
        assert_eq!((path.path.as_deref(), &*path.path_type), (Some("/"), "Prefix"));
        assert_eq!(port_behind(&world, &path.backend).await, 8080);
        let tls = ingress.tls.unwrap_or_default();
        assert_eq!(tls.first().and_then(|tls| tls.secret_name.as_deref()), certificate);
        let hosts: Vec<_> = tls.iter().flat_map(|tls| tls.hosts.iter().flatten()).map(String::as_str).collect();
        assert_eq!(hosts, host.into_iter().collect::<Vec<_>>());
    }
}
