//! Controllers of Kubernetes: garbage collection, volumes, Deployments; and those of
//! cert-manager and of snapshots.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Pod, World};
use crate::objects::child::{Key, Kind};
use crate::objects::names::label;
use crate::objects::observed::{CertificateFacts, PodFacts, SecretFacts};

impl World {
    /// Writes a status, if it is another one.
    fn report(&mut self, key: &Key, status: Value) {
        let mut json = self.children[key].json.clone();
        if json["status"] != status {
            json["status"] = status;
            self.put(key.clone(), json);
            self.moved = true;
        }
    }

    /// Everything that Kubernetes does by itself, one step of it. Whether that changed anything.
    pub fn controllers(&mut self) -> bool {
        self.moved = false;
        let (objects, pods) = (self.children.len() + self.secrets.len(), self.pods.clone());
        self.collect_garbage();
        self.bind_volumes();
        self.sign_for_cert_manager();
        self.run_deployment();
        if let Some((snapshot, _)) = self.of_kind(Kind::VolumeSnapshot) {
            self.report(&snapshot, json!({"readyToUse": true}));
        }
        self.moved || objects != self.children.len() + self.secrets.len() || pods != self.pods
    }

    fn collect_garbage(&mut self) {
        let alive = self.environment.as_ref().and_then(|it| it.metadata.uid.clone());
        let gone = |uid: &String| Some(uid) != alive.as_ref();
        self.children.retain(|_, object| {
            let owners = object.child.metadata().owner_references.as_deref().unwrap_or_default();
            owners.is_empty() || !owners.iter().all(|owner| gone(&owner.uid))
        });
        self.secrets.retain(|_, it| it.owners.is_empty() || !it.owners.iter().all(gone));
        let unused = self.pods.is_empty();
        self.children.retain(|_, it| !(unused && it.child.metadata().deletion_timestamp.is_some()));
    }

    fn bind_volumes(&mut self) {
        if let Some((key, claim)) = self.of_kind(Kind::PersistentVolumeClaim) {
            let size = &claim["spec"]["resources"]["requests"]["storage"];
            self.report(&key, json!({"phase": "Bound", "capacity": {"storage": size}}));
        }
    }

    fn sign_for_cert_manager(&mut self) {
        let Some((key, certificate)) = self.of_kind(Kind::Certificate) else { return };
        if self.secrets.contains_key(&key.name) {
            return;
        }
        let labels = serde_json::from_value(certificate["spec"]["secretTemplate"]["labels"].clone()).unwrap();
        let facts = CertificateFacts {
            not_before: self.now,
            not_after: self.now + SignedDuration::from_hours(24 * 90),
            dns_names: serde_json::from_value(certificate["spec"]["dnsNames"].clone()).unwrap(),
            issuer: "cert-manager".to_owned(),
            bundle: String::new(),
        };
        let secret = SecretFacts {
            name: key.name.clone(),
            uid: self.fresh(),
            resource_version: self.fresh(),
            labels,
            owners: Vec::new(),
            deleting: false,
            certificate: Some(facts),
        };
        self.secrets.insert(key.name, secret);
    }

    /// Surge one, never one too few, or the other way round: as the Deployment controller does.
    fn run_deployment(&mut self) {
        self.pods.retain(|pod| !pod.facts.ending);
        let Some((key, deployment)) = self.of_kind(Kind::Deployment) else {
            self.pods.iter_mut().for_each(|pod| pod.facts.ending = true);
            return;
        };
        let wanted = usize::try_from(deployment["spec"]["replicas"].as_i64().unwrap()).unwrap();
        let template = Arc::new(deployment["spec"]["template"].clone());
        let current = |pod: &Pod| pod.template == template;
        let crowded = self.pods.iter().any(|pod| !current(pod));
        for pod in &mut self.pods {
            let version = pod.template["metadata"]["labels"][label::VERSION].as_str();
            let no_place = self.no_place.filter(|_| crowded && current(&*pod));
            pod.facts.unschedulable = no_place.map(str::to_owned);
            pod.facts.ready = no_place.is_none() && version != self.broken_version.as_deref();
        }
        let surge = deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"].as_i64();
        let fresh_ready = self.pods.iter().filter(|pod| current(pod) && pod.facts.ready).count();
        let old = self.pods.iter().filter(|pod| !current(pod)).count();
        if wanted == 0 {
            self.pods.iter_mut().for_each(|pod| pod.facts.ending = true);
        } else if surge == Some(0) && crowded {
            self.pods.iter_mut().filter(|pod| !current(pod)).for_each(|pod| pod.facts.ending = true);
        } else if self.pods.len() > wanted && (fresh_ready + old > wanted || fresh_ready > wanted) {
            let victim = self.pods.iter_mut().find(|pod| pod.template != template || fresh_ready > wanted);
            if let Some(pod) = victim {
                pod.facts.ending = true;
            }
        } else if self.pods.iter().filter(|pod| current(pod)).count() < wanted
            && self.pods.len() <= wanted
            && self.no_pods.is_none()
        {
            let facts =
                PodFacts { name: self.fresh(), ready: false, ending: false, waiting: None, unschedulable: None };
            self.pods.push(Pod { facts, template: Arc::clone(&template) });
        }
        let stuck = self.pods.iter().any(|pod| !pod.facts.ready && current(pod) && self.broken_version.is_some());
        let refused = self.no_pods.map(
            |message| json!({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}),
        );
        let progress = json!({"type": "Progressing", "status": if stuck { "False" } else { "True" },
                              "reason": if stuck { "ProgressDeadlineExceeded" } else { "NewReplicaSetAvailable" }});
        let conditions: Vec<Value> = [progress].into_iter().chain(refused).collect();
        let staying = || self.pods.iter().filter(|pod| !pod.facts.ending);
        let status = json!({
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": staying().count(),
            "updatedReplicas": staying().filter(|pod| current(pod)).count(),
            "availableReplicas": staying().filter(|pod| pod.facts.ready).count(),
            "conditions": conditions,
        });
        self.report(&key, status);
    }
}
