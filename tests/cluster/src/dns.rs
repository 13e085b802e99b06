//! Names of Services: `CoreDNS` on the node, found by pods at the Service `kube-dns`.

use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{Api, Client, api::PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::{
    Error,
    control::Control,
    layout::{DNS_SERVICE, NODE, flag},
    program::Program,
};

const START_SECONDS: u64 = 60;

pub(crate) async fn start(control: &Control<'_>, client: &Client) -> Result<Program, Error> {
    publish(client).await?;
    let config = control.kubeconfig("run/coredns", "coredns", Some("system:masters"))?;
    let zones = format!(
        ".:53 {{\n  bind {NODE}\n  errors\n  ready {NODE}:8181\n  cache 5\n  kubernetes cluster.local in-addr.arpa ip6.arpa {{\n    kubeconfig {}\n    ttl 5\n  }}\n}}\n",
        config.display()
    );
    let mut command = control.command("coredns");
    command.arg(flag("conf", &control.layout.write("Corefile", zones)?));
    let mut dns = Program::start(control.layout, "coredns", command)?;
    dns.answers(START_SECONDS, || async { TcpStream::connect((NODE, 53)).await.is_ok() }).await?;
    Ok(dns)
}

async fn publish(client: &Client) -> Result<(), Error> {
    let ports = json!([
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
    ]);
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "kube-dns", "labels": {"k8s-app": "kube-dns"}},
        "spec": {"clusterIP": DNS_SERVICE, "ports": ports},
    });
    let endpoints = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": "kube-dns", "labels": {"kubernetes.io/service-name": "kube-dns"}},
        "addressType": "IPv4", "endpoints": [{"addresses": [NODE]}], "ports": ports,
    });
    create(&Api::<Service>::namespaced(client.clone(), "kube-system"), service).await?;
    create(&Api::<EndpointSlice>::namespaced(client.clone(), "kube-system"), endpoints).await
}

/// Creates an object that is given as it would be written in YAML.
pub(crate) async fn create<K>(api: &Api<K>, object: Value) -> Result<(), Error>
where
    K: Clone + std::fmt::Debug + DeserializeOwned + serde::Serialize,
{
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let object = serde_json::from_value(object).map_err(|error| Error::Refused(format!("{name}: {error}")))?;
    api.create(&PostParams::default(), &object).await.map_err(Error::kube(name))?;
    Ok(())
}
