//! TLS of a connection to a PostgreSQL, by the public authorities and for the host's name.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

use super::bounded::{BoundedStream, TooLong};
use crate::model::tls;

/// The settings by which a connection to a PostgreSQL is one by TLS.
#[derive(Debug, Clone)]
pub(super) struct Encryption {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    too_long: TooLong,
}

impl Encryption {
    /// None where the host's name is none that a certificate could have.
    pub fn of(host: &str, too_long: &TooLong) -> Option<Self> {
        let name = ServerName::try_from(host.to_owned()).ok()?;
        Some(Self { config: Arc::new(tls().ok()?), name, too_long: Arc::clone(too_long) })
    }
}

impl TlsConnect<TcpStream> for Encryption {
    type Stream = EncryptedStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedStream>> + Send>>;

    fn connect(self, stream: TcpStream) -> Self::Future {
        let Self { config, name, too_long } = self;
        Box::pin(async move {
            let stream = TlsConnector::from(config).connect(name, stream).await?;
            Ok(BoundedStream::new(stream, &too_long))
        })
    }
}

/// A connection by TLS.
type EncryptedStream = BoundedStream<client::TlsStream<TcpStream>>;

impl TlsStream for EncryptedStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}
