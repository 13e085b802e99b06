//! When everything has been done: what it cost, and what it goes on costing.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use kube::Resource;
use kube::api::ListParams;
use kubernetes::World;
use kubernetes::audit::{Audit, Request};
use kubernetes::bench::Bench;
use kubernetes::process::Process;
use serde::de::DeserializeOwned;

use crate::figures::{milliseconds, quantile, row};

/// Longer than a wait between two looks at something that waits.
const STILL: Duration = Duration::from_secs(8);

/// Until there are so many in the namespace.
pub async fn there<K>(world: &World, count: usize)
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    // one object, and how many more there are: the server does not look at them
    let few = ListParams::default().limit(1);
    loop {
        let page = world.api::<K>().list_metadata(&few).await.unwrap();
        let rest = page.metadata.remaining_item_count.unwrap_or_default();
        if page.items.len() + usize::try_from(rest).unwrap() >= count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Until nothing is written any more.
pub async fn reached(bench: &Bench, operator: &Process) {
    loop {
        let (audit, looked) = (Audit::begin(), operator.measured("sluice_operator_reconciles_total").await);
        tokio::time::sleep(STILL).await;
        let same = (operator.measured("sluice_operator_reconciles_total").await - looked).abs() < 0.5;
        if same && !bench.asked(&audit).iter().any(Request::is_write) {
            return;
        }
    }
}

/// From the request that made an environment to the one that wrote its Deployment.
pub fn latency(bench: &Bench, audit: &Audit, tenants: &[(String, String)]) {
    let first = |requests: Vec<Request>, resource: &str| -> BTreeMap<String, Timestamp> {
        let of = requests.into_iter().filter(|it| it.resource == resource && it.is_write() && it.code < 300).rev();
        of.map(|it| (it.name, it.at)).collect()
    };
    let ours = |it: &Request| it.namespace == bench.world.namespace;
    let wanted = first(audit.requests().into_iter().filter(ours).collect(), "environments");
    let written = first(bench.asked(audit), "deployments");
    let mut took: Vec<f64> = tenants
        .iter()
        .filter_map(|(organization, slug)| {
            let name = format!("{organization}-{slug}");
            Some(milliseconds(written.get(&name)?.duration_since(*wanted.get(&name)?)))
        })
        .collect();
    let (p50, p99) = (quantile(&mut took, 0.5), quantile(&mut took, 0.99));
    row("from `apply` of one environment to its Deployment, p50 and p99", format_args!("{p50:.0} ms and {p99:.0} ms"));
}

pub fn requests(bench: &Bench, audit: &Audit, environments: usize) {
    let asked = bench.asked(audit);
    let mut counts: BTreeMap<(&str, &str, u16), usize> = BTreeMap::new();
    let (mut events, mut writes, mut reads) = (0, 0, 0);
    for request in &asked {
        match (request.resource.as_str(), request.is_write()) {
            ("events", _) => events += 1,
            (_, true) => writes += 1,
            (_, false) if request.verb != "watch" => reads += 1,
            _ => {}
        }
        *counts.entry((&request.verb, &request.resource, request.code)).or_default() += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let each = |count: i32| f64::from(count) / environments as f64;
    row("writes for each, and reads", format_args!("{:.2} and {:.2}", each(writes), each(reads)));
    row("Events for each", format_args!("{:.2}", each(events)));
    let told =
        |((verb, resource, code), count): (&(&str, &str, u16), &usize)| format!("{verb} {resource} {code}: {count}");
    let all: Vec<String> = counts.iter().map(told).collect();
    row("all requests", all.join(", "));
}

/// A window in which nobody changes anything.
pub async fn settled(bench: &Bench, operator: &Process, window: Duration) {
    let (audit, looked) = (Audit::begin(), operator.measured("sluice_operator_reconciles_total").await);
    tokio::time::sleep(window).await;
    let asked = bench.asked(&audit);
    let writes = asked.iter().filter(|it| it.is_write()).count();
    let reads = asked.iter().filter(|it| !it.is_write() && it.verb != "watch").count();
    let watches = asked.iter().filter(|it| it.verb == "watch").count();
    let looked = operator.measured("sluice_operator_reconciles_total").await - looked;
    row("settled: window", format_args!("{} s", window.as_secs()));
    row("settled: writes, reads, watches begun anew", format_args!("{writes}, {reads}, {watches}"));
    row("settled: objects looked at", format_args!("{looked:.0}"));
    crate::figures::memory("settled", operator.memory(), operator.own_memory());
}
