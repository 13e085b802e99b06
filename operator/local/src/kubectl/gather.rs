//! Everything about one environment that the API server shows this person.
//!
//! What may not be read is noted and left out: a person who may not list Secrets still learns why an
//! environment is not ready. Of Secrets only the metadata is asked for, so a value is never here.

use std::collections::BTreeSet;

use crds::{ApiKey, Environment};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams};
use operator::objects::child::Kind;
use serde_json::Value;

use super::cluster::{Cluster, within};
use super::error::Error;

/// Events of a namespace that are looked through, at most.
const EVENTS: u32 = 1_000;

pub struct Seen {
    pub environment: Environment,
    pub keys: Vec<ApiKey>,
    pub children: Vec<Child>,
    pub pods: Vec<Pod>,
    /// Of the environment, its children and pods; the oldest first.
    pub events: Vec<Event>,
    /// What could not be read, and why.
    pub unread: Vec<String>,
}

/// A child as it stands there; of a Secret only its metadata.
pub struct Child {
    pub kind: Kind,
    pub name: String,
    pub created: Option<Timestamp>,
    pub object: Value,
}

pub async fn environment(cluster: &Cluster, name: &str) -> Result<Seen, Error> {
    let environment: Environment = cluster.get(name).await?;
    let mut unread = Vec::new();
    let mut keys: Vec<ApiKey> = note(cluster.list().await, &mut unread);
    keys.retain(|key| key.spec.environment_ref.name == name);
    let mut children = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::ApiKey) {
        children.extend(note(of_kind(cluster, kind, name).await, &mut unread));
    }
    let pods = note(pods(cluster, &environment).await, &mut unread);
    let mut events = note(events(cluster).await, &mut unread);
    let names = names(&environment, &keys, &children, &pods);
    events.retain(|event| event.involved_object.name.as_ref().is_some_and(|name| names.contains(name.as_str())));
    events.sort_by_key(last_seen);
    Ok(Seen { environment, keys, children, pods, events, unread })
}

fn note<T>(found: Result<Vec<T>, Error>, unread: &mut Vec<String>) -> Vec<T> {
    found.unwrap_or_else(|error| {
        unread.push(error.to_string());
        Vec::new()
    })
}

/// The labels that every child of an environment carries.
pub fn selector(environment: &str) -> String {
    format!("app.kubernetes.io/instance={environment},app.kubernetes.io/managed-by=sluice-operator")
}

async fn of_kind(cluster: &Cluster, kind: Kind, environment: &str) -> Result<Vec<Child>, Error> {
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &kind.resource());
    let wanted = ListParams::default().labels(&selector(environment));
    let what = format!("{kind} objects");
    let found = if kind == Kind::Secret {
        let metadata = within(api.list_metadata(&wanted), &what).await;
        metadata.map(|list| list.items.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>())
    } else {
        within(api.list(&wanted), &what).await.map(|list| list.items.iter().map(serde_json::to_value).collect())
    };
    match found {
        // a kind that this cluster does not have: cert-manager's, or snapshots
        Err(Error::NotFound(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(Err(error)) => Err(Error::Unusable(format!("{what}: {error}"))),
        Ok(Ok(objects)) => Ok(objects.into_iter().map(|object| child(kind, object)).collect()),
    }
}

pub fn child(kind: Kind, object: Value) -> Child {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let created = text("/metadata/creationTimestamp").and_then(|text| text.parse().ok());
    let name = text("/metadata/name").unwrap_or_default().to_owned();
    Child { kind, name, created, object }
}

/// The pods that the environment's Services reach.
pub async fn pods(cluster: &Cluster, environment: &Environment) -> Result<Vec<Pod>, Error> {
    let selected = environment.status.as_ref().and_then(|status| status.selector.clone());
    let labels = selected.unwrap_or_else(|| format!("app.kubernetes.io/instance={}", environment.name_any()));
    let wanted = ListParams::default().labels(&labels);
    Ok(within(cluster.api::<Pod>().list(&wanted), "pods").await?.items)
}

async fn events(cluster: &Cluster) -> Result<Vec<Event>, Error> {
    Ok(within(cluster.api::<Event>().list(&ListParams::default().limit(EVENTS)), "events").await?.items)
}

fn names<'a>(
    environment: &'a Environment,
    keys: &'a [ApiKey],
    children: &'a [Child],
    pods: &'a [Pod],
) -> BTreeSet<&'a str> {
    let metadata = |name: &'a Option<String>| name.as_deref();
    metadata(&environment.metadata.name)
        .into_iter()
        .chain(keys.iter().filter_map(|key| metadata(&key.metadata.name)))
        .chain(children.iter().map(|child| child.name.as_str()))
        .chain(pods.iter().filter_map(|pod| metadata(&pod.metadata.name)))
        .collect()
}

/// Events are written in two ways, and either leaves some of the times out.
pub fn last_seen(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref()).map(|time| time.0);
    let last = event.last_timestamp.as_ref().map(|time| time.0);
    let noted = event.event_time.as_ref().map(|time| time.0);
    let created = event.metadata.creation_timestamp.as_ref().map(|time| time.0);
    series.max(last).or(noted).or(created)
}
