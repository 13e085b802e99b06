//! Secrets of an installation: one master key, and what is derived from it.

use std::fmt;

use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::EnvId;

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

    /// Seed of the Ed25519 key that signs tokens, where none is given.
    pub fn token_seed(&self) -> [u8; 32] {
        self.derive("token-seed")
    }

    /// Seals the heads of audit chains.
    pub fn audit_key(&self) -> [u8; 32] {
        self.derive("audit-head")
    }

    /// Key of `hash` masks in one environment; its data plane gets it in the snapshot.
    pub fn mask_key(&self, env_id: &EnvId) -> [u8; 32] {
        self.derive(&format!("mask:{env_id}"))
    }

    fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut out = [0; 32];
        let derived = Hkdf::<Sha256>::new(None, self.0.expose()).expand(purpose.as_bytes(), &mut out);
        debug_assert!(derived.is_ok(), "32 bytes are within what HKDF-SHA256 gives");
        out
    }
}

/// HMAC-SHA256.
pub fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes a key of any length; the empty MAC stands only where that would not hold.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
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
        let keys = [ring.key_pepper(), ring.cursor_key(), ring.mask_key(&"a".into()), ring.mask_key(&"b".into())];
        for (i, key) in keys.iter().enumerate() {
            assert!(keys.iter().skip(i + 1).all(|other| other != key));
        }
    }

    #[test]
    fn a_master_key_is_64_hex_digits() {
        assert!(Keyring::from_hex(&"ab".repeat(32)).is_some());
        assert!(Keyring::from_hex(&"ab".repeat(31)).is_none());
        assert!(Keyring::from_hex("not hex").is_none());
    }
}
