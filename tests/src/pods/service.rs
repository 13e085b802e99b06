//! A Service: one address in front of whichever pods are its endpoints, connection by connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

#[derive(Debug)]
pub struct Service {
    pub address: SocketAddr,
    endpoints: Arc<Mutex<Vec<SocketAddr>>>,
    open: watch::Sender<()>,
    forwarding: JoinHandle<()>,
}

impl Service {
    /// Without endpoints: connections are closed.
    pub async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let endpoints = Arc::<Mutex<Vec<SocketAddr>>>::default();
        let open = watch::Sender::new(());
        let forwarding = tokio::task::spawn(forward(listener, Arc::clone(&endpoints), open.clone()));
        Self { address, endpoints, open, forwarding }
    }

    pub fn route(&self, endpoints: &[SocketAddr]) {
        *self.endpoints.lock().unwrap() = endpoints.to_vec();
    }

    /// Breaks the connections that are open.
    pub fn cut(&self) {
        self.open.send_replace(());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.forwarding.abort();
    }
}

async fn forward(listener: TcpListener, endpoints: Arc<Mutex<Vec<SocketAddr>>>, open: watch::Sender<()>) {
    for turn in 0.. {
        let Ok((mut client, _)) = listener.accept().await else { return };
        let endpoint = {
            let endpoints = endpoints.lock().unwrap();
            if endpoints.is_empty() { None } else { Some(endpoints[turn % endpoints.len()]) }
        };
        let Some(endpoint) = endpoint else { continue };
        // Before the next turn: a task of its own may begin when the pod has long left, as no packet does.
        let Ok(mut pod) = TcpStream::connect(endpoint).await else { continue };
        let mut cut = open.subscribe();
        tokio::task::spawn(async move {
            tokio::select! {
                _ = tokio::io::copy_bidirectional(&mut client, &mut pod) => {}
                _ = cut.changed() => {}
            }
        });
    }
}
