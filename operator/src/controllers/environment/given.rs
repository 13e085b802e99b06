//! The certificate that somebody else gives: a Secret that carries none of our labels, so that no watch brings it.
//!
//! The one request of a look at an environment, and only of one with `tls.mode: Secret`: once when something about it
//! changes, and hourly. What stands there that is no good is looked for every minute until it is.

use std::time::Duration;

use crds::{Environment, TlsMode};

use crate::authority::secret;
use crate::context::Context;
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::observed::{GivenCertificate, Observed};

/// As it is now.
pub async fn read(context: &Context, environment: &Environment, place: &NamespacedName) -> GivenCertificate {
    let tls = &environment.spec.tls;
    let Some(name) = tls.secret_ref.as_ref().filter(|_| tls.mode == TlsMode::Secret) else {
        return GivenCertificate::Unseen;
    };
    let place = NamespacedName::new(place.namespace(), &name.name);
    match context.secrets.read(&place).await {
        Ok(None) => GivenCertificate::Missing,
        Ok(Some(found)) => of_data(&found.data.unwrap_or_default()),
        Err(error) => {
            tracing::warn!(%error, ?place, "the Secret of spec.tls.secretRef cannot be read");
            GivenCertificate::Unseen
        }
    }
}

fn of_data(data: &secret::Data) -> GivenCertificate {
    secret::certificate(data).map_or(GivenCertificate::Unusable, GivenCertificate::There)
}

/// When it has to be looked at again: when it ends, or soon.
pub fn again(observed: &Observed) -> Option<Duration> {
    const SOON: Duration = Duration::from_mins(1);
    match &observed.given_certificate {
        GivenCertificate::Unseen => None,
        GivenCertificate::There(facts) if facts.not_after > observed.now => {
            Duration::try_from(facts.not_after.duration_since(observed.now)).ok()
        }
        GivenCertificate::There(_) | GivenCertificate::Missing | GivenCertificate::Unusable => Some(SOON),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    #[test]
    fn what_is_no_pair_of_certificate_and_key_is_unusable() {
        let made = || rcgen::generate_simple_self_signed(["sales.example.com".to_owned()]).unwrap();
        let (one, other) = (made(), made());
        let data = |certificate: String, key: String| {
            let bytes = |text: String| ByteString(text.into_bytes());
            secret::Data::from([("tls.crt".to_owned(), bytes(certificate)), ("tls.key".to_owned(), bytes(key))])
        };
        let good = of_data(&data(one.cert.pem(), one.signing_key.serialize_pem()));
        let GivenCertificate::There(facts) = good else { panic!("{good:?}") };
        assert_eq!(facts.dns_names, ["sales.example.com"]);
        for bad in [
            secret::Data::new(),
            data("no certificate".to_owned(), one.signing_key.serialize_pem()),
            data(one.cert.pem(), other.signing_key.serialize_pem()),
        ] {
            assert_eq!(of_data(&bad), GivenCertificate::Unusable);
        }
    }
}
