//! The size of the stores for settled environments: bytes for each, as the process grows, and how long
//! it takes to read them again. `--environments 1000`.
//!
//! Objects come in as a watch brings them, as text; what a live server adds to them is added here.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench fails loudly, prints, and counts thousands"
)]

mod settled;

use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use operator::cluster::queue::{Priority, Queue};
use operator::objects::child::{Child, Kind};
use operator::objects::namespaced_name::NamespacedName;
use operator::objects::observed::{Observed, SecretFacts};
use operator::stores::read::SeenChild;
use operator::stores::secret::SecretOf;
use operator::stores::{Entry, Item, KnownEnvironment, Stores, Trimmed, organization_of};
use serde_json::{Value, json};
use settled::{settled, uid};

const ORGANIZATIONS: usize = 20;

/// Bytes that this process has in memory.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

/// `--environments 100`; what is cargo's own is not for us.
fn environments() -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--environments").skip(1);
    arguments.next().map_or(1_000, |count| count.parse().unwrap())
}

fn main() {
    let count = environments();
    let observed = |index: usize| settled(&format!("o{}", index % ORGANIZATIONS), &format!("e{index}"));
    let (stores, queue) = (Stores::default(), Queue::new());
    // what is needed once is there before anything is counted
    put(&stores, &queue, &settled("warm", "up"));
    let before = resident();
    for index in 0..count {
        put(&stores, &queue, &observed(index));
    }
    let grown = resident().saturating_sub(before);
    let children = stores.children.values();
    let packed: usize = children.iter().map(operator::stores::PackedChild::size).sum();
    let start = Instant::now();
    for known in stores.environments.values() {
        known.whole().unwrap();
    }
    for child in &children {
        child.child().unwrap();
    }
    let took = start.elapsed().as_secs_f64() * 1e6;
    let each = |all: f64| all / (count + 1) as f64;
    println!("| What | For each of {count} environments |\n|---|---|");
    println!("| memory that the process grew by | {:.0} bytes |", each(grown as f64));
    println!("| its children, packed | {:.0} bytes |", each(packed as f64));
    println!("| children | {:.1} |", each(children.len() as f64));
    println!("| it and its children read again | {:.0} µs |", each(took));
}

fn put(stores: &Stores, queue: &Queue<Item>, observed: &Observed) {
    let environment = observed.environment.as_ref();
    let place = NamespacedName::of(environment);
    let known = KnownEnvironment::new(environment, &stores.dictionaries).unwrap();
    let resource_version = "1000007".to_owned();
    let group = Some(organization_of(environment));
    stores.environments.put(Entry { key: place.clone(), group, resource_version, value: Arc::new(known) });
    for child in &observed.children {
        let entry = seen(child.kind(), &live(child)).unwrap();
        stores.children.put(entry.and_then(|text| Some(text.packed(&stores.dictionaries))).unwrap());
    }
    for facts in &observed.secrets {
        let entry = operator::stores::secret::secret(secret(facts, &place));
        let entry = entry.and_then(|seen| seen.known(&stores.dictionaries).ok()).unwrap();
        assert_eq!(entry.value.of, SecretOf::Environment(place.clone()));
        stores.secrets.put(entry);
    }
    queue.wake(Item::Environment(place), Priority::Background);
}

fn seen(kind: Kind, text: &str) -> SeenChild {
    macro_rules! seen {
        ($($kind:ident),+) => {
            match kind {
                $(Kind::$kind => serde_json::from_str::<Trimmed<$kind>>(text).unwrap().kept,)+
                _ => None,
            }
        };
    }
    seen!(ServiceAccount, PersistentVolumeClaim, ConfigMap, Service, NetworkPolicy, PodDisruptionBudget, Deployment)
}

/// As an API server shows it.
fn live(child: &Child) -> String {
    let mut object = child.json().unwrap();
    let name = child.metadata().name.clone().unwrap();
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.insert("creationTimestamp".to_owned(), json!("2026-02-01T00:00:00Z"));
    metadata.insert("resourceVersion".to_owned(), json!("1000007"));
    metadata
        .insert("managedFields".to_owned(), json!([{"manager": "m", "fieldsV1": {"f:metadata": {"f:labels": {}}}}]));
    match child {
        Child::Service(_) => {
            let host = u32::from_str_radix(&uid(&name)[..4], 16).unwrap();
            let address = format!("10.96.{}.{}", host >> 8, host & 255);
            merge(
                &mut object["spec"],
                &json!({"clusterIP": address, "clusterIPs": [address], "internalTrafficPolicy": "Cluster",
                        "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "sessionAffinity": "None", "type": "ClusterIP"}),
            );
            object["status"] = json!({"loadBalancer": {}});
        }
        Child::PersistentVolumeClaim(_) => {
            merge(&mut object["spec"], &json!({"storageClassName": "standard", "volumeMode": "Filesystem"}));
            object["spec"]["volumeName"] = json!(format!("pvc-{}", uid(&format!("volume of {name}"))));
            object["status"] =
                json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}});
        }
        Child::Deployment(_) => {
            let said = |type_: &str, reason: &str, message: String| {
                json!({"type": type_, "status": "True", "reason": reason, "message": message,
                       "lastTransitionTime": "2026-02-01T00:00:07Z", "lastUpdateTime": "2026-02-01T00:00:09Z"})
            };
            let set = format!("ReplicaSet \"{name}-{}\" has successfully progressed.", &uid(&name)[..8]);
            merge(
                &mut object["spec"]["template"]["spec"],
                &json!({"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"}),
            );
            object["status"] = json!({
                "availableReplicas": 1, "observedGeneration": 1, "readyReplicas": 1, "replicas": 1, "updatedReplicas": 1,
                "conditions": [
                    said("Available", "MinimumReplicasAvailable", "Deployment has minimum availability.".to_owned()),
                    said("Progressing", "NewReplicaSetAvailable", set),
                ],
            });
        }
        _ => {}
    }
    object.to_string()
}

fn merge(into: &mut Value, more: &Value) {
    into.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
}

/// With a certificate in it: what is known of a Secret is read from there.
fn secret(facts: &SecretFacts, environment: &NamespacedName) -> Secret {
    let names = facts.certificate.as_ref().unwrap().dns_names.clone();
    let signed = rcgen::generate_simple_self_signed(names).unwrap();
    let data = [
        ("tls.crt", signed.cert.pem()),
        ("tls.key", signed.signing_key.serialize_pem()),
        ("ca.crt", signed.cert.pem()),
    ];
    let data: serde_json::Map<String, Value> = data
        .into_iter()
        .map(|(name, text)| (name.to_owned(), json!(k8s_openapi::ByteString(text.into_bytes()))))
        .collect();
    let owner = json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "Environment", "name": environment.name(),
                       "uid": facts.owners.first(), "controller": true});
    serde_json::from_value(json!({
        "metadata": {"name": facts.name, "namespace": environment.namespace(), "uid": uid(&facts.name),
                     "resourceVersion": "1000007", "labels": facts.labels, "ownerReferences": [owner]},
        "data": data,
    }))
    .unwrap()
}
