//! TLS of a connection to a PostgreSQL, by the public authorities and for the host's name.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

use super::bounded::{BoundedStream, TooLong};
use crate::model::tls;

/// What makes a connection to a PostgreSQL one by TLS.
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
            Ok(EncryptedStream(BoundedStream::new(stream, &too_long)))
        })
    }
}

/// A connection by TLS.
#[derive(Debug)]
pub(super) struct EncryptedStream(BoundedStream<client::TlsStream<TcpStream>>);

impl TlsStream for EncryptedStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for EncryptedStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(cx, into)
    }
}

impl AsyncWrite for EncryptedStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
    }
}
