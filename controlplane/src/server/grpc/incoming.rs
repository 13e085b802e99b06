//! Connections whose handshake is done: TLS under the identity of that moment, on our side and
//! checked on the other.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use platform::App;
use platform::identity::Current;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;

/// Handshakes that run at once; more wait to be accepted.
const HANDSHAKES_MAX: usize = 256;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// After an error of `accept`, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub type IncomingStream = TlsStream<TcpStream>;

/// Accepts until the application shuts down.
pub fn incoming(
    app: &App,
    listener: TcpListener,
    identity: Arc<Current>,
) -> ReceiverStream<io::Result<IncomingStream>> {
    let (ready, links) = mpsc::channel(1);
    let shutdown = app.shutdown().clone();
    app.tasks().spawn(async move { shutdown.run_until_cancelled(accept(listener, &identity, ready)).await });
    ReceiverStream::new(links)
}

async fn accept(listener: TcpListener, identity: &Current, ready: mpsc::Sender<io::Result<IncomingStream>>) {
    let mut handshakes = JoinSet::new();
    loop {
        tokio::select! {
            Some(done) = handshakes.join_next() => if let Ok(Some(link)) = done
                && ready.send(Ok(link)).await.is_err()
            {
                return;
            },
            accepted = listener.accept(), if handshakes.len() < HANDSHAKES_MAX => match accepted {
                Ok((tcp, _)) => {
                    handshakes.spawn(handshake(tcp, identity.server()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a data plane's connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
}

async fn handshake(tcp: TcpStream, tls: Arc<ServerConfig>) -> Option<IncomingStream> {
    // Messages are small and wait for nobody.
    let _ = tcp.set_nodelay(true);
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, TlsAcceptor::from(tls).accept(tcp)).await {
        Ok(Ok(link)) => Some(link),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a handshake failed");
            None
        }
        Err(_) => None,
    }
}
