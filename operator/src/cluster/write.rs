//! Requests that change objects of the cluster, all under the field manager of the operator. The API server
//! answers them with metadata alone: a watch brings the rest.

use crds::annotation::FINALIZER;
use http::HeaderValue;
use http::header::ACCEPT;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube::core::{ApiResource, DynamicObject, Request};
use kube::{Api, Client, Resource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Owner of the fields that are written here. REST and people have names of their own.
pub const MANAGER: &str = "sluice-operator";

/// The answer to a change, of which only the version is read.
#[derive(Debug, Deserialize)]
pub struct Written {
    metadata: WrittenMetadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenMetadata {
    resource_version: Option<String>,
}

impl Written {
    pub fn resource_version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }
}

const METADATA: HeaderValue = HeaderValue::from_static("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");

/// Of server-side apply. A field that the server does not know it refuses anyway; to be warned of one that
/// is there twice, which JSON of ours has not, would have it read the whole text once more.
fn whole() -> PatchParams {
    PatchParams::apply(MANAGER).force().validation_ignore()
}

/// Of a change of some fields.
fn some() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

/// The objects of one kind in one namespace.
pub struct Objects<'a> {
    client: &'a Client,
    namespace: String,
    resource: ApiResource,
}

impl<'a> Objects<'a> {
    pub fn new(client: &'a Client, namespace: Option<String>, resource: ApiResource) -> Self {
        Self { client, namespace: namespace.unwrap_or_default(), resource }
    }

    /// Those that a Rust type stands for.
    pub fn of<K: Resource<DynamicType = ()>>(client: &'a Client, namespace: Option<String>) -> Self {
        Self::new(client, namespace, ApiResource::erase::<K>(&()))
    }

    fn request(&self) -> Request {
        Request::new(DynamicObject::url_path(&self.resource, Some(self.namespace.as_str())))
    }

    async fn patch(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<impl Serialize>,
    ) -> Result<Written, kube::Error> {
        let request = self.request().patch_metadata(name, params, patch).map_err(kube::Error::BuildRequest)?;
        self.client.request(request).await
    }

    /// Server-side apply of a whole object. `force`: what stands in it is ours, whoever wrote it last.
    pub async fn apply(&self, name: &str, object: &Value) -> Result<Written, kube::Error> {
        self.patch(name, &whole(), &Patch::Apply(object)).await
    }

    /// Made where nothing stands; what stands there is a conflict. Not an apply without force: that takes over what no
    /// manager has set, such as the values of a Secret that somebody gave as `stringData`.
    pub async fn create(&self, object: &Value) -> Result<Written, kube::Error> {
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
        let mut request = self.request().create(&params, body).map_err(kube::Error::BuildRequest)?;
        request.headers_mut().insert(ACCEPT, METADATA);
        self.client.request(request).await
    }

    /// Some fields of an object. With its uid among them: of no other under the same name.
    pub async fn merge(&self, name: &str, fields: &Value) -> Result<Written, kube::Error> {
        self.patch(name, &some(), &Patch::Merge(fields)).await
    }

    /// Takes away what `patch` says, of this version of an object alone.
    pub async fn strip(&self, name: &str, version: &str, removal: &Value) -> Result<Written, kube::Error> {
        let mut body = removal.clone();
        if let Some(fields) = body.as_object_mut() {
            fields.insert("metadata".to_owned(), json!({ "resourceVersion": version }));
        }
        self.patch(name, &some(), &Patch::Strategic(body)).await
    }

    /// That very object; one that is gone is fine.
    pub async fn delete(&self, name: &str, uid: &str) -> Result<(), kube::Error> {
        let params = DeleteParams {
            preconditions: Some(Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() }),
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, &self.resource);
        match api.delete(name, &params).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other.map(|_| ()),
        }
    }
}

/// The whole status. The uid: an object made anew under the same name is not meant.
pub async fn status<K: Resource<DynamicType = ()>>(
    client: &Client,
    object: &K,
    status: &impl Serialize,
) -> Result<Written, kube::Error> {
    let objects = Objects::of::<K>(client, object.namespace());
    let name = object.name_any();
    let body = json!({
        "apiVersion": objects.resource.api_version,
        "kind": objects.resource.kind,
        "metadata": { "name": name, "uid": object.uid() },
        "status": status,
    });
    let request = objects.request().patch_subresource("status", &name, &whole(), &Patch::Apply(&body));
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    request.headers_mut().insert(ACCEPT, METADATA);
    client.request(request).await
}

/// Finalizers and owners, only if the object is still the one that was looked at.
pub async fn metadata<K: Resource<DynamicType = ()>>(
    client: &Client,
    object: &K,
    mut fields: Value,
) -> Result<Written, kube::Error> {
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("uid".to_owned(), json!(object.uid()));
        fields.insert("resourceVersion".to_owned(), json!(object.resource_version()));
    }
    let objects = Objects::of::<K>(client, object.namespace());
    objects.merge(&object.name_any(), &json!({ "metadata": fields })).await
}

pub fn has_finalizer(object: &impl ResourceExt) -> bool {
    object.finalizers().iter().any(|finalizer| finalizer == FINALIZER)
}

/// The finalizers of the object with ours, or without it.
pub fn finalizers(object: &impl ResourceExt, ours: bool) -> Value {
    let others = object.finalizers().iter().filter(|finalizer| *finalizer != FINALIZER);
    let all: Vec<&str> = others.map(String::as_str).chain(ours.then_some(FINALIZER)).collect();
    json!(all)
}
