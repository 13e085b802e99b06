//! TLS of the listeners: 1.3, one crypto provider.

use std::sync::Arc;

use contract::wire::CONTROL_PLANE_NAME;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::governance::link::TlsIdentity;

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("a PEM text cannot be read: {0}")]
    Pem(#[from] rustls::pki_types::pem::Error),
    #[error("{0}")]
    Tls(#[from] rustls::Error),
    #[error("clients' certificates cannot be verified: {0}")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
    #[error("the identity towards the control plane: {0}")]
    Link(#[from] tonic::transport::Error),
}

/// For a listener that takes connections only from those whom the internal authority has signed.
pub fn mutual(identity: &TlsIdentity, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(identity.ca_pem.as_bytes()) {
        roots.add(certificate?)?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()?;
    let chain = CertificateDer::pem_slice_iter(identity.cert_pem.as_bytes()).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(identity.key_pem.expose().as_bytes())?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)?;
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}

/// For a listener whose clients prove themselves by other means.
pub fn plain(cert_pem: &str, key_pem: &str, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = CertificateDer::pem_slice_iter(cert_pem.as_bytes()).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes())?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}

/// Does this certificate, already verified, name the control plane?
pub fn is_control_plane(chain: Option<&[CertificateDer<'_>]>) -> bool {
    let Some(leaf) = chain.and_then(<[_]>::first) else { return false };
    let Ok((_, certificate)) = x509_parser::parse_x509_certificate(leaf) else { return false };
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return false };
    names
        .value
        .general_names
        .iter()
        .any(|name| matches!(name, x509_parser::extensions::GeneralName::DNSName(name) if *name == CONTROL_PLANE_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str) -> bool {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        is_control_plane(Some(&[made.cert.der().clone()]))
    }

    #[test]
    fn only_the_control_planes_own_name_is_accepted() {
        assert!(names(CONTROL_PLANE_NAME));
        assert!(!names("env-1.env.sluice.internal"));
        assert!(!names(&format!("{CONTROL_PLANE_NAME}.evil")));
        assert!(!is_control_plane(None));
        assert!(!is_control_plane(Some(&[CertificateDer::from(vec![1, 2, 3])])));
    }
}
