//! The operator's work on environments that users apply.

use std::time::{Duration, Instant};

use crds::Environment;
use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kubernetes::audit::Audit;
use kubernetes::bench::Bench;
use kubernetes::process::Process;
use serde_json::json;

use crate::figures::{Times, memory, row};
use crate::{WORKERS, quiet};

/// Environments that it has made, and their cost.
pub struct Operated<'a> {
    bench: &'a Bench,
    operator: &'a Process,
    audit: Audit,
    steps: Times,
    /// Before anything was made: hundredths of a second of a processor, all memory and its own in KiB.
    worked: u64,
    memory: (u64, u64),
    made: usize,
    applied: Duration,
    /// From the first environment applied to the last Deployment written, over all rounds.
    pub took: Duration,
}

impl<'a> Operated<'a> {
    pub async fn begin(bench: &'a Bench, operator: &'a Process) -> Self {
        Self {
            bench,
            operator,
            audit: Audit::begin(),
            steps: Times::of(&operator.metrics().await),
            worked: operator.worked(),
            memory: (operator.memory(), operator.own_memory()),
            made: 0,
            applied: Duration::ZERO,
            took: Duration::ZERO,
        }
    }

    pub async fn make(&mut self, tenants: &[(String, String)]) {
        let start = Instant::now();
        futures::stream::iter(tenants)
            .for_each_concurrent(WORKERS, |(organization, slug)| async {
                self.bench.environment(organization, slug, json!({})).await;
            })
            .await;
        self.applied += start.elapsed();
        self.made += tenants.len();
        // and the sample's
        quiet::there::<Deployment>(&self.bench.world, self.made + 1).await;
        self.took += start.elapsed();
        quiet::there::<Pod>(&self.bench.world, self.made + 1).await;
        quiet::reached(self.bench, self.operator).await;
    }

    /// One field of every environment, all at once.
    pub async fn change(&self, tenants: &[(String, String)]) {
        let (operator, start) = (self.operator, Instant::now());
        let steps = Times::of(&operator.metrics().await);
        futures::stream::iter(tenants)
            .for_each_concurrent(WORKERS, |(organization, slug)| async move {
                let range = json!({"spec": {"network": {"allowedCidrs": ["10.0.0.0/24"]}}});
                self.bench.merge::<Environment>(&format!("{organization}-{slug}"), range).await;
            })
            .await;
        let asked = start.elapsed();
        quiet::reached(self.bench, operator).await;
        let steps = Times::of(&operator.metrics().await).since(&steps);
        row("one field of each changed within", format_args!("{:.1} s", asked.as_secs_f64()));
        row("its step `apply`, p50 and p99", format_args!("{} and {}", steps.quantile(0.5), steps.quantile(0.99)));
    }

    pub async fn tell(&self, tenants: &[(String, String)]) {
        let (bench, operator) = (self.bench, self.operator);
        row("environments applied by 32 workers within", format_args!("{:.1} s", self.applied.as_secs_f64()));
        row("all children of all environments written within", format_args!("{:.1} s", self.took.as_secs_f64()));
        let steps = Times::of(&operator.metrics().await).since(&self.steps);
        row("step `apply`, p50 and p99", format_args!("{} and {}", steps.quantile(0.5), steps.quantile(0.99)));
        quiet::latency(bench, &self.audit, tenants);
        quiet::requests(bench, &self.audit, tenants.len());
        #[expect(clippy::cast_precision_loss, reason = "a few minutes in hundredths of a second")]
        let each = (operator.worked() - self.worked) as f64 * 10.0 / tenants.len() as f64;
        row("the operator's own work for each", format_args!("{each:.1} ms of a processor"));
        memory("before", self.memory.0, self.memory.1);
        memory("with all of them", operator.memory(), operator.own_memory());
    }
}
