//! The source of the pods of data planes, as an installation gives it: the image and its registry, Secrets of
//! its own, and additions.
//!
//! A change of any of it restarts a data plane as another version does, so it moves with the fleet's
//! rollout: until its turn has come, an environment keeps what its pods are started with.
//!
//! The control plane's address is not among it, and rolls everywhere at once. The Service of before may be gone, and a
//! data plane that is cut off rules by the policies of yesterday and lets revoked keys in. Nobody can tell from here
//! whether it is cut off, and a rollout may halt for as long as one environment of somebody does not come up.

use contract::wire::setting;
use crds::{CollectorSecret, EnvironmentStatus, GivenSecrets, ImageSource, SecretKey};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::pods::Pods;

/// The source of the pods; each environment keeps the one that it was rolled out with.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    pub image: ImageSource,
    pub secrets: GivenSecrets,
    pub pods: Pods,
}

impl Source {
    /// What runs, as it was written down.
    pub fn of_status(status: &EnvironmentStatus) -> Option<Self> {
        Some(Self {
            image: status.image.clone()?,
            secrets: status.secrets.clone().unwrap_or_default(),
            pods: Pods::of_status(status)?,
        })
    }

    /// Secret and key of the headers that a collector wants to be shown.
    pub fn collector_headers(&self) -> Option<(&str, &str)> {
        let secret = self.secrets.collector.as_ref()?;
        Some((&secret.name, secret.headers_key.as_deref()?))
    }

    /// Secret and key of the authority that a collector's certificate is of.
    pub fn collector_ca(&self) -> Option<(&str, &str)> {
        let secret = self.secrets.collector.as_ref()?;
        Some((&secret.name, secret.ca_key.as_deref()?))
    }
}

/// The source and tag in the pod template of a Deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct DeployedSource {
    pub source: Source,
    pub tag: String,
}

impl DeployedSource {
    pub fn of(deployment: &Deployment) -> Option<Self> {
        let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
        let container = pod.containers.first()?;
        let (name, tag) = container.image.as_ref()?.rsplit_once(':')?;
        let secrets = pod.image_pull_secrets.iter().flatten().map(|secret| secret.name.clone());
        let image = ImageSource {
            name: name.to_owned(),
            pull_policy: container.image_pull_policy.clone().unwrap_or_default(),
            pull_secrets: secrets.collect(),
        };
        let source = Source { image, secrets: secrets_of(pod, container), pods: Pods::of(deployment)? };
        Some(Self { source, tag: tag.to_owned() })
    }
}

/// The volume of a collector's authority.
pub const COLLECTOR_VOLUME: &str = "collector";

fn secrets_of(pod: &PodSpec, container: &Container) -> GivenSecrets {
    let variable = |name: &str| {
        let found = container.env.iter().flatten().find(|it| it.name == name)?;
        let from = found.value_from.as_ref()?.secret_key_ref.as_ref()?;
        Some(SecretKey { name: from.name.clone(), key: from.key.clone() })
    };
    let authority = || {
        let volume = pod.volumes.iter().flatten().find(|it| it.name == COLLECTOR_VOLUME)?;
        let secret = volume.secret.as_ref()?;
        Some(SecretKey { name: secret.secret_name.clone()?, key: secret.items.as_ref()?.first()?.key.clone() })
    };
    let (headers, authority) = (variable(setting::OTLP_HEADERS), authority());
    let name = headers.as_ref().or(authority.as_ref()).map(|it| it.name.clone());
    let key = |of: Option<SecretKey>| of.map(|it| it.key);
    let collector = name.map(|name| CollectorSecret { name, headers_key: key(headers), ca_key: key(authority) });
    GivenSecrets { collector, model: variable(setting::MODEL_KEY) }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn deployed(pod: &serde_json::Value) -> DeployedSource {
        let deployment = json!({"metadata": {}, "spec": {"selector": {}, "template": {"spec": pod}}});
        DeployedSource::of(&from_value(deployment).unwrap()).unwrap()
    }

    #[test]
    fn what_pods_are_started_from_is_read_off_their_template() {
        let container = json!({"name": "dataplane", "image": "registry:5000/sluice/dataplane:0.1.0",
                               "imagePullPolicy": "Always"});
        let pod = json!({"containers": [container], "imagePullSecrets": [{"name": "a"}, {"name": "b"}]});
        let DeployedSource { source: Source { image, secrets, pods }, tag } = deployed(&pod);
        assert_eq!((&*image.name, &*tag), ("registry:5000/sluice/dataplane", "0.1.0"));
        assert_eq!((&*image.pull_policy, image.pull_secrets.len()), ("Always", 2));
        assert_eq!((secrets, pods), (GivenSecrets::default(), Pods::default()));
    }

    #[test]
    fn what_is_added_is_read_off_the_workload_and_nothing_where_it_is_damaged() {
        let deployed = |annotation: &str| {
            let deployment = json!({"metadata": {"annotations": {"sluice.dev/pods": annotation}}, "spec": {
                "selector": {}, "template": {"spec": {"containers": [{"name": "dataplane", "image": "i:1"}]}}}});
            DeployedSource::of(&from_value(deployment).unwrap())
        };
        let added = Pods::parse(r#"{"labels": {"team": "data"}}"#).unwrap();
        assert_eq!(deployed(&added.text().unwrap()).map(|deployed| deployed.source.pods), Some(added));
        assert_eq!(deployed("{\"labels\": 7}"), None);
    }

    #[test]
    fn each_secret_is_read_off_where_the_pod_names_it() {
        let variable = |name: &str, secret: &str, key: &str| json!({"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}});
        let (headers, model) = (variable(setting::OTLP_HEADERS, "c", "h"), variable(setting::MODEL_KEY, "m", "k"));
        let volume = json!({"name": "collector", "secret": {"secretName": "c", "items": [{"key": "a", "path": "x"}]}});
        let secrets = |env: &[&serde_json::Value], volumes: &[&serde_json::Value]| {
            let container = json!({"name": "dataplane", "image": "i:1", "env": env});
            deployed(&json!({"containers": [container], "volumes": volumes})).source.secrets
        };
        let collector = |headers: Option<&str>, ca: Option<&str>| {
            let key = |it: Option<&str>| it.map(str::to_owned);
            Some(CollectorSecret { name: "c".to_owned(), headers_key: key(headers), ca_key: key(ca) })
        };
        let of_models = Some(SecretKey { name: "m".to_owned(), key: "k".to_owned() });
        let all = secrets(&[&headers, &model], &[&volume]);
        assert_eq!(all, GivenSecrets { collector: collector(Some("h"), Some("a")), model: of_models.clone() });
        assert_eq!(secrets(&[&headers], &[]).collector, collector(Some("h"), None));
        assert_eq!(secrets(&[], &[&volume]).collector, collector(None, Some("a")));
        assert_eq!(secrets(&[&model], &[]), GivenSecrets { collector: None, model: of_models });
    }
}
