//! An API server that is away, behind a proxy that can cut every connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::DeleteParams;
use kubernetes::until;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;

use super::bench::{Bench, HasAddress, eventually};

/// Passes connections on while it is open; shut, it cuts all of them and accepts none for long.
struct Proxy {
    address: SocketAddr,
    open: watch::Sender<bool>,
    tried: Arc<AtomicUsize>,
}

impl HasAddress for Proxy {
    fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Proxy {
    async fn to(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (open, seen) = watch::channel(true);
        let tried = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&tried);
        tokio::task::spawn(async move {
            while let Ok((inbound, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::task::spawn(pass(inbound, upstream.clone(), seen.clone()));
            }
        });
        Self { address, open, tried }
    }
}

async fn pass(mut inbound: TcpStream, upstream: String, mut open: watch::Receiver<bool>) {
    if !*open.borrow() {
        return;
    }
    let Ok(mut outbound) = TcpStream::connect(upstream).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut inbound, &mut outbound) => {}
        _ = open.wait_for(|open| !open) => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_is_waited_out_without_a_storm_and_then_all_is_set_right() {
    let mut bench = Bench::new("outage").await;
    let proxy = bench.through(Proxy::to).await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    let uid = bench.world.api::<ConfigMap>().get("acme-prod-config").await.unwrap().uid();

    proxy.open.send(false).unwrap();
    let (before, start) = (proxy.tried.load(Ordering::SeqCst), Instant::now());
    bench.world.api::<ConfigMap>().delete("acme-prod-config", &DeleteParams::default()).await.unwrap();
    // longer than the lease, so that leadership is lost as well
    eventually("the leader has noticed", async || !operator.leads()).await;
    eventually("some seconds have passed", async || start.elapsed() > Duration::from_secs(10)).await;
    let rate = (proxy.tried.load(Ordering::SeqCst) - before) as f64 / start.elapsed().as_secs_f64();
    assert!(rate <= 20.0, "{rate} attempts a second");

    let back = Instant::now();
    proxy.open.send(true).unwrap();
    until(&bench.world.api::<ConfigMap>(), "acme-prod-config", "back", |it: &ConfigMap| it.uid() != uid).await;
    assert!(back.elapsed() < Duration::from_secs(20), "{:?}", back.elapsed());
    operator.stop().await;
}
