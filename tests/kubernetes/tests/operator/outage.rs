//! An API server that is away, behind a proxy that cuts every connection or lets none get through.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::DeleteParams;
use kubernetes::process::Process;
use kubernetes::{figure, until};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::bench::{Bench, HasAddress, eventually};

/// The fate of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Open,
    /// Ended at once, old and new.
    Cut,
    /// Accepted, and then nothing: neither an answer nor an end.
    Silent,
}

struct Proxy {
    address: SocketAddr,
    way: watch::Sender<Way>,
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
        let (way, seen) = watch::channel(Way::Open);
        let tried = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&tried);
        let tasks = TaskTracker::new();
        let connections = tasks.clone();
        tasks.spawn(async move {
            while let Ok((inbound, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                connections.spawn(pass(inbound, upstream.clone(), seen.clone()));
            }
        });
        Self { address, way, tried }
    }
}

async fn pass(mut inbound: TcpStream, upstream: String, mut way: watch::Receiver<Way>) {
    let began = *way.borrow();
    match began {
        Way::Cut => return,
        Way::Silent => {
            let _ = way.wait_for(|way| *way != Way::Silent).await;
            return;
        }
        Way::Open => {}
    }
    let Ok(mut outbound) = TcpStream::connect(upstream).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut inbound, &mut outbound) => {}
        _ = way.wait_for(|way| *way != Way::Open) => {}
    }
}

/// Descriptors and memory of a process.
#[derive(Debug, Clone, Copy)]
struct Held {
    descriptors: usize,
    memory: u64,
}

impl Held {
    fn by(operator: &Process) -> Self {
        Self { descriptors: operator.descriptors(), memory: operator.memory() }
    }

    /// Not a tenth more than before.
    fn is_flat(self, before: Self) -> bool {
        self.descriptors * 10 <= before.descriptors * 11 && self.memory * 10 <= before.memory * 11
    }
}

/// "fds and RSS flat (±10 %), recover all in ≤ 10 s after return, retry rate ≤ 10/s", in seconds
/// instead of minutes: longer than the lease, so that leadership is lost as well.
async fn outage(purpose: &str, how: Way) {
    const LONG: Duration = Duration::from_secs(10);
    let mut bench = Bench::new(purpose).await;
    let proxy = bench.through(Proxy::to).await;
    let operator = Process::start(&bench, "one", &bench.token, &[]).await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    let maps = bench.world.api::<ConfigMap>();
    let uid = maps.get("acme-prod-config").await.unwrap().uid();
    let before = Held::by(&operator);

    let (tried, start) = (proxy.tried.load(Ordering::SeqCst), Instant::now());
    proxy.way.send(how).unwrap();
    maps.delete("acme-prod-config", &DeleteParams::default()).await.unwrap();
    eventually("the leader has noticed", async || !operator.leads().await).await;
    eventually("some seconds have passed without growth", async || {
        let now = Held::by(&operator);
        assert!(now.is_flat(before), "{before:?}, and meanwhile {now:?}");
        start.elapsed() > LONG
    })
    .await;
    let tried = u64::try_from(proxy.tried.load(Ordering::SeqCst) - tried).unwrap();
    let lasted = start.elapsed();
    // and ten for the moment in which everything breaks at once
    assert!(tried <= 10 * (lasted.as_secs() + 1), "{tried} attempts in {lasted:?}");

    let back = Instant::now();
    proxy.way.send(Way::Open).unwrap();
    until(&maps, "acme-prod-config", "back", |it: &ConfigMap| it.uid() != uid).await;
    let recovered = back.elapsed();
    assert!(recovered < Duration::from_secs(10), "{recovered:?}");
    operator.ready().await;
    let after = Held::by(&operator);
    assert!(after.is_flat(before), "{before:?}, and afterwards {after:?}");
    figure(
        10,
        format_args!(
            "{how:?} for {lasted:?}: {tried} attempts; all is right {recovered:?} after the return; {} and {} descriptors, {} and {} KiB, before and after",
            before.descriptors, after.descriptors, before.memory, after.memory,
        ),
    );
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_every_connection_is_waited_for_without_a_storm() {
    outage("refused", Way::Cut).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_is_waited_for_without_a_storm() {
    outage("silent", Way::Silent).await;
}
