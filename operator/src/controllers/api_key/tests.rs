//! The plan of a key, as tables: what is asked, and what the status says of each answer.

use std::sync::Arc;

use crds::annotation::{FINALIZER, KEY_REVISION};
use crds::{ApiKey, ApiKeyPhase, ConditionStatus, ConditionType, Environment, Reason};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::plan::{KeyAction, KeyOutcome, ObservedKey, SecretState, action, delivery_is_due, status};
use crate::Error;
use crate::control_plane::proto::{Key, key};

fn environment() -> Environment {
    serde_json::from_value(json!({
        "metadata": { "name": "acme-prod", "namespace": "n", "uid": "env-uid" },
        "spec": { "organizationRef": { "name": "acme" }, "slug": "prod", "name": "P" },
    }))
    .unwrap()
}

fn observed() -> ObservedKey {
    let key: ApiKey = serde_json::from_value(json!({
        "metadata": {
            "name": "loader", "namespace": "n", "uid": "key-uid", "generation": 2, "finalizers": [FINALIZER],
            "ownerReferences": [
                { "apiVersion": "sluice.dev/v1alpha1", "kind": "Environment", "name": "acme-prod", "uid": "env-uid" },
            ],
        },
        "spec": {
            "environmentRef": { "name": "acme-prod" }, "name": "loader", "scopes": ["query:read"],
            "secretRef": { "name": "loader-key" },
        },
    }))
    .unwrap();
    ObservedKey {
        key: Arc::new(key),
        environment: Some(Arc::new(environment())),
        secret: SecretState::Unseen,
        now: "2026-01-01T00:00:00Z".parse().unwrap(),
    }
}

fn with(change: impl FnOnce(&mut ApiKey)) -> ObservedKey {
    let mut it = observed();
    let mut key = it.key.as_ref().clone();
    change(&mut key);
    it.key = Arc::new(key);
    it
}

fn answer() -> Key {
    Key {
        key_id: "k1".to_owned(),
        prefix: "svc_live_abc".to_owned(),
        status: key::Status::Active.into(),
        expires_at: "2026-02-01T00:00:00Z".to_owned(),
        text: None,
        rotation_id: String::new(),
    }
}

/// As it is after everything went well.
fn settled(rotation: Option<&str>) -> ObservedKey {
    let mut it = with(|key| {
        key.spec.rotation = rotation.map(|id| crds::Rotation { id: id.to_owned(), grace_period_hours: 1 });
    });
    it.secret = SecretState::Holds { rotation: rotation.unwrap_or_default().to_owned() };
    let answer = Key { rotation_id: rotation.unwrap_or_default().to_owned(), ..answer() };
    let (status, _) = status(&it, &KeyOutcome::Answered(answer));
    let mut key = it.key.as_ref().clone();
    key.status = Some(status);
    it.key = Arc::new(key);
    it
}

fn changed(mut it: ObservedKey, change: impl FnOnce(&mut ApiKey)) -> ObservedKey {
    let mut key = it.key.as_ref().clone();
    change(&mut key);
    it.key = Arc::new(key);
    it
}

#[test]
fn what_is_asked_follows_from_what_is_there() {
    let (put, want) = (KeyAction::Put { text_wanted: false }, KeyAction::Put { text_wanted: true });
    let rotated = |key: &mut ApiKey| {
        key.spec.rotation = Some(crds::Rotation { id: "r2".to_owned(), grace_period_hours: 1 });
    };
    for (case, it, expected) in [
        ("new", observed(), want),
        ("settled", settled(None), KeyAction::Nothing),
        ("settled after a rotation", settled(Some("r1")), KeyAction::Nothing),
        ("a new rotation", changed(settled(Some("r1")), rotated), want),
        ("the Secret was deleted", ObservedKey { secret: SecretState::Unseen, ..settled(None) }, want),
        ("the Secret was emptied", ObservedKey { secret: SecretState::Empty, ..settled(None) }, want),
        ("other scopes", changed(settled(None), |key| key.metadata.generation = Some(3)), put),
        ("no finalizer yet", changed(settled(None), |key| key.metadata.finalizers = None), KeyAction::Adopt),
        ("no owner yet", changed(settled(None), |key| key.metadata.owner_references = None), KeyAction::Adopt),
        ("no environment", ObservedKey { environment: None, ..observed() }, KeyAction::Wait),
        (
            "stored, but not delivered",
            ObservedKey { secret: SecretState::Holds { rotation: String::new() }, ..observed() },
            put,
        ),
        (
            "changed by REST",
            changed(settled(None), |key| {
                key.metadata.annotations = Some([(KEY_REVISION.to_owned(), "7".to_owned())].into());
            }),
            put,
        ),
        ("made by REST", with(|key| (key.spec.key_id, key.spec.secret_ref) = (Some("k1".to_owned()), None)), put),
        (
            "deleted, with its environment",
            ObservedKey {
                environment: None,
                ..changed(settled(None), |key| key.metadata.deletion_timestamp = Some(Time(observed().now)))
            },
            KeyAction::Revoke,
        ),
    ] {
        assert_eq!(action(&it), expected, "{case}");
    }
}

#[test]
fn a_text_is_said_to_be_delivered_until_the_status_names_its_key() {
    let stored = ObservedKey { secret: SecretState::Holds { rotation: String::new() }, ..observed() };
    assert!(delivery_is_due(&stored, &answer()), "a crash between the Secret and the call");
    assert!(delivery_is_due(&observed(), &Key { text: Some("t".to_owned()), ..answer() }));
    assert!(!delivery_is_due(&settled(None), &answer()));
    assert!(!delivery_is_due(&with(|key| key.spec.key_id = Some("k1".to_owned())), &answer()), "REST handed it over");
}

#[test]
fn the_status_says_what_came_of_it_and_never_the_text() {
    let unreachable = || Error::ControlPlane(tonic::Status::unavailable("connection refused"));
    let refused = || Error::ControlPlane(tonic::Status::invalid_argument("no such scope"));
    let with_status = |status: key::Status| KeyOutcome::Answered(Key { status: status.into(), ..answer() });
    let texted = Key { text: Some("svc_live_plaintext".to_owned()), ..answer() };
    for (outcome, phase, ready, reason) in [
        (KeyOutcome::Answered(texted), ApiKeyPhase::Active, ConditionStatus::True, Reason::AsSpecified),
        (with_status(key::Status::Revoked), ApiKeyPhase::Revoked, ConditionStatus::False, Reason::Revoked),
        (with_status(key::Status::Expired), ApiKeyPhase::Expired, ConditionStatus::False, Reason::Expired),
        (KeyOutcome::Waits, ApiKeyPhase::Pending, ConditionStatus::False, Reason::ReferenceNotFound),
        (KeyOutcome::TextLost(answer()), ApiKeyPhase::Active, ConditionStatus::False, Reason::Invalid),
        (KeyOutcome::SecretTaken, ApiKeyPhase::Pending, ConditionStatus::False, Reason::Invalid),
        (
            KeyOutcome::Failed(unreachable()),
            ApiKeyPhase::Pending,
            ConditionStatus::False,
            Reason::ControlPlaneUnreachable,
        ),
        (KeyOutcome::Failed(refused()), ApiKeyPhase::Pending, ConditionStatus::False, Reason::Invalid),
        (KeyOutcome::Answered(Key::default()), ApiKeyPhase::Pending, ConditionStatus::False, Reason::ReferenceNotFound),
    ] {
        let (status, _) = status(&observed(), &outcome);
        let condition = status.conditions.iter().find(|it| it.type_ == ConditionType::Ready).unwrap();
        assert_eq!((status.phase, condition.status, condition.reason), (Some(phase), ready, reason), "{outcome:?}");
        assert!(status.conditions.iter().all(|it| it.observed_generation == 2));
        assert!(!serde_json::to_string(&status).unwrap().contains("plaintext"), "{status:?}");
    }
}

#[test]
fn a_key_turns_expired_at_its_time_without_anybody_being_asked() {
    let mut it = settled(None);
    let (before, again) = status(&it, &KeyOutcome::Known);
    assert_eq!((before.phase, again.as_secs()), (Some(ApiKeyPhase::Active), 3_600));
    it.now = "2026-01-31T23:59:30Z".parse().unwrap();
    assert_eq!(status(&it, &KeyOutcome::Known).1.as_secs(), 30);
    it.now = "2026-02-01T00:00:00Z".parse().unwrap();
    assert_eq!(status(&it, &KeyOutcome::Known).0.phase, Some(ApiKeyPhase::Expired));
}

#[test]
fn what_was_refused_is_asked_for_again_within_minutes() {
    let taken = || KeyOutcome::Failed(Error::ControlPlane(tonic::Status::already_exists("name_taken")));
    for outcome in [taken(), KeyOutcome::SecretTaken] {
        assert_eq!(status(&observed(), &outcome).1.as_secs(), 300, "{outcome:?}");
    }
}

#[test]
fn what_is_settled_is_not_written_again() {
    let mut it = settled(Some("r1"));
    it.now = "2026-01-02T00:00:00Z".parse().unwrap();
    assert_eq!(Some(status(&it, &KeyOutcome::Known).0), it.key.status);
}
