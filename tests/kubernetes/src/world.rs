//! A namespace of its own for each test, and what a test does in it.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use k8s_openapi::{NamespaceResourceScope, api::core::v1::Namespace};
use kube::{
    Api, Client, Config, Resource,
    api::{Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::{Value, json};

use crate::{commands, definitions};

/// Who writes what a test writes.
pub const MANAGER: &str = "test";

/// The namespace of one test; after a failure, its objects are printed.
pub struct World {
    pub client: Client,
    pub namespace: String,
    place: Arc<Place>,
}

/// Removed when the last world in it is dropped; after a failure in one of them it stays.
pub struct Place {
    namespace: String,
    failed: AtomicBool,
}

impl World {
    /// A namespace that enforces `restricted`, on a cluster that knows our kinds.
    pub async fn new(purpose: &str) -> Self {
        let client = client().await;
        definitions::install(&client).await;
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {
                "generateName": format!("{purpose}-"),
                "labels": {"pod-security.kubernetes.io/enforce": "restricted", "sluice.dev/test": purpose},
            },
        });
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let made =
            namespaces.create(&PostParams::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();
        let namespace = made.metadata.name.unwrap();
        let place = Place { namespace: namespace.clone(), failed: AtomicBool::new(false) };
        Self { client, namespace, place: Arc::new(place) }
    }

    /// The namespace of another test that runs now. The client is this test's own, as its runtime is.
    pub async fn shared(place: Arc<Place>) -> Self {
        Self { client: client().await, namespace: place.namespace.clone(), place }
    }

    pub fn place(&self) -> &Arc<Place> {
        &self.place
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Applies an object as it would be written in YAML.
    pub async fn apply(&self, object: Value) -> DynamicObject {
        self.try_apply(object).await.unwrap()
    }

    pub async fn try_apply(&self, object: Value) -> kube::Result<DynamicObject> {
        let text = |field: &str| object[field].as_str().unwrap().to_owned();
        let (group, version) = match text("apiVersion").split_once('/') {
            Some((group, version)) => (group.to_owned(), version.to_owned()),
            None => (String::new(), text("apiVersion")),
        };
        let kind = ApiResource::from_gvk(&GroupVersionKind { group, version, kind: text("kind") });
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, &kind);
        let name = object["metadata"]["name"].as_str().unwrap();
        api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&object)).await
    }

    /// kubectl in this namespace; its output.
    pub async fn kubectl(&self, arguments: &[&str]) -> String {
        let mut all = vec!["--namespace", &self.namespace];
        all.extend(arguments);
        commands::kubectl(&all).await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.place.failed.store(true, Ordering::Relaxed);
            eprintln!("{}", commands::dump(&self.namespace));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.failed.load(Ordering::Relaxed) {
            commands::forget(&self.namespace);
        }
    }
}

/// The file that says where the cluster is.
pub fn kubeconfig() -> PathBuf {
    std::env::var("SLUICE_TEST_KUBECONFIG")
        .expect("SLUICE_TEST_KUBECONFIG names a cluster: run ./dev test kubernetes")
        .into()
}

/// As the administrator of the cluster.
pub async fn client() -> Client {
    let config = Kubeconfig::read_from(kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}
