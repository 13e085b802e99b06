//! A settled cluster costs nothing: looking again writes nothing and asks nothing.

use crds::{ConditionType, Environment, Organization, Reason};
use kube::ResourceExt;
use kubernetes::audit::Audit;
use serde_json::json;

use super::bench::{Bench, eventually};

/// How often environments were looked at, by the operator's own count.
fn looked_at(operator: &operator::runtime::Operator) -> u64 {
    let text = operator.metrics.text().unwrap();
    let lines = text.lines().filter(|line| line.starts_with(r#"sluice_operator_reconciles_total{kind="Environment""#));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Returns when nothing has been looked at or written for a while: what a pod goes through comes in bits.
async fn nothing_moves(bench: &Bench, operator: &operator::runtime::Operator, name: &str) {
    bench.still(name).await;
    eventually("nothing moves any more", async || {
        let version = async || bench.world.api::<Environment>().get(name).await.unwrap().resource_version();
        let before = (version().await, looked_at(operator));
        tokio::time::timeout(std::time::Duration::from_secs(2), std::future::pending::<()>()).await.unwrap_err();
        before == (version().await, looked_at(operator))
    })
    .await;
}

#[tokio::test]
async fn looking_again_at_what_is_settled_asks_for_nothing() {
    let bench = Bench::new("quiet").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    nothing_moves(&bench, &operator, &name).await;
    let (audit, before) = (Audit::begin(), looked_at(&operator));
    for round in 0..5 {
        let note = json!({"metadata": {"annotations": {"example.org/round": round.to_string()}}});
        bench.merge::<Environment>(&name, note.clone()).await;
        bench.merge::<Organization>("acme", note).await;
        eventually("looked at", async || looked_at(&operator) > before + round).await;
    }
    let asked: Vec<_> = bench.asked(&audit).into_iter().filter(|it| it.verb != "watch").collect();
    assert!(asked.is_empty(), "{asked:#?}");
    operator.stop().await;
}

#[tokio::test]
async fn another_operator_takes_a_settled_cluster_over_without_a_write() {
    let bench = Bench::new("takeover").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    // the owner's invitation comes last, and there is no control plane here to make it
    kubernetes::until(&bench.world.api::<Organization>(), "acme", "told that nobody is invited", |it| {
        let mut conditions = it.status.iter().flat_map(|status| &status.conditions);
        conditions.any(|it| it.type_ == ConditionType::CredentialsSynced && it.reason != Reason::Starting)
    })
    .await;
    nothing_moves(&bench, &operator, &name).await;
    operator.stop().await;
    let (audit, operator) = (Audit::begin(), bench.operator("two").await);
    eventually("looked at", async || looked_at(&operator) > 0).await;
    operator.stop().await;
    let wrote: Vec<_> = bench.asked(&audit).into_iter().filter(|it| it.is_write() && it.resource != "events").collect();
    assert!(wrote.is_empty(), "{wrote:#?}");
}

/// As tools see it that hold what is there against what was applied: what is filled in is no difference.
#[tokio::test]
async fn an_environment_that_is_applied_again_differs_in_nothing() {
    let bench = Bench::new("applied").await;
    let operator = bench.operator("one").await;
    bench.organization("acme").await;
    let few = json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "Environment", "metadata": {"name": "acme-prod"},
        "spec": {"organizationRef": {"name": "acme"}, "slug": "prod", "name": "Prod"}});
    let asked = async |what: &str| {
        let mut arguments = vec!["--namespace", &bench.world.namespace, what, "--server-side"];
        arguments.extend(["--field-manager=somebody", "--filename", "-"]);
        kubernetes::commands::run("kubectl", &arguments, &few.to_string()).await
    };
    asked("apply").await.ok();
    nothing_moves(&bench, &operator, "acme-prod").await;
    let differs = asked("diff").await;
    assert!(differs.success && differs.out.is_empty(), "{differs:?}");
    let generation = async || bench.world.api::<Environment>().get("acme-prod").await.unwrap().metadata.generation;
    let before = generation().await;
    asked("apply").await.ok();
    assert_eq!(generation().await, before);
    operator.stop().await;
}

#[tokio::test]
async fn a_paused_environment_is_left_alone() {
    let bench = Bench::new("paused").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    bench.merge::<Environment>(&name, json!({"metadata": {"annotations": {"sluice.dev/paused": "true"}}})).await;
    kubernetes::until(&bench.world.api::<Environment>(), &name, "said to be paused", |it| {
        kubernetes::wait::says(it, "Paused")
    })
    .await;
    let audit = Audit::begin();
    bench.merge::<Environment>(&name, json!({"spec": {"name": "another"}})).await;
    kubernetes::until(&bench.world.api::<Environment>(), &name, "still looked at", |it: &Environment| {
        it.status.as_ref().and_then(|status| status.observed_generation) == it.metadata.generation
    })
    .await;
    let touched: Vec<_> = bench
        .asked(&audit)
        .into_iter()
        .filter(|it| it.is_write() && !["environments/status", "events"].contains(&it.resource.as_str()))
        .collect();
    assert!(touched.is_empty(), "{touched:#?}");
    operator.stop().await;
}
