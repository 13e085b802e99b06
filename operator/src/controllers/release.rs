//! The Secrets of the release, in its own namespace: the internal authority, the control plane's
//! identity, and its secret key. The control plane waits for them; they survive an uninstall.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::wire::CONTROL_PLANE_NAME;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;

use crate::Error;
use crate::authority::{CERTIFICATE_LIFE, Keys, renewal, secret, signers};
use crate::cluster::write;
use crate::context::Context;
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::observed::{AuthorityFacts, CertificateFacts, Release};
use crate::objects::secret_metadata::secret_metadata;
use crate::stores::Item;

/// Names of the Secrets.
pub const AUTHORITY: &str = "sluice-authority";
pub const CONTROL_PLANE_TLS: &str = "sluice-controlplane-tls";
pub const CONTROL_PLANE_SECRET: &str = "sluice-controlplane-secret";
const SECRET_KEY: &str = "secret-key";

/// The Secret of the internal authority.
pub fn authority(release: &Release) -> NamespacedName {
    NamespacedName::new(&release.namespace, AUTHORITY)
}

fn metadata(context: &Context, name: &str) -> ObjectMeta {
    secret_metadata(&NamespacedName::new(&context.release.namespace, name), &[], None)
}

/// Makes what is missing and renews what is due. Returns how soon to look again.
pub async fn reconcile(context: &Context) -> Result<Duration, Error> {
    context.seen_own_writes(&Item::Release)?;
    secret_key(context).await?;
    let rotation = context.signers.ensure(&Item::Release, &metadata(context, AUTHORITY), "sluice internal").await?;
    // one made just now signs as soon as it is seen
    context.seen_own_writes(&Item::Release)?;
    let keys = context.signers.load(&authority(&context.release)).await?;
    let renewed = identity(context, &keys).await?;
    let next = rotation.min(renewed).duration_since(context.now());
    Ok(Duration::try_from(next).unwrap_or_default().clamp(Duration::from_mins(1), Duration::from_hours(1)))
}

/// The renewal that the control plane's certificate needs.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    Nothing(Timestamp),
    /// The certificate is good, what it is to believe is not.
    Bundle,
    Certificate,
}

fn due(present: Option<&CertificateFacts>, authority: &AuthorityFacts, now: Timestamp) -> Due {
    match present {
        Some(facts) if facts.issuer == authority.id && facts.dns_names == [CONTROL_PLANE_NAME] => {
            let at = renewal(facts.not_before, facts.not_after);
            if at <= now {
                Due::Certificate
            } else if facts.bundle != authority.bundle {
                Due::Bundle
            } else {
                Due::Nothing(at)
            }
        }
        _ => Due::Certificate,
    }
}

async fn identity(context: &Context, keys: &Keys) -> Result<Timestamp, Error> {
    let place = NamespacedName::new(&context.release.namespace, CONTROL_PLANE_TLS);
    let present = context.stores.secrets.get(&place).and_then(|known| known.facts()?.certificate);
    let now = context.now();
    let pair = match due(present.as_ref(), &secret::authority_of(keys)?, now) {
        Due::Nothing(at) => return Ok(at),
        Due::Certificate => context.signers.sign(keys, &[CONTROL_PLANE_NAME.to_owned()], CERTIFICATE_LIFE)?,
        Due::Bundle => {
            let secret = context.secrets.read(&place).await?;
            secret::leaf(&secret.and_then(|secret| secret.data).unwrap_or_default())?
        }
    };
    let data = secret::leaf_data(&pair, &keys.bundle());
    context.secrets.store(&Item::Release, &metadata(context, CONTROL_PLANE_TLS), signers::TLS, &data).await?;
    let written = secret::facts(&pair.certificate)?;
    Ok(renewal(written.not_before, written.not_after))
}

/// Made once, and never written again: everything that the control plane has encrypted hangs on it.
async fn secret_key(context: &Context) -> Result<(), Error> {
    let place = NamespacedName::new(&context.release.namespace, CONTROL_PLANE_SECRET);
    if context.stores.secrets.get(&place).is_some() || context.secrets.read(&place).await?.is_some() {
        return Ok(());
    }
    let text = hex::encode(context.entropy.bytes::<32>());
    let data = BTreeMap::from([(SECRET_KEY.to_owned(), ByteString(text.into_bytes()))]);
    let secret = Secret {
        metadata: metadata(context, CONTROL_PLANE_SECRET),
        type_: Some("Opaque".to_owned()),
        data: Some(data),
        ..Secret::default()
    };
    let params = PostParams { field_manager: Some(write::MANAGER.to_owned()), ..PostParams::default() };
    let api = Api::<Secret>::namespaced(context.client.clone(), &context.release.namespace);
    match api.create(&params, &secret).await {
        // somebody was quicker: theirs holds
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        other => Ok(other.map(|_| ())?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::observed::AuthorityFacts;

    #[test]
    fn the_identity_is_signed_anew_only_when_it_must_be() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let authority = AuthorityFacts { id: "ca".to_owned(), bundle: "bundle".to_owned() };
        let good = CertificateFacts {
            not_before: at("2026-01-01T00:00:00Z"),
            not_after: at("2026-04-01T00:00:00Z"),
            dns_names: vec![CONTROL_PLANE_NAME.to_owned()],
            issuer: "ca".to_owned(),
            bundle: "bundle".to_owned(),
        };
        let (early, late) = (at("2026-02-01T00:00:00Z"), at("2026-03-03T00:00:00Z"));
        let renewal = Due::Nothing(at("2026-03-02T00:00:00Z"));
        assert_eq!(due(Some(&good), &authority, early), renewal);
        assert_eq!(due(Some(&good), &authority, late), Due::Certificate);
        assert_eq!(due(None, &authority, early), Due::Certificate);
        let changed = |change: fn(&mut CertificateFacts)| {
            let mut facts = good.clone();
            change(&mut facts);
            due(Some(&facts), &authority, early)
        };
        assert_eq!(changed(|facts| facts.issuer.push('2')), Due::Certificate);
        assert_eq!(changed(|facts| facts.dns_names.push("other".to_owned())), Due::Certificate);
        assert_eq!(changed(|facts| facts.bundle.clear()), Due::Bundle);
    }
}
