//! The last lines of every container, and of what it was before it was restarted.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, LogParams};

use super::archive::Archive;
use crate::kubectl::cluster::{Cluster, within};
use crate::kubectl::error::Error;

const LINES: i64 = 10_000;
const BYTES: i64 = 4 << 20;

pub async fn of_pods(
    archive: &mut Archive,
    cluster: &Cluster,
    namespace: &str,
    pods: &[Pod],
    unread: &mut Vec<String>,
) {
    let api: Api<Pod> = Api::namespaced(cluster.client.clone(), namespace);
    for pod in pods {
        for (container, restarted) in containers(pod) {
            for previous in [false, true].into_iter().take(if restarted { 2 } else { 1 }) {
                let ending = if previous { ".previous" } else { "" };
                let name = format!("logs/{namespace}/{}/{container}{ending}.log", pod.name_any());
                match read(&api, &pod.name_any(), &container, previous).await {
                    Ok(text) => archive.text(&name, &text),
                    Err(error) => unread.push(format!("{name}: {error}")),
                }
            }
        }
    }
}

/// Each with whether it ran before.
fn containers(pod: &Pod) -> Vec<(String, bool)> {
    let statuses = pod.status.as_ref().map(|status| (&status.init_container_statuses, &status.container_statuses));
    let statuses = statuses.into_iter().flat_map(|(init, main)| init.iter().chain(main).flatten());
    statuses.map(|status| (status.name.clone(), status.restart_count > 0)).collect()
}

async fn read(api: &Api<Pod>, pod: &str, container: &str, previous: bool) -> Result<String, Error> {
    let wanted = LogParams {
        container: Some(container.to_owned()),
        tail_lines: Some(LINES),
        limit_bytes: Some(BYTES),
        timestamps: true,
        previous,
        ..LogParams::default()
    };
    within(api.logs(pod, &wanted), "the log").await
}
