//! A client that knows what to write and does nothing else.

use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kubernetes::World;
use kubernetes::bench::{Bench, PRESENT};
use serde_json::Value;

use crate::WORKERS;
use crate::figures::row;

/// The environment and every child of it as they would be written anew, with the name of the sample
/// in them.
async fn templates(bench: &Bench, sample: &str) -> Vec<(ApiResource, Value)> {
    let environment = ApiResource::from_gvk(&GroupVersionKind::gvk("sluice.dev", "v1alpha1", "Environment"));
    let api: Api<DynamicObject> =
        Api::namespaced_with(bench.world.client.clone(), &bench.world.namespace, &environment);
    let mut all = vec![(environment, fresh(api.get(sample).await.unwrap()))];
    for kind in PRESENT {
        let ours = ListParams::default().labels(&format!("app.kubernetes.io/instance={sample}"));
        for object in bench.children(kind).list(&ours).await.unwrap() {
            let mut value = fresh(object);
            value["apiVersion"] = kind.resource().api_version.into();
            value["kind"] = kind.to_string().into();
            all.push((kind.resource(), value));
        }
    }
    all
}

/// Without what the server adds, and without an owner: there is nobody to go with.
fn fresh(object: DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap();
    let metadata = value["metadata"].as_object_mut().unwrap();
    metadata.retain(|field, _| ["name", "labels", "annotations"].contains(&field.as_str()));
    value.as_object_mut().unwrap().remove("status");
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|field, _| !["clusterIP", "clusterIPs"].contains(&field.as_str()));
    }
    value
}

/// How a client writes what is not there yet.
#[derive(Debug, Clone, Copy)]
pub enum Write {
    /// The server keeps what it is sent.
    Create,
    /// As the operator does: the server also writes down whose each field is.
    Apply,
}

impl Write {
    const fn verb(self) -> &'static str {
        match self {
            Self::Create => "creates",
            Self::Apply => "applies",
        }
    }

    async fn write(self, api: &Api<DynamicObject>, object: &DynamicObject) {
        match self {
            Self::Create => api.create(&PostParams::default(), object).await.unwrap(),
            Self::Apply => {
                let by = PatchParams::apply("bare");
                api.patch(object.metadata.name.as_deref().unwrap(), &by, &Patch::Apply(object)).await.unwrap()
            }
        };
    }
}

/// Objects that it has written, in a namespace of its own, and the time that took.
pub struct Bare {
    how: Write,
    sample: String,
    templates: Vec<(ApiResource, Value)>,
    world: World,
    made: usize,
    pub took: Duration,
}

impl Bare {
    /// One that will write what the operator has written for the sample.
    pub async fn new(bench: &Bench, sample: &str, how: Write) -> Self {
        let templates = templates(bench, sample).await;
        let world = World::new(&format!("bare-{}", how.verb())).await;
        Self { how, sample: sample.to_owned(), templates, world, made: 0, took: Duration::ZERO }
    }

    /// Writes the objects of so many more environments.
    pub async fn make(&mut self, tenants: &[(String, String)]) {
        let start = Instant::now();
        futures::stream::iter(tenants)
            .for_each_concurrent(WORKERS, |(organization, slug)| self.environment(organization, slug))
            .await;
        self.took += start.elapsed();
        self.made += tenants.len();
        // the controllers have made what follows
        crate::quiet::there::<Pod>(&self.world, self.made).await;
    }

    async fn environment(&self, organization: &str, slug: &str) {
        // its own fields follow from its name, as its rules demand
        let (sample_organization, sample_slug) = self.sample.split_once('-').unwrap();
        for (kind, template) in &self.templates {
            let text = template.to_string().replace(&self.sample, &format!("{organization}-{slug}"));
            let text = text.replace(&format!("\"{sample_organization}\""), &format!("\"{organization}\""));
            let text = text.replace(&format!("\"{sample_slug}\""), &format!("\"{slug}\""));
            let object: DynamicObject = serde_json::from_str(&text).unwrap();
            let api: Api<DynamicObject> = Api::namespaced_with(self.world.client.clone(), &self.world.namespace, kind);
            self.how.write(&api, &object).await;
        }
    }

    pub fn tell(&self) {
        let what =
            format!("a bare client with 32 workers {} the same {} objects each", self.how.verb(), self.templates.len());
        row(&what, format_args!("{:.1} s", self.took.as_secs_f64()));
    }
}
