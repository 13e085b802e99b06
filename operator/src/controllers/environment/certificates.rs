//! The renewal of certificates: at two thirds of their life, or when names, authority or owner have changed.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::objects::observed::{Authorities, AuthorityFacts, CertificateFacts, Observed, SecretFacts};
use crate::objects::plan::{Authority, CertificateOrder};

/// The order to carry out now, if any.
pub fn due(order: CertificateOrder, observed: &Observed) -> Option<CertificateOrder> {
    let found = secret(observed, order.metadata.name.as_deref()?);
    if found.is_some_and(|secret| secret.deleting) {
        return None;
    }
    let Some(secret) = found else { return Some(CertificateOrder { why: "missing", ..order }) };
    let Some(certificate) = &secret.certificate else { return Some(CertificateOrder { why: "unreadable", ..order }) };
    let authority = authority(&order.authority, &observed.authorities);
    if let Some(why) = outdated(certificate, &order, authority, observed.now) {
        return Some(CertificateOrder { why, ..order });
    }
    let keep = |why| Some(CertificateOrder { why, keep_certificate: true, ..order.clone() });
    if authority.is_some_and(|authority| authority.bundle != certificate.bundle) {
        return keep("other authorities are trusted");
    }
    if !belongs(secret, &order.metadata) {
        return keep("labels or owner");
    }
    None
}

fn outdated(
    certificate: &CertificateFacts,
    order: &CertificateOrder,
    authority: Option<&AuthorityFacts>,
    now: Timestamp,
) -> Option<&'static str> {
    if certificate.dns_names != order.dns_names {
        return Some("other names");
    }
    if authority.is_some_and(|authority| authority.id != certificate.issuer) {
        return Some("another authority signs");
    }
    (now >= renewal(certificate)).then_some("due for renewal")
}

/// Two thirds into the life of a certificate.
pub fn renewal(certificate: &CertificateFacts) -> Timestamp {
    let life = certificate.not_after.duration_since(certificate.not_before);
    certificate.not_before.checked_add(life / 3 * 2).unwrap_or(certificate.not_before)
}

pub fn secret<'a>(observed: &'a Observed, name: &str) -> Option<&'a SecretFacts> {
    observed.secrets.iter().find(|secret| secret.name == name)
}

fn authority<'a>(which: &Authority, known: &'a Authorities) -> Option<&'a AuthorityFacts> {
    match which {
        Authority::Internal => known.internal.as_ref(),
        Authority::Organization(_) => known.organization.as_ref(),
    }
}

fn belongs(secret: &SecretFacts, wanted: &ObjectMeta) -> bool {
    let labels = wanted.labels.iter().flatten().all(|(name, value)| secret.labels.get(name) == Some(value));
    let owners = wanted.owner_references.iter().flatten().all(|owner| secret.owners.contains(&owner.uid));
    labels && owners
}
