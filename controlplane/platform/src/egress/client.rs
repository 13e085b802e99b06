//! One request to one receiver, and everything that bounds it.
//!
//! "The endpoint accepts POST with `Content-Type: application/json`, returns 2xx within 10
//! seconds." A redirect is no 2xx and is not followed; no proxy is asked; the reply's body is never
//! read; each request has a connection of its own, to an address that was looked at (`address`).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contract::secrets::hmac_sha256;
use contract::{EventId, Redacted, Timestamp};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::HeaderMap;
use reqwest::{Client, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use telemetry::Place;

use super::address;
use crate::{Error, Result};

const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// "2xx within 10 seconds".
const REPLY_WITHIN: Duration = Duration::from_secs(10);
/// A signing secret of ours: this, and base64 of 32 bytes.
pub const SECRET_PREFIX: &str = "whsec_";

/// The secrets of a receiver in the clear, for signatures.
#[derive(Debug)]
pub struct Secrets {
    pub current: Redacted<String>,
    /// The one of before a rotation whose grace has not ended.
    pub previous: Option<Redacted<String>>,
}

/// A webhook's request. The body is signed as it is.
#[derive(Debug)]
pub struct WebhookRequest<'a> {
    pub url: &'a str,
    pub secrets: &'a Secrets,
    pub event_id: &'a EventId,
    pub event_type: &'a str,
    pub body: Vec<u8>,
    /// 1-based.
    pub attempt: i32,
    pub now: Timestamp,
    pub place: Place,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// None: no reply.
    pub status: Option<u16>,
    /// Why it was not accepted.
    pub error: Option<&'static str>,
    pub took: Duration,
}

impl Receipt {
    pub const fn accepted(&self) -> bool {
        self.error.is_none()
    }
}

/// The client that sends webhook requests.
#[derive(Clone)]
pub struct EgressClient {
    client: Client,
    loopback: bool,
}

impl EgressClient {
    /// `loopback`: receivers on this machine are reached too.
    pub fn new(loopback: bool) -> Result<Self> {
        Self::within(loopback, REPLY_WITHIN, public())
    }

    fn within(loopback: bool, reply_within: Duration, roots: RootCertStore) -> Result<Self> {
        Ok(Self { client: trusting(roots, loopback, reply_within, "sluice-webhooks/1")?, loopback })
    }

    /// A URL that may be sent to: asked when a webhook is written, and again at each send.
    pub fn admit(&self, url: &str) -> Result<Url> {
        address::admit(url, self.loopback)
    }

    /// Never fails: what went wrong is in the receipt, in words that say nothing of our network.
    pub async fn send(&self, webhook_request: WebhookRequest<'_>) -> Receipt {
        let begun = Instant::now();
        let (status, error) = match self.admit(webhook_request.url) {
            Ok(url) => self.post(url, webhook_request).await,
            Err(_) => (None, Some("the URL is not one that may be sent to")),
        };
        Receipt { status, error, took: begun.elapsed() }
    }

    async fn post(&self, url: Url, webhook_request: WebhookRequest<'_>) -> (Option<u16>, Option<&'static str>) {
        let mut traced = HeaderMap::new();
        webhook_request.place.write(&mut traced);
        let mut request = self.client.post(url).headers(traced);
        for (name, value) in headers(&webhook_request) {
            request = request.header(name, value);
        }
        match request.body(webhook_request.body).send().await {
            Ok(reply) if reply.status().is_success() => (Some(reply.status().as_u16()), None),
            Ok(reply) => (Some(reply.status().as_u16()), Some("the receiver did not answer 2xx")),
            Err(error) => (None, Some(said(&error))),
        }
    }
}

/// A client for URLs that somebody else has written: it reaches the public internet alone.
pub fn client(loopback: bool, reply_within: Duration, agent: &'static str) -> Result<Client> {
    trusting(public(), loopback, reply_within, agent)
}

fn trusting(roots: RootCertStore, loopback: bool, reply_within: Duration, agent: &'static str) -> Result<Client> {
    Client::builder()
        .tls_backend_preconfigured(tls(roots).map_err(Error::internal)?)
        .dns_resolver(Arc::new(PublicResolver { loopback }))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .user_agent(agent)
        .connect_timeout(CONNECT_WITHIN)
        .timeout(reply_within)
        .pool_max_idle_per_host(0)
        .http1_only()
        .build()
        .map_err(Error::internal)
}

/// "Headers: `Content-Type`, `X-Service-Signature` (`sha256=<hex_digest>`), `X-Service-Event-Type`,
/// `X-Service-Event-Id`, `X-Service-Timestamp` (ISO 8601), `X-Service-Delivery-Attempt` (1-based)";
/// the organization's webhooks get them as well. The signature covers the body alone, so those of
/// Standard Webhooks stand beside it: their signature covers id and time too, and there may be several.
fn headers(webhook_request: &WebhookRequest<'_>) -> Vec<(&'static str, String)> {
    let WebhookRequest { url: _, secrets, event_id, event_type, body, attempt, now, place: _ } = webhook_request;
    let time = now.timestamp().to_string();
    let each: Vec<_> = std::iter::once(&secrets.current).chain(&secrets.previous).collect();
    let standard: Vec<_> = each.iter().map(|secret| standard_signature(secret, event_id, &time, body)).collect();
    let previous = secrets.previous.as_ref().map(|secret| ("x-service-previous-signature", signature(secret, body)));
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("x-service-signature", signature(&secrets.current, body)),
        ("x-service-event-type", (*event_type).to_owned()),
        ("x-service-event-id", event_id.to_string()),
        ("x-service-timestamp", now.to_rfc3339_opts(chrono::SecondsFormat::Micros, true)),
        ("x-service-delivery-attempt", attempt.to_string()),
        ("webhook-id", event_id.to_string()),
        ("webhook-signature", standard.join(" ")),
        ("webhook-timestamp", time),
    ];
    headers.into_iter().chain(previous).collect()
}

/// "`sha256=` followed by the hex HMAC-SHA256 of the raw request body keyed with the webhook
/// `signing_secret`": with its text, as it was shown.
pub fn signature(secret: &Redacted<String>, body: &[u8]) -> String {
    format!("sha256={}", hex::encode(hmac_sha256(secret.expose().as_bytes(), &[body])))
}

fn standard_signature(secret: &Redacted<String>, event_id: &EventId, time: &str, body: &[u8]) -> String {
    let text = secret.expose();
    let decoded = text.strip_prefix(SECRET_PREFIX).and_then(|rest| STANDARD.decode(rest).ok());
    let key = decoded.unwrap_or_else(|| text.clone().into_bytes());
    let signed = hmac_sha256(&key, &[event_id.as_str().as_bytes(), b".", time.as_bytes(), b".", body]);
    format!("v1,{}", STANDARD.encode(signed))
}

fn said(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "the receiver did not answer in time"
    } else if is_refused(error) {
        "the name has no public address"
    } else if error.is_connect() {
        "the receiver cannot be connected to"
    } else {
        "the connection to the receiver broke"
    }
}

fn is_refused(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<address::RefusedAddress>() || error.source().is_some_and(is_refused)
}

/// The public authorities, compiled in: an image without certificate files delivers too.
fn public() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

fn tls(roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// Resolves a name for one connection, to addresses that may be reached or to none.
#[derive(Debug)]
struct PublicResolver {
    loopback: bool,
}

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let loopback = self.loopback;
        Box::pin(async move {
            let found: Vec<SocketAddr> = match tokio::net::lookup_host((name.as_str(), 0)).await {
                Ok(found) => found.collect(),
                Err(error) => {
                    return Err(Box::<dyn std::error::Error + Send + Sync>::from(io::Error::from(error.kind())));
                }
            };
            let vetted = address::vetted(name.as_str(), found, loopback)?;
            Ok::<Addrs, _>(Box::new(vetted.into_iter()))
        })
    }
}

#[cfg(test)]
mod tests;
