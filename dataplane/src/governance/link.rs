//! The one connection to the control plane: gRPC over mutual TLS.
//!
//! Our certificate names the environment, theirs must name the control plane; without both there is
//! no connection, so no other party can rule here. A new certificate is shown by the next connection;
//! streams that are open stay on theirs.

use std::sync::Arc;
use std::time::Duration;

use contract::runtime_tables::Table;
use contract::wire::{CONTROL_PLANE_NAME, Vouched};
use contract::{Redacted, agent};
use tokio::sync::watch;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::proto::governance_client::GovernanceClient;
use super::proto::{RuntimePage, RuntimeRowsRequest};

/// Snapshots of thousands of keys and policies fit; more is refused.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Who we are and whom we trust, as PEM.
#[derive(Debug, Clone)]
pub struct TlsIdentity {
    /// The installation's internal authority: signs both sides.
    pub ca_pem: String,
    pub cert_pem: String,
    pub key_pem: Redacted<String>,
}

/// Connects when it is first used, and again whenever it broke.
#[derive(Debug, Clone)]
pub struct Link {
    address: Arc<str>,
    channel: Arc<watch::Sender<Channel>>,
}

impl Link {
    /// `address` is `host:port` of the control plane's gRPC listener.
    pub fn new(address: &str, identity: &TlsIdentity) -> Result<Self, tonic::transport::Error> {
        let channel = Arc::new(watch::Sender::new(channel(address, identity)?));
        Ok(Self { address: address.into(), channel })
    }

    /// From now on connects under this identity.
    pub fn renew(&self, identity: &TlsIdentity) -> Result<(), tonic::transport::Error> {
        self.channel.send_replace(channel(&self.address, identity)?);
        Ok(())
    }

    pub(super) fn client(&self) -> GovernanceClient<Channel> {
        let channel = self.channel.borrow().clone();
        GovernanceClient::new(channel).max_decoding_message_size(MESSAGE_BYTES_MAX)
    }

    /// Asks to hold `want` micro-credits in all; says what was spent since the last call.
    pub async fn reserve(&self, log: &str, want: u64, spent: u64) -> Result<super::proto::Grant, tonic::Status> {
        let request = super::proto::ReserveRequest { log: log.to_owned(), want, spent };
        Ok(self.client().reserve(request).await?.into_inner())
    }

    /// The rows of the runtime's tables, page by page; whole once the stream ends without an error.
    pub async fn runtime_rows(
        &self,
        tables: &[Table],
        within: Duration,
    ) -> Result<tonic::Streaming<RuntimePage>, tonic::Status> {
        let tables = tables.iter().map(ToString::to_string).collect();
        let timeout_ms = u32::try_from(within.as_millis()).unwrap_or(u32::MAX);
        Ok(self.client().runtime_rows(RuntimeRowsRequest { tables, timeout_ms }).await?.into_inner())
    }

    /// Says what the environment's data takes on disk; learns what its organization stores.
    pub async fn stored(&self, bytes: u64) -> Result<u64, tonic::Status> {
        Ok(self.client().stored(super::proto::StoredRequest { bytes }).await?.into_inner().organization_bytes)
    }

    /// An agent makes itself known.
    pub async fn register_agent(&self, said: &agent::Registration) -> Result<agent::Answer, tonic::Status> {
        let unreadable = |error: serde_json::Error| tonic::Status::internal(error.to_string());
        let registration = serde_json::to_vec(said).map_err(unreadable)?;
        let mut request = tonic::Request::new(super::proto::RegisterAgentRequest { registration });
        telemetry::here().write(request.metadata_mut().as_mut());
        let reply = self.client().register_agent(request).await?;
        serde_json::from_slice(&reply.into_inner().answer).map_err(unreadable)
    }

    /// Asks whose a session's token is.
    pub async fn vouch(&self, token: &str) -> Result<Vouched, tonic::Status> {
        let mut request = tonic::Request::new(super::proto::VouchRequest { token: token.to_owned() });
        telemetry::here().write(request.metadata_mut().as_mut());
        let reply = self.client().vouch(request).await?;
        serde_json::from_slice(&reply.into_inner().answer).map_err(|error| tonic::Status::internal(error.to_string()))
    }
}

fn channel(address: &str, identity: &TlsIdentity) -> Result<Channel, tonic::transport::Error> {
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&identity.ca_pem))
        .identity(Identity::from_pem(&identity.cert_pem, identity.key_pem.expose()))
        .domain_name(CONTROL_PLANE_NAME);
    Ok(Endpoint::from_shared(format!("https://{address}"))?
        .tls_config(tls)?
        .connect_timeout(Duration::from_secs(5))
        .tcp_nodelay(true)
        // A peer that vanished without a word is noticed within seconds.
        .http2_keep_alive_interval(Duration::from_secs(5))
        .keep_alive_timeout(Duration::from_secs(5))
        .keep_alive_while_idle(true)
        .connect_lazy())
}

/// Waiting times between attempts: doubling, bounded.
#[derive(Debug)]
pub(super) struct Backoff(Duration);

impl Backoff {
    const FIRST: Duration = Duration::from_millis(50);
    const LAST: Duration = Duration::from_secs(2);

    pub(super) const fn new() -> Self {
        Self(Self::FIRST)
    }

    pub(super) fn reset(&mut self) {
        self.0 = Self::FIRST;
    }

    pub(super) fn next(&mut self) -> Duration {
        let now = self.0;
        self.0 = (now * 2).min(Self::LAST);
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_doubles_up_to_a_bound_and_starts_again() {
        let mut backoff = Backoff::new();
        let waits: Vec<_> = (0..8).map(|_| backoff.next().as_millis()).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1600, 2000, 2000]);
        backoff.reset();
        assert_eq!(backoff.next(), Backoff::FIRST);
    }
}
