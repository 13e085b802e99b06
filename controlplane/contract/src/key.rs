//! API keys: their text, and the check of a presented one.
//!
//! "Key values begin with a live or test prefix (`svc_live_`, `svc_test_`) followed by random
//! characters and are stored only as Argon2id hashes." A key is the prefix, a 12-character public
//! id that finds its row, 43 characters of secret (256 bits), and 8 check characters: a truncated
//! HMAC under the installation's pepper, so that a forged key dies without a look-up or Argon2.

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use subtle::ConstantTimeEq;

use crate::Entropy;
use crate::secrets::{Redacted, hmac_sha256};

const LIVE: &str = "svc_live_";
const TEST: &str = "svc_test_";
const PUBLIC: usize = 12;
const SECRET: usize = 43;
const CHECK: usize = 8;
/// Characters of a whole key.
pub const LENGTH: usize = LIVE.len() + PUBLIC + SECRET + CHECK;

/// A key just made: the only time its text is in anybody's hands but the owner's.
#[derive(Debug, Clone)]
pub struct Minted {
    pub text: Redacted<String>,
    /// Finds the row: live or test prefix and public id. Not secret.
    pub prefix: String,
    /// Argon2id, PHC string.
    pub hash: String,
}

/// A text that has the form and the check characters of one of our keys.
#[derive(Debug, Clone)]
pub struct Presented {
    text: Redacted<String>,
    prefix: String,
}

/// Argon2 would not hash: it never happens with our parameters.
#[derive(Debug, thiserror::Error)]
#[error("the key could not be hashed")]
pub struct HashFailed;

/// How much work one guess at a hashed secret takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashCost {
    kibibytes: u32,
    passes: u32,
}

impl HashCost {
    /// OWASP's parameters: 19 MiB, 2 passes, 1 lane; about 40 ms.
    pub const OWASP: Self = Self { kibibytes: 19_456, passes: 2 };
    /// Next to nothing: tests only, which hash thousands of secrets that nobody guesses.
    pub const TESTS: Self = Self { kibibytes: 8, passes: 1 };

    fn argon2(self) -> Result<Argon2<'static>, HashFailed> {
        let params = Params::new(self.kibibytes, self.passes, 1, None).map_err(|_| HashFailed)?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }
}

/// Argon2id of a secret (key or password) with a fresh salt, as a PHC string.
pub fn hash(secret: &str, cost: HashCost, entropy: &Entropy) -> Result<String, HashFailed> {
    let salt = SaltString::encode_b64(&entropy.bytes::<16>()).map_err(|_| HashFailed)?;
    let hash = cost.argon2()?.hash_password(secret.as_bytes(), &salt).map_err(|_| HashFailed)?;
    Ok(hash.to_string())
}

/// Does the secret fit the PHC string, by the parameters that are in it? Costs tens of milliseconds: never on an async
/// thread.
pub fn verify(secret: &str, phc: &str) -> bool {
    let (Ok(argon2), Ok(hash)) = (HashCost::OWASP.argon2(), PasswordHash::new(phc)) else {
        return false;
    };
    argon2.verify_password(secret.as_bytes(), &hash).is_ok()
}

/// A new key. `test_mode` environments give `svc_test_` keys.
pub fn mint(test_mode: bool, pepper: &[u8; 32], cost: HashCost, entropy: &Entropy) -> Result<Minted, HashFailed> {
    let kind = if test_mode { TEST } else { LIVE };
    let prefix = format!("{kind}{}", entropy.base62(PUBLIC));
    let body = format!("{prefix}{}", entropy.base62(SECRET));
    let text = format!("{body}{}", check(&body, pepper));
    let hash = hash(&text, cost, entropy)?;
    Ok(Minted { text: Redacted::new(text), prefix, hash })
}

impl Presented {
    /// `None` when the text cannot be a key of this installation: wrong form or check characters.
    pub fn parse(text: &str, pepper: &[u8; 32]) -> Option<Self> {
        let known = text.starts_with(LIVE) || text.starts_with(TEST);
        if !known || text.len() != LENGTH || !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return None;
        }
        let (body, given) = text.split_at_checked(LENGTH - CHECK)?;
        let expected = check(body, pepper);
        if !bool::from(expected.as_bytes().ct_eq(given.as_bytes())) {
            return None;
        }
        let prefix = text.get(..LIVE.len() + PUBLIC)?.to_owned();
        Some(Self { text: Redacted::new(text.to_owned()), prefix })
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub fn text(&self) -> &Redacted<String> {
        &self.text
    }

    /// See [`verify`].
    pub fn fits(&self, phc: &str) -> bool {
        verify(self.text.expose(), phc)
    }
}

/// Does the text claim to be one of our keys? Tells a key from a JWT in `Authorization: Bearer`.
pub fn looks_like_key(text: &str) -> bool {
    text.starts_with(LIVE) || text.starts_with(TEST)
}

fn check(body: &str, pepper: &[u8; 32]) -> String {
    const SYMBOLS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    hmac_sha256(pepper, &[body.as_bytes()])
        .iter()
        .take(CHECK)
        .filter_map(|byte| SYMBOLS.get(usize::from(byte % 62)).copied().map(char::from))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEPPER: [u8; 32] = [9; 32];

    #[test]
    fn a_minted_key_has_the_promised_form_and_verifies() {
        let minted = mint(true, &PEPPER, HashCost::OWASP, &Entropy::seeded(1)).unwrap();
        let text = minted.text.expose();
        assert!(text.starts_with("svc_test_") && text.len() == 72);
        let presented = Presented::parse(text, &PEPPER).unwrap();
        assert_eq!(presented.prefix(), minted.prefix);
        assert!(presented.fits(&minted.hash));
        assert!(minted.hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
    }

    #[test]
    fn a_changed_key_dies_at_its_check_characters() {
        let text = mint(false, &PEPPER, HashCost::TESTS, &Entropy::seeded(2)).unwrap().text.expose().clone();
        for at in [0, 9, 25, 70] {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'a' { b'b' } else { b'a' };
            assert!(Presented::parse(&String::from_utf8(bytes).unwrap(), &PEPPER).is_none(), "{at}");
        }
        assert!(Presented::parse(&text, &[8; 32]).is_none());
        assert!(Presented::parse("", &PEPPER).is_none());
    }

    #[test]
    fn a_known_vector_verifies() {
        for cost in [HashCost::OWASP, HashCost::TESTS] {
            let phc = hash("correct horse", cost, &Entropy::seeded(5)).unwrap();
            assert!(verify("correct horse", &phc));
            assert!(!verify("correct horse ", &phc));
        }
        assert!(!verify("correct horse", "not a hash"));
    }
}
