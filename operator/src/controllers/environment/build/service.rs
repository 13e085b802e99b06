//! The Service that clients and the control plane connect to: one, for a second one's name could be that of
//! another environment's first. Who reaches which port is the network policy's and the handshake's affair.

use contract::wire::port;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::owned;
use crate::controllers::environment::validate::Desired;
use crate::objects::names::selector;

/// For people and programs the PostgreSQL wire and tools; for the control plane REST, under mutual TLS.
pub fn service(desired: &Desired) -> Service {
    let ports = [("psql", port::PGWIRE), ("tools", port::TOOLS), ("http", port::INTERNAL_REST)];
    let ports = ports.map(|(name, number)| ServicePort {
        name: Some(name.to_owned()),
        port: i32::from(number),
        target_port: Some(IntOrString::String(name.to_owned())),
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    });
    Service {
        metadata: owned(desired, desired.name.to_string()),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".to_owned()),
            selector: Some(selector(desired.name.as_str()).into()),
            ports: Some(ports.into()),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}
