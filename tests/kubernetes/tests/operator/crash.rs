//! An operator that dies after any of its writes leaves nothing that the next one cannot finish.

use crds::Environment;
use kubernetes::absent;
use kubernetes::killing::{is_change, killed_after};
use serde_json::{Value, json};

use super::bench::{Bench, eventually};

/// More than a creation or a deletion takes.
const WRITES: u64 = 14;

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_every_write_of_a_creation_it_converges() {
    let bench = Bench::new("killed").await;
    bench.organization("acme").await;
    let mut names = Vec::new();
    for writes in 1..=WRITES {
        names.push(bench.environment("acme", &format!("e{writes}"), json!({})).await);
        killed_after(&bench, writes, is_change).await;
    }
    let operator = bench.operator("survivor").await;
    let mut shapes = Vec::new();
    for name in &names {
        bench.settled(name).await;
        let children = bench.all_children(name).await.into_keys();
        shapes.push(children.map(|child| child.replace(name.as_str(), "E")).collect::<Vec<_>>());
    }
    assert!(shapes.iter().all(|shape| *shape == shapes[0] && shape.len() == 8), "{shapes:#?}");
    operator.stop().await;
}

/// Environments of this specification are deleted one after the other by operators that are killed, each after one
/// write more than the one before. What the last one, who is not, leaves of each.
async fn deleted_by_the_killed(
    purpose: &str,
    spec: &Value,
    annotate: impl Fn(&str) -> Value,
    left: fn(&str) -> Vec<String>,
) {
    let bench = Bench::new(purpose).await;
    let operator = bench.operator("builder").await;
    bench.organization("acme").await;
    let mut names = Vec::new();
    for index in 1..=WRITES {
        let slug = format!("e{index}");
        let name = bench.environment("acme", &slug, spec.clone()).await;
        bench.merge::<Environment>(&name, json!({"metadata": {"annotations": annotate(&slug)}})).await;
        names.push(name);
    }
    for name in &names {
        bench.settled(name).await;
    }
    operator.stop().await;
    for (writes, name) in (1..).zip(&names) {
        bench.delete_environment(name).await;
        killed_after(&bench, writes, is_change).await;
    }
    let operator = bench.operator("survivor").await;
    for name in &names {
        absent(&bench.world.api::<Environment>(), name).await;
        eventually("nothing else is left", async || {
            bench.all_children(name).await.into_keys().collect::<Vec<_>>() == left(name)
        })
        .await;
    }
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_every_write_of_a_deletion_it_converges_and_keeps_the_data() {
    let volume = |name: &str| vec![format!("PersistentVolumeClaim/{name}-data")];
    deleted_by_the_killed("undone", &json!({}), |_| json!({}), volume).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_every_write_of_a_deletion_with_its_data_it_leaves_nothing() {
    let confirmed = |slug: &str| json!({"sluice.dev/confirm-delete": slug});
    deleted_by_the_killed("erased", &json!({"deletionPolicy": "Delete"}), confirmed, |_| Vec::new()).await;
}
