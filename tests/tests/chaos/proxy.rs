//! A wire that can break: between the workers and the control plane, it delivers a request and now
//! and then not the answer. Whoever asked cannot tell whether it was done.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use contract::Entropy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub struct Wire {
    pub address: SocketAddr,
    /// Where the control plane listens; it changes when that starts again.
    upstream: Arc<Mutex<SocketAddr>>,
}

impl Wire {
    /// One answer in `odds` is lost.
    #[expect(clippy::disallowed_methods, reason = "ends with the test")]
    pub async fn open(upstream: SocketAddr, entropy: Entropy, odds: u8) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let wire = Self { address: listener.local_addr().unwrap(), upstream: Arc::new(Mutex::new(upstream)) };
        let upstream = Arc::clone(&wire.upstream);
        tokio::task::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let (to, entropy) = (*upstream.lock().unwrap(), entropy.clone());
                tokio::task::spawn(async move {
                    // What breaks is what it is for.
                    let _ = carry(client, to, &entropy, odds).await;
                });
            }
        });
        wire
    }

    pub fn lead_to(&self, upstream: SocketAddr) {
        *self.upstream.lock().unwrap() = upstream;
    }
}

async fn carry(client: TcpStream, to: SocketAddr, entropy: &Entropy, odds: u8) -> std::io::Result<()> {
    let server = TcpStream::connect(to).await?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let asked = async { tokio::io::copy(&mut from_client, &mut to_server).await };
    let answered = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = from_server.read(&mut buffer).await?;
            let [dice] = entropy.bytes::<1>();
            if read == 0 || dice % odds == 0 {
                return Ok(());
            }
            to_client.write_all(&buffer[..read]).await?;
        }
    };
    tokio::select! {
        ended = asked => ended.map(|_| ()),
        ended = answered => ended,
    }
}
