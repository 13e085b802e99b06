//! Who a request comes from, by its headers: the credential, and the agent that is declared.
//!
//! "`Authorization: ApiKey <API_KEY>` or `X-API-Key: <API_KEY>`"; "the raw Arrow endpoint also takes
//! an API key as a Bearer value"; "the tool server takes an `ApiKey` header". A token of a session is
//! the control plane's to check, and is refused here.

use axum::http::header::AUTHORIZATION;
use axum::http::{Extensions, HeaderMap};
use contract::key::looks_like_key;
use contract::policy::abac::Origin;
use contract::{Code, RequestId, wire};

use super::super::http::Peer;
use super::Door;
use crate::guest::Guest;
use crate::{Declared, Error};

/// The longest name of an agent or a framework.
const NAME_CHARS_MAX: usize = 256;

/// Checks the credential of a request.
pub async fn admit(
    door: &Door,
    headers: &HeaderMap,
    extensions: &Extensions,
    origin: Origin,
    request_id: &RequestId,
) -> Result<Guest, Error> {
    let peer = extensions.get::<Peer>().map(|peer| peer.0);
    let admitted = door.sessions.admit(key(headers)?, peer).await?;
    let agent =
        Declared { agent_id: declared(headers, "x-agent-id")?, framework: declared(headers, "x-agent-framework")? };
    Ok(Guest { who: admitted.who, peer, agent, origin, request_id: request_id.clone() })
}

/// The presented key. `Authorization` counts before the headers that hold a key alone.
fn key(headers: &HeaderMap) -> Result<&str, Error> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default().trim());
    if let Some(authorization) = text(AUTHORIZATION.as_str()) {
        let (scheme, value) = authorization.split_once(' ').unwrap_or((authorization, ""));
        let (scheme, value) = (scheme.to_ascii_lowercase(), value.trim());
        return match scheme.as_str() {
            "apikey" => Ok(value),
            "bearer" if looks_like_key(value) => Ok(value),
            _ => Err(Error::Caller(Code::InvalidToken)),
        };
    }
    text(wire::header::API_KEY).or_else(|| text("apikey")).ok_or(Error::Caller(Code::MissingAuth))
}

fn declared(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, Error> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let named = value.to_str().ok().filter(|text| (1..=NAME_CHARS_MAX).contains(&text.len()));
    let named = named.ok_or_else(|| Error::InvalidParams {
        field: name,
        message: format!("{name} is 1 to {NAME_CHARS_MAX} characters of ASCII"),
    })?;
    Ok(Some(named.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_in_any_of_the_specified_headers() {
        let cases = [
            ("authorization", "ApiKey svc_live_a", Ok("svc_live_a")),
            ("authorization", "apikey  svc_live_a", Ok("svc_live_a")),
            ("authorization", "Bearer svc_test_a", Ok("svc_test_a")),
            ("x-api-key", "svc_live_a", Ok("svc_live_a")),
            ("apikey", "svc_live_a", Ok("svc_live_a")),
            ("authorization", "Bearer eyJhbGciOi", Err(Code::InvalidToken)),
            ("authorization", "Basic c3ZjOg==", Err(Code::InvalidToken)),
            ("cookie", "svc_live_a", Err(Code::MissingAuth)),
        ];
        for (name, value, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(key(&headers).map_err(|error| error.code()), expected, "{name}: {value}");
        }
    }
}
