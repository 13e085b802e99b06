//! A thousand environments: what the operator needs for them, against a bare client that makes the
//! same objects on the same server, and what it costs to keep them.
//!
//! There are no nodes: pods stay pending, and an environment is done when its Deployment is
//! written. The operator is a process of its own, under its own roles. Both sides write with 32
//! workers to a server that has become quiet before. `operator/FIGURES.md` holds the figures of one
//! run; `./dev bench scale` makes them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench fails loudly, and prints is what it does"
)]

mod bare;
mod fairness;
mod figures;
mod quiet;

use std::time::{Duration, Instant};

use bare::Write;
use figures::{Times, row};
use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use kubernetes::audit::Audit;
use kubernetes::bench::Bench;
use kubernetes::process::Process;
use serde_json::json;

const ORGANIZATIONS: usize = 20;
const WORKERS: usize = 32;

/// How large a run is; the figures in the repository are of the defaults.
struct Size {
    environments: usize,
    broken: usize,
    settled: Duration,
}

impl Size {
    /// `--environments 100 --broken 50 --settled 60`, each optional.
    fn of(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut size = Self { environments: 1_000, broken: 500, settled: Duration::from_mins(10) };
        while let Some(name) = arguments.next() {
            let mut number = || arguments.next().and_then(|text| text.parse::<usize>().ok()).unwrap_or_default();
            match name.as_str() {
                "--environments" => size.environments = number(),
                "--broken" => size.broken = number(),
                "--settled" => size.settled = Duration::from_secs(number().try_into().unwrap()),
                _ => {} // cargo's own
            }
        }
        size
    }

    /// Organization and slug of each.
    fn tenants(&self) -> Vec<(String, String)> {
        (0..self.environments).map(|index| (format!("o{}", index % ORGANIZATIONS), format!("e{index}"))).collect()
    }
}

#[tokio::main]
async fn main() {
    if std::env::var_os("SLUICE_TEST_KUBECONFIG").is_none() {
        println!("scale: not run, there is no cluster; ./dev bench scale starts one");
        return;
    }
    let size = Size::of(std::env::args().skip(1));
    let mut bench = Bench::new("scale").await;
    bench.lease_secs = 15; // the operator's own default
    for index in 0..ORGANIZATIONS {
        bench.organization(&format!("o{index}")).await;
    }
    let operator = Process::start(&bench, "one", &bench.token, &[]).await;
    operator.ready().await;
    let sample = bench.tenant("warm", "up").await;
    bench.settled(&sample).await;

    println!("| What | Figure |\n|---|---|");
    let created = bare::make(&bench, &sample, &size.tenants(), Write::Create).await;
    let applied = bare::make(&bench, &sample, &size.tenants(), Write::Apply).await;
    let took = create(&bench, &operator, &size).await;
    for (against, bare) in [("ratio", created), ("ratio to the one that applies", applied)] {
        row(against, format_args!("{:.2}", took.as_secs_f64() / bare.as_secs_f64()));
    }
    quiet::settled(&bench, &operator, size.settled).await;
    let operator = restart(&bench, operator, size.environments).await;
    fairness::compare(&bench, &operator, &size.tenants(), size.broken).await;
    operator.stop().await;
}

/// From the first environment applied to the last Deployment written.
async fn create(bench: &Bench, operator: &Process, size: &Size) -> Duration {
    let tenants = size.tenants();
    let (before, own, worked) = (operator.memory(), operator.own_memory(), operator.worked());
    let (audit, start) = (Audit::begin(), Instant::now());
    let steps = Times::of(&operator.metrics().await);
    futures::stream::iter(&tenants)
        .for_each_concurrent(WORKERS, |(organization, slug)| async {
            bench.environment(organization, slug, json!({})).await;
        })
        .await;
    let applied = start.elapsed();
    // and the sample's
    quiet::there::<Deployment>(&bench.world, tenants.len() + 1).await;
    let took = start.elapsed();
    row("environments applied by 32 workers within", format_args!("{:.1} s", applied.as_secs_f64()));
    row("all children of all environments written within", format_args!("{:.1} s", took.as_secs_f64()));
    quiet::reached(bench, operator).await;
    let steps = Times::of(&operator.metrics().await).since(&steps);
    row("step `apply`, p50 and p99", format_args!("{} and {}", steps.quantile(0.5), steps.quantile(0.99)));
    quiet::latency(bench, &audit, &tenants);
    quiet::requests(bench, &audit, tenants.len());
    #[expect(clippy::cast_precision_loss, reason = "a few minutes in hundredths of a second")]
    let each = (operator.worked() - worked) as f64 * 10.0 / tenants.len() as f64;
    row("the operator's own work for each", format_args!("{each:.1} ms of a processor"));
    figures::memory("before", before, own);
    figures::memory("with all of them", operator.memory(), operator.own_memory());
    took
}

async fn restart(bench: &Bench, operator: Process, environments: usize) -> Process {
    operator.stop().await;
    let (audit, start) = (Audit::begin(), Instant::now());
    let operator = Process::start(bench, "two", &bench.token, &[]).await;
    operator.ready().await;
    row("restart: ready within", format_args!("{:.2} s", start.elapsed().as_secs_f64()));
    let looked = r#"sluice_operator_reconciles_total{kind="Environment""#;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    while operator.measured(looked).await < environments as f64 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    row("restart: every environment looked at within", format_args!("{:.2} s", start.elapsed().as_secs_f64()));
    let writes = bench.asked(&audit).into_iter().filter(kubernetes::audit::Request::is_write).count();
    row("restart: writes", writes.to_string());
    figures::memory("after the restart", operator.memory(), operator.own_memory());
    operator
}
