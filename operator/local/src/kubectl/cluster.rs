//! The API server, as the kubeconfig reaches it, and the namespace that is looked at.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{Api, ListParams};
use kube::config::KubeConfigOptions;
use kube::runtime::wait::await_condition;
use kube::{Client, Config, Resource};
use serde::de::DeserializeOwned;

use super::error::Error;

/// Objects of one kind that are looked at, at most.
const MOST: u32 = 1_000;
const CONNECT: Duration = Duration::from_secs(5);
/// A plain request; watches and forwarded ports have deadlines of their own.
const ANSWER: Duration = Duration::from_secs(30);

pub struct Cluster {
    pub client: Client,
    pub namespace: String,
}

impl Cluster {
    pub async fn connect(context: Option<String>, namespace: Option<String>) -> Result<Self, Error> {
        let config = if context.is_some() {
            let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
            Config::from_kubeconfig(&options).await.map_err(|error| error.to_string())
        } else {
            Config::infer().await.map_err(|error| error.to_string())
        };
        let mut config = config.map_err(|error| Error::Unusable(format!("no usable kubeconfig: {error}")))?;
        config.connect_timeout = Some(CONNECT);
        let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).map_err(|error| Error::Unusable(format!("kubeconfig: {error}")))?;
        Ok(Self { client, namespace })
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub async fn get<K>(&self, name: &str) -> Result<K, Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let what = format!("{} {name} in namespace {}", K::kind(&()).to_lowercase(), self.namespace);
        within(self.api::<K>().get(name), &what).await
    }

    pub async fn list<K>(&self) -> Result<Vec<K>, Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let what = format!("{} in namespace {}", K::plural(&()), self.namespace);
        Ok(within(self.api::<K>().list(&ListParams::default().limit(MOST)), &what).await?.items)
    }

    /// The object once `reached` holds.
    pub async fn wait_for<K>(
        &self,
        name: &str,
        most: Duration,
        what: &str,
        reached: impl Fn(&K) -> bool,
    ) -> Result<K, Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let gone = format!("{} {name}", K::kind(&()).to_lowercase());
        let there = |object: Option<&K>| object.is_none_or(&reached);
        match tokio::time::timeout(most, await_condition(self.api::<K>(), name, there)).await {
            Err(_) => Err(Error::TimedOut(format!("not {what} after {} s", most.as_secs()))),
            Ok(Err(error)) => Err(Error::Unreachable(error.to_string())),
            Ok(Ok(None)) => Err(Error::NotFound(gone)),
            Ok(Ok(Some(object))) => Ok(object),
        }
    }
}

/// One request, with a deadline.
pub async fn within<T>(request: impl Future<Output = kube::Result<T>>, what: &str) -> Result<T, Error> {
    match tokio::time::timeout(ANSWER, request).await {
        Ok(answer) => answer.map_err(|error| Error::of(error, what)),
        Err(_) => Err(Error::TimedOut(format!("no answer about {what} after {} s", ANSWER.as_secs()))),
    }
}
