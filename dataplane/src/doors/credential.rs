//! The key that a request carries, wherever HTTP is served to callers who come themselves.
//!
//! "`Authorization: ApiKey <API_KEY>` or `X-API-Key: <API_KEY>`"; "the raw Arrow endpoint also takes
//! an API key as a Bearer value"; "the tool server takes an `ApiKey` header". A token of a session is
//! the control plane's to check, and is refused here.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use contract::key::looks_like_key;
use contract::{Code, wire};

use crate::Error;

/// The presented key. `Authorization` counts before the headers that hold a key alone.
pub fn key(headers: &HeaderMap) -> Result<&str, Error> {
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
