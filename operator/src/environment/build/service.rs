//! Where clients connect, and where the control plane does.

use contract::wire::port;
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::owned;
use crate::environment::names::selector;
use crate::environment::validate::Desired;

/// For people and programs: the PostgreSQL wire, and tools.
pub fn service(desired: &Desired) -> Service {
    of(desired, desired.name.to_string(), &[("psql", port::PGWIRE), ("tools", port::TOOLS)])
}

/// For the control plane: REST, under mutual TLS.
pub fn internal(desired: &Desired) -> Service {
    of(desired, desired.name.internal_service(), &[("http", port::INTERNAL_REST)])
}

fn of(desired: &Desired, name: String, ports: &[(&str, u16)]) -> Service {
    let ports = ports.iter().map(|(name, number)| ServicePort {
        name: Some((*name).to_owned()),
        port: i32::from(*number),
        target_port: Some(IntOrString::String((*name).to_owned())),
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    });
    Service {
        metadata: owned(desired, name),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".to_owned()),
            selector: Some(selector(desired.name.as_str()).into()),
            ports: Some(ports.collect()),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}
