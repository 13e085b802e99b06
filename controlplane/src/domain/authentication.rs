//! Who is calling: a credential becomes a [`AuthenticatedCaller`] caller, or 401. And the ways in: by password, by a
//! mailed link (`links`), each with a second factor where there is one (`second_factor`).
//!
//! "Every request, except `GET /health`, `GET /ready` and the login endpoints, carries one of three
//! credentials": a JWT of a session (`tokens`, `sessions`; a browser keeps it in a cookie, `browser`),
//! an API key (`api_key`), or a federated token (`federated`).

pub mod api_key;
mod browser;
#[cfg(test)]
mod browser_tests;
mod federated;
pub mod federation;
mod http;
mod magic_link;
mod opening;
mod password_reset;
mod permissions;
pub mod reader;
pub mod sso;
#[cfg(test)]
mod tests;
mod verification;
mod vouching;

use std::net::IpAddr;

use axum::http::{HeaderMap, Method, header::AUTHORIZATION};
use contract::caller::Limits;
use contract::{Caller, Code, Tier, key};
use platform::http::call::EnvironmentPlace;
use platform::{App, Error, Result};

use super::accounts::second_factor::SecondFactorState;
pub use http::routes;
pub use vouching::vouch;

/// Somebody whose credential was good.
#[derive(Debug, Clone)]
pub struct AuthenticatedCaller {
    pub caller: Caller,
    /// Tier of the caller's organization.
    pub tier: Tier,
    /// The tier's, and the organization's own.
    pub limits: Limits,
    /// Of a session; a key has none and needs none.
    pub second_factor: SecondFactorState,
    /// Of a key that is bound to one agent.
    pub agent_id: Option<String>,
    /// Of a key's environment.
    pub place: Option<EnvironmentPlace>,
}

/// Where all of it is.
pub const PREFIX: &str = "/v1/auth/";

enum Presented<'a> {
    Key(&'a str),
    Token(&'a str),
    /// A token that the browser sends along, whoever made it ask.
    Cookie(&'a str),
}

/// The caller behind the credential in the headers.
pub async fn known(app: &App, headers: &HeaderMap, peer: IpAddr) -> Result<AuthenticatedCaller> {
    match presented(headers)? {
        Presented::Key(text) => api_key::known(app, text, peer).await,
        Presented::Token(text) if app.tokens().is_ours(text) => super::accounts::sessions::known(app, text).await,
        Presented::Token(text) => federated::known(app, text, peer).await,
        Presented::Cookie(text) => super::accounts::sessions::known(app, text).await,
    }
}

/// Whether whoever is signed in wants this, and not another site's page.
pub fn intended(method: &Method, headers: &HeaderMap) -> Result<()> {
    match presented(headers)? {
        Presented::Cookie(_) => browser::intended(method, headers),
        Presented::Key(_) | Presented::Token(_) => Ok(()),
    }
}

/// Whether it is a browser's cookie that says who asks.
pub fn is_in_browser(headers: &HeaderMap) -> bool {
    matches!(presented(headers), Ok(Presented::Cookie(_)))
}

/// `Authorization` counts before `X-API-Key` and `ApiKey`, and these before a cookie. A Bearer value that looks like a key is
/// one: "the raw Arrow endpoint also takes an API key as a Bearer value".
fn presented(headers: &HeaderMap) -> Result<Presented<'_>> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default().trim());
    if let Some(authorization) = text(AUTHORIZATION.as_str()) {
        let (scheme, value) = authorization.split_once(' ').unwrap_or((authorization, ""));
        let value = value.trim();
        return match scheme.to_ascii_lowercase().as_str() {
            "apikey" => Ok(Presented::Key(value)),
            "bearer" if key::looks_like_key(value) => Ok(Presented::Key(value)),
            "bearer" => Ok(Presented::Token(value)),
            _ => Err(Error::BadCredential(Code::InvalidToken)),
        };
    }
    let key = text("x-api-key").or_else(|| text("apikey")).map(Presented::Key);
    key.or_else(|| browser::session(headers).map(Presented::Cookie)).ok_or(Error::MissingCredential)
}
