//! A namespace of a test's own on the cluster of `SLUICE_TEST_KUBECONFIG`, with the definitions there.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::{await_condition, conditions::is_crd_established};
use kube::{Client, Config, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub struct Place {
    pub client: Client,
    pub namespace: String,
}

/// The cluster that all of these tests are for.
pub fn kubeconfig() -> PathBuf {
    let path = std::env::var_os("SLUICE_TEST_KUBECONFIG").expect("SLUICE_TEST_KUBECONFIG names a cluster: ./dev test");
    PathBuf::from(path)
}

impl Place {
    pub async fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig = Kubeconfig::read_from(kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config).unwrap();
        install(&client).await;
        let namespace = json!({"metadata": {"generateName": "test-"}});
        let namespace: Namespace = serde_json::from_value(namespace).unwrap();
        let made = Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        Self { client, namespace: made.name_any() }
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub async fn create<K>(&self, object: Value) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Serialize + Debug,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap()
    }

    /// What the operator would say.
    pub async fn set_status<K>(&self, name: &str, status: Value) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Debug,
    {
        let patch = Patch::Merge(json!({"status": status}));
        self.api().patch_status(name, &PatchParams::default(), &patch).await.unwrap()
    }

    /// Everything in it goes too.
    pub async fn remove(self) {
        let namespaces: Api<Namespace> = Api::all(self.client);
        namespaces.delete(&self.namespace, &DeleteParams::default()).await.unwrap();
    }
}

/// Twice is no harm.
async fn install(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in ::crds::all() {
        let name = definition.name_any();
        let params = PatchParams::apply("sluice-tests").force();
        definitions.patch(&name, &params, &Patch::Apply(&definition)).await.unwrap();
        let established = await_condition(definitions.clone(), &name, is_crd_established());
        tokio::time::timeout(Duration::from_secs(30), established).await.unwrap().unwrap();
    }
}

/// A program that was built beside this test.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap().join(name);
    assert!(built.exists(), "{} is not built: cargo build --workspace --bins", built.display());
    built
}
