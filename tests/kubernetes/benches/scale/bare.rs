//! A client that knows what to write and does nothing else.

use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DynamicObject, ListParams, PostParams};
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
    if let Some(spec) = value["spec"].as_object_mut() {
        spec.retain(|field, _| !["clusterIP", "clusterIPs"].contains(&field.as_str()));
    }
    value
}

/// How long the objects of so many environments take.
pub async fn make(bench: &Bench, sample: &str, tenants: &[(String, String)]) -> Duration {
    let templates = templates(bench, sample).await;
    let world = World::new("bare").await;
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
                    api.create(&PostParams::default(), &object).await.unwrap();
                }
            }
        })
        .await;
    let took = start.elapsed();
    row("a bare client with 32 workers, the same objects", format_args!("{:.1} s", took.as_secs_f64()));
    row("objects of one environment, itself included", templates.len().to_string());
    // the controllers have made what follows
    crate::quiet::there::<Pod>(&world, tenants.len()).await;
    took
}
