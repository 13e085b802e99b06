//! The content of a Secret that holds a certificate: read once, when a watch brings it, so that no
//! private key stays in memory.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, GeneralName, ParsedExtension, X509Certificate};

use super::{Keys, Pair, Trust};
use crate::error::AuthorityError;
use crate::objects::observed::{AuthorityFacts, CertificateFacts};

/// Keys of a Secret's data.
pub const CERTIFICATE: &str = "tls.crt";
pub const KEY: &str = "tls.key";
pub const BUNDLE: &str = "ca.crt";
const NEXT_CERTIFICATE: &str = "next.crt";
const NEXT_KEY: &str = "next.key";
const OLD_CERTIFICATE: &str = "old.crt";
const SINCE: &str = "since";

pub type Data = BTreeMap<String, ByteString>;

/// The fields of a certificate that the operator reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// Sorted.
    pub dns_names: Vec<String>,
    /// Hex identifier of its own key, in an authority's.
    pub key_id: Option<String>,
    /// Hex identifier of the key that signed it.
    pub issuer_id: Option<String>,
    public_key: Vec<u8>,
}

fn moment(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Of the first certificate of a PEM text.
pub fn facts(pem: &str) -> Result<Facts, AuthorityError> {
    let unreadable = |error: &dyn std::fmt::Display| AuthorityError::Parse(error.to_string());
    let (_, block) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).map_err(|error| unreadable(&error))?;
    let (_, certificate) = X509Certificate::from_der(&block.contents).map_err(|error| unreadable(&error))?;
    let mut facts = Facts {
        not_before: moment(certificate.validity().not_before.timestamp()),
        not_after: moment(certificate.validity().not_after.timestamp()),
        dns_names: Vec::new(),
        key_id: None,
        issuer_id: None,
        public_key: certificate.public_key().subject_public_key.data.to_vec(),
    };
    for extension in certificate.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => {
                facts.dns_names.extend(names.general_names.iter().filter_map(|name| match name {
                    GeneralName::DNSName(name) => Some((*name).to_owned()),
                    _ => None,
                }));
            }
            ParsedExtension::SubjectKeyIdentifier(id) => facts.key_id = Some(hex::encode(id.0)),
            ParsedExtension::AuthorityKeyIdentifier(id) => {
                facts.issuer_id = id.key_identifier.as_ref().map(|id| hex::encode(id.0));
            }
            _ => {}
        }
    }
    facts.dns_names.sort();
    Ok(facts)
}

fn text<'a>(data: &'a Data, key: &str) -> Option<&'a str> {
    data.get(key).and_then(|bytes| std::str::from_utf8(&bytes.0).ok()).filter(|text| !text.is_empty())
}

fn digest(bundle: &str) -> String {
    hex::encode(Sha256::digest(bundle.as_bytes()))
}

/// The leaf in `tls.crt`; nothing when it cannot be read, or its key is another's.
pub fn certificate(data: &Data) -> Option<CertificateFacts> {
    let leaf = facts(text(data, CERTIFICATE)?).ok()?;
    let key = rcgen::KeyPair::from_pem(text(data, KEY)?).ok()?;
    (key.public_key_raw() == leaf.public_key).then(|| CertificateFacts {
        not_before: leaf.not_before,
        not_after: leaf.not_after,
        dns_names: leaf.dns_names,
        issuer: leaf.issuer_id.unwrap_or_default(),
        bundle: digest(text(data, BUNDLE).unwrap_or_default()),
    })
}

/// Of an authority's Secret: who signs.
pub fn authority(data: &Data) -> Option<AuthorityFacts> {
    let keys = keys(data).ok()?;
    authority_of(&keys).ok()
}

pub fn authority_of(keys: &Keys) -> Result<AuthorityFacts, AuthorityError> {
    let id = facts(&keys.current.certificate)?.key_id.unwrap_or_default();
    Ok(AuthorityFacts { id, bundle: digest(&keys.bundle()) })
}

fn pair(data: &Data, certificate: &'static str, key: &'static str) -> Result<Pair, AuthorityError> {
    let part = |name| text(data, name).ok_or_else(|| AuthorityError::Incomplete("of the authority".to_owned(), name));
    Ok(Pair { certificate: part(certificate)?.to_owned(), key: contract::Redacted::new(part(key)?.to_owned()) })
}

/// The leaf and its key, as they are.
pub fn leaf(data: &Data) -> Result<Pair, AuthorityError> {
    pair(data, CERTIFICATE, KEY)
}

/// An authority as its Secret holds it.
pub fn keys(data: &Data) -> Result<Keys, AuthorityError> {
    let current = pair(data, CERTIFICATE, KEY)?;
    facts(&current.certificate)?;
    let since = || {
        let parsed = text(data, SINCE).and_then(|since| since.parse().ok());
        parsed.ok_or_else(|| AuthorityError::Incomplete("of the authority".to_owned(), SINCE))
    };
    let trust = if data.contains_key(NEXT_CERTIFICATE) {
        Trust::Next { pair: pair(data, NEXT_CERTIFICATE, NEXT_KEY)?, since: since()? }
    } else if let Some(old) = text(data, OLD_CERTIFICATE) {
        Trust::Old { certificate: old.to_owned(), since: since()? }
    } else {
        Trust::Alone
    };
    Ok(Keys { current, trust })
}

fn bytes(text: &str) -> ByteString {
    ByteString(text.as_bytes().to_vec())
}

/// The other way round.
pub fn data(keys: &Keys) -> Data {
    let mut data = leaf_data(&keys.current, &keys.bundle());
    match &keys.trust {
        Trust::Alone => {}
        Trust::Next { pair, since } => {
            data.insert(NEXT_CERTIFICATE.to_owned(), bytes(&pair.certificate));
            data.insert(NEXT_KEY.to_owned(), bytes(pair.key.expose()));
            data.insert(SINCE.to_owned(), bytes(&since.to_string()));
        }
        Trust::Old { certificate, since } => {
            data.insert(OLD_CERTIFICATE.to_owned(), bytes(certificate));
            data.insert(SINCE.to_owned(), bytes(&since.to_string()));
        }
    }
    data
}

/// A certificate, its key, and whom to believe.
pub fn leaf_data(pair: &Pair, bundle: &str) -> Data {
    [(CERTIFICATE, pair.certificate.as_str()), (KEY, pair.key.expose()), (BUNDLE, bundle)]
        .into_iter()
        .map(|(name, text)| (name.to_owned(), bytes(text)))
        .collect()
}
