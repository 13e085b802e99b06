//! Connections to one data plane: TCP to its address, TLS to its name. The address says where it
//! is, the certificate says who it is; only an environment's own data plane is talked to.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::Service;

use crate::identity::Current;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Clone)]
pub struct Connector {
    /// Host and port; a host's name is looked up for each connection.
    pub address: Arc<str>,
    pub name: ServerName<'static>,
    pub identity: Arc<Current>,
}

impl Service<Uri> for Connector {
    type Response = TlsConnection;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TlsConnection>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self { address, name, identity } = self.clone();
        Box::pin(async move {
            let connecting = async {
                let tcp = TcpStream::connect(&*address).await?;
                tcp.set_nodelay(true)?;
                TlsConnector::from(identity.client()).connect(name, tcp).await
            };
            let stream = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await??;
            Ok(TlsConnection(TokioIo::new(stream)))
        })
    }
}

/// A TLS connection as hyper's client takes it.
pub struct TlsConnection(TokioIo<TlsStream<TcpStream>>);

impl Connection for TlsConnection {
    fn connected(&self) -> Connected {
        let (_, tls) = self.0.inner().get_ref();
        if tls.alpn_protocol() == Some(b"h2") { Connected::new().negotiated_h2() } else { Connected::new() }
    }
}

impl Read for TlsConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Write for TlsConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
