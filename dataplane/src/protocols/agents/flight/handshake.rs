//! Who calls. The headers of the other protocols, and those of Flight: a handshake with `Basic`, whose password is the
//! key, is answered with a bearer. It is good for an hour at most, in this process, and no longer than the key's secret.

use std::net::IpAddr;
use std::str::FromStr;

use axum::http::header::AUTHORIZATION;
use axum::http::{Extensions, HeaderMap};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use contract::caller::Unknown;
use contract::policy::abac::Origin;
use contract::secrets::hmac_sha256;
use contract::wire::{self, Who};
use contract::{Code, Heal, KeyId, RequestId, StandardStrings, Timestamp};
use subtle::ConstantTimeEq;

use super::super::super::credential;
use super::super::super::http::Peer;
use super::super::{AgentsContext, tool_caller};
use super::handles::FlightHandles;
use crate::Error;
use crate::agents::tool_caller::ToolCaller;

const BEARER_FOR: chrono::Duration = chrono::Duration::hours(1);

/// Checks the credential of a call, and that the tier has such results.
pub async fn admit(
    context: &AgentsContext,
    handles: &FlightHandles,
    headers: &HeaderMap,
    extensions: &Extensions,
    request_id: &RequestId,
) -> Result<ToolCaller, Error> {
    let peer = extensions.get::<Peer>().map(|peer| peer.0);
    let who = match bearer(headers) {
        Some(token) => {
            let claimed = opened(token, &handles.signing, context.pipeline.clock.now());
            let (who, secret) = claimed.ok_or(Error::Caller(Code::InvalidToken))?;
            context.sessions.standing(&who, Some(&secret), peer)?;
            who
        }
        None => context.sessions.admit_shown(credential::shown(headers)?, peer).await?.who,
    };
    if !context.pipeline.rules()?.organization.tier.has_arrow() {
        return Err(Error::TierLimit);
    }
    tool_caller::declared_by(who, peer, headers, Origin::Flight, request_id)
}

/// How the statements of the call are read and run, where that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct CallOptions {
    /// They may be healed no further than this.
    pub heal: Option<Heal>,
    pub strings: Option<StandardStrings>,
}

impl CallOptions {
    pub fn of(headers: &HeaderMap) -> Result<Self, Error> {
        let (heal, strings) = (word(headers, wire::header::HEAL)?, word(headers, wire::header::STANDARD_STRINGS)?);
        Ok(Self { heal, strings })
    }
}

/// One of the words that a header takes.
fn word<W: FromStr<Err = Unknown>>(headers: &HeaderMap, field: &'static str) -> Result<Option<W>, Error> {
    let Some(value) = headers.get(field) else { return Ok(None) };
    let word = String::from_utf8_lossy(value.as_bytes());
    let refused = |unknown: Unknown| Error::InvalidParams { field, message: unknown.to_string() };
    word.parse().map(Some).map_err(refused)
}

/// The bearer for whoever shows a key.
pub async fn handshake(
    context: &AgentsContext,
    handles: &FlightHandles,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Result<String, Error> {
    let peer: Option<IpAddr> = extensions.get::<Peer>().map(|peer| peer.0);
    let admitted = match basic(headers) {
        Some(password) => context.sessions.admit(&password?, peer).await?,
        None => context.sessions.admit(credential::key(headers)?, peer).await?,
    };
    let (Who::Key { key_id }, Some(secret)) = (admitted.who, admitted.secret) else {
        return Err(Error::Caller(Code::InvalidToken));
    };
    Ok(sealed(&key_id, &secret, context.pipeline.clock.now() + BEARER_FOR, &handles.signing))
}

fn authorization<'h>(headers: &'h HeaderMap, scheme: &str) -> Option<&'h str> {
    let (named, value) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    named.eq_ignore_ascii_case(scheme).then(|| value.trim())
}

/// A bearer that a handshake gave; one that is a key is a key.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    authorization(headers, "bearer").filter(|value| value.starts_with(MARK))
}

/// The password of `Basic`; the name says nothing.
fn basic(headers: &HeaderMap) -> Option<Result<String, Error>> {
    let value = authorization(headers, "basic")?;
    let read = || {
        let text = String::from_utf8(STANDARD.decode(value).ok()?).ok()?;
        text.split_once(':').map(|(_, password)| password.to_owned())
    };
    Some(read().ok_or(Error::Caller(Code::InvalidToken)))
}

/// What our bearers begin with: no key does, and no JWT.
const MARK: &str = "flight.";

/// For a key, by the prefix of the secret that was shown.
fn sealed(key_id: &KeyId, secret: &str, until: Timestamp, signing: &[u8; 32]) -> String {
    let claim = format!("{}.{secret}.{key_id}", until.timestamp());
    let mac = hmac_sha256(signing, &[claim.as_bytes()]);
    format!("{MARK}{}.{}", URL_SAFE_NO_PAD.encode(claim), URL_SAFE_NO_PAD.encode(mac))
}

fn opened(token: &str, signing: &[u8; 32], now: Timestamp) -> Option<(Who, String)> {
    let (claim, mac) = token.strip_prefix(MARK)?.split_once('.')?;
    let (claim, mac) = (URL_SAFE_NO_PAD.decode(claim).ok()?, URL_SAFE_NO_PAD.decode(mac).ok()?);
    if !bool::from(hmac_sha256(signing, &[&claim]).as_slice().ct_eq(&mac)) {
        return None;
    }
    let claim = String::from_utf8(claim).ok()?;
    let (until, key) = claim.split_once('.')?;
    let (secret, key_id) = key.split_once('.')?;
    (now.timestamp() < until.parse().ok()?).then(|| (Who::Key { key_id: key_id.into() }, secret.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_is_believed_until_its_hour_is_over() {
        let (now, key) = (Timestamp::UNIX_EPOCH, [7; 32]);
        let token = sealed(&"k-1".into(), "svc_live_a", now + BEARER_FOR, &key);
        let claimed = (Who::Key { key_id: "k-1".into() }, "svc_live_a".to_owned());
        let just_before = now + BEARER_FOR - chrono::Duration::seconds(1);
        assert_eq!(opened(&token, &key, just_before), Some(claimed));
        assert_eq!(opened(&token, &key, now + BEARER_FOR), None);
        assert_eq!(opened(&token, &[8; 32], now), None);
        for forged in ["", "flight.", "flight.a.b", &token[..token.len() - 2], &token.replace("flight.", "")] {
            assert_eq!(opened(forged, &key, now), None, "{forged}");
        }
    }

    #[test]
    fn the_password_of_basic_is_the_key() {
        let cases =
            [("Basic YWdlbnQ6c3ZjX2xpdmVfYQ==", Some(Some("svc_live_a"))), ("Basic !", Some(None)), ("Bearer x", None)];
        for (value, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            let read = basic(&headers).map(Result::ok);
            assert_eq!(read.as_ref().map(Option::as_deref), expected, "{value}");
        }
    }
}
