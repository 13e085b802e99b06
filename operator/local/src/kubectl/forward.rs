//! A port of a pod as a port of this machine, through the API server.
//!
//! Every connection goes to the same pod: a request to cancel must reach the process that runs the
//! query.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::Api;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::error::Error;

/// Connections at the same time: psql needs two.
const MOST: usize = 64;
const CONNECT: Duration = Duration::from_secs(10);

/// Open until it is closed.
pub struct Forward {
    pub address: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Forward {
    /// Listens on loopback. The way is tried once before, so that a pod that cannot be reached, or a
    /// person who may not, is an error here and not a connection that ends.
    pub async fn open(pods: Api<Pod>, pod: String, port: u16) -> Result<Self, Error> {
        drop(connect(&pods, &pod, port).await?);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(|error| Error::Unusable(format!("no port to listen on: {error}")))?;
        let address = listener.local_addr().map_err(|error| Error::Unusable(error.to_string()))?;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let accepting = accept(listener, pods, pod, port, stop.clone(), tasks.clone());
        tasks.spawn(accepting);
        Ok(Self { address, stop, tasks })
    }

    pub async fn close(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

async fn accept(
    listener: TcpListener,
    pods: Api<Pod>,
    pod: String,
    port: u16,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    loop {
        let Some(accepted) = stop.run_until_cancelled(listener.accept()).await else { return };
        let Ok((stream, _)) = accepted else { continue };
        if tasks.len() > MOST {
            continue; // dropped: the client sees its connection end
        }
        let (pods, pod, stop) = (pods.clone(), pod.clone(), stop.clone());
        tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = carry(stream, &pods, &pod, port) => {}
            }
        });
    }
}

/// One connection, until either side ends it.
async fn carry(mut here: TcpStream, pods: &Api<Pod>, pod: &str, port: u16) {
    let _ = here.set_nodelay(true);
    let Ok(mut way) = connect(pods, pod, port).await else { return };
    let Some(mut there) = way.take_stream(port) else { return };
    let _ = copy_bidirectional(&mut here, &mut there).await;
    drop(there);
    way.abort();
}

async fn connect(pods: &Api<Pod>, pod: &str, port: u16) -> Result<kube::api::Portforwarder, Error> {
    match tokio::time::timeout(CONNECT, pods.portforward(pod, &[port])).await {
        Ok(Ok(way)) => Ok(way),
        Ok(Err(error)) => Err(Error::of(error, &format!("a way to pod {pod}"))),
        Err(_) => Err(Error::TimedOut(format!("no way to pod {pod} after {} s", CONNECT.as_secs()))),
    }
}
