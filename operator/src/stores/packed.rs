//! A child as a store keeps it: as JSON, which is a small part of what the typed object takes.
//!
//! "≤ 30 MiB with 1,000 environments": their children are nearly all that an operator holds, and all
//! but the few that a reconcile looks at just lie there.

use std::sync::Arc;

use crate::environment::child::{Child, Kind};

#[derive(Debug, Clone)]
pub struct Packed {
    kind: Kind,
    json: Arc<[u8]>,
    /// Of a Deployment: the tag of the image that its pods run. The whole fleet is asked for it.
    pub image_tag: Option<Arc<str>>,
}

impl Packed {
    pub fn new(child: &Child) -> Result<Self, serde_json::Error> {
        let image_tag = match child {
            Child::Deployment(deployment) => image_tag(deployment).map(Arc::from),
            _ => None,
        };
        Ok(Self { kind: child.kind(), json: serde_json::to_vec(&child.json()?)?.into(), image_tag })
    }

    pub fn child(&self) -> Result<Child, serde_json::Error> {
        Child::read(self.kind, &self.json)
    }
}

fn image_tag(deployment: &k8s_openapi::api::apps::v1::Deployment) -> Option<&str> {
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    let image = pod.containers.first()?.image.as_ref()?;
    image.rsplit_once(':').map(|(_, tag)| tag)
}
