//! Secrets of the cluster, read and written one by one: no store keeps their values.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::{Expected, Item, WrittenObject};
use crate::Error;
use crate::authority::secret::Data;
use crate::cluster::write::Objects;
use crate::objects::names::label;
use crate::objects::namespaced_name::NamespacedName;

/// Reads and writes Secrets, and notes which versions the stores must see before the next decision.
#[derive(Clone)]
pub struct SecretClient {
    client: Client,
    expected: Arc<Expected>,
}

impl SecretClient {
    pub fn new(client: Client, expected: Arc<Expected>) -> Self {
        Self { client, expected }
    }

    /// A Secret as it is in the cluster.
    pub async fn read(&self, place: &NamespacedName) -> Result<Option<Secret>, kube::Error> {
        Api::<Secret>::namespaced(self.client.clone(), place.namespace()).get_opt(place.name()).await
    }

    /// Writes a Secret that no store knows. One that somebody else keeps something in is left as it is.
    pub async fn store_new(&self, item: &Item, metadata: &ObjectMeta, kind: &str, data: &Data) -> Result<(), Error> {
        let place = NamespacedName::of_metadata(metadata);
        match self.objects(metadata).create(&body(metadata, kind, data)).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let found = self.read(&place).await?;
                let ours =
                    |secret: &Secret| secret.labels().get(label::MANAGED_BY).is_some_and(|by| by == label::OPERATOR);
                match found {
                    Some(secret) if !ours(&secret) => Err(Error::Taken(place.name().to_owned())),
                    _ => self.store(item, metadata, kind, data).await.map(|_| ()),
                }
            }
            written => {
                self.expected.note(item, WrittenObject::Secret(place), written?.resource_version());
                Ok(())
            }
        }
    }

    /// Writes a Secret, whole. Keys that are not in `data` any more go.
    pub async fn store(&self, item: &Item, metadata: &ObjectMeta, kind: &str, data: &Data) -> Result<String, Error> {
        let place = NamespacedName::of_metadata(metadata);
        let written = self.objects(metadata).apply(place.name(), &body(metadata, kind, data)).await?;
        let version = written.resource_version().unwrap_or_default().to_owned();
        self.expected.note(item, WrittenObject::Secret(place), Some(&version));
        Ok(version)
    }

    fn objects(&self, metadata: &ObjectMeta) -> Objects<'_> {
        Objects::of::<Secret>(&self.client, metadata.namespace.clone())
    }
}

fn body(metadata: &ObjectMeta, kind: &str, data: &Data) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": data })
}
