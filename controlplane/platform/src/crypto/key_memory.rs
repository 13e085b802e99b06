//! The memory of this process of API keys: that a text was verified, and when a use was last written.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contract::key::Presented;
use contract::secrets::hmac_sha256;
use contract::{Entropy, KeyId, Timestamp};

/// Verified texts that are remembered, and how long.
const VERIFIED_MAX: u64 = 10_000;
const VERIFIED_FOR: Duration = Duration::from_mins(5);
/// `last_used_at` is written once in this time for each key.
const USE_WRITTEN_EVERY: chrono::Duration = chrono::Duration::seconds(60);
/// Keys whose last written use is remembered; past it, all are forgotten and written again.
const USES_MAX: usize = 100_000;

/// The memory of this process of keys. Never a key, never its plain digest: only an HMAC of the
/// text and the stored hash under a random key that dies with the process.
pub struct KeyMemory {
    mac_key: [u8; 32],
    verified: moka::sync::Cache<[u8; 32], ()>,
    uses: Mutex<HashMap<KeyId, Timestamp>>,
}

impl KeyMemory {
    pub fn new(entropy: &Entropy) -> Self {
        let verified = moka::sync::Cache::builder().max_capacity(VERIFIED_MAX).time_to_live(VERIFIED_FOR).build();
        Self { mac_key: entropy.bytes(), verified, uses: Mutex::default() }
    }

    /// The HMAC that stands for a text and the stored hash.
    pub fn mark(&self, presented: &Presented, hash: &str) -> [u8; 32] {
        hmac_sha256(&self.mac_key, &[presented.text().expose().as_bytes(), &[0], hash.as_bytes()])
    }

    /// Whether the text of this mark was verified a short while ago.
    pub fn is_verified(&self, mark: &[u8; 32]) -> bool {
        self.verified.contains_key(mark)
    }

    /// The text of this mark fits its hash.
    pub fn verified(&self, mark: [u8; 32]) {
        self.verified.insert(mark, ());
    }

    /// Is this use to be written, or is the last written one recent enough?
    pub fn is_due(&self, key_id: &KeyId, now: Timestamp) -> bool {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        if uses.get(key_id).is_some_and(|last| now - *last < USE_WRITTEN_EVERY) {
            return false;
        }
        if uses.len() >= USES_MAX {
            uses.clear();
        }
        uses.insert(key_id.clone(), now);
        true
    }
}
