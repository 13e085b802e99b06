//! The cluster's certificate authority, and the kubeconfigs that its certificates go into.

use std::path::PathBuf;

use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use serde_json::json;

use crate::{Error, layout::Layout};

#[derive(Debug)]
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

#[derive(Debug)]
pub(crate) struct Identity {
    certificate: String,
    key: String,
}

/// An identity, or the authority, as files.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new() -> Result<Self, Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "cluster");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate })
    }

    /// Kubernetes reads the user from the common name, and the group from the organization.
    pub(crate) fn client(&self, user: &str, group: Option<&str>) -> Result<Identity, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        self.issue(params, ExtendedKeyUsagePurpose::ClientAuth)
    }

    pub(crate) fn server(&self, names: &[&str]) -> Result<Identity, Error> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        self.issue(CertificateParams::new(names)?, ExtendedKeyUsagePurpose::ServerAuth)
    }

    fn issue(&self, mut params: CertificateParams, usage: ExtendedKeyUsagePurpose) -> Result<Identity, Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }

    /// The certificate alone: its key never leaves memory.
    pub(crate) fn store(&self, layout: &Layout) -> Result<PathBuf, Error> {
        layout.write("pki/ca.crt", &self.certificate)
    }

    /// A file that holds all that `user` needs to reach the server.
    pub(crate) fn kubeconfig(&self, server: &str, identity: &Identity) -> String {
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "cluster",
            "clusters": [{"name": "cluster", "cluster": {
                "server": server,
                "certificate-authority-data": STANDARD.encode(&self.certificate),
            }}],
            "users": [{"name": "user", "user": {
                "client-certificate-data": STANDARD.encode(&identity.certificate),
                "client-key-data": STANDARD.encode(&identity.key),
            }}],
            "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "user"}}],
        });
        format!("{text:#}\n")
    }
}

impl Identity {
    pub(crate) fn store(&self, layout: &Layout, name: &str) -> Result<Files, Error> {
        Ok(Files {
            certificate: layout.write(&format!("pki/{name}.crt"), &self.certificate)?,
            key: layout.write(&format!("pki/{name}.key"), &self.key)?,
        })
    }
}

/// What service account tokens are signed with (`key`), and checked with (`certificate`).
pub(crate) fn token_key(layout: &Layout) -> Result<Files, Error> {
    let key = KeyPair::generate()?;
    Ok(Files {
        certificate: layout.write("pki/tokens.pub", key.public_key_pem())?,
        key: layout.write("pki/tokens.key", key.serialize_pem())?,
    })
}
