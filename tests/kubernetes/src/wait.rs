//! Waiting for what shall become true, by watching, until a deadline.

use std::{fmt::Debug, pin::pin, time::Duration};

use futures::TryStreamExt;
use kube::{Api, Resource, ResourceExt, runtime::watcher::watch_object};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

/// What a cluster on two busy cores may need for anything.
pub const PATIENCE: Duration = Duration::from_mins(3);

/// Returns the object once it is there and `what` is true of it; at the deadline, the panic shows
/// the object as it was last.
pub async fn until<K>(api: &Api<K>, name: &str, what: &str, is: impl Fn(&K) -> bool) -> K
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut last = None;
    let watch = async {
        let mut seen = pin!(watch_object(api.clone(), name));
        while let Some(object) = seen.try_next().await.unwrap() {
            last.clone_from(&object);
            if let Some(object) = object.filter(|object| is(object)) {
                return object;
            }
        }
        panic!("the watch of {name} ended");
    };
    let seen = timeout(PATIENCE, watch).await.ok();
    seen.unwrap_or_else(|| panic!("{name}: not {what} after {} s; last seen: {last:#?}", PATIENCE.as_secs()))
}

/// Returns once there is no object of that name.
pub async fn absent<K>(api: &Api<K>, name: &str)
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut last = None;
    let watch = async {
        let mut seen = pin!(watch_object(api.clone(), name));
        while let Some(Some(object)) = seen.try_next().await.unwrap() {
            last = Some((object.finalizers().to_vec(), object.meta().deletion_timestamp.clone()));
        }
    };
    let gone = timeout(PATIENCE, watch).await.is_ok();
    assert!(gone, "{name}: still there after {} s; finalizers and deletion: {last:?}", PATIENCE.as_secs());
}

/// Whether the object says `True` under a condition, for the generation that it has now where it
/// says of which one it speaks.
pub fn says<K>(object: &K, condition: &str) -> bool
where
    K: serde::Serialize,
{
    let object = serde_json::to_value(object).unwrap();
    let generation = &object["metadata"]["generation"];
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|one| {
        let current = match &one["observedGeneration"] {
            Value::Null => true,
            observed => observed == generation,
        };
        one["type"] == condition && one["status"] == "True" && current
    })
}

/// Waits for the condition `Ready`, as [`says`] reads it.
pub async fn ready<K>(api: &Api<K>, name: &str) -> K
where
    K: Resource + Clone + Debug + DeserializeOwned + serde::Serialize + Send + 'static,
{
    until(api, name, "ready", |object| says(object, "Ready")).await
}
