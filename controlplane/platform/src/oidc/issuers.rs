//! Issuers of OpenID tokens: their documents, their keys, and what a token of theirs says.
//!
//! An issuer is named by an administrator and asked by us, so it is kept to the public internet as a
//! webhook's receiver is. Nothing of a token decides how it is checked: the key comes from the
//! issuer's own set, and its algorithm from the key. What could not be fetched is refused.

mod fetch;
mod keys;

use std::sync::Arc;

use chrono::Duration;
use contract::Timestamp;
use jsonwebtoken::Validation;
use jsonwebtoken::jwk::Jwk;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

pub use fetch::Fetch;

/// Documents and keys are asked for again after this.
const KEPT: Duration = Duration::minutes(10);
/// A key that is not in the set may be new: the set is asked for again, this often at most.
const UNKNOWN_KEY_EVERY: Duration = Duration::minutes(1);
const ISSUERS_MAX: u64 = 1_000;
/// Clocks of an issuer and of this installation differ by less.
const LEEWAY_SECONDS: i64 = 30;

/// The discovery document of an issuer: OpenID Connect Discovery.
#[derive(Debug, Clone, Deserialize)]
pub struct DiscoveryDocument {
    pub issuer: String,
    pub authorization_endpoint: Option<String>,
    pub token_endpoint: Option<String>,
    pub userinfo_endpoint: Option<String>,
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub jwks_uri: String,
}

/// How a client shows its secret to a token endpoint (RFC 6749, 2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretIn {
    /// `client_secret_basic`, which is meant where nothing is said.
    Header,
    /// `client_secret_post`
    Form,
}

impl DiscoveryDocument {
    pub fn takes_secret(&self) -> SecretIn {
        let methods = self.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
        let takes = |method: &str| methods.iter().any(|own| own == method);
        if takes("client_secret_post") && !takes("client_secret_basic") { SecretIn::Form } else { SecretIn::Header }
    }
}

#[derive(Debug)]
struct CachedIssuer {
    document: DiscoveryDocument,
    keys: Vec<Jwk>,
    fetched_at: Timestamp,
}

/// Issuers that were asked, for a while.
#[derive(Debug)]
pub struct Issuers {
    fetch: Fetch,
    held: moka::sync::Cache<String, Arc<CachedIssuer>>,
}

/// An issuer that cannot be believed, or cannot be asked. Said to who configures it; to who signs in
/// it is one refusal.
#[derive(Debug, thiserror::Error)]
pub enum Unbelieved {
    #[error("the issuer cannot be asked: {0}")]
    Unreachable(&'static str),
    #[error("the issuer's document does not fit: {0}")]
    Document(&'static str),
    #[error("the token does not fit: {0}")]
    Token(&'static str),
}

impl Issuers {
    pub fn new(loopback: bool) -> Result<Self> {
        Ok(Self { fetch: Fetch::new(loopback)?, held: moka::sync::Cache::new(ISSUERS_MAX) })
    }

    pub const fn fetch(&self) -> &Fetch {
        &self.fetch
    }

    pub async fn document(&self, issuer: &str, now: Timestamp) -> Result<DiscoveryDocument, Unbelieved> {
        Ok(self.held(issuer, now, KEPT).await?.document.clone())
    }

    /// The claims of a token that this issuer has signed for this audience, and that holds now.
    pub async fn claims<T: DeserializeOwned>(
        &self,
        token: &str,
        issuer: &str,
        audience: &str,
        now: Timestamp,
    ) -> Result<T, Unbelieved> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Unbelieved::Token("it is no JWT"))?;
        if header.jku.is_some() || header.jwk.is_some() || header.x5u.is_some() || header.crit.is_some() {
            return Err(Unbelieved::Token("its header brings a key or a rule along"));
        }
        let kid = header.kid.as_deref();
        let mut held = self.held(issuer, now, KEPT).await?;
        if keys::named(&held.keys, kid).is_none() {
            held = self.held(issuer, now, UNKNOWN_KEY_EVERY).await?;
        }
        let key = keys::named(&held.keys, kid).ok_or(Unbelieved::Token("its key is not in the issuer's set"))?;
        let algorithm = keys::algorithm(key).ok_or(Unbelieved::Token("its key is of no kind that is taken"))?;
        if header.alg != algorithm {
            return Err(Unbelieved::Token("its algorithm is not its key's"));
        }
        let mut rules = Validation::new(algorithm);
        rules.set_required_spec_claims(&["exp", "iss", "aud"]);
        rules.set_issuer(&[issuer]);
        rules.set_audience(&[audience]);
        // The library would read the machine's clock; ours is a parameter.
        rules.validate_exp = false;
        let checking =
            jsonwebtoken::DecodingKey::from_jwk(key).map_err(|_| Unbelieved::Token("its key is unusable"))?;
        let unfit = |_| Unbelieved::Token("its signature, issuer, audience or claims");
        let times: Times = jsonwebtoken::decode(token, &checking, &rules).map_err(unfit)?.claims;
        times.hold(now)?;
        Ok(jsonwebtoken::decode::<T>(token, &checking, &rules).map_err(unfit)?.claims)
    }

    async fn held(
        &self,
        issuer: &str,
        now: Timestamp,
        no_older_than: Duration,
    ) -> Result<Arc<CachedIssuer>, Unbelieved> {
        if let Some(held) = self.held.get(issuer).filter(|held| now - held.fetched_at < no_older_than) {
            return Ok(held);
        }
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let document: DiscoveryDocument = self.fetch.json(&url).await?;
        if document.issuer != issuer {
            return Err(Unbelieved::Document("it names another issuer"));
        }
        let keys = keys::parsed(&self.fetch.json(&document.jwks_uri).await?);
        let held = Arc::new(CachedIssuer { document, keys, fetched_at: now });
        self.held.insert(issuer.to_owned(), Arc::clone(&held));
        Ok(held)
    }
}

/// When a token holds. A claim of another type makes it no token.
#[derive(Debug, Deserialize)]
struct Times {
    exp: i64,
    iat: i64,
    nbf: Option<i64>,
}

impl Times {
    fn hold(&self, now: Timestamp) -> Result<(), Unbelieved> {
        let (latest, now) = (now.timestamp().saturating_add(LEEWAY_SECONDS), now.timestamp());
        if self.exp <= now {
            return Err(Unbelieved::Token("it has expired"));
        }
        if self.iat > latest || self.nbf.is_some_and(|nbf| nbf > latest) {
            return Err(Unbelieved::Token("it is of the future"));
        }
        Ok(())
    }
}

impl Unbelieved {
    /// As whoever sets out is told: to them it is a service that is away.
    pub fn unavailable(self) -> Error {
        tracing::warn!(error = %self, "an identity provider cannot be used");
        Error::Unavailable("the identity provider cannot be asked")
    }

    /// As whoever signs in is told: nothing of what was wrong, which is logged.
    pub fn refused(self) -> Error {
        tracing::info!(error = %self, "a token of another issuer was refused");
        Error::BadCredential(contract::Code::InvalidToken)
    }
}
