//! The `ConfigMap` with the environment variables of a data plane.
//!
//! Keys, policies, limits and certificates are not here: they reach a running data plane by the
//! governance stream and by mounted files. Of what is here, only some values are worth a restart.

use std::collections::BTreeMap;

use contract::wire::{TIMEOUT_MS_MAX, setting};
use k8s_openapi::api::core::v1::ConfigMap;
use sha2::{Digest, Sha256};

use super::owned;
use crate::controllers::environment::validate::{Desired, Storage};
use crate::objects::quantity::Quantity;

/// Where the volume, or a lake's scratch space, is mounted.
pub const STATE: &str = "/var/lib/sluice";
/// Where the identity among planes is mounted.
pub const IDENTITY: &str = "/etc/sluice/identity";
/// Where the certificate that clients see is mounted.
pub const TLS: &str = "/etc/sluice/tls";
/// Where the authority of a collector is mounted.
pub const COLLECTOR: &str = "/etc/sluice/collector";

/// How long a stop waits for statements: as long as the longest legal one.
pub const DRAIN_SECS: u64 = TIMEOUT_MS_MAX / 1_000;
/// How long a stop keeps serving while load balancers learn of it.
pub const ENDPOINT_GRACE_SECS: u64 = 10;

/// The least number of slots a data plane is started with; how many are in use is a matter of the
/// snapshot, so that most changes of the setting need no restart.
const SLOTS_MIN: u32 = 256;

/// An environment variable, and whether a change of it restarts the pods.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub name: &'static str,
    pub takes_effect: TakesEffect,
    value: fn(&Desired) -> Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakesEffect {
    /// A change is rolled out.
    Restart,
    /// Good enough when the pod starts for another reason.
    NextStart,
}

const fn restart(name: &'static str, value: fn(&Desired) -> Option<String>) -> Setting {
    Setting { name, takes_effect: TakesEffect::Restart, value }
}

const fn next_start(name: &'static str, value: fn(&Desired) -> Option<String>) -> Setting {
    Setting { name, takes_effect: TakesEffect::NextStart, value }
}

/// Every variable there is.
pub const SETTINGS: [Setting; 30] = [
    restart(setting::ENV_ID, |it| Some(it.env_id.to_string())),
    restart(setting::CONTROL_PLANE, |it| Some(it.release.control_plane.clone())),
    restart(setting::TLS_CA, |_| Some(format!("{IDENTITY}/ca.crt"))),
    restart(setting::TLS_CERT, |_| Some(format!("{IDENTITY}/tls.crt"))),
    restart(setting::TLS_KEY, |_| Some(format!("{IDENTITY}/tls.key"))),
    restart(setting::PG_TLS_CERT, |_| Some(format!("{TLS}/tls.crt"))),
    restart(setting::PG_TLS_KEY, |_| Some(format!("{TLS}/tls.key"))),
    restart(setting::STATE, |_| Some(STATE.to_owned())),
    restart(setting::MAX_CONCURRENT_QUERIES, |it| Some(slots(it.max_concurrent_queries).to_string())),
    restart(setting::ENGINE_MEMORY_BYTES, |it| Some(it.resources.engine_memory_bytes.to_string())),
    restart(setting::ENGINE_THREADS, |it| Some(it.resources.engine_threads.to_string())),
    restart(setting::OBJECT_STORE, |it| match &it.storage {
        Storage::Lake { url, .. } => Some(url.clone()),
        Storage::Native { .. } => None,
    }),
    // a volume that has grown must not restart what runs on it
    next_start(setting::ENGINE_TEMP_BYTES, |it| Some(spill(&it.storage).to_string())),
    next_start(setting::LISTEN, |it| Some(it.release.listen.to_string())),
    next_start(setting::HTTP_IDLE_SECS, |it| Some(it.release.http_idle_secs.to_string())),
    next_start(setting::TOOL_RESULT_BYTES, |it| Some(it.release.tool_result_bytes.to_string())),
    next_start(setting::PLAN_BYTES, |it| Some(it.plans.bytes.to_string())),
    next_start(setting::PLAN_IDLE_SECS, |it| Some(it.plans.idle_secs.to_string())),
    next_start(setting::ENGINE_PLANS, |it| Some(it.plans.in_engine.to_string())),
    next_start(setting::DRAIN_SECS, |_| Some(DRAIN_SECS.to_string())),
    next_start(setting::ENDPOINT_GRACE_SECS, |_| Some(ENDPOINT_GRACE_SECS.to_string())),
    // nobody's sessions end because somebody has another model; the way to the one before is closed at once
    next_start(setting::MODEL_URL, |it| it.model()?.url.as_ref().map(ToString::to_string)),
    next_start(setting::MODEL_PLAIN, |it| it.model()?.plain.then(|| "true".to_owned())),
    next_start(setting::EMBEDDING_MODEL, |it| it.model()?.embedding.clone()),
    next_start(setting::HEALING_MODEL, |it| it.model()?.healing.clone()),
    // the control plane disables what is taken back before, at its own start
    next_start(setting::STORAGE_HOSTS, |it| it.release.storage.told_hosts()),
    next_start(setting::STORAGE_AMBIENT, |it| may_be_ambient(it).then(|| "true".to_owned())),
    // nobody's sessions end because somebody wants to watch
    next_start(setting::OTLP_ENDPOINT, |it| it.collector()?.endpoint.clone()),
    next_start(setting::OTLP_CA, |it| it.source.collector_ca().map(|_| format!("{COLLECTOR}/ca.crt"))),
    next_start(setting::TRACE_RATIO, |it| it.collector()?.ratio.map(|part| part.to_string())),
];

pub fn config_map(desired: &Desired) -> ConfigMap {
    let set = |setting: &Setting| Some((setting.name.to_owned(), (setting.value)(desired)?));
    let data: BTreeMap<_, _> = SETTINGS.iter().filter_map(set).collect();
    ConfigMap { metadata: owned(desired, desired.name.config()), data: Some(data), ..ConfigMap::default() }
}

/// Of the values that need a restart; pods carry it, so that a change of it replaces them.
pub fn restart_hash(desired: &Desired) -> String {
    let mut hash = Sha256::new();
    for setting in SETTINGS.iter().filter(|setting| setting.takes_effect == TakesEffect::Restart) {
        for text in [Some(setting.name.to_owned()), (setting.value)(desired)].into_iter().flatten() {
            hash.update(text.len().to_be_bytes());
            hash.update(text);
        }
    }
    hex::encode(hash.finalize())
}

/// Whether integrations may use the data plane's own credentials. Those of a lake open all of its tables, past every rule.
fn may_be_ambient(desired: &Desired) -> bool {
    desired.release.storage.storage_ambient && matches!(desired.storage, Storage::Native { .. })
}

fn slots(setting: u32) -> u32 {
    setting.checked_next_power_of_two().unwrap_or(u32::MAX).max(SLOTS_MIN)
}

/// What the engine may spill: a quarter of a volume that data needs too, half of scratch space.
fn spill(storage: &Storage) -> u64 {
    let size = Quantity::parse(storage.size()).map_or(0, Quantity::ceil);
    match storage {
        Storage::Native { .. } => size / 4,
        Storage::Lake { .. } => size / 2,
    }
}
