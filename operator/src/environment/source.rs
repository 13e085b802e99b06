//! Where nodes get the image of a data plane from, and how.
//!
//! A change of any of it restarts a data plane as another version does, so it moves with the fleet's
//! rollout: until its turn has come, an environment keeps what its pods are started from.

use crds::ImageSource;
use k8s_openapi::api::apps::v1::Deployment;

use super::observed::Release;

/// What the pods of a Deployment are to be started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub source: ImageSource,
    pub tag: String,
}

impl Told {
    pub fn of(deployment: &Deployment) -> Option<Self> {
        let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
        let container = pod.containers.first()?;
        let (name, tag) = container.image.as_ref()?.rsplit_once(':')?;
        let secrets = pod.image_pull_secrets.iter().flatten().map(|secret| secret.name.clone());
        let source = ImageSource {
            name: name.to_owned(),
            pull_policy: container.image_pull_policy.clone().unwrap_or_default(),
            pull_secrets: secrets.collect(),
        };
        Some(Self { source, tag: tag.to_owned() })
    }
}

impl Release {
    pub fn source(&self) -> ImageSource {
        let Self { image, pull_policy, pull_secrets, .. } = self;
        ImageSource { name: image.clone(), pull_policy: pull_policy.clone(), pull_secrets: pull_secrets.clone() }
    }

    pub fn is_source(&self, source: &ImageSource) -> bool {
        let ImageSource { name, pull_policy, pull_secrets } = source;
        (name, pull_policy, pull_secrets) == (&self.image, &self.pull_policy, &self.pull_secrets)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn what_pods_are_started_from_is_read_off_their_template() {
        let container = json!({"name": "dataplane", "image": "registry:5000/sluice/dataplane:0.1.0",
                               "imagePullPolicy": "Always"});
        let pod = json!({"containers": [container], "imagePullSecrets": [{"name": "a"}, {"name": "b"}]});
        let deployment = json!({"metadata": {}, "spec": {"selector": {}, "template": {"spec": pod}}});
        let told = Told::of(&from_value(deployment).unwrap()).unwrap();
        assert_eq!((&*told.source.name, &*told.tag), ("registry:5000/sluice/dataplane", "0.1.0"));
        assert_eq!((&*told.source.pull_policy, told.source.pull_secrets.len()), ("Always", 2));
    }
}
