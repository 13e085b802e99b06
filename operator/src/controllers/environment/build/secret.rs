//! The certificates of a data plane, as orders: this half of the operator holds no key.

use std::time::Duration;

use contract::wire;

use super::owned;
use crate::controllers::environment::validate::Desired;
use crate::objects::plan::{Authority, CertificateOrder};

/// Renewed at two thirds of it.
const LIFETIME: Duration = Duration::from_hours(90 * 24);

/// Who the data plane is among the planes. The name in it stands for the environment's uid, which
/// nobody can choose.
pub fn identity(desired: &Desired) -> CertificateOrder {
    CertificateOrder {
        metadata: owned(desired, desired.name.identity()),
        authority: Authority::Internal,
        dns_names: vec![wire::environment_name(&desired.env_id)],
        lifetime: LIFETIME,
        keep_certificate: false,
        why: "missing",
    }
}

/// What clients of the PostgreSQL wire see.
pub fn server(desired: &Desired) -> CertificateOrder {
    CertificateOrder {
        metadata: owned(desired, desired.name.tls()),
        authority: Authority::Organization(desired.organization.clone()),
        dns_names: host_names(desired),
        lifetime: LIFETIME,
        keep_certificate: false,
        why: "missing",
    }
}

/// Every name of the Service, sorted.
pub fn host_names(desired: &Desired) -> Vec<String> {
    let (name, namespace) = (desired.name.as_str(), desired.namespace.as_str());
    let mut names = vec![
        name.to_owned(),
        format!("{name}.{namespace}"),
        format!("{name}.{namespace}.svc"),
        format!("{name}.{namespace}.svc.{}", desired.release.cluster_domain),
    ];
    names.sort();
    names
}
