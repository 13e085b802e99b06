//! A presented API key becomes a [`Known`] caller.
//!
//! "Argon2id verify behind a semaphore … cache only the Argon2 result; status, expiry, scopes, IP
//! list are checked per request": the row is read each time, so that a revoked key fails at the
//! next request; only the slow hash, which cannot change its mind, is remembered.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contract::key::Presented;
use contract::secrets::hmac_sha256;
use contract::{Code, Entropy, KeyId, Timestamp};

use super::Known;
use crate::domain::accounts::second_factor::Standing;
use crate::domain::api_keys;
use crate::domain::tenancy::{organizations, users};
use crate::{App, Error, Result};

/// Verified texts that are remembered, and how long.
const VERIFIED_MAX: u64 = 10_000;
const VERIFIED_FOR: Duration = Duration::from_mins(5);
/// `last_used_at` is written once in this time for each key.
const USE_WRITTEN_EVERY: chrono::Duration = chrono::Duration::seconds(60);
/// Keys whose last written use is remembered; past it, all are forgotten and written again.
const USES_MAX: usize = 100_000;

/// What this process remembers of keys. Never a key, never its plain digest: only an HMAC of the
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

    /// Is this use to be written, or is the last written one recent enough?
    fn is_due(&self, key_id: &KeyId, now: Timestamp) -> bool {
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

/// The caller behind the text of a key, or the one refusal for every text that opens nothing.
pub async fn known(app: &App, text: &str, peer: IpAddr) -> Result<Known> {
    let invalid = || Error::BadCredential(Code::InvalidKey);
    let presented = Presented::parse(text, &app.keyring().key_pepper()).ok_or_else(invalid)?;
    let mut conn = app.pool().acquire().await?;
    let found = api_keys::by_prefix(&mut conn, presented.prefix()).await?.ok_or_else(invalid)?;
    let organization = organizations::governed(&mut conn, &found.org_id).await?.ok_or_else(invalid)?;
    let member = match &found.key.user_id {
        Some(user_id) => users::member(&mut conn, &found.org_id, user_id).await?,
        None => None,
    };
    // The slow hash below must not hold a connection.
    drop(conn);
    if !fits(app, &presented, &found.secret.hash).await? {
        return Err(invalid());
    }
    let place = (&found.org_id, &found.env_id);
    let caller = found
        .key
        .caller(place, member.as_ref(), Some(&found.secret), Some(peer), app.now())
        .map_err(|code| if code.http() == 401 { Error::BadCredential(code) } else { Error::Refused(code) })?;
    if app.key_memory().is_due(&found.key.key_id, app.now()) {
        let mut conn = app.pool().acquire().await?;
        api_keys::used(&mut conn, &found.key.key_id, app.now()).await?;
    }
    let (tier, limits) = (organization.tier, organization.limits);
    Ok(Known { caller, tier, limits, second_factor: Standing::default(), agent_id: found.key.agent_id })
}

async fn fits(app: &App, presented: &Presented, hash: &str) -> Result<bool> {
    let memory = app.key_memory();
    let mark = hmac_sha256(&memory.mac_key, &[presented.text().expose().as_bytes(), &[0], hash.as_bytes()]);
    if memory.verified.contains_key(&mark) {
        return Ok(true);
    }
    let fits = app.slow_hash().verify(presented.text().expose().clone(), hash.to_owned()).await?;
    if fits {
        memory.verified.insert(mark, ());
    }
    Ok(fits)
}
