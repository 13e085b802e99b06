//! Who the control plane is to data planes, and whom it believes: one authority signs both sides.

use std::sync::Arc;

use contract::Redacted;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Certificates and key in PEM.
#[derive(Debug, Clone)]
pub struct Pems {
    /// The authority whose certificates are believed, and no other.
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
}

impl Pems {
    /// TLS 1.3 towards data planes, under our certificate.
    pub fn client(&self) -> Result<ClientConfig, BadIdentity> {
        let mut authority = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.authority.as_bytes()) {
            authority.add(certificate?)?;
        }
        let certificates =
            CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(self.key.expose().as_bytes())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Ok(ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(authority)
            .with_client_auth_cert(certificates, key)?)
    }
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
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Pems { authority: self.pem.clone(), certificate, key: Redacted::new(key.serialize_pem()) })
    }
}
