//! Drift is repaired, whoever changed an object and whoever was watching.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Secret, Service};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use kubernetes::{figure, until};
use operator::objects::child::Kind;
use serde_json::json;

use super::bench::{Bench, PRESENT, eventually};

/// "Drift repair (delete or edit any child): ≤ 500 ms p99", on a machine that does nothing else.
/// Here it shares two cores with a whole control plane: the assertion is an order of magnitude.
const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn any_child_that_is_deleted_comes_back() {
    let bench = Bench::new("drift").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    let mut took = Vec::new();
    // a claim that is in use stays until its pod has gone: that is Kubernetes' own guard
    for kind in PRESENT.into_iter().filter(|kind| *kind != Kind::PersistentVolumeClaim) {
        let before = bench.all_children(&name).await;
        for (child, uid) in before.iter().filter(|(child, _)| child.starts_with(&format!("{kind}/"))) {
            let object = child.split_once('/').unwrap().1;
            let start = Instant::now();
            bench.children(kind).delete(object, &DeleteParams::default()).await.unwrap();
            until(&bench.children(kind), object, "back", |it| it.uid().as_ref() != Some(uid)).await;
            assert!(start.elapsed() < SOON, "{child}: {:?}", start.elapsed());
            took.push(start.elapsed());
        }
    }
    took.sort();
    let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
    figure(
        8,
        format_args!(
            "{} children deleted, one after the other: back after {median:?}, {longest:?} at most",
            took.len()
        ),
    );
    operator.stop().await;
}

#[tokio::test]
async fn what_was_edited_by_hand_is_set_right_and_what_is_not_ours_stays() {
    let bench = Bench::new("edited").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    let ports =
        |service: &Service| service.spec.clone().unwrap().ports.unwrap().iter().map(|it| it.port).collect::<Vec<_>>();
    let before = ports(&bench.world.api::<Service>().get(&name).await.unwrap());
    bench
        .merge::<Service>(
            &name,
            json!({
                "metadata": {"annotations": {"example.org/note": "mine"}},
                "spec": {"ports": [{"name": "psql", "port": 1, "targetPort": 1}]},
            }),
        )
        .await;
    let repaired = until(&bench.world.api::<Service>(), &name, "as before", |it| ports(it) == before).await;
    assert_eq!(repaired.annotations()["example.org/note"], "mine");
    operator.stop().await;
}

#[tokio::test]
async fn what_was_added_to_a_selector_or_a_policy_is_taken_away() {
    let bench = Bench::new("added").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    let added = [
        (Kind::Service, json!({"selector": {"example.org/more": "yes"}}), "/spec/selector/example.org~1more"),
        (
            Kind::NetworkPolicy,
            json!({"podSelector": {"matchLabels": {"more": "yes"}}}),
            "/spec/podSelector/matchLabels/more",
        ),
        (Kind::NetworkPolicy, json!({"egress": [{}]}), "/spec/egress/0/never"),
        (Kind::Deployment, json!({"paused": true}), "/spec/paused"),
    ];
    for (kind, spec, place) in added {
        let children = bench.children(kind);
        let before = children.get(&name).await.unwrap().data;
        children.patch(&name, &PatchParams::default(), &Patch::Merge(json!({"spec": spec}))).await.unwrap();
        until(&children, &name, "as before", |it| {
            it.data.pointer(place).is_none() && it.data["spec"] == before["spec"]
        })
        .await;
    }
    operator.stop().await;
}

#[tokio::test]
async fn what_was_added_to_settings_variables_or_arguments_is_taken_away() {
    let bench = Bench::new("smuggled").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    let container = json!([{"name": "dataplane", "env": [{"name": "ADDED", "value": "1"}], "args": ["--added"]}]);
    let pod = json!({"spec": {"template": {"spec": {"containers": container}}}});
    let settings = json!({"data": {"ADDED": "1"}});
    let added =
        [(Kind::ConfigMap, format!("{name}-config"), settings, "/data"), (Kind::Deployment, name, pod, "/spec")];
    for (kind, object, more, place) in added {
        let children = bench.children(kind);
        let before = children.get(&object).await.unwrap().data;
        children.patch(&object, &PatchParams::default(), &Patch::Strategic(more)).await.unwrap();
        let part = |data: &serde_json::Value| data.pointer(place).cloned();
        until(&children, &object, "as before", |it| part(&it.data) == part(&before)).await;
    }
    operator.stop().await;
}

#[tokio::test]
async fn a_child_deleted_while_no_operator_ran_comes_back_with_the_next_one() {
    let bench = Bench::new("unwatched").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    operator.stop().await;
    let uid = bench.all_children(&name).await["ConfigMap/acme-prod-config"].clone();
    bench.children(Kind::ConfigMap).delete("acme-prod-config", &DeleteParams::default()).await.unwrap();
    let operator = bench.operator("two").await;
    until(&bench.children(Kind::ConfigMap), "acme-prod-config", "back", |it| it.uid().as_ref() != Some(&uid)).await;
    operator.stop().await;
}

#[tokio::test]
async fn a_certificate_that_was_damaged_is_signed_anew() {
    let bench = Bench::new("damaged").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    let secrets = bench.world.api::<Secret>();
    bench.merge::<Secret>("acme-prod-tls", json!({"stringData": {"tls.crt": "no certificate"}})).await;
    eventually("a certificate again", async || {
        let data = secrets.get("acme-prod-tls").await.unwrap().data.unwrap();
        let pem = String::from_utf8(data["tls.crt"].0.clone()).unwrap();
        operator::authority::facts(&pem).is_ok()
    })
    .await;
    operator.stop().await;
}
