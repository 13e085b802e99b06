//! Somebody who undoes what the operator sets right, each time.

use std::pin::pin;

use crds::{ConditionType, Environment, Reason};
use futures::TryStreamExt;
use kube::api::{Api, Patch, PatchParams};
use kube::core::DynamicObject;
use kube::runtime::watcher::watch_object;
use kubernetes::audit::Audit;
use kubernetes::until;
use operator::objects::child::Kind;
use serde_json::json;
use tokio_util::task::TaskTracker;

use super::bench::Bench;

/// Sets a variable of the data plane whenever it is not set.
async fn meddle(deployments: Api<DynamicObject>, name: String) {
    let container = json!([{"name": "dataplane", "env": [{"name": "ADDED", "value": "1"}]}]);
    let patch = Patch::Strategic(json!({"spec": {"template": {"spec": {"containers": container}}}}));
    let by = PatchParams { field_manager: Some("meddler".to_owned()), ..PatchParams::default() };
    let mut seen = pin!(watch_object(deployments.clone(), &name));
    while let Some(Some(deployment)) = seen.try_next().await.unwrap() {
        if !deployment.data.to_string().contains("ADDED") {
            deployments.patch(&name, &by, &patch).await.unwrap();
        }
    }
}

#[tokio::test]
async fn what_somebody_undoes_each_time_is_told_and_set_right_ever_more_seldom() {
    let bench = Bench::new("contested").await;
    let operator = bench.operator("one").await;
    let name = bench.tenant("acme", "prod").await;
    bench.settled(&name).await;
    let deployments = bench.children(Kind::Deployment);
    let before = deployments.get(&name).await.unwrap().data["spec"].clone();
    let audit = Audit::begin();
    let meddler = TaskTracker::new().spawn(meddle(deployments.clone(), name.clone()));
    let told = until(&bench.world.api::<Environment>(), &name, "contested", |it: &Environment| {
        let mut conditions = it.status.iter().flat_map(|status| &status.conditions);
        conditions.any(|it| it.type_ == ConditionType::Degraded && it.reason == Reason::DriftContested)
    })
    .await;
    let conditions = told.status.unwrap().conditions;
    let message = &conditions.iter().find(|it| it.type_ == ConditionType::Degraded).unwrap().message;
    assert!(message.contains("containers.dataplane.env.ADDED of Deployment/acme-prod, by meddler"), "{message}");
    let repairs = bench.asked(&audit).into_iter().filter(|it| it.resource == "deployments" && it.is_write()).count();
    assert!(repairs < 20, "{repairs}");
    meddler.abort();
    until(&deployments, &name, "as before", |it| it.data["spec"] == before).await;
    operator.stop().await;
}
