//! An operator that dies on the way between a resource and its record: after each write of its own, and after each
//! word with the control plane. Whoever comes after it brings both to one, and nothing else is left.

mod keys;
mod organizations;

use controlplane::Running;
use controlplane::platform::identity::Pems;
use k8s_openapi::api::core::v1::Secret;
use kubernetes::bench::Bench;
use kubernetes::killing::killed_after;
use kubernetes::until;
use tokio_util::sync::CancellationToken;

use super::platform;

/// Operators that find a control plane.
struct CrashTest {
    bench: Bench,
    database: String,
    running: Running,
    stop: CancellationToken,
}

impl CrashTest {
    /// The authority is the operator's, so that one has been there before.
    async fn new(purpose: &str) -> Self {
        let mut bench = Bench::new(purpose).await;
        let builder = bench.operator("builder").await;
        let identity = identity(&bench).await;
        builder.stop().await;
        let database = platform::database(&bench.world.namespace).await;
        let client = platform::as_control_plane(&bench.world).await;
        let (running, stop) = platform::start(&database, &bench.world.namespace, client, Some(identity)).await;
        bench.control_plane = running.grpc;
        Self { bench, database, running, stop }
    }

    /// For one step after the other: `begin` is done, an operator dies after that step, and `converged` waits for what
    /// another one makes of it. Until there is no step left to die after: how many there were.
    async fn killed_at_every_step(
        &self,
        counted: fn(&str) -> bool,
        begin: impl AsyncFn(u64),
        converged: impl AsyncFn(u64),
    ) -> u64 {
        let mut step = 1;
        loop {
            begin(step).await;
            let died = killed_after(&self.bench, step, counted).await;
            let survivor = self.bench.operator("survivor").await;
            converged(step).await;
            survivor.stop().await;
            if !died {
                return step - 1;
            }
            step += 1;
        }
    }

    async fn row(&self, sql: &str) -> String {
        platform::row(&self.database, sql).await
    }

    /// What REST answers.
    async fn status(
        &self,
        request: impl FnOnce(&reqwest::Client, String) -> reqwest::RequestBuilder,
        path: &str,
    ) -> u16 {
        let url = format!("http://{}{path}", self.running.http);
        request(&reqwest::Client::new(), url).send().await.unwrap().status().as_u16()
    }

    /// What a Secret holds under a name.
    async fn held(&self, secret: &str, name: &str) -> String {
        let secret = self.bench.world.api::<Secret>().get(secret).await.unwrap();
        String::from_utf8(secret.data.unwrap()[name].0.clone()).unwrap()
    }

    async fn done(self) {
        self.stop.cancel();
        self.running.drained().await;
    }
}

/// As a pod of the control plane has it mounted.
async fn identity(bench: &Bench) -> Pems {
    let secrets = bench.world.api::<Secret>();
    let data = until(&secrets, "sluice-controlplane-tls", "there", |_| true).await.data.unwrap();
    let text = |name: &str| String::from_utf8(data[name].0.clone()).unwrap();
    Pems { authority: text("ca.crt"), certificate: text("tls.crt"), key: contract::Redacted::new(text("tls.key")) }
}
