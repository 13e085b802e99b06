//! A thousand environments: what the operator needs for them, against a bare client that makes the
//! same objects on the same server, and what it costs to keep them.
//!
//! There are no nodes: pods stay pending, and an environment is done when its Deployment is
//! written. The operator is a process of its own, under its own roles. Both sides write with 32
//! workers to a server that has become quiet before, and take turns: the more a server holds the
//! slower it writes. `operator/FIGURES.md` holds the figures of one
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
mod operated;
mod quiet;

use std::time::{Duration, Instant};

use bare::{Bare, Write};
use figures::row;
use kubernetes::audit::Audit;
use kubernetes::bench::Bench;
use kubernetes::process::Process;
use operated::Operated;

const ORGANIZATIONS: usize = 20;
const WORKERS: usize = 32;
/// Turns of each side.
const ROUNDS: usize = 4;

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
    let mut creates = Bare::new(&bench, &sample, Write::Create).await;
    let mut applies = Bare::new(&bench, &sample, Write::Apply).await;
    let mut operated = Operated::begin(&bench, &operator).await;
    let tenants = size.tenants();
    for part in tenants.chunks(tenants.len().div_ceil(ROUNDS)) {
        creates.make(part).await;
        applies.make(part).await;
        operated.make(part).await;
    }
    creates.tell();
    applies.tell();
    operated.tell(&tenants).await;
    for (against, bare) in [("ratio", &creates), ("ratio to the one that applies", &applies)] {
        row(against, format_args!("{:.2}", operated.took.as_secs_f64() / bare.took.as_secs_f64()));
    }
    operated.change(&tenants).await;
    quiet::settled(&bench, &operator, size.settled).await;
    let operator = restart(&bench, operator, size.environments).await;
    fairness::compare(&bench, &operator, &tenants, size.broken).await;
    operator.stop().await;
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
