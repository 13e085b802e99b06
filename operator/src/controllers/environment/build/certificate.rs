//! The certificate that clients see, when cert-manager signs it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicObject;
use serde_json::json;

use super::{labels, owned, secret};
use crate::controllers::environment::validate::{Desired, Tls};
use crate::objects::child::Kind;

/// None unless `spec.tls.mode` is `CertManager`.
pub fn certificate(desired: &Desired) -> Option<DynamicObject> {
    let Tls::CertManager { issuer } = &desired.tls else { return None };
    let metadata: ObjectMeta = owned(desired, desired.name.tls());
    let spec = json!({
        "secretName": desired.name.tls(),
        // without our labels the Secret would not be seen
        "secretTemplate": { "labels": labels(desired) },
        "dnsNames": secret::host_names(desired),
        "issuerRef": { "name": issuer },
        "privateKey": { "algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always" },
        "usages": ["digital signature", "server auth"],
    });
    let mut object =
        DynamicObject::new(&desired.name.tls(), &Kind::Certificate.resource()).data(json!({ "spec": spec }));
    object.metadata = metadata;
    Some(object)
}
