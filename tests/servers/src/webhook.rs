//! A receiver for tests: a real HTTP server on loopback that answers as it is told, and shows what
//! reached it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header::LOCATION};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};

/// The reply of a receiver to a request.
#[derive(Debug, Clone)]
pub enum Reply {
    Status(u16),
    Redirect(String),
    /// 200, when it is released.
    Held(Arc<Notify>),
    /// 200, and a body without an end.
    Endless,
}

/// A request as it came.
#[derive(Debug)]
pub struct ReceivedRequest {
    pub headers: HeaderMap,
    pub bytes: Bytes,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }

    pub fn body(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }
}

pub struct Receiver {
    pub address: SocketAddr,
    reply: Arc<Mutex<Reply>>,
    arrived: mpsc::UnboundedReceiver<ReceivedRequest>,
    server: tokio::task::JoinHandle<()>,
}

type Shared = (Arc<Mutex<Reply>>, mpsc::UnboundedSender<ReceivedRequest>);

impl Receiver {
    #[expect(clippy::disallowed_methods, reason = "ends with the receiver")]
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let reply = Arc::new(Mutex::new(Reply::Status(204)));
        let (sender, arrived) = mpsc::unbounded_channel();
        let router = Router::new().fallback(receive).with_state((Arc::clone(&reply), sender));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, reply, arrived, server }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub fn replies(&self, reply: Reply) {
        *self.reply.lock().unwrap() = reply;
    }

    /// What has come and was not yet looked at.
    pub fn got(&mut self) -> Vec<ReceivedRequest> {
        std::iter::from_fn(|| self.arrived.try_recv().ok()).collect()
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> ReceivedRequest {
        self.arrived.recv().await.unwrap()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Whoever sees a request arrive may release it at once: waiting begins before.
async fn receive(State((reply, arrived)): State<Shared>, headers: HeaderMap, bytes: Bytes) -> Response {
    let reply = reply.lock().unwrap().clone();
    let got = ReceivedRequest { headers, bytes };
    match reply {
        Reply::Status(status) => {
            arrived.send(got).unwrap();
            StatusCode::from_u16(status).unwrap().into_response()
        }
        Reply::Redirect(to) => {
            arrived.send(got).unwrap();
            (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, to)]).into_response()
        }
        Reply::Held(released) => {
            let waiting = released.notified();
            arrived.send(got).unwrap();
            waiting.await;
            StatusCode::OK.into_response()
        }
        Reply::Endless => {
            arrived.send(got).unwrap();
            let piece = Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 1_024]));
            Body::from_stream(futures::stream::repeat(piece)).into_response()
        }
    }
}
