//! Everything that helps to find a fault, in one archive that may be sent to somebody.
//!
//! Resources, their children, pods, events, the logs of the data planes and of the release's own
//! pods. Of Secrets only names are asked for; every text passes [`redact`]. What could not be read is
//! listed in `about.txt` and does not stop the rest.

mod archive;
mod logs;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crds::{ApiKey, Environment, Organization};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use serde::Serialize;
use serde_json::json;

use super::cluster::{Cluster, within};
use super::error::Error;
use super::gather::{self, Seen};
use super::{Output, redact, status};
use crate::progress::say;
use crate::table::bullets;
use archive::Archive;

/// Of the archive before compression.
const MOST: usize = 256 << 20;

/// The pods of the operator and the control plane.
const RELEASE: &str = "app.kubernetes.io/name=sluice,app.kubernetes.io/managed-by!=sluice-operator";

#[derive(Debug, clap::Args)]
pub struct Ask {
    /// One environment; without a name: all of the namespace.
    environment: Option<String>,
    /// Where the archive is written; here, under a name with the time, unless given.
    #[arg(long, short)]
    file: Option<PathBuf>,
    /// Where operator and control plane run; searched for unless given.
    #[arg(long)]
    release_namespace: Option<String>,
}

impl Ask {
    pub async fn run(self, cluster: &Cluster, now: Timestamp, output: Output) -> Result<ExitCode, Error> {
        let mut archive = Archive::new(now, MOST);
        let mut unread = Vec::new();
        for name in self.names(cluster).await? {
            let seen = gather::environment(cluster, &name).await?;
            environment(&mut archive, &seen, now);
            logs::of_pods(&mut archive, cluster, &cluster.namespace, &seen.pods, &mut unread).await;
            unread.extend(seen.unread);
        }
        others(&mut archive, cluster, &mut unread).await;
        let release = self.release(cluster).await.unwrap_or_else(|error| {
            unread.push(error.to_string());
            Vec::new()
        });
        for pod in &release {
            archive.yaml(&format!("release/{}.yaml", pod.name_any()), pod);
            let namespace = pod.namespace().unwrap_or_default();
            logs::of_pods(&mut archive, cluster, &namespace, std::slice::from_ref(pod), &mut unread).await;
        }
        archive.text("about.txt", &about(cluster, now, &unread).await);
        let file = self.file.unwrap_or_else(|| {
            PathBuf::from(format!("sluice-report-{}-{}.tar.gz", cluster.namespace, now.strftime("%Y%m%dT%H%M%SZ")))
        });
        let (names, bytes) = archive.finish().map_err(|error| Error::Unusable(error.to_string()))?;
        write(&file, &bytes)?;
        let text = format!("{}: {} files, {} KiB", file.display(), names.len(), bytes.len().div_ceil(1024));
        say(&output.pick(|| text, || json!({"file": file, "entries": names, "unread": unread}))?);
        Ok(ExitCode::SUCCESS)
    }

    async fn names(&self, cluster: &Cluster) -> Result<Vec<String>, Error> {
        match &self.environment {
            Some(name) => Ok(vec![name.clone()]),
            None => Ok(cluster.list::<Environment>().await?.iter().map(ResourceExt::name_any).collect()),
        }
    }

    /// In the namespace that was named; else wherever this person may look.
    async fn release(&self, cluster: &Cluster) -> Result<Vec<Pod>, Error> {
        let wanted = ListParams::default().labels(RELEASE);
        let within_one = |namespace: &str| Api::<Pod>::namespaced(cluster.client.clone(), namespace);
        if let Some(namespace) = &self.release_namespace {
            return Ok(within(within_one(namespace).list(&wanted), "pods of the release").await?.items);
        }
        let everywhere = Api::<Pod>::all(cluster.client.clone());
        match within(everywhere.list(&wanted), "pods of the release").await {
            Err(Error::Refused(_)) => {
                Ok(within(within_one(&cluster.namespace).list(&wanted), "pods of the release").await?.items)
            }
            found => Ok(found?.items),
        }
    }
}

fn environment(archive: &mut Archive, seen: &Seen, now: Timestamp) {
    let name = seen.environment.name_any();
    archive.yaml(&format!("{name}/environment.yaml"), &seen.environment);
    archive.text(&format!("{name}/status.txt"), &status::page(seen, now));
    for key in &seen.keys {
        archive.yaml(&format!("{name}/apikeys/{}.yaml", key.name_any()), key);
    }
    for child in &seen.children {
        archive.yaml(&format!("{name}/children/{}-{}.yaml", child.kind, child.name), &child.object);
    }
    for pod in &seen.pods {
        archive.yaml(&format!("{name}/pods/{}.yaml", pod.name_any()), pod);
    }
}

/// What belongs to no single environment.
async fn others(archive: &mut Archive, cluster: &Cluster, unread: &mut Vec<String>) {
    match cluster.list::<Organization>().await {
        Ok(all) => all.iter().for_each(|one| archive.yaml(&format!("organizations/{}.yaml", one.name_any()), one)),
        Err(error) => unread.push(error.to_string()),
    }
    match cluster.list::<ApiKey>().await {
        Ok(all) => all.iter().for_each(|one| archive.yaml(&format!("apikeys/{}.yaml", one.name_any()), one)),
        Err(error) => unread.push(error.to_string()),
    }
    match cluster.list::<Event>().await {
        Ok(mut all) => {
            all.sort_by_key(gather::last_seen);
            archive.text("events.txt", &all.iter().map(line).collect::<String>());
        }
        Err(error) => unread.push(error.to_string()),
    }
}

fn line(event: &Event) -> String {
    let object = &event.involved_object;
    let time = gather::last_seen(event).map_or_else(|| "-".to_owned(), |time| time.to_string());
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let (kind, name) = (or_none(&object.kind), or_none(&object.name));
    format!("{time} {} {kind}/{name} {} {}\n", or_none(&event.type_), or_none(&event.reason), or_none(&event.message))
}

async fn about(cluster: &Cluster, now: Timestamp, unread: &[String]) -> String {
    let server = match within(cluster.client.apiserver_version(), "the server's version").await {
        Ok(version) => version.git_version,
        Err(error) => error.to_string(),
    };
    let list = bullets(unread);
    let unread = if list.is_empty() { String::new() } else { format!("could not be read\n{list}") };
    let version = env!("CARGO_PKG_VERSION");
    format!("made {now}\nnamespace {}\nkubectl-sluice {version}\nKubernetes {server}\n{unread}", cluster.namespace)
}

/// Readable by its owner alone: logs hold statements' tables and people's addresses.
fn write(file: &PathBuf, bytes: &[u8]) -> Result<(), Error> {
    use std::os::unix::fs::OpenOptionsExt;
    let unusable = |error: std::io::Error| Error::Unusable(format!("{}: {error}", file.display()));
    let mut options = std::fs::OpenOptions::new();
    let mut opened = options.write(true).create_new(true).mode(0o600).open(file).map_err(unusable)?;
    opened.write_all(bytes).map_err(unusable)
}

impl Archive {
    fn yaml(&mut self, name: &str, object: &impl Serialize) {
        let shown = redact::shown(object);
        // by way of JSON text: only there is a number of arbitrary precision a number
        let value = serde_json::to_string(&shown).ok().and_then(|json| serde_yaml_ng::from_str(&json).ok());
        let yaml = value.and_then(|value: serde_yaml_ng::Value| serde_yaml_ng::to_string(&value).ok());
        self.text(name, &yaml.unwrap_or_else(|| "could not be written down\n".to_owned()));
    }

    /// Redacted here once more, whatever it is: nothing reaches the archive another way.
    fn text(&mut self, name: &str, text: &str) {
        self.add(name, redact::text(text));
    }
}

#[cfg(test)]
mod tests;
