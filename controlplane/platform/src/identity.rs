//! Who the control plane is to data planes, and whom it believes: one authority signs both sides.
//!
//! Certificates are replaced while it runs ([`Current`]): each handshake takes what is valid then.

mod current;
pub(crate) mod files;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use contract::Redacted;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::crypto::CryptoProvider;
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

pub use current::Current;
pub use files::{FollowedFiles, IdentityFiles};

/// Certificates and key in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pems {
    /// The authorities whose certificates are believed, and no others: two while one succeeds the
    /// other.
    pub authority: String,
    /// Ours: names `contract::wire::CONTROL_PLANE_NAME`.
    pub certificate: String,
    pub key: Redacted<String>,
}

/// The texts are no certificates, no key, or do not fit each other.
#[derive(Debug, thiserror::Error)]
pub enum BadIdentity {
    #[error("a certificate or key cannot be read: {0}")]
    Pem(#[from] rustls_pki_types::pem::Error),
    #[error("a certificate or key cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    #[error("the authority cannot be used: {0}")]
    Authority(#[from] VerifierBuilderError),
}

impl Pems {
    /// TLS 1.3 towards data planes, under our certificate.
    pub fn client(&self) -> Result<ClientConfig, BadIdentity> {
        let (certificates, key) = self.own()?;
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(self.believed()?)
            .with_client_auth_cert(certificates, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// TLS 1.3 for data planes and the operator, who show certificates too.
    pub fn server(&self) -> Result<ServerConfig, BadIdentity> {
        let (certificates, key) = self.own()?;
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(self.believed()?), provider()).build()?;
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(verifier)
            .with_single_cert(certificates, key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }

    fn believed(&self) -> Result<RootCertStore, BadIdentity> {
        let mut authority = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.authority.as_bytes()) {
            authority.add(certificate?)?;
        }
        Ok(authority)
    }

    fn own(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), BadIdentity> {
        let certificates =
            CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
        Ok((certificates, PrivateKeyDer::from_pem_slice(self.key.expose().as_bytes())?))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// An authority made on the spot, in memory: local mode and tests. A cluster brings its own.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    pub fn make() -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, "sluice");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), pem })
    }

    /// An identity of this name: `contract::wire::CONTROL_PLANE_NAME`, or an environment's.
    pub fn issue(&self, name: &str) -> Result<Pems, rcgen::Error> {
        self.issue_all(&[name])
    }

    /// An identity of several names. Whoever is asked for one name does not believe it.
    pub fn issue_all(&self, names: &[&str]) -> Result<Pems, rcgen::Error> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Pems { authority: self.pem.clone(), certificate, key: Redacted::new(key.serialize_pem()) })
    }
}
