//! The client of the control plane for keys and owners: gRPC over mutual TLS, under a certificate that the
//! operator signs for itself. Every call changes something, so an operator that does not lead makes none.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::wire::{CONTROL_PLANE_NAME, OPERATOR_NAME};
use jiff::Timestamp;
use tokio::time::Instant;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Response, Status};

use crate::Error;
use crate::authority::{CERTIFICATE_LIFE, Keys, Pair, Signers, renewal, secret};
use crate::cluster::limits::{Fence, before};
use crate::objects::namespaced_name::NamespacedName;

pub mod proto {
    #![expect(clippy::pedantic, reason = "generated")]
    tonic::include_proto!("sluice.operator.v1");
}

use proto::keys_client::KeysClient;
use proto::owners_client::OwnersClient;
use proto::{DeliveredRequest, Invitation, InvitationDeliveredRequest, InviteRequest, Key, PutRequest, RevokeRequest};

/// A call that takes longer has failed.
const CALL: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(5);

/// The connection, opened when it is first needed and again when its certificate must change.
pub struct ControlPlane {
    address: String,
    fence: Fence,
    /// The Secret of the authority that signs the operator's certificate.
    authority: NamespacedName,
    signers: Arc<Signers>,
    link: Mutex<Option<Link>>,
}

#[derive(Debug, Clone)]
struct Link {
    channel: Channel,
    bundle: String,
    renew_at: Timestamp,
}

impl ControlPlane {
    /// `address` is `host:port`.
    pub fn new(address: String, fence: Fence, authority: NamespacedName, signers: Arc<Signers>) -> Self {
        Self { address, fence, authority, signers, link: Mutex::new(None) }
    }

    pub async fn put(&self, request: PutRequest) -> Result<Key, Error> {
        let mut keys = self.keys().await?;
        led(&self.fence, keys.put(request)).await
    }

    pub async fn delivered(&self, request: DeliveredRequest) -> Result<Key, Error> {
        let mut keys = self.keys().await?;
        led(&self.fence, keys.delivered(request)).await
    }

    pub async fn revoke(&self, request: RevokeRequest) -> Result<Key, Error> {
        let mut keys = self.keys().await?;
        led(&self.fence, keys.revoke(request)).await
    }

    pub async fn invite(&self, request: InviteRequest) -> Result<Invitation, Error> {
        let mut owners = OwnersClient::new(self.channel().await?);
        led(&self.fence, owners.invite(request)).await
    }

    pub async fn invitation_delivered(&self, request: InvitationDeliveredRequest) -> Result<Invitation, Error> {
        let mut owners = OwnersClient::new(self.channel().await?);
        led(&self.fence, owners.invitation_delivered(request)).await
    }

    async fn keys(&self) -> Result<KeysClient<Channel>, Error> {
        Ok(KeysClient::new(self.channel().await?))
    }

    async fn channel(&self) -> Result<Channel, Error> {
        let keys = self.signers.load(&self.authority).await?;
        let (bundle, now) = (keys.bundle(), self.signers.now());
        let known = self.link.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let link = match known.filter(|link| link.bundle == bundle && now < link.renew_at) {
            Some(link) => link,
            None => self.open(&keys, bundle)?,
        };
        Ok(link.channel)
    }

    fn open(&self, keys: &Keys, bundle: String) -> Result<Link, Error> {
        let pair = self.signers.sign(keys, &[OPERATOR_NAME.to_owned()], CERTIFICATE_LIFE)?;
        let facts = secret::facts(&pair.certificate)?;
        let channel = channel(&self.address, &bundle, &pair)?;
        let link = Link { channel, bundle, renew_at: renewal(facts.not_before, facts.not_after) };
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = Some(link.clone());
        Ok(link)
    }
}

/// Makes the call while this process leads, and gives it up when it may not any more.
async fn led<T>(fence: &Fence, call: impl Future<Output = Result<Response<T>, Status>>) -> Result<T, Error> {
    let now = Instant::now();
    let until = *fence.borrow();
    let until = until.filter(|until| now < *until).ok_or(Error::NotLeading)?;
    let answer = before(until.min(now + CALL), call).await;
    Ok(answer.ok_or_else(|| Status::deadline_exceeded("no answer in time"))??.into_inner())
}

fn channel(address: &str, bundle: &str, pair: &Pair) -> Result<Channel, tonic::transport::Error> {
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(bundle))
        .identity(Identity::from_pem(&pair.certificate, pair.key.expose()))
        .domain_name(CONTROL_PLANE_NAME);
    Ok(Endpoint::from_shared(format!("https://{address}"))?
        .tls_config(tls)?
        .connect_timeout(CONNECT)
        .timeout(CALL)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(Duration::from_secs(15))
        .keep_alive_timeout(Duration::from_secs(5))
        .connect_lazy())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::sync::watch;

    use super::*;
    use crate::error::Class;

    /// The leadership lasts this long; what comes of a call that nobody answers, and whether it was made.
    async fn called(leads: Option<Duration>) -> (Error, bool) {
        let fence = watch::channel(leads.map(|leads| Instant::now() + leads)).1;
        let made = AtomicBool::new(false);
        let call = async {
            made.store(true, Ordering::Relaxed);
            std::future::pending::<Result<Response<()>, Status>>().await
        };
        let answer = led(&fence, call).await;
        (answer.unwrap_err(), made.into_inner())
    }

    #[tokio::test]
    async fn who_does_not_lead_makes_no_call() {
        for leads in [None, Some(Duration::ZERO)] {
            let (error, made) = called(leads).await;
            assert_eq!((error.class(), made), (Class::Standby, false), "{leads:?}");
        }
    }

    #[tokio::test]
    async fn a_call_is_given_up_with_the_leadership() {
        let (error, made) = called(Some(Duration::from_secs(1))).await;
        assert_eq!((error.class(), made), (Class::Transient, true));
    }
}
