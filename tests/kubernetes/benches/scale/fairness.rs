//! The cost of hundreds of broken environments of one organization to the others.

use std::time::{Duration, Instant};

use crds::Environment;
use futures::StreamExt;
use kubernetes::audit::Audit;
use kubernetes::bench::Bench;
use kubernetes::process::Process;
use serde_json::json;

use crate::WORKERS;
use crate::figures::{milliseconds, quantile, row};

const CHANGES: usize = 200;

/// Changes one environment after the other. Each takes from the request of the change to the
/// operator's write that carries it out, both as the API server saw them.
async fn changes(bench: &Bench, tenants: &[(String, String)], round: u8) -> Vec<f64> {
    let mut took = Vec::new();
    for (index, (organization, slug)) in tenants.iter().cycle().take(CHANGES).enumerate() {
        let name = format!("{organization}-{slug}");
        let audit = Audit::begin();
        let range = format!("10.{round}.{}.0/24", index % 256);
        bench.merge::<Environment>(&name, json!({"spec": {"network": {"allowedCidrs": [range]}}})).await;
        let start = Instant::now();
        let done = loop {
            let written =
                bench.asked(&audit).into_iter().find(|it| it.resource == "networkpolicies" && it.name == name);
            if let Some(written) = written {
                break written;
            }
            assert!(start.elapsed() < Duration::from_mins(1), "{name}: the change is not carried out");
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        let asked = audit.requests().into_iter().find(|it| it.resource == "environments" && it.name == name);
        took.push(milliseconds(done.at.duration_since(asked.unwrap().at)));
    }
    took
}

pub async fn compare(bench: &Bench, operator: &Process, tenants: &[(String, String)], broken: usize) {
    let mut alone = changes(bench, tenants, 1).await;
    bench.organization("broken").await;
    // a Deployment of this is refused by the API server, each time
    let spec = json!({"dataPlane": {"scheduling": {"nodeSelector": {"no label": "x"}}}});
    futures::stream::iter(0..broken)
        .for_each_concurrent(WORKERS, |index| {
            let spec = spec.clone();
            async move {
                bench.environment("broken", &format!("b{index}"), spec).await;
            }
        })
        .await;
    let failed = r#"sluice_operator_reconciles_total{kind="Environment",outcome="invalid"}"#;
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    while operator.measured(failed).await < broken as f64 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let before = operator.measured(failed).await;
    let start = Instant::now();
    let mut beside = changes(bench, tenants, 2).await;
    let rate = (operator.measured(failed).await - before) / start.elapsed().as_secs_f64();
    for (who, took) in [("alone", &mut alone), ("beside the broken ones", &mut beside)] {
        let (p50, p99) = (quantile(took, 0.5), quantile(took, 0.99));
        row(&format!("one change, {who}, p50 and p99"), format_args!("{p50:.1} ms and {p99:.1} ms"));
    }
    row("broken environments, and how often one of them failed meanwhile", format_args!("{broken}, {rate:.1}/s"));
}
