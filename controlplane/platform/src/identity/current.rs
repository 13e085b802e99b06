//! The identity that handshakes are made with from now on.

use std::sync::Arc;

use rustls::{ClientConfig, ServerConfig};
use tokio::sync::watch;

use super::{BadIdentity, Pems};

/// An identity that may be replaced. Connections that stand keep what they were made with.
pub struct Current(watch::Sender<Tls>);

struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl TryFrom<&Pems> for Tls {
    type Error = BadIdentity;

    fn try_from(pems: &Pems) -> Result<Self, BadIdentity> {
        Ok(Self { client: Arc::new(pems.client()?), server: Arc::new(pems.server()?) })
    }
}

impl Current {
    pub fn new(pems: &Pems) -> Result<Self, BadIdentity> {
        Ok(Self(watch::Sender::new(Tls::try_from(pems)?)))
    }

    pub fn client(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0.borrow().client)
    }

    pub fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.borrow().server)
    }

    /// From now on this one. What cannot be used changes nothing.
    pub fn replace(&self, pems: &Pems) -> Result<(), BadIdentity> {
        self.0.send_replace(Tls::try_from(pems)?);
        Ok(())
    }
}

contract::opaque!(Current);
