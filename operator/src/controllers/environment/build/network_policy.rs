//! The `NetworkPolicy` of a data plane: its peers in both directions. All other traffic is dropped.

use std::collections::BTreeMap;

use contract::wire::port;
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::owned;
use crate::controllers::environment::validate::{Desired, Storage};
use crate::objects::dns::Dns;
use crate::objects::names::selector;
use crate::objects::pods::Texts;
use crate::objects::storage_reach::StorageReach;

const HTTPS: u16 = 443;

pub fn network_policy(desired: &Desired) -> NetworkPolicy {
    NetworkPolicy {
        metadata: owned(desired, desired.name.to_string()),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(LabelSelector {
                match_labels: Some(selector(desired.name.as_str()).into()),
                match_expressions: None,
            }),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            ingress: Some(ingress(desired)),
            egress: Some(egress(desired)),
        }),
    }
}

fn ingress(desired: &Desired) -> Vec<NetworkPolicyIngressRule> {
    let clients = within(&desired.allowed_cidrs);
    vec![
        NetworkPolicyIngressRule { from: clients, ports: Some(vec![tcp(port::PGWIRE), tcp(port::TOOLS)]) },
        // probes come from the node itself, which no policy keeps out
        NetworkPolicyIngressRule {
            from: Some(vec![release(desired)]),
            ports: Some(vec![tcp(port::INTERNAL_REST), tcp(port::PROBES)]),
        },
    ]
}

fn egress(desired: &Desired) -> Vec<NetworkPolicyEgressRule> {
    let mut rules = vec![
        resolving(&desired.release.dns),
        NetworkPolicyEgressRule { to: Some(vec![release(desired)]), ports: Some(vec![tcp(port::CONTROL_GRPC)]) },
    ];
    if let Some(port) = desired.release.model.port() {
        rules.push(NetworkPolicyEgressRule { to: None, ports: Some(vec![tcp(port)]) });
    }
    // a collector may be anywhere, and no policy names a host
    if let Some(port) = desired.release.collector.port() {
        rules.push(NetworkPolicyEgressRule { to: None, ports: Some(vec![tcp(port)]) });
    }
    if matches!(desired.storage, Storage::Lake { .. }) {
        rules.push(NetworkPolicyEgressRule { to: None, ports: Some(vec![tcp(HTTPS)]) });
    }
    rules.extend(stores(&desired.release.storage));
    rules
}

/// The cluster's DNS, over both of its protocols; anywhere, where nobody says which pods it has.
fn resolving(dns: &Dns) -> NetworkPolicyEgressRule {
    let labels = |texts: &Texts| LabelSelector {
        match_labels: Some(texts.clone()).filter(|texts| !texts.is_empty()),
        match_expressions: None,
    };
    let pods = NetworkPolicyPeer {
        namespace_selector: Some(labels(&dns.namespace_selector)),
        pod_selector: Some(labels(&dns.pod_selector)),
        ..NetworkPolicyPeer::default()
    };
    let is_named = !dns.namespace_selector.is_empty() || !dns.pod_selector.is_empty();
    NetworkPolicyEgressRule {
        to: is_named.then(|| vec![pods]),
        ports: Some(dns.ports.iter().flat_map(|port| [on(*port, "UDP"), tcp(*port)]).collect()),
    }
}

/// The way to stores that storage integrations name. Which of their hosts, the data plane's own rule says: no policy
/// names one.
fn stores(reach: &StorageReach) -> Option<NetworkPolicyEgressRule> {
    let ports: Vec<_> = reach.storage_ports.iter().copied().map(tcp).collect();
    (!ports.is_empty()).then(|| NetworkPolicyEgressRule { to: within(&reach.storage_cidrs), ports: Some(ports) })
}

/// Peers of these networks; none is anybody.
fn within(cidrs: &[String]) -> Option<Vec<NetworkPolicyPeer>> {
    let peers: Vec<_> = cidrs
        .iter()
        .map(|cidr| NetworkPolicyPeer {
            ip_block: Some(IPBlock { cidr: cidr.clone(), except: None }),
            ..NetworkPolicyPeer::default()
        })
        .collect();
    (!peers.is_empty()).then_some(peers)
}

/// The namespace of the operator and the control plane.
fn release(desired: &Desired) -> NetworkPolicyPeer {
    let name = ("kubernetes.io/metadata.name".to_owned(), desired.release.namespace.clone());
    NetworkPolicyPeer {
        namespace_selector: Some(LabelSelector { match_labels: Some(BTreeMap::from([name])), match_expressions: None }),
        ..NetworkPolicyPeer::default()
    }
}

fn tcp(number: u16) -> NetworkPolicyPort {
    on(number, "TCP")
}

fn on(number: u16, protocol: &str) -> NetworkPolicyPort {
    NetworkPolicyPort {
        port: Some(IntOrString::Int(i32::from(number))),
        protocol: Some(protocol.to_owned()),
        end_port: None,
    }
}
