//! Secrets of an installation: one master key, and what is derived from it.

use std::fmt;

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{Aead, KeyInit, Payload};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::{Entropy, EnvId};

/// Bytes of the nonce before a sealed text.
const NONCE_BYTES: usize = 12;

/// A value that no log and no error may show.
#[derive(Clone, PartialEq, Eq)]
pub struct Redacted<T>(T);

impl<T> Redacted<T> {
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Named so that every use stands out.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Redacted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Keys derived from `SLUICE_SECRET_KEY` with HKDF-SHA256, each for one purpose.
#[derive(Debug, Clone)]
pub struct Keyring(Redacted<[u8; 32]>);

impl Keyring {
    pub const fn new(master: [u8; 32]) -> Self {
        Self(Redacted::new(master))
    }

    /// From 64 hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let bytes = hex::decode(text.trim()).ok()?;
        Some(Self::new(bytes.try_into().ok()?))
    }

    /// Pepper of the check digits of API keys; data planes get it in the snapshot.
    pub fn key_pepper(&self) -> [u8; 32] {
        self.derive("api-key-pepper")
    }

    /// Signs page cursors.
    pub fn cursor_key(&self) -> [u8; 32] {
        self.derive("page-cursor")
    }

    /// Derives the successors of refresh tokens.
    pub fn refresh_key(&self) -> [u8; 32] {
        self.derive("refresh-successor")
    }

    /// Seed of the Ed25519 key that signs tokens, where none is given.
    pub fn token_seed(&self) -> [u8; 32] {
        self.derive("token-seed")
    }

    /// Seals the heads of audit chains.
    pub fn audit_key(&self) -> [u8; 32] {
        self.derive("audit-head")
    }

    /// Seed of the Ed25519 key that signs heads of audit chains for the archive, where none is given.
    pub fn audit_seed(&self) -> [u8; 32] {
        self.derive("audit-head-seed")
    }

    /// Key of `hash` masks in one environment; its data plane gets it in the snapshot.
    pub fn mask_key(&self, env_id: &EnvId) -> [u8; 32] {
        self.derive(&format!("mask:{env_id}"))
    }

    /// A secret that has to be read again, as it may be stored: AES-256-GCM under a fresh nonce.
    /// It opens only for the record it was sealed for.
    pub fn seal(&self, record: &str, secret: &Redacted<String>, entropy: &Entropy) -> Result<Vec<u8>, Unsealable> {
        let nonce = entropy.bytes::<NONCE_BYTES>();
        let payload = Payload { msg: secret.expose().as_bytes(), aad: record.as_bytes() };
        let sealed = self.at_rest().encrypt(&nonce.into(), payload).map_err(|_| Unsealable)?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// What was sealed for this record under this key, and nothing else.
    pub fn open(&self, record: &str, sealed: &[u8]) -> Result<Redacted<String>, Unsealable> {
        let (nonce, text) = sealed.split_first_chunk::<NONCE_BYTES>().ok_or(Unsealable)?;
        let payload = Payload { msg: text, aad: record.as_bytes() };
        let secret = self.at_rest().decrypt(&(*nonce).into(), payload).map_err(|_| Unsealable)?;
        String::from_utf8(secret).map(Redacted::new).map_err(|_| Unsealable)
    }

    fn at_rest(&self) -> Aes256Gcm {
        Aes256Gcm::new(&self.derive("at-rest").into())
    }

    fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut out = [0; 32];
        let derived = Hkdf::<Sha256>::new(None, self.0.expose()).expand(purpose.as_bytes(), &mut out);
        debug_assert!(derived.is_ok(), "32 bytes are within what HKDF-SHA256 gives");
        out
    }
}

/// The error of a stored value that was sealed under another key or for another record, or was changed since.
#[derive(Debug, thiserror::Error)]
#[error("a stored secret cannot be sealed or opened with this installation's secret key")]
pub struct Unsealable;

/// HMAC-SHA256.
pub fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes a key of any length; the empty MAC stands only where that would not hold.
    let Ok(mut mac) = <Hmac<Sha256> as Mac>::new_from_slice(key) else {
        return [0; 32];
    };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redacted_value_never_prints() {
        assert_eq!(format!("{:?}", Redacted::new("svc_live_x")), "[redacted]");
    }

    #[test]
    fn each_purpose_has_its_own_key() {
        let ring = Keyring::new([7; 32]);
        let masks = [ring.mask_key(&"a".into()), ring.mask_key(&"b".into())];
        let keys = [ring.key_pepper(), ring.cursor_key(), ring.refresh_key(), masks[0], masks[1]];
        for (i, key) in keys.iter().enumerate() {
            assert!(keys.iter().skip(i + 1).all(|other| other != key));
        }
    }

    #[test]
    fn a_sealed_secret_opens_for_its_record_and_key_alone() {
        let (ring, entropy) = (Keyring::new([7; 32]), Entropy::seeded(5));
        let sealed = ring.seal("webhook:a", &Redacted::new("hush".to_owned()), &entropy).unwrap();
        assert_eq!(ring.open("webhook:a", &sealed).unwrap().expose(), "hush");
        assert!(!sealed.windows(4).any(|window| window == b"hush"));
        assert_ne!(sealed, ring.seal("webhook:a", &Redacted::new("hush".to_owned()), &entropy).unwrap());
        assert!(ring.open("webhook:b", &sealed).is_err());
        assert!(Keyring::new([8; 32]).open("webhook:a", &sealed).is_err());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(ring.open("webhook:a", &changed).is_err(), "byte {at}");
            assert!(ring.open("webhook:a", &sealed[..at]).is_err(), "{at} bytes");
        }
    }

    #[test]
    fn a_master_key_is_64_hex_digits() {
        assert!(Keyring::from_hex(&"ab".repeat(32)).is_some());
        assert!(Keyring::from_hex(&"ab".repeat(31)).is_none());
        assert!(Keyring::from_hex("not hex").is_none());
    }
}
