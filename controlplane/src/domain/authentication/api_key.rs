//! A presented API key becomes a [`AuthenticatedCaller`] caller.
//!
//! "Argon2id verify behind a semaphore … cache only the Argon2 result; status, expiry, scopes, IP
//! list are checked per request": the row is read each time, so that a revoked key fails at the
//! next request; only the slow hash, which cannot change its mind, is remembered.

use std::net::IpAddr;

use contract::Code;
use contract::key::Presented;
use platform::{App, Error, Result};

use super::AuthenticatedCaller;
use crate::domain::accounts::second_factor::SecondFactorState;
use crate::domain::api_keys;

/// The caller behind the text of a key, or the one refusal for every text that opens nothing.
pub async fn known(app: &App, text: &str, peer: IpAddr) -> Result<AuthenticatedCaller> {
    let invalid = || Error::BadCredential(Code::InvalidKey);
    let presented = Presented::parse(text, &app.keyring().key_pepper()).ok_or_else(invalid)?;
    let mut conn = app.pool().acquire().await?;
    let found = api_keys::by_prefix(&mut conn, presented.prefix()).await?.ok_or_else(invalid)?;
    // The slow hash below must not hold a connection.
    drop(conn);
    if !fits(app, &presented, &found.secret.hash).await? {
        return Err(invalid());
    }
    let place = (&found.organization.org_id, &found.env_id);
    let caller = found
        .key
        .caller(place, found.member.as_ref(), Some(&found.secret), Some(peer), app.now())
        .map_err(|code| if code.http() == 401 { Error::BadCredential(code) } else { Error::Refused(code) })?;
    if app.key_memory().is_due(&found.key.key_id, app.now()) {
        let mut conn = app.pool().acquire().await?;
        api_keys::used(&mut conn, &found.key.key_id, app.now()).await?;
    }
    let (tier, limits) = (found.organization.tier, found.organization.limits);
    Ok(AuthenticatedCaller {
        caller,
        tier,
        limits,
        second_factor: SecondFactorState::default(),
        agent_id: found.key.agent_id,
        place: Some(found.place),
    })
}

async fn fits(app: &App, presented: &Presented, hash: &str) -> Result<bool> {
    let memory = app.key_memory();
    let mark = memory.mark(presented, hash);
    if memory.is_verified(&mark) {
        return Ok(true);
    }
    let fits = app.slow_hash().verify(presented.text().expose().clone(), hash.to_owned()).await?;
    if fits {
        memory.verified(mark);
    }
    Ok(fits)
}
