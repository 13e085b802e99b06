//! Our kinds, made known to the cluster.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
    runtime::conditions::is_crd_established,
};
use tokio::sync::OnceCell;

use crate::{until, world::MANAGER};

static INSTALLED: OnceCell<()> = OnceCell::const_new();

/// Applies every definition of ours, once for all tests, which take none away; returns when the cluster serves all.
pub async fn install(client: &Client) {
    let applied = INSTALLED.get_or_init(|| async {
        for definition in crds::all() {
            define(client, &definition).await;
        }
    });
    applied.await;
}

/// Applies one, and returns when the cluster serves it.
pub async fn define(client: &Client, definition: &CustomResourceDefinition) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition.name_any();
    api.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(definition)).await.unwrap();
    until(&api, &name, "established", |definition| {
        kube::runtime::wait::Condition::matches_object(&is_crd_established(), Some(definition))
    })
    .await;
}
