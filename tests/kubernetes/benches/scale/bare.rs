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

/// How long the objects of so many environments take.
pub async fn make(bench: &Bench, sample: &str, tenants: &[(String, String)], how: Write) -> Duration {
    let templates = templates(bench, sample).await;
    let world = World::new(&format!("bare-{}", how.verb())).await;
    // the environment's own fields follow from its name, as its rules demand
    let (organization, slug) = sample.split_once('-').unwrap();
    let start = Instant::now();
    futures::stream::iter(tenants)
        .for_each_concurrent(WORKERS, |(to, as_slug)| {
            let (templates, world) = (&templates, &world);
            async move {
                for (kind, template) in templates {
                    let text = template.to_string().replace(sample, &format!("{to}-{as_slug}"));
                    let text = text.replace(&format!("\"{organization}\""), &format!("\"{to}\""));
                    let text = text.replace(&format!("\"{slug}\""), &format!("\"{as_slug}\""));
                    let object: DynamicObject = serde_json::from_str(&text).unwrap();
                    let api: Api<DynamicObject> = Api::namespaced_with(world.client.clone(), &world.namespace, kind);
                    how.write(&api, &object).await;
                }
            }
        })
        .await;
    let took = start.elapsed();
    let what = format!("a bare client with 32 workers {} the same {} objects each", how.verb(), templates.len());
    row(&what, format_args!("{:.1} s", took.as_secs_f64()));
    // the controllers have made what follows
    crate::quiet::there::<Pod>(&world, tenants.len()).await;
    took
}
