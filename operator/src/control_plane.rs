//! Talks to the control plane about keys and owners: gRPC over mutual TLS, under a certificate that the
//! operator signs for itself.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contract::wire::{CONTROL_PLANE_NAME, OPERATOR_NAME};
use jiff::Timestamp;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::Error;
use crate::authority::{CERTIFICATE_LIFE, Keys, Pair, renewal, secret, signers};
use crate::context::Context;
use crate::release;

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
#[derive(Debug)]
pub struct ControlPlane {
    address: String,
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
    pub fn new(address: String) -> Self {
        Self { address, link: Mutex::new(None) }
    }

    pub async fn put(&self, context: &Context, request: PutRequest) -> Result<Key, Error> {
        Ok(self.keys(context).await?.put(request).await?.into_inner())
    }

    pub async fn delivered(&self, context: &Context, request: DeliveredRequest) -> Result<Key, Error> {
        Ok(self.keys(context).await?.delivered(request).await?.into_inner())
    }

    pub async fn revoke(&self, context: &Context, request: RevokeRequest) -> Result<Key, Error> {
        Ok(self.keys(context).await?.revoke(request).await?.into_inner())
    }

    pub async fn invite(&self, context: &Context, request: InviteRequest) -> Result<Invitation, Error> {
        Ok(OwnersClient::new(self.channel(context).await?).invite(request).await?.into_inner())
    }

    pub async fn invitation_delivered(
        &self,
        context: &Context,
        request: InvitationDeliveredRequest,
    ) -> Result<Invitation, Error> {
        Ok(OwnersClient::new(self.channel(context).await?).invitation_delivered(request).await?.into_inner())
    }

    async fn keys(&self, context: &Context) -> Result<KeysClient<Channel>, Error> {
        Ok(KeysClient::new(self.channel(context).await?))
    }

    async fn channel(&self, context: &Context) -> Result<Channel, Error> {
        let keys = signers::load(context, &release::authority(context)).await?;
        let (bundle, now) = (keys.bundle(), context.now());
        let known = self.link.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let link = match known.filter(|link| link.bundle == bundle && now < link.renew_at) {
            Some(link) => link,
            None => self.open(context, &keys, bundle)?,
        };
        Ok(link.channel)
    }

    fn open(&self, context: &Context, keys: &Keys, bundle: String) -> Result<Link, Error> {
        let pair = signers::sign(context, keys, &[OPERATOR_NAME.to_owned()], CERTIFICATE_LIFE)?;
        let facts = secret::facts(&pair.certificate)?;
        let channel = channel(&self.address, &bundle, &pair)?;
        let link = Link { channel, bundle, renew_at: renewal(facts.not_before, facts.not_after) };
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = Some(link.clone());
        Ok(link)
    }
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
