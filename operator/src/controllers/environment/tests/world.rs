//! A cluster in memory: what an API server, its controllers and a kubelet do with a plan.
//!
//! Objects are kept as the server would keep them: with uids, versions, generations, defaults, and
//! amounts in canonical form. Nothing here knows what the planner wants.

mod controllers;

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::annotation::FINALIZER;
use crds::{ApiKey, Environment, Organization};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::fixtures;
use crate::controllers::environment::plan::plan;
use crate::objects::agreed::Agreed;
use crate::objects::child::{Child, Key, Kind};
use crate::objects::contest::Contests;
use crate::objects::observed::{Authorities, CertificateFacts, Observed, PodFacts, SecretFacts};
use crate::objects::plan::{Authority, CertificateOrder, Delete, Finalizer, Plan, Write};

#[derive(Debug, Clone, PartialEq)]
struct Pod {
    facts: PodFacts,
    template: Arc<Value>,
}

/// As it is stored, and as a watch would hand it over.
struct Stored {
    json: Value,
    child: Child,
}

pub struct World {
    pub environment: Option<Environment>,
    pub organization: Option<Organization>,
    children: BTreeMap<Key, Stored>,
    secrets: BTreeMap<String, SecretFacts>,
    pods: Vec<Pod>,
    pub keys: BTreeMap<String, Arc<ApiKey>>,
    pub authorities: Authorities,
    pub surroundings: Observed,
    /// What a process remembers; one that dies forgets it.
    agreed: Option<Arc<Agreed>>,
    contests: Arc<Contests>,
    pub now: Timestamp,
    /// Pods of this version never become ready.
    pub broken_version: Option<String>,
    /// What the scheduler says of a pod beside another that it replaces; nothing: it has a place.
    pub no_place: Option<&'static str>,
    /// Why the API server makes no pod.
    pub no_pods: Option<&'static str>,
    counter: u64,
    versions: u64,
    moved: bool,
    /// Requests that changed something, one line each.
    pub log: Vec<String>,
}

/// One request to the cluster in memory.
type Step = Box<dyn Fn(&mut World, &Plan)>;

impl World {
    pub fn with(environment: Environment) -> Self {
        let surroundings = fixtures::observed(environment.clone());
        Self {
            environment: Some(environment),
            organization: Some(fixtures::organization()),
            children: BTreeMap::new(),
            secrets: BTreeMap::new(),
            pods: Vec::new(),
            keys: BTreeMap::new(),
            authorities: surroundings.authorities.clone(),
            surroundings,
            agreed: None,
            contests: Arc::default(),
            now: fixtures::now(),
            broken_version: None,
            no_place: None,
            no_pods: None,
            counter: 100,
            versions: 0,
            moved: false,
            log: Vec::new(),
        }
    }

    pub fn observe(&self) -> Option<Observed> {
        Some(Observed {
            environment: Arc::new(self.environment.clone()?),
            organization: self.organization.clone().map(Arc::new),
            children: self.children.values().map(|it| it.child.clone()).collect(),
            secrets: self.secrets.values().cloned().collect(),
            pods: self.pods.iter().map(|pod| pod.facts.clone()).collect(),
            keys: self.keys.values().cloned().collect(),
            authorities: self.authorities.clone(),
            now: self.now,
            agreed: self.agreed.clone(),
            contests: Arc::clone(&self.contests),
            ..self.surroundings.clone()
        })
    }

    /// One whole reconcile. Nothing to do without an environment.
    pub fn reconcile(&mut self) -> Option<Plan> {
        self.reconcile_until(usize::MAX)
    }

    /// A reconcile whose operator dies after so many requests.
    pub fn reconcile_until(&mut self, requests: usize) -> Option<Plan> {
        let plan = plan(&self.observe()?);
        let whole = requests == usize::MAX;
        self.agreed = plan.agreed.clone().filter(|_| whole);
        self.contests = Arc::new(if whole { plan.contests.clone() } else { Contests::default() });
        for step in self.requests(&plan).into_iter().take(requests) {
            step(self, &plan);
        }
        Some(plan)
    }

    /// The requests of a plan, in the order that it prescribes.
    fn requests(&self, plan: &Plan) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        if plan.finalizer == Finalizer::Add {
            steps.push(Box::new(|world, _| world.add_finalizer()));
        }
        for write in plan.writes.clone() {
            steps.push(Box::new(move |world, _| world.write(&write)));
        }
        for delete in plan.deletes.clone() {
            steps.push(Box::new(move |world, _| world.delete(&delete)));
        }
        if self.environment.as_ref().and_then(|it| it.status.as_ref()) != Some(&plan.status) {
            steps.push(Box::new(World::publish));
        }
        if plan.finalizer == Finalizer::Remove {
            steps.push(Box::new(|world, _| world.remove_finalizer()));
        }
        steps
    }

    fn add_finalizer(&mut self) {
        self.log.push("finalizer".to_owned());
        if let Some(environment) = &mut self.environment {
            environment.finalizers_mut().push(FINALIZER.to_owned());
        }
    }

    fn remove_finalizer(&mut self) {
        self.log.push("no finalizer".to_owned());
        self.environment = None;
    }

    fn publish(&mut self, plan: &Plan) {
        self.log.push("status".to_owned());
        if let Some(environment) = &mut self.environment {
            environment.status = Some(plan.status.clone());
        }
    }

    fn write(&mut self, write: &Write) {
        self.log.push(write.key().to_string());
        match write {
            Write::Apply(child) => self.apply(child),
            Write::Issue(order) => self.issue(order),
            Write::Strip { key, version, patch } => {
                let mut live = self.children[key].json.clone();
                assert_eq!(live["metadata"]["resourceVersion"], json!(version), "of what was looked at");
                strip(&mut live, patch);
                bump(&mut live, true);
                self.put(key.clone(), live);
            }
            // no watch brings it any more
            Write::Disown { key, uid } => self.secrets.retain(|name, it| (name, &it.uid) != (&key.name, uid)),
            Write::Scale { key, uid, replicas } => {
                let live = self.children.get(key).map(|it| it.json.clone());
                if let Some(mut live) = live.filter(|live| live["metadata"]["uid"] == json!(uid)) {
                    live["spec"]["replicas"] = json!(replicas);
                    bump(&mut live, true);
                    self.put(key.clone(), live);
                }
            }
        }
    }

    fn apply(&mut self, wanted: &Child) {
        let key = wanted.key();
        let mut object = wanted.json().unwrap();
        canonical(&mut object);
        let before = self.children.get(&key).map(|it| it.json.clone());
        let uid = before.as_ref().map_or_else(|| json!(self.fresh()), |it| it["metadata"]["uid"].clone());
        object["metadata"]["uid"] = uid;
        let old = before.unwrap_or_default();
        for kept in ["generation", "deletionTimestamp", "resourceVersion"] {
            if !old["metadata"][kept].is_null() {
                object["metadata"][kept] = old["metadata"][kept].clone();
            }
        }
        if !old["status"].is_null() {
            object["status"] = old["status"].clone();
        }
        defaults(key.kind, &mut object);
        let changed = old["spec"] != object["spec"];
        bump(&mut object, changed);
        self.put(key, object);
    }

    fn put(&mut self, key: Key, mut json: Value) {
        self.versions += 1;
        json["metadata"]["resourceVersion"] = json!(self.versions.to_string());
        let child = child(key.kind, &json);
        self.children.insert(key, Stored { json, child });
    }

    fn of_kind(&self, kind: Kind) -> Option<(Key, Value)> {
        let found = self.children.iter().find(|(key, _)| key.kind == kind);
        found.map(|(key, it)| (key.clone(), it.json.clone()))
    }

    fn issue(&mut self, order: &CertificateOrder) {
        let name = order.metadata.name.clone().unwrap();
        let authority = match order.authority {
            Authority::Internal => self.authorities.internal.clone(),
            Authority::Organization(_) => self.authorities.organization.clone(),
        };
        let authority = authority.unwrap();
        let kept = self.secrets.get(&name).and_then(|secret| secret.certificate.clone());
        let lifetime = SignedDuration::try_from(order.lifetime).unwrap();
        let fresh = CertificateFacts {
            not_before: self.now,
            not_after: self.now + lifetime,
            dns_names: order.dns_names.clone(),
            issuer: authority.id,
            bundle: authority.bundle.clone(),
        };
        let certificate = match kept {
            Some(kept) if order.keep_certificate => CertificateFacts { bundle: authority.bundle, ..kept },
            _ => fresh,
        };
        let uid = self.secrets.get(&name).map(|it| it.uid.clone());
        let uid = uid.unwrap_or_else(|| self.fresh());
        let owners = order.metadata.owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect();
        let labels = order.metadata.labels.clone().unwrap_or_default();
        let secret = SecretFacts {
            name: name.clone(),
            uid,
            resource_version: self.fresh(),
            labels,
            owners,
            deleting: false,
            certificate: Some(certificate),
        };
        self.secrets.insert(name, secret);
    }

    fn delete(&mut self, delete: &Delete) {
        self.log.push(format!("delete {}", delete.key));
        match delete.key.kind {
            Kind::Secret => {
                self.secrets.retain(|name, secret| *name != delete.key.name || secret.uid != delete.uid);
            }
            Kind::ApiKey => {
                self.keys.remove(&delete.key.name);
            }
            Kind::PersistentVolumeClaim if !self.pods.is_empty() => {
                let mut claim = self.children[&delete.key].json.clone();
                claim["metadata"]["deletionTimestamp"] = json!("2026-03-01T00:00:00Z");
                self.put(delete.key.clone(), claim);
            }
            _ => {
                self.children
                    .retain(|key, it| *key != delete.key || it.child.metadata().uid.as_ref() != Some(&delete.uid));
            }
        }
    }

    /// Until nothing changes any more.
    pub fn settle(&mut self) {
        for _ in 0..40 {
            let before = self.log.len();
            self.reconcile();
            let written = self.log.len() != before;
            if !self.controllers() && !written {
                return;
            }
        }
        panic!("it does not settle: {:?}", self.log.iter().rev().take(20).collect::<Vec<_>>());
    }

    pub fn environment_mut(&mut self, change: impl FnOnce(&mut Environment)) {
        if let Some(environment) = &mut self.environment {
            let before = environment.spec.clone();
            change(environment);
            if environment.spec != before {
                *environment.metadata.generation.get_or_insert(0) += 1;
            }
        }
    }

    /// `kubectl delete`, and what `kubectl apply` does afterwards: an object of the same name.
    pub fn delete_environment(&mut self) {
        let Some(environment) = &mut self.environment else { return };
        if environment.finalizers().is_empty() {
            self.environment = None;
            return;
        }
        if environment.metadata.deletion_timestamp.is_none() {
            environment.metadata.deletion_timestamp =
                Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(self.now));
            *environment.metadata.generation.get_or_insert(0) += 1;
        }
    }

    pub fn restore_environment(&mut self) {
        if self.environment.is_none() {
            let mut environment = fixtures::environment(&json!({}));
            environment.metadata.uid = Some(self.fresh());
            self.environment = Some(environment);
        }
    }

    /// Somebody deletes the child at this place.
    pub fn lose(&mut self, place: usize) {
        let losable = self.children.keys().filter(|key| key.kind != Kind::PersistentVolumeClaim);
        if let Some(key) = losable.cloned().cycle().nth(place % self.children.len().max(1)) {
            self.children.remove(&key);
        }
    }

    pub fn volume(&self) -> Option<PersistentVolumeClaim> {
        self.of_kind(Kind::PersistentVolumeClaim).map(|(_, value)| serde_json::from_value(value).unwrap())
    }

    pub fn snapshots(&self) -> usize {
        self.children.keys().filter(|key| key.kind == Kind::VolumeSnapshot).count()
    }

    pub fn deployment(&self) -> Option<Deployment> {
        self.of_kind(Kind::Deployment).map(|(_, value)| serde_json::from_value(value).unwrap())
    }

    /// The templates of the pods that answer.
    pub fn serving(&self) -> Vec<&Value> {
        self.pods.iter().filter(|pod| pod.facts.ready && !pod.facts.ending).map(|pod| pod.template.as_ref()).collect()
    }

    pub fn edit(&mut self, kind: Kind, edit: impl FnOnce(&mut Value)) {
        let (key, mut value) = self.of_kind(kind).unwrap();
        edit(&mut value);
        self.put(key, value);
    }

    /// What is left, by kind.
    pub fn remains(&self) -> Vec<Kind> {
        let secrets = self.secrets.values().map(|_| Kind::Secret);
        self.children.keys().map(|key| key.kind).chain(secrets).collect()
    }

    fn fresh(&mut self) -> String {
        self.counter += 1;
        format!("{:08x}-0000-4000-8000-000000000000", self.counter)
    }
}

fn child(kind: Kind, value: &Value) -> Child {
    Child::read(kind, value.to_string().as_bytes()).unwrap()
}

/// A strategic merge patch that removes.
fn strip(live: &mut Value, patch: &Value) {
    for (field, patch) in patch.as_object().unwrap() {
        let members = live.as_object_mut().unwrap();
        match (members.get_mut(field), patch) {
            (_, Value::Null) => drop(members.shift_remove(field)),
            (Some(Value::Array(items)), Value::Array(patches)) => {
                let patch_of = |item: &Value| patches.iter().find(|patch| patch["name"] == item["name"]);
                items.retain(|item| patch_of(item).is_none_or(|patch| patch["$patch"] != json!("delete")));
                for item in items.iter_mut() {
                    if let Some(patch) = patch_of(item).cloned() {
                        strip(item, &patch);
                    }
                }
            }
            (Some(inner @ Value::Object(_)), Value::Object(_)) => strip(inner, patch),
            (_, _) => assert_eq!(field, "name", "it sets nothing"),
        }
    }
}

fn bump(object: &mut Value, changed: bool) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
    object["metadata"]["generation"] = json!(generation + i64::from(changed));
}

/// What the server would fill in.
fn defaults(kind: Kind, object: &mut Value) {
    match kind {
        Kind::Service => {
            object["spec"]["clusterIP"] = json!("10.96.0.7");
            object["spec"]["sessionAffinity"] = json!("None");
        }
        Kind::Deployment => {
            object["spec"]["template"]["spec"]["dnsPolicy"] = json!("ClusterFirst");
            object["spec"]["template"]["spec"]["containers"][0]["terminationMessagePath"] = json!("/dev/log");
        }
        Kind::PersistentVolumeClaim => object["spec"]["volumeMode"] = json!("Filesystem"),
        _ => {}
    }
}

/// Amounts in the words that the server would use.
fn canonical(value: &mut Value) {
    match value {
        Value::Object(map) => map.values_mut().for_each(canonical),
        Value::Array(items) => items.iter_mut().for_each(canonical),
        Value::String(text) if text == "1024Mi" => "1Gi".clone_into(text),
        _ => {}
    }
}
