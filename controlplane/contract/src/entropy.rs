//! Randomness as a parameter: the operating system's for real, a seed for tests.

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::{StdRng, SysRng};
use rand::{Rng, SeedableRng};

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A shared source of random bytes (`ChaCha12`), safe for keys when made by [`Entropy::system`].
#[derive(Clone)]
pub struct Entropy(Arc<Mutex<StdRng>>);

/// The operating system gave no randomness: nothing that needs a secret may go on.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no randomness")]
pub struct NoEntropy;

impl Entropy {
    /// Seeded once from the operating system.
    pub fn system() -> Result<Self, NoEntropy> {
        let rng = StdRng::try_from_rng(&mut SysRng).map_err(|_| NoEntropy)?;
        Ok(Self(Arc::new(Mutex::new(rng))))
    }

    /// The same bytes for the same seed: tests only.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut out = [0; N];
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut out);
        out
    }

    /// `length` characters of `[0-9A-Za-z]`, each equally likely (5.95 bits a character).
    pub fn base62(&self, length: usize) -> String {
        let mut out = String::with_capacity(length);
        while out.len() < length {
            for byte in self.bytes::<64>() {
                // 248 = 4 × 62: what lies above would favour the first characters.
                if let (true, Some(symbol)) = (byte < 248, BASE62.get(usize::from(byte % 62)))
                    && out.len() < length
                {
                    out.push(char::from(*symbol));
                }
            }
        }
        out
    }
}

crate::opaque!(Entropy);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_the_system_does_not() {
        assert_eq!(Entropy::seeded(7).base62(43), Entropy::seeded(7).base62(43));
        let system = Entropy::system().unwrap();
        assert_ne!(system.bytes::<32>(), system.bytes::<32>());
    }

    #[test]
    fn base62_has_the_length_asked_for() {
        for length in [0, 1, 43, 200] {
            assert_eq!(Entropy::seeded(1).base62(length).len(), length);
        }
    }
}
