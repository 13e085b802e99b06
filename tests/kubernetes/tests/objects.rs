//! Objects as a test makes them, and the programs that were built beside it.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use k8s_openapi::NamespaceResourceScope;
use kube::Resource;
use kube::api::{Patch, PatchParams, PostParams};
use kubernetes::World;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub async fn create<K>(world: &World, object: Value) -> K
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    K: Clone + DeserializeOwned + Serialize + Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    world.api().create(&PostParams::default(), &object).await.unwrap()
}

/// What the operator would say.
pub async fn set_status<K>(world: &World, name: &str, status: Value) -> K
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    K: Clone + DeserializeOwned + Debug,
{
    let patch = Patch::Merge(json!({"status": status}));
    world.api().patch_status(name, &PatchParams::default(), &patch).await.unwrap()
}

/// In the folder above that of the test itself, where cargo puts what it builds.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap().join(name);
    assert!(built.exists(), "{} is not built: cargo build --workspace --bins", built.display());
    built
}
