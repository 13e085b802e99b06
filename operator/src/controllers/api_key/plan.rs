//! The decision about a key: the next request to the control plane, and the status after its answer. Pure.

use std::sync::Arc;
use std::time::Duration;

use crds::annotation::KEY_REVISION;
use crds::{ApiKey, ApiKeyPhase, ApiKeyStatus, ConditionType, Environment, Reason};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};

use crate::Error;
use crate::cluster::write;
use crate::conditions::Draft;
use crate::control_plane::proto::{Key, key};
use crate::error::{Class, WAITING};

/// The round that finds what a watch may have lost.
const ROUND: Duration = Duration::from_hours(1);

/// What was refused is asked for again after this, if nothing wakes it before.
const REFUSED: Duration = Duration::from_mins(5);

/// One key and its surroundings.
pub struct ObservedKey {
    pub key: Arc<ApiKey>,
    pub environment: Option<Arc<Environment>>,
    pub secret: SecretState,
    pub now: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretState {
    /// The key's text is nobody's to be put anywhere.
    NotAsked,
    /// No store knows it; it may be another's.
    Unseen,
    /// It is another's.
    Taken,
    Empty,
    /// The text of this rotation; empty: the first.
    Holds {
        rotation: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAction {
    /// Finalizer and owner come first.
    Adopt,
    Put {
        text_wanted: bool,
    },
    Revoke,
    /// Its environment is not there.
    Wait,
    /// All is as the last answer said.
    Nothing,
}

/// The result of a reconcile of a key.
#[derive(Debug)]
pub enum KeyOutcome {
    Waits,
    /// Nothing was asked: the status is as true as it was, or time has made it another.
    Known,
    Answered(Key),
    /// The key is there, its text was delivered before, and the Secret has lost it.
    TextLost(Key),
    /// The Secret is somebody else's.
    SecretTaken,
    Failed(Error),
}

/// The rotation that the specification asks for.
pub fn rotation(key: &ApiKey) -> Option<String> {
    key.spec.rotation.as_ref().map(|rotation| rotation.id.clone())
}

/// The control plane made the key: its text is not ours to ask for.
fn is_described(key: &ApiKey) -> bool {
    key.spec.key_id.is_some()
}

fn holds_text(observed: &ObservedKey) -> bool {
    let wanted = rotation(&observed.key).unwrap_or_default();
    matches!(&observed.secret, SecretState::Holds { rotation } if *rotation == wanted)
}

/// Owners that are there, with the environment among them.
pub fn owners(observed: &ObservedKey) -> Vec<OwnerReference> {
    let mut owners = observed.key.owner_references().to_vec();
    if let Some(owner) = observed.environment.as_ref().and_then(|it| it.owner_ref(&()))
        && !owners.iter().any(|other| other.uid == owner.uid)
    {
        owners.push(owner);
    }
    owners
}

pub fn action(observed: &ObservedKey) -> KeyAction {
    let key = observed.key.as_ref();
    if key.meta().deletion_timestamp.is_some() {
        return KeyAction::Revoke;
    }
    if observed.environment.is_none() {
        return KeyAction::Wait;
    }
    if !write::has_finalizer(key) || owners(observed).len() != key.owner_references().len() {
        return KeyAction::Adopt;
    }
    let text_wanted = !is_described(key) && !holds_text(observed);
    if text_wanted || !is_current(key) {
        return KeyAction::Put { text_wanted };
    }
    KeyAction::Nothing
}

/// The status speaks of this generation, this rotation, and the last change by REST.
fn is_current(key: &ApiKey) -> bool {
    let Some(status) = &key.status else { return false };
    let described = is_described(key) || status.rotation_id == rotation(key);
    let failed = status
        .conditions
        .iter()
        .any(|it| it.type_ == ConditionType::CredentialsSynced && it.status != crds::ConditionStatus::True);
    status.observed_generation == key.metadata.generation
        && status.key_id.is_some()
        && described
        && !failed
        && status.observed_revision.as_deref() == revision(key)
}

fn revision(key: &ApiKey) -> Option<&str> {
    key.annotations().get(KEY_REVISION).map(String::as_str)
}

/// The status names the key only after its text was delivered; until then it is said again.
pub fn delivery_is_due(observed: &ObservedKey, answer: &Key) -> bool {
    let key = observed.key.as_ref();
    if is_described(key) || answer.key_id.is_empty() {
        return false;
    }
    let is_published = key
        .status
        .as_ref()
        .is_some_and(|status| status.key_id.as_deref() == Some(&answer.key_id) && status.rotation_id == rotation(key));
    answer.text.is_some() || !is_published
}

/// The status, and how soon to look again.
pub fn status(observed: &ObservedKey, outcome: &KeyOutcome) -> (ApiKeyStatus, Duration) {
    let key = observed.key.as_ref();
    let old = key.status.clone().unwrap_or_default();
    let mut new = ApiKeyStatus { observed_generation: key.metadata.generation, ..old.clone() };
    if let KeyOutcome::Answered(answer) | KeyOutcome::TextLost(answer) = outcome {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        new.key_id = some(&answer.key_id);
        new.prefix = some(&answer.prefix);
        new.expires_at = some(&answer.expires_at);
        new.rotation_id = some(&answer.rotation_id);
        new.observed_revision = revision(key).map(str::to_owned);
        new.phase = Some(phase(answer));
    }
    let expired = expiry(&new).is_some_and(|at| at <= observed.now);
    if expired && new.phase == Some(ApiKeyPhase::Active) {
        new.phase = Some(ApiKeyPhase::Expired);
    }
    if new.phase.is_none() {
        new.phase = Some(ApiKeyPhase::Pending);
    }
    let (synced, reason, message) = synced(outcome);
    let credentials = Draft::flag(ConditionType::CredentialsSynced, synced, reason, message.as_str());
    let (ready, reason, message) = match new.phase {
        Some(ApiKeyPhase::Expired) => (false, Reason::Expired, "the key has reached its expiry".to_owned()),
        Some(ApiKeyPhase::Revoked) => (false, Reason::Revoked, "the key was revoked".to_owned()),
        _ => (synced, reason, message),
    };
    let drafts = [credentials, Draft::flag(ConditionType::Ready, ready, reason, message)];
    let generation = key.metadata.generation.unwrap_or_default();
    new.conditions = drafts.map(|draft| draft.stamped(&old.conditions, generation, observed.now)).into();
    let again = again(observed, outcome, &new);
    (new, again)
}

fn phase(answer: &Key) -> ApiKeyPhase {
    match answer.status() {
        key::Status::Active => ApiKeyPhase::Active,
        key::Status::Expired => ApiKeyPhase::Expired,
        key::Status::Revoked => ApiKeyPhase::Revoked,
        key::Status::Unspecified => ApiKeyPhase::Pending,
    }
}

fn expiry(status: &ApiKeyStatus) -> Option<Timestamp> {
    status.expires_at.as_deref()?.parse().ok()
}

fn synced(outcome: &KeyOutcome) -> (bool, Reason, String) {
    match outcome {
        KeyOutcome::Answered(answer) if answer.key_id.is_empty() => {
            (false, Reason::ReferenceNotFound, "the control plane knows no such key".to_owned())
        }
        KeyOutcome::Known | KeyOutcome::Answered(_) => (true, Reason::AsSpecified, String::new()),
        KeyOutcome::Waits => (false, Reason::ReferenceNotFound, "its environment is not there".to_owned()),
        KeyOutcome::TextLost(_) => (
            false,
            Reason::Invalid,
            "the Secret has lost the key, which is shown once: set a new spec.rotation.id".to_owned(),
        ),
        KeyOutcome::SecretTaken => (
            false,
            Reason::Invalid,
            "the Secret of spec.secretRef is there already and holds something else: name another".to_owned(),
        ),
        KeyOutcome::Failed(error) => (false, error.reason(), error.message()),
    }
}

/// Only for what time alone will change.
fn again(observed: &ObservedKey, outcome: &KeyOutcome, status: &ApiKeyStatus) -> Duration {
    match outcome {
        KeyOutcome::Failed(error) if error.class() == Class::Waiting => return WAITING,
        // what stands in the way may go without a word to us
        KeyOutcome::SecretTaken | KeyOutcome::TextLost(_) => return REFUSED,
        KeyOutcome::Failed(error) if error.class() == Class::Invalid => return REFUSED,
        _ => {}
    }
    let until = expiry(status).map(|at| at.duration_since(observed.now)).filter(|until| !until.is_negative());
    until.and_then(|until| Duration::try_from(until).ok()).map_or(ROUND, |until| until.min(ROUND))
}
