//! The internal certificate authority of one platform: it signs the control plane and every data
//! plane, so that each side knows who is asking. Local mode keeps it in memory; its certificates
//! die with the process.

use contract::EnvId;
use contract::wire::{CONTROL_PLANE_NAME, environment_name};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// Who one side is, and whom it trusts: PEM texts.
#[derive(Clone)]
pub struct Identity {
    pub authority: String,
    pub certificate: String,
    pub key: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity")
    }
}

/// A certificate could not be made.
#[derive(Debug, thiserror::Error)]
#[error("a certificate could not be made: {0}")]
pub struct Error(#[from] rcgen::Error);

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    pub fn new() -> Result<Self, Error> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.distinguished_name = named("sluice internal authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate })
    }

    pub fn control_plane(&self) -> Result<Identity, Error> {
        self.identity(CONTROL_PLANE_NAME.to_owned())
    }

    pub fn data_plane(&self, env_id: &EnvId) -> Result<Identity, Error> {
        self.identity(environment_name(env_id))
    }

    fn identity(&self, name: String) -> Result<Identity, Error> {
        let mut params = CertificateParams::new(vec![name.clone()])?;
        params.distinguished_name = named(&name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { authority: self.certificate.clone(), certificate, key: key.serialize_pem() })
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority")
    }
}
