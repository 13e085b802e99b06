//! The validation of a specification: the desired environment, or the reason of its refusal.
//!
//! The schema has refused most of what is wrong. Here is what needs more than one object (the
//! organization, its quota, what the cluster offers), and once more whatever would do harm if the
//! schema were not installed: what cannot be decided is refused.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use contract::EnvId;
use contract::network::range;
use contract::plan_bounds::{BYTES_RANGE, IDLE_SECS_RANGE, IN_ENGINE_RANGE, PlanBounds};
use crds::{Environment, OrganizationPhase, Reason, Scheduling, StorageFormat, Tier, TlsMode};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource as _;
use telemetry::Destination;

use super::{volume, workload};
use crate::model::Model;
use crate::objects::names::{Name, label};
use crate::objects::observed::{Observed, Release, Sibling};
use crate::objects::quantity::Quantity;
use crate::objects::source::{DeployedSource, Source};

/// A valid environment: every field of it has been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    pub name: Name,
    pub namespace: String,
    pub env_id: EnvId,
    /// Name of the organization.
    pub organization: String,
    pub organization_uid: String,
    pub owner: OwnerReference,
    /// As specified; what runs is none while `off`.
    pub replicas: i32,
    pub off: Option<Off>,
    /// Tag of the image.
    pub version: String,
    pub source: Source,
    pub storage: Storage,
    pub resources: Resources,
    pub max_concurrent_queries: u32,
    pub scheduling: Scheduling,
    pub plans: PlanBounds,
    /// The replica that is replaced ends before its successor has a place.
    pub old_goes_first: bool,
    pub allowed_cidrs: Vec<String>,
    pub tls: Tls,
    pub release: Arc<Release>,
}

impl Desired {
    pub fn replicas_now(&self) -> i32 {
        if self.off.is_some() { 0 } else { self.replicas }
    }

    /// What is asked a model. Nothing while the pods still have another Secret than the one that belongs to it: what
    /// opens one endpoint is not shown to another.
    pub fn model(&self) -> Option<&Model> {
        Some(&self.release.model).filter(|_| self.source.secrets.model == self.release.source.secrets.model)
    }

    /// Where spans go; the same holds.
    pub fn collector(&self) -> Option<&Destination> {
        let secret = &self.release.source.secrets.collector;
        Some(&self.release.collector).filter(|_| self.source.secrets.collector == *secret)
    }
}

/// The reason for which no replica should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    Spec,
    Organization,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// A file on a volume.
    Native { size: String, class: Option<String>, from_snapshot: Option<String> },
    /// Parquet in an object store; the disk is scratch space.
    Lake { scratch: String, url: String, secret: Option<String> },
}

impl Storage {
    pub fn size(&self) -> &str {
        match self {
            Self::Native { size, .. } => size,
            Self::Lake { scratch, .. } => scratch,
        }
    }
}

/// The resources of the container, and the part of them that the engine's process may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resources {
    pub requests: BTreeMap<String, String>,
    pub limits: BTreeMap<String, String>,
    pub engine_memory_bytes: u64,
    pub engine_threads: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    SelfSigned,
    CertManager { issuer: String },
    Given { secret: String },
}

/// The reason for which a specification is refused. Whoever wrote it must act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    pub reason: Reason,
    pub message: String,
}

impl Invalid {
    fn new(message: impl Into<String>) -> Self {
        Self { reason: Reason::Invalid, message: message.into() }
    }
}

const MIB: u64 = 1 << 20;
/// A quarter of the memory, and never less than this, is for the parent process.
const PARENT_MEMORY_MIN: u64 = 256 * MIB;
const MEMORY_MIN: u64 = 384 * MIB;
const MEMORY_DEFAULT: &str = "2Gi";
const CPU_DEFAULT: &str = "500m";
const THREADS_MAX: u64 = 256;

/// Everything at once; the first thing that is wrong is the one that is said.
pub fn validate(observed: &Observed) -> Result<Desired, Invalid> {
    let environment = observed.environment.as_ref();
    let spec = &environment.spec;
    let name = Name::of(environment).map_err(Invalid::new)?;
    let missing = |what: &str| Invalid::new(format!("the object has no {what}"));
    let organization = observed.organization.as_ref().ok_or_else(|| Invalid {
        reason: Reason::ReferenceNotFound,
        message: format!("there is no Organization {} in this namespace", spec.organization_ref.name),
    })?;
    let organization_uid = organization.metadata.uid.clone().ok_or_else(|| missing("uid of its organization"))?;
    let off = off(observed);
    begin(observed)?;
    quota(observed)?;
    volume_is_ours(observed, &name, &organization_uid)?;
    let storage = storage(observed)?;
    if spec.data_plane.replicas > 1 && matches!(storage, Storage::Native { .. }) {
        return Err(Invalid::new("more than one replica needs storage.format lake: a native file has one writer"));
    }
    Ok(Desired {
        namespace: environment.metadata.namespace.clone().ok_or_else(|| missing("namespace"))?,
        env_id: EnvId::from(environment.metadata.uid.clone().ok_or_else(|| missing("uid"))?),
        owner: environment.controller_owner_ref(&()).ok_or_else(|| missing("uid"))?,
        organization: spec.organization_ref.name.clone(),
        organization_uid,
        replicas: spec.data_plane.replicas,
        off,
        version: version(observed)?,
        source: source(observed),
        old_goes_first: matches!(storage, Storage::Native { .. }) && workload::makes_place_by_ending(&observed.pods),
        storage,
        resources: resources(environment)?,
        max_concurrent_queries: u32::try_from(spec.settings.max_concurrent_queries)
            .map_err(|_| Invalid::new("spec.settings.maxConcurrentQueries must be above zero"))?,
        scheduling: spec.data_plane.scheduling.clone(),
        plans: plans(spec.data_plane.plans.as_ref(), observed.release.plans)?,
        allowed_cidrs: cidrs(&spec.network.allowed_cidrs)?,
        tls: tls(observed)?,
        release: Arc::clone(&observed.release),
        name,
    })
}

/// Whether the environment should be switched off, which must be known of an invalid one too.
pub fn off(observed: &Observed) -> Option<Off> {
    let spec = &observed.environment.spec;
    let organization = observed.organization.as_ref();
    let inactive = organization.is_some_and(|organization| {
        let phase = organization.status.as_ref().and_then(|status| status.phase);
        organization.spec.suspended
            || organization.metadata.deletion_timestamp.is_some()
            || matches!(
                phase,
                Some(OrganizationPhase::Suspended | OrganizationPhase::Cancelled | OrganizationPhase::PendingPayment)
            )
    });
    if inactive {
        Some(Off::Organization)
    } else {
        (spec.suspended || spec.data_plane.replicas == 0).then_some(Off::Spec)
    }
}

/// A new environment waits until its organization has been looked at; one that runs goes on.
fn begin(observed: &Observed) -> Result<(), Invalid> {
    let phase = observed.organization.as_ref().and_then(|it| it.status.as_ref()).and_then(|status| status.phase);
    let known = !matches!(phase, None | Some(OrganizationPhase::Provisioning));
    if known || workload::deployment(observed).is_some() {
        return Ok(());
    }
    let message = format!("Organization {} is not active yet", observed.environment.spec.organization_ref.name);
    Err(Invalid { reason: Reason::OrganizationNotActive, message })
}

/// The oldest environments have the places. One that already runs keeps its own, so that nobody
/// loses an environment to a change of tier.
fn quota(observed: &Observed) -> Result<(), Invalid> {
    let Some(organization) = observed.organization.as_ref().filter(|_| workload::deployment(observed).is_none()) else {
        return Ok(());
    };
    let spec = &organization.spec;
    let granted = contract_tier(spec.tier).limits().max_environments;
    let limit = spec.quotas.max_environments.and_then(|limit| u32::try_from(limit).ok()).or(granted);
    let Some(limit) = limit else { return Ok(()) };
    let this = place(&observed.environment);
    let older = observed.siblings.iter().filter(|other| **other < this).count();
    if older < usize::try_from(limit).unwrap_or(usize::MAX) {
        return Ok(());
    }
    let name = &observed.environment.spec.organization_ref.name;
    let message = format!("Organization {name} may have {limit} environments, and {older} are older than this one");
    Err(Invalid { reason: Reason::QuotaExceeded, message })
}

/// Where an environment stands among its organization's.
pub fn place(environment: &Environment) -> Sibling {
    Sibling {
        created: environment.metadata.creation_timestamp.as_ref().map(|time| time.0),
        uid: environment.metadata.uid.clone().unwrap_or_default(),
    }
}

fn contract_tier(tier: Tier) -> contract::Tier {
    match tier {
        Tier::Free => contract::Tier::Free,
        Tier::Cloud => contract::Tier::Cloud,
        Tier::Growth => contract::Tier::Growth,
        Tier::Enterprise => contract::Tier::Enterprise,
    }
}

/// A volume that was retained is taken up again by an environment of the same name, but never by
/// one of another organization that has come to have the same name.
fn volume_is_ours(observed: &Observed, name: &Name, organization_uid: &str) -> Result<(), Invalid> {
    let claim = name.volume();
    let found = volume::claim(observed, &claim);
    let Some(owner) = found.and_then(|it| it.metadata.labels.as_ref()?.get(label::ORGANIZATION_ID)) else {
        return Ok(());
    };
    if owner == organization_uid {
        return Ok(());
    }
    Err(Invalid::new(format!(
        "PersistentVolumeClaim {claim} holds data of another organization ({owner}); delete it, or remove its label {} to hand the data over",
        label::ORGANIZATION_ID
    )))
}

fn storage(observed: &Observed) -> Result<Storage, Invalid> {
    let spec = &observed.environment.spec;
    let size = spec.storage.size.0.clone();
    if Quantity::parse(&size).is_none_or(|size| size.ceil() == 0) {
        return Err(Invalid::new("spec.storage.size must be a quantity above zero, such as 10Gi"));
    }
    match (spec.storage.format, &spec.storage.object_store) {
        (StorageFormat::Native, None) => Ok(Storage::Native {
            size,
            class: spec.storage.storage_class_name.clone(),
            from_snapshot: spec.bootstrap.as_ref().map(|bootstrap| bootstrap.from_snapshot.clone()),
        }),
        (StorageFormat::Lake, Some(_)) if !observed.release.serves_lake => {
            Err(Invalid::new("this release's data plane does not serve storage.format lake; use native"))
        }
        (StorageFormat::Lake, Some(store)) => {
            Ok(Storage::Lake { scratch: size, url: store.url.clone(), secret: store.secret_name.clone() })
        }
        _ => Err(Invalid::new("spec.storage.objectStore is required by format lake, and used by no other")),
    }
}

/// What the environment does not say is as the installation has it.
fn plans(given: Option<&crds::Plans>, installed: PlanBounds) -> Result<PlanBounds, Invalid> {
    let Some(given) = given else { return Ok(installed) };
    let number = |field: &str, range: RangeInclusive<u64>, given: Option<i32>, installed: u64| {
        let Some(count) = given else { return Ok(installed) };
        let fits = u64::try_from(count).ok().filter(|count| range.contains(count));
        fits.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            Invalid::new(format!("spec.dataPlane.plans.{field} must be {least} to {most}"))
        })
    };
    let in_engine = number("inEngine", IN_ENGINE_RANGE, given.in_engine, installed.in_engine.into())?;
    Ok(PlanBounds {
        bytes: number("bytes", BYTES_RANGE, given.bytes, installed.bytes)?,
        idle_secs: number("idleSecs", IDLE_SECS_RANGE, given.idle_secs, installed.idle_secs)?,
        in_engine: u16::try_from(in_engine).unwrap_or(u16::MAX),
    })
}

fn resources(environment: &Environment) -> Result<Resources, Invalid> {
    let given = &environment.spec.data_plane.resources;
    let texts = |map: &BTreeMap<String, crds::Quantity>| -> BTreeMap<String, String> {
        map.iter().map(|(name, amount)| (name.clone(), amount.0.clone())).collect()
    };
    let (mut requests, mut limits) = (texts(&given.requests), texts(&given.limits));
    if !requests.contains_key("memory") && !limits.contains_key("memory") {
        requests.insert("memory".to_owned(), MEMORY_DEFAULT.to_owned());
        limits.insert("memory".to_owned(), MEMORY_DEFAULT.to_owned());
    }
    if !requests.contains_key("cpu") && !limits.contains_key("cpu") {
        requests.insert("cpu".to_owned(), CPU_DEFAULT.to_owned());
    }
    let bound = |name: &str| -> Result<u64, Invalid> {
        let text = limits.get(name).or_else(|| requests.get(name)).map_or("0", String::as_str);
        let amount = Quantity::parse(text).map(Quantity::ceil);
        amount.ok_or_else(|| Invalid::new(format!("spec.dataPlane.resources: {text} is not a quantity of {name}")))
    };
    let memory = bound("memory")?;
    if memory < MEMORY_MIN {
        return Err(Invalid::new("spec.dataPlane.resources: memory must be at least 384Mi"));
    }
    let engine_memory_bytes = memory - (memory / 4).max(PARENT_MEMORY_MIN);
    let engine_threads = bound("cpu")?.clamp(1, THREADS_MAX);
    Ok(Resources { requests, limits, engine_memory_bytes, engine_threads })
}

/// Each in the one form that peers are compared with, and once.
fn cidrs(given: &[String]) -> Result<Vec<String>, Invalid> {
    let mut ranges = Vec::new();
    for text in given {
        let message = || format!("spec.network.allowedCidrs: {text} is not a CIDR range of one kind of addresses");
        let range = range(text).ok_or_else(|| Invalid::new(message()))?.to_string();
        if !ranges.contains(&range) {
            ranges.push(range);
        }
    }
    Ok(ranges)
}

fn tls(observed: &Observed) -> Result<Tls, Invalid> {
    let tls = &observed.environment.spec.tls;
    match (tls.mode, &tls.issuer_ref, &tls.secret_ref) {
        (TlsMode::SelfSigned, None, None) => Ok(Tls::SelfSigned),
        (TlsMode::CertManager, Some(_), None) if !observed.cluster.has_cert_manager => {
            Err(Invalid::new("spec.tls.mode CertManager needs cert-manager, which this cluster does not have"))
        }
        (TlsMode::CertManager, Some(issuer), None) => Ok(Tls::CertManager { issuer: issuer.name.clone() }),
        (TlsMode::Secret, None, Some(secret)) => Ok(Tls::Given { secret: secret.name.clone() }),
        _ => Err(Invalid::new("spec.tls: issuerRef belongs to mode CertManager, secretRef to mode Secret")),
    }
}

/// What runs now, until the fleet's rollout comes to it.
fn source(observed: &Observed) -> Source {
    let running = || {
        let live = workload::deployment(observed).and_then(DeployedSource::of).map(|it| it.source);
        live.or_else(|| Source::of_status(observed.environment.status.as_ref()?)).filter(|_| !observed.may_move)
    };
    running().unwrap_or_else(|| observed.release.source.clone())
}

/// Pinned by the specification; else what runs now, until the fleet's rollout comes to it.
fn version(observed: &Observed) -> Result<String, Invalid> {
    let environment = &observed.environment;
    let running = || {
        let live = workload::deployment(observed).and_then(workload::version);
        live.or_else(|| environment.status.as_ref()?.version.clone()).filter(|_| !observed.may_move)
    };
    let version = environment.spec.data_plane.version.clone().or_else(running);
    let version = version.unwrap_or_else(|| observed.release.version.clone());
    if label::is_value(&version) {
        return Ok(version);
    }
    Err(Invalid::new(format!("spec.dataPlane.version: {version:?} cannot be the tag of an image")))
}
