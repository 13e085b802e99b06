//! One request to the endpoint, and everything that bounds it.
//!
//! A redirect is not followed, no proxy is asked, the public authorities are compiled in. The key is a header that
//! nothing prints; neither what is sent nor what is answered is ever logged.

use std::sync::Arc;
use std::time::Duration;

use contract::model::ModelUrl;
use contract::{Redacted, SharedClock};
use http::HeaderValue;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Client, Response, redirect};
use rustls::{ClientConfig, RootCertStore};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::pause::Pause;
use super::{ModelMetrics, Unusable};

/// How long anybody waits for it, the wait for a place included.
pub const WITHIN: Duration = Duration::from_secs(5);
const CONNECTED_WITHIN: Duration = Duration::from_secs(2);
/// Requests at once.
const PLACES: usize = 8;

/// A kind of request.
#[derive(Debug)]
pub(super) struct Kind {
    /// As metrics call it.
    pub purpose: &'static str,
    /// Below the base.
    pub path: &'static str,
    pub sent_bytes_max: usize,
    pub answer_bytes_max: usize,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ModelFailure {
    #[error("more was to be sent than is")]
    TooLarge,
    #[error("too many ask it")]
    Busy,
    #[error("it has failed, and is left alone for a while")]
    Paused,
    #[error("it did not answer")]
    Unanswered,
    #[error("it answered {0}")]
    Refused(u16),
    #[error("its answer is none of those that were asked for")]
    Unreadable,
}

impl ModelFailure {
    /// As metrics call it.
    const fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Busy => "busy",
            Self::Paused => "paused",
            Self::Unanswered => "unanswered",
            Self::Refused(_) => "refused",
            Self::Unreadable => "unreadable",
        }
    }

    const fn was_sent(self) -> bool {
        matches!(self, Self::Unanswered | Self::Refused(_) | Self::Unreadable)
    }

    /// Is it what was sent, and not the endpoint, that is at fault?
    pub const fn is_about_the_content(self) -> bool {
        matches!(self, Self::TooLarge | Self::Refused(400 | 413 | 422))
    }
}

#[derive(Debug)]
pub(super) struct Endpoint {
    client: Client,
    base: ModelUrl,
    credential: Option<HeaderValue>,
    places: Semaphore,
    pause: Pause,
    clock: SharedClock,
    measured: ModelMetrics,
}

impl Endpoint {
    pub fn new(
        base: ModelUrl,
        key: Option<&Redacted<String>>,
        clock: SharedClock,
        measured: ModelMetrics,
    ) -> Result<Self, Unusable> {
        let unusable = |error: &dyn std::fmt::Display| Unusable::Client(error.to_string());
        let client = Client::builder()
            .tls_backend_preconfigured(tls().map_err(|error| unusable(&error))?)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .user_agent("sluice")
            .connect_timeout(CONNECTED_WITHIN)
            .http1_only()
            .build()
            .map_err(|error| unusable(&error))?;
        let credential = key.filter(|key| !key.expose().is_empty()).map(bearer).transpose()?;
        let (places, pause) = (Semaphore::new(PLACES), Pause::default());
        Ok(Self { client, base, credential, places, pause, clock, measured })
    }

    /// Sends this and reads the answer; what cannot be read is none.
    pub async fn ask<T>(
        &self,
        kind: &Kind,
        body: &impl Serialize,
        within: Duration,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T, ModelFailure> {
        let began = Instant::now();
        let answered =
            self.answer(kind, body, within).await.and_then(|bytes| read(&bytes).ok_or(ModelFailure::Unreadable));
        let (outcome, sent) = answered.as_ref().map_or_else(|it| (it.as_str(), it.was_sent()), |_| ("ok", true));
        self.measured.ended(kind.purpose, outcome, sent.then(|| began.elapsed()));
        answered
    }

    async fn answer(&self, kind: &Kind, body: &impl Serialize, within: Duration) -> Result<Vec<u8>, ModelFailure> {
        let body = serde_json::to_vec(body).map_err(|_| ModelFailure::TooLarge)?;
        if body.len() > kind.sent_bytes_max {
            return Err(ModelFailure::TooLarge);
        }
        let deadline = Instant::now() + within.min(WITHIN);
        let Ok(Ok(_place)) = timeout_at(deadline, self.places.acquire()).await else { return Err(ModelFailure::Busy) };
        if !self.pause.admits(self.clock.now()) {
            return Err(ModelFailure::Paused);
        }
        let answered = match timeout_at(deadline, self.post(kind, body)).await {
            Ok(answered) => answered,
            // who asked had no time; that says nothing of the endpoint
            Err(_) if within < WITHIN => return Err(ModelFailure::Unanswered),
            Err(_) => Err(ModelFailure::Unanswered),
        };
        self.noticed(answered.as_ref().err().copied());
        answered
    }

    /// What an outcome says of the endpoint, for those who ask next.
    fn noticed(&self, failure: Option<ModelFailure>) {
        match failure {
            Some(failure @ (ModelFailure::Unanswered | ModelFailure::Refused(_)))
                if !failure.is_about_the_content() =>
            {
                if self.pause.failed(self.clock.now()) {
                    tracing::warn!(endpoint = %self.base, %failure, "the model endpoint fails; it is done without it");
                }
            }
            _ => {
                if self.pause.answered() {
                    tracing::info!(endpoint = %self.base, "the model endpoint answers again");
                }
            }
        }
    }

    async fn post(&self, kind: &Kind, body: Vec<u8>) -> Result<Vec<u8>, ModelFailure> {
        let mut request = self.client.post(self.base.below(kind.path)).header(CONTENT_TYPE, "application/json");
        if let Some(credential) = &self.credential {
            request = request.header(AUTHORIZATION, credential.clone());
        }
        let response = request.body(body).send().await.map_err(|_| ModelFailure::Unanswered)?;
        match response.status() {
            status if status.is_success() => whole(response, kind.answer_bytes_max).await,
            status => Err(ModelFailure::Refused(status.as_u16())),
        }
    }
}

async fn whole(mut response: Response, bytes_max: usize) -> Result<Vec<u8>, ModelFailure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| ModelFailure::Unanswered)? {
        if bytes.len() + chunk.len() > bytes_max {
            return Err(ModelFailure::Unreadable);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn bearer(key: &Redacted<String>) -> Result<HeaderValue, Unusable> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose())).map_err(|_| Unusable::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

/// TLS by the public authorities, which are compiled in.
pub fn tls() -> Result<ClientConfig, rustls::Error> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    Ok(ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
