//! The PostgreSQL wire: "TLS 1.3 is required in cloud mode"; the key is the password.
//!
//! One task a connection: `startup` (encryption, parameters), `login` (who is it), `conversation`
//! (messages until one side ends it). Statements become an [`crate::Ask`], answers become rows
//! (`encode::pg_rows`). Session commands are answered here; questions about `pg_catalog` by the pipeline.
//!
//! The protocol is spoken by hand: what a frame may hold, when a byte is trusted and when rows
//! leave are decisions of this protocol, and a framework's would have to be undone.

mod cancel;
mod command;
mod conversation;
mod copy;
mod cursors;
mod delivery;
mod extended;
mod failure;
mod http;
mod identity;
pub mod lex;
mod login;
mod message;
mod parameters;
mod prepare;
mod reply;
mod request;
mod session;
mod settings;
mod startup;
mod transaction;
mod typeinfo;
mod watch;
mod wire;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use connections::Limits;
use contract::Code;
use contract::wire::Who;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch as signal};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;

use crate::shutdown::Ending;
use crate::{Error, Pipeline, Sessions};
use cancel::Cancels;
use conversation::Conversation;
use failure::ErrorResponse;
use startup::Opening;
use wire::ConnectionEnd;

/// Protocols that a client may name in a TLS handshake here.
pub const PROTOCOLS: [&[u8]; 2] = [startup::ALPN, http::ALPN];

/// Connections at once.
const CONNECTIONS_MAX: usize = 1_000;
/// Of these, connections that have not said who they are.
const STRANGERS_MAX: usize = 128;
/// Of all, connections that speak HTTP: they may stay without ever saying who they are.
const HTTP_MAX: usize = 256;
/// What a connection has left for its login when the process ends.
const LAST_MOMENT: Duration = Duration::from_secs(1);
/// After the listener refused a connection: out of file descriptors, usually.
const PAUSE: Duration = Duration::from_millis(50);

/// The context of a session.
#[derive(Debug, Clone)]
pub struct PgWireContext {
    pub pipeline: Arc<Pipeline>,
    pub sessions: Sessions,
    /// The certificate that is shown now.
    pub tls: Option<signal::Receiver<Arc<ServerConfig>>>,
    /// Plain connections are taken on loopback, to any database name.
    pub local: bool,
    /// Who a caller on loopback is without a password.
    pub local_trust: Option<Who>,
    /// What is served to who speaks HTTP.
    pub http: Router,
    pub limits: Limits,
}

/// State that all connections share.
struct SharedConnections {
    context: PgWireContext,
    cancels: Arc<Cancels>,
    ending: Ending,
    http_places: Semaphore,
}

impl SharedConnections {
    fn tls(&self) -> Option<TlsAcceptor> {
        self.context.tls.as_ref().map(|tls| TlsAcceptor::from(Arc::clone(&tls.borrow())))
    }

    /// Gives a login until `deadline`, and a moment when the process ends.
    async fn in_time<T>(&self, deadline: Instant, login: impl Future<Output = T>) -> Option<T> {
        let ending = async {
            self.ending.draining.cancelled().await;
            tokio::time::sleep(LAST_MOMENT).await;
        };
        tokio::select! {
            done = timeout_at(deadline, login) => done.ok(),
            () = ending => None,
        }
    }
}

/// Takes connections until everything is closed. Who comes while it drains is told so.
pub async fn serve(listener: TcpListener, context: PgWireContext, ending: Ending) {
    let hall = Arc::new(SharedConnections {
        context,
        cancels: Arc::default(),
        ending: ending.clone(),
        http_places: Semaphore::new(HTTP_MAX),
    });
    let (places, strangers) = (Arc::new(Semaphore::new(CONNECTIONS_MAX)), Arc::new(Semaphore::new(STRANGERS_MAX)));
    loop {
        let Some(accepted) = ending.closed.run_until_cancelled(listener.accept()).await else { return };
        ending.newcomer();
        let Ok((socket, peer)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let permits = Arc::clone(&places)
            .try_acquire_owned()
            .and_then(|place| Ok((place, Arc::clone(&strangers).try_acquire_owned()?)));
        // Too many: the connection is dropped before it costs anything.
        let Ok((place, stranger)) = permits else { continue };
        let hall = Arc::clone(&hall);
        ending.spawn(async move {
            let _place = place;
            connection(socket, peer, &hall, stranger).await;
        });
    }
}

fn login_too_slow(within: Duration) -> ErrorResponse {
    let message = format!("the login took longer than {within:?} and is given up");
    ErrorResponse::new(Code::QueryTimeout, message).with_hint("connect again, with fewer connections at once")
}

async fn connection(
    socket: TcpStream,
    peer: SocketAddr,
    hall: &SharedConnections,
    stranger: tokio::sync::OwnedSemaphorePermit,
) {
    let _ = socket.set_nodelay(true);
    let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
    let deadline = Instant::now() + hall.context.limits.head;
    // Nobody can be told yet, so nobody is cut off before the process has ended.
    let mut opened = match timeout_at(deadline, startup::open(socket, hall)).await {
        Ok(Ok(Opening::Session(opened))) => opened,
        Ok(Ok(Opening::Http { io, secure })) => {
            let Ok(_place) = hall.http_places.try_acquire() else { return };
            drop(stranger); // each request says who it is
            let may_ask = secure || (hall.context.local && peer.ip().is_loopback());
            return http::serve(io, peer, (may_ask, hall.context.limits), hall.context.http.clone(), &hall.ending)
                .await;
        }
        Ok(Ok(Opening::Over) | Err(_)) | Err(_) => return,
    };
    let login = hall.in_time(deadline, login::login(&mut opened, peer, hall)).await;
    let serving = hall.ending.serving();
    let mut wire = opened.wire;
    let ended = match login {
        // A client that is logging in is told too: on a busy machine that takes longer than the last moment.
        _ if hall.ending.draining.is_cancelled() => ConnectionEnd::Fatal(ErrorResponse::from(&Error::ShuttingDown)),
        None => ConnectionEnd::Fatal(login_too_slow(hall.context.limits.head)),
        Some(Err(end)) => end,
        Some(Ok(login)) => {
            drop(stranger);
            let mut conversation = Conversation::new(wire, login, hall);
            let end = conversation.run().await;
            wire = conversation.into_wire().await;
            end
        }
    };
    drop(serving); // last words hold nobody up
    match ended {
        ConnectionEnd::Closed => {}
        ConnectionEnd::Io(error) => tracing::debug!(%error, "a connection broke"),
        ConnectionEnd::Fatal(failure) => {
            reply::error(&mut wire.out, reply::Severity::Fatal, &failure);
            wire.close().await;
        }
    }
}
