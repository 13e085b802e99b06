//! The key or the token that a request carries, wherever HTTP is served to callers who come themselves.
//!
//! "`Authorization: ApiKey <API_KEY>` or `X-API-Key: <API_KEY>`"; "the raw Arrow endpoint also takes
//! an API key as a Bearer value"; "the tool server takes an `ApiKey` header"; "`Authorization: Bearer <JWT>`:
//! dashboard users, SSO sessions". A cookie is none here: no page of another site asks in somebody's name.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use contract::key::looks_like_key;
use contract::{Code, wire};

use crate::Error;
use crate::governance::sessions::Credential;

/// Where a key alone will do.
pub fn key(headers: &HeaderMap) -> Result<&str, Error> {
    match shown(headers)? {
        Credential::Key(key) => Ok(key),
        Credential::Token(_) => Err(Error::Caller(Code::InvalidToken)),
    }
}

/// `Authorization` counts before the headers that hold a key alone.
pub fn shown(headers: &HeaderMap) -> Result<Credential<'_>, Error> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default().trim());
    if let Some(authorization) = text(AUTHORIZATION.as_str()) {
        let (scheme, value) = authorization.split_once(' ').unwrap_or((authorization, ""));
        let (scheme, value) = (scheme.to_ascii_lowercase(), value.trim());
        return match scheme.as_str() {
            "apikey" => Ok(Credential::Key(value)),
            "bearer" if looks_like_key(value) => Ok(Credential::Key(value)),
            "bearer" => Ok(Credential::Token(value)),
            _ => Err(Error::Caller(Code::InvalidToken)),
        };
    }
    let key = text(wire::header::API_KEY).or_else(|| text("apikey"));
    key.map(Credential::Key).ok_or(Error::Caller(Code::MissingAuth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_or_a_token_comes_in_any_of_the_specified_headers() {
        use Credential::{Key, Token};
        let cases = [
            ("authorization", "ApiKey svc_live_a", Ok(Key("svc_live_a"))),
            ("authorization", "apikey  svc_live_a", Ok(Key("svc_live_a"))),
            ("authorization", "Bearer svc_test_a", Ok(Key("svc_test_a"))),
            ("x-api-key", "svc_live_a", Ok(Key("svc_live_a"))),
            ("apikey", "svc_live_a", Ok(Key("svc_live_a"))),
            ("authorization", "Bearer eyJhbGciOi", Ok(Token("eyJhbGciOi"))),
            ("x-api-key", "eyJhbGciOi", Ok(Key("eyJhbGciOi"))),
            ("authorization", "Basic c3ZjOg==", Err(Code::InvalidToken)),
            ("cookie", "svc_live_a", Err(Code::MissingAuth)),
        ];
        for (name, value, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(shown(&headers).map_err(|error| error.code()), expected, "{name}: {value}");
            assert_eq!(key(&headers).is_ok(), matches!(expected, Ok(Key(_))), "{name}: {value}");
        }
    }
}
