//! The conditions of an environment, each with the generation that it describes.
//!
//! A condition speaks of the moment after the plan has been carried out, as far as the operator's
//! own writes go; what only others can bring about (pods, volumes, cert-manager) counts when it has
//! been seen. So `Ready` is `True` only when the running pods are those of this generation.

use crds::{Condition, ConditionStatus, ConditionType, Reason, TlsMode};

use super::findings::Findings;
use super::validate::{Desired, Invalid, Off};
use super::volume::{self, Growth};
use super::workload::{StartObstacle, WorkloadState};
use super::{certificates, workload};
use crate::conditions::Draft;
use crate::objects::hold::Hold;
use crate::objects::names;
use crate::objects::observed::{CertificateFacts, GivenCertificate, Observed};

use ConditionStatus::{False, True};
use ConditionType as T;

/// Every condition of an environment that is not being deleted.
pub fn all(it: &Findings<'_>) -> Vec<Condition> {
    let parts = [
        spec_valid(it),
        organization_active(it),
        workload_available(it),
        certificate_ready(it),
        credentials_synced(it),
        suspended(it),
        draining(it),
        paused(it.hold),
        storage_resizing(it),
    ];
    let ready = ready(it, &parts);
    let progressing = progressing(it, &ready);
    let degraded = degraded(it);
    let drafts = [ready, progressing, degraded].into_iter().chain(parts);
    drafts.map(|draft| stamped(draft, it.observed)).collect()
}

/// The condition as it follows those of the status.
pub fn stamped(draft: Draft, observed: &Observed) -> Condition {
    let environment = &observed.environment;
    let before = environment.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    draft.stamped(before, environment.metadata.generation.unwrap_or(0), observed.now)
}

/// The same conditions with another one in place of its namesake.
pub fn replaced(conditions: &[Condition], draft: Draft, observed: &Observed) -> Vec<Condition> {
    let type_ = draft.type_;
    let others = conditions.iter().filter(|it| it.type_ != type_).cloned();
    [stamped(draft, observed)].into_iter().chain(others).collect()
}

fn spec_valid(it: &Findings<'_>) -> Draft {
    match it.verdict {
        Ok(_) => Draft::fine(T::SpecValid, True),
        Err(Invalid { reason: reason @ (Reason::ReferenceNotFound | Reason::OrganizationNotActive), message }) => {
            Draft::unknown(T::SpecValid, *reason, message)
        }
        Err(Invalid { reason, message }) => Draft::not(T::SpecValid, *reason, message),
    }
}

fn organization_active(it: &Findings<'_>) -> Draft {
    let name = &it.environment().spec.organization_ref.name;
    match (it.verdict, it.off) {
        (Err(Invalid { reason: Reason::ReferenceNotFound, message }), _) => {
            Draft::not(T::OrganizationActive, Reason::ReferenceNotFound, message)
        }
        (_, Some(Off::Organization)) => {
            let message = format!("Organization {name} is suspended, not paid for, or being deleted");
            Draft::not(T::OrganizationActive, Reason::OrganizationNotActive, message)
        }
        (Err(Invalid { reason: Reason::OrganizationNotActive, message }), _) => {
            Draft::unknown(T::OrganizationActive, Reason::OrganizationNotActive, message)
        }
        _ => Draft::fine(T::OrganizationActive, True),
    }
}

fn workload_available(it: &Findings<'_>) -> Draft {
    let type_ = T::WorkloadAvailable;
    match (&it.workload, it.verdict) {
        (WorkloadState::Settled | WorkloadState::Rolling(_), _) => Draft::fine(type_, True),
        (WorkloadState::Off | WorkloadState::Draining, _) => switched_off(it, False).of(type_),
        (WorkloadState::Absent, Err(invalid)) => Draft::not(type_, invalid.reason, &invalid.message),
        (WorkloadState::Absent, Ok(_)) => Draft::not(type_, Reason::Starting, "there is no workload yet"),
        (WorkloadState::Starting(obstacle), _) => Draft::not(type_, obstacle.reason, &obstacle.message),
        (WorkloadState::TimedOut(_), _) if enough_answer(it) => Draft::fine(type_, True),
        (WorkloadState::TimedOut(obstacle), _) => Draft::not(type_, Reason::RolloutTimedOut, timed_out(obstacle)),
    }
}

fn timed_out(obstacle: &StartObstacle) -> String {
    because("the rollout made no progress within its deadline and was halted; what ran before goes on", obstacle)
}

/// What becomes of replicas that are being replaced.
fn replacing(it: &Findings<'_>, obstacle: &StartObstacle) -> String {
    let old_goes_first = it.verdict.as_ref().is_ok_and(|desired| desired.old_goes_first);
    let what = if old_goes_first {
        "replicas are being replaced, the old one first, for its successor has no place beside it"
    } else {
        "replicas are being replaced"
    };
    because(what, obstacle)
}

fn because(what: &str, obstacle: &StartObstacle) -> String {
    if obstacle.is_known() { format!("{what}: {}", obstacle.message) } else { what.to_owned() }
}

fn enough_answer(it: &Findings<'_>) -> bool {
    let wanted = it.verdict.as_ref().map_or(1, Desired::replicas_now);
    workload::available(it.observed) >= wanted
}

fn switched_off(it: &Findings<'_>, status: ConditionStatus) -> Draft {
    let (reason, message) = match it.off {
        Some(Off::Organization) => (Reason::OrganizationNotActive, "the organization is not active"),
        _ if it.environment().spec.suspended => (Reason::SuspendedBySpec, "spec.suspended is set"),
        _ => (Reason::SuspendedBySpec, "spec.dataPlane.replicas is 0"),
    };
    Draft::new(T::Suspended, status, reason, message)
}

fn certificate_ready(it: &Findings<'_>) -> Draft {
    let type_ = T::CertificateReady;
    let tls = &it.environment().spec.tls;
    let draft = |facts: Option<&CertificateFacts>, name: &str| match facts {
        Some(facts) if facts.not_after > it.observed.now => Draft::fine(type_, True),
        Some(_) => {
            Draft::not(type_, Reason::CertificatePending, format!("the certificate in Secret {name} has expired"))
        }
        None => Draft::not(type_, Reason::CertificatePending, format!("there is no certificate in Secret {name} yet")),
    };
    match (it.verdict, tls.mode) {
        (Err(invalid), _) => Draft::unknown(type_, invalid.reason, &invalid.message),
        // signed by us, in the same plan if need be
        (Ok(_), TlsMode::SelfSigned) if !it.held_back() => Draft::fine(type_, True),
        (Ok(desired), TlsMode::SelfSigned | TlsMode::CertManager) => {
            let name = desired.name.tls();
            draft(certificates::secret(it.observed, &name).and_then(|secret| secret.certificate.as_ref()), &name)
        }
        (Ok(_), TlsMode::Secret) => {
            let name = tls.secret_ref.as_ref().map_or("", |secret| secret.name.as_str());
            match &it.observed.given_certificate {
                GivenCertificate::There(facts) => draft(Some(facts), name),
                GivenCertificate::Unusable => {
                    let message = format!("Secret {name} holds no certificate in tls.crt with its key in tls.key");
                    Draft::not(type_, Reason::Invalid, message)
                }
                GivenCertificate::Missing => {
                    Draft::not(type_, Reason::ReferenceNotFound, format!("there is no Secret {name}"))
                }
                // pods do not start without it
                GivenCertificate::Unseen if matches!(it.workload, WorkloadState::Settled) => Draft::fine(type_, True),
                GivenCertificate::Unseen => Draft::unknown(
                    type_,
                    Reason::CertificatePending,
                    format!("pods have not mounted Secret {name} yet"),
                ),
            }
        }
    }
}

fn credentials_synced(it: &Findings<'_>) -> Draft {
    let unsynced = it.unsynced_keys();
    if unsynced.is_empty() {
        return Draft::fine(T::CredentialsSynced, True);
    }
    let (away, other): (Vec<_>, Vec<_>) =
        unsynced.into_iter().partition(|(_, reason)| *reason == Reason::ControlPlaneUnreachable);
    if other.is_empty() {
        let names: Vec<_> = away.into_iter().map(|(name, _)| name).collect();
        let message = format!("not confirmed by the control plane: {}", names.join(", "));
        return Draft::not(T::CredentialsSynced, Reason::ControlPlaneUnreachable, message);
    }
    let keys: Vec<_> = other.into_iter().map(|(name, reason)| format!("ApiKey {name} is not ({reason:?})")).collect();
    let message = format!("in force are all keys but these, whose own conditions say why: {}", keys.join(", "));
    Draft::not(T::CredentialsSynced, Reason::KeyNotSynced, message)
}

fn suspended(it: &Findings<'_>) -> Draft {
    match (&it.workload, it.off) {
        (WorkloadState::Off | WorkloadState::Absent, Some(_)) => switched_off(it, True),
        (_, Some(_)) => Draft::not(T::Suspended, Reason::WaitingForQueries, "replicas are ending"),
        (_, None) => Draft::fine(T::Suspended, False),
    }
}

fn draining(it: &Findings<'_>) -> Draft {
    if it.workload == WorkloadState::Draining {
        return Draft::is(T::Draining, Reason::WaitingForQueries, "running statements are being let finish");
    }
    Draft::fine(T::Draining, False)
}

pub fn paused(hold: Hold) -> Draft {
    if hold == Hold::Paused {
        let message = format!("the annotation {} is set", names::annotation::PAUSED);
        return Draft::is(T::Paused, Reason::PausedByAnnotation, message);
    }
    Draft::fine(T::Paused, False)
}

fn storage_resizing(it: &Findings<'_>) -> Draft {
    match it.changes.growth {
        Growth::None => Draft::fine(T::StorageResizing, False),
        Growth::Growing => Draft::is(T::StorageResizing, Reason::Resizing, "the volume is being made larger"),
        Growth::Refused => {
            let held = volume::held(it.observed).unwrap_or_default();
            let message = format!(
                "the storage class does not let volumes grow: set spec.storage.size back to {held}, or allowVolumeExpansion: true on the class"
            );
            Draft::not(T::StorageResizing, Reason::ExpansionNotAllowed, message)
        }
    }
}

/// The first thing that keeps the environment from being as specified, or that nothing does.
fn ready(it: &Findings<'_>, parts: &[Draft; 9]) -> Draft {
    let type_ = T::Ready;
    let [spec, organization, workload, certificate, _, suspended, ..] = parts;
    let blocking = [spec, organization].into_iter().find(|part| part.status != True);
    if let Some(part) = blocking {
        return Draft::not(type_, part.reason, part.message.clone());
    }
    if it.off.is_some() {
        return Draft::not(type_, suspended.reason, suspended.message.clone());
    }
    if it.held_back() {
        let (reason, what) = match it.hold {
            Hold::DryRun => (Reason::NewGeneration, "a dry run"),
            _ => (Reason::PausedByAnnotation, "the pause"),
        };
        return Draft::unknown(type_, reason, format!("changes are held back by {what}"));
    }
    if let Some(key) = &it.changes.waits_for {
        return Draft::unknown(type_, Reason::NewGeneration, format!("{key} has to go before it can be made anew"));
    }
    if workload.status != True {
        return Draft::not(type_, workload.reason, workload.message.clone());
    }
    if let Some(message) = it.changes.contests.message() {
        return Draft::not(type_, Reason::DriftContested, message);
    }
    match &it.workload {
        WorkloadState::TimedOut(obstacle) => return Draft::not(type_, Reason::RolloutTimedOut, timed_out(obstacle)),
        WorkloadState::Rolling(obstacle) => {
            let reason = if obstacle.is_known() { obstacle.reason } else { Reason::NewGeneration };
            return Draft::unknown(type_, reason, replacing(it, obstacle));
        }
        _ => {}
    }
    if certificate.status != True {
        return Draft::not(type_, certificate.reason, certificate.message.clone());
    }
    match it.changes.growth {
        Growth::None => Draft::fine(type_, True),
        Growth::Growing => Draft::unknown(type_, Reason::NewGeneration, "the volume is being made larger"),
        Growth::Refused => storage_resizing(it).of(type_),
    }
}

fn progressing(it: &Findings<'_>, ready: &Draft) -> Draft {
    let type_ = T::Progressing;
    let settled = it.verdict.is_err() || ready.status == True;
    match (&it.workload, ready.reason) {
        (WorkloadState::Draining, _) => draining(it).of(type_),
        (WorkloadState::TimedOut(obstacle), _) => Draft::not(type_, Reason::RolloutTimedOut, timed_out(obstacle)),
        (_, reason) if it.held_back() => Draft::not(type_, reason, ready.message.clone()),
        (WorkloadState::Off, _)
        | (WorkloadState::Absent | WorkloadState::Settled, Reason::ExpansionNotAllowed | Reason::DriftContested) => {
            Draft::fine(type_, False)
        }
        (_, reason) if settled => Draft::not(type_, reason, ready.message.clone()),
        (WorkloadState::Rolling(obstacle), _) => Draft::is(type_, Reason::RollingOut, replacing(it, obstacle)),
        (_, reason) => Draft::is(type_, reason, ready.message.clone()),
    }
}

/// It works, and something about it does not.
fn degraded(it: &Findings<'_>) -> Draft {
    let type_ = T::Degraded;
    let works = matches!(it.workload, WorkloadState::Settled | WorkloadState::Rolling(_) | WorkloadState::TimedOut(_));
    match (it.verdict, &it.workload) {
        (Err(invalid), _) if works => Draft::is(type_, invalid.reason, &invalid.message),
        (_, WorkloadState::TimedOut(obstacle)) => Draft::is(type_, Reason::RolloutTimedOut, timed_out(obstacle)),
        // before what `Ready` tells of pods, which the contest may be the cause of
        _ if let Some(message) = it.changes.contests.message() => Draft::is(type_, Reason::DriftContested, message),
        (_, WorkloadState::Starting(obstacle)) if obstacle.is_known() => {
            Draft::is(type_, obstacle.reason, &obstacle.message)
        }
        (_, WorkloadState::Rolling(obstacle)) if obstacle.is_known() => {
            Draft::is(type_, obstacle.reason, replacing(it, obstacle))
        }
        _ if it.changes.growth == Growth::Refused => Draft { status: True, ..storage_resizing(it).of(type_) },
        _ if !it.unsynced_keys().is_empty() => Draft { status: True, ..credentials_synced(it).of(type_) },
        _ => Draft::fine(type_, False),
    }
}
