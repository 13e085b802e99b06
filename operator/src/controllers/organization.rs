//! The Organization controller: its authority, its owner's invitation, its status, and a deletion
//! that waits for its environments. Being suspended is acted upon by the environments, which look at their
//! organization themselves.

mod invitation;

use std::sync::Arc;
use std::time::Duration;

use crds::{ConditionStatus, ConditionType, Organization, OrganizationPhase, OrganizationStatus, Reason};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};
use serde_json::json;

use self::invitation::InvitationOutcome;
use crate::Error;
use crate::cluster::write;
use crate::conditions::Draft;
use crate::context::Context;
use crate::error::Class;
use crate::objects::names::label;
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::plan::Finalizer;
use crate::objects::secret_metadata::secret_metadata;
use crate::stores::{Item, WrittenObject};

/// The round that finds what a watch may have lost.
const ROUND: Duration = Duration::from_hours(1);

struct ObservedOrganization {
    organization: Arc<Organization>,
    environments: usize,
    has_authority: bool,
    /// Why the owner's invitation is not settled; absent: it is.
    uninvited: Option<(Reason, String)>,
    /// An older Organization of another namespace has the same slug.
    slug_taken: bool,
    now: Timestamp,
}

fn wanted_finalizer(observed: &ObservedOrganization) -> Finalizer {
    let organization = observed.organization.as_ref();
    match (organization.meta().deletion_timestamp.is_some(), write::has_finalizer(organization)) {
        (false, false) => Finalizer::Add,
        (true, true) if observed.environments == 0 => Finalizer::Remove,
        _ => Finalizer::Keep,
    }
}

fn wanted_status(observed: &ObservedOrganization) -> OrganizationStatus {
    let organization = observed.organization.as_ref();
    let deleting = organization.meta().deletion_timestamp.is_some();
    let old = organization.status.clone().unwrap_or_default();
    let generation = organization.metadata.generation.unwrap_or_default();
    let suspended = organization.spec.suspended;
    let valid = if observed.slug_taken {
        Draft::not(ConditionType::SpecValid, Reason::Invalid, SLUG_TAKEN)
    } else {
        Draft::fine(ConditionType::SpecValid, ConditionStatus::True)
    };
    let invited = match &observed.uninvited {
        None => Draft::fine(ConditionType::CredentialsSynced, ConditionStatus::True),
        Some((reason, message)) => Draft::not(ConditionType::CredentialsSynced, *reason, message),
    };
    let switched_off = if suspended { Reason::SuspendedBySpec } else { Reason::AsSpecified };
    let ready = if deleting {
        let message = format!("waits for {} environments to go", observed.environments);
        Draft::not(ConditionType::Ready, Reason::Decommissioning, message)
    } else if suspended {
        Draft::not(ConditionType::Ready, Reason::SuspendedBySpec, "every environment is switched off")
    } else if observed.slug_taken {
        Draft::not(ConditionType::Ready, Reason::Invalid, SLUG_TAKEN)
    } else {
        certificate(ConditionType::Ready, observed.has_authority)
    };
    let drafts = [
        valid,
        certificate(ConditionType::CertificateReady, observed.has_authority),
        invited,
        Draft::flag(ConditionType::Suspended, suspended, switched_off, ""),
        ready,
    ];
    let phase = if deleting {
        OrganizationPhase::Cancelled
    } else if suspended {
        OrganizationPhase::Suspended
    } else if observed.has_authority && !observed.slug_taken || has_been_active(&old, observed.slug_taken) {
        OrganizationPhase::Active
    } else {
        OrganizationPhase::Provisioning
    };
    OrganizationStatus {
        observed_generation: Some(generation),
        org_id: organization.uid(),
        phase: Some(phase),
        conditions: drafts.map(|draft| draft.stamped(&old.conditions, generation, observed.now)).into(),
    }
}

/// "Never back to provisioning after the first active": a Secret that cannot be read for a while must not close what
/// runs. What began as suspended has only been active if its slug is its own.
fn has_been_active(status: &OrganizationStatus, slug_taken: bool) -> bool {
    match status.phase {
        Some(OrganizationPhase::Active) => true,
        Some(OrganizationPhase::Suspended) => !slug_taken,
        _ => false,
    }
}

/// Whose the other is, is nobody's business.
const SLUG_TAKEN: &str =
    "the slug is taken by an older Organization in another namespace; delete this one and choose another slug";

/// Slugs are of the whole platform, names of a namespace: of several the oldest has it.
fn slug_taken(context: &Context, organization: &Organization) -> bool {
    let age = |it: &Organization| (it.metadata.creation_timestamp.as_ref().map(|time| time.0), it.uid());
    let others = context.stores.organizations.values();
    others.iter().any(|other| {
        other.spec.slug == organization.spec.slug && other.uid() != organization.uid() && age(other) < age(organization)
    })
}

fn certificate(type_: ConditionType, ready: bool) -> Draft {
    Draft::flag(type_, ready, if ready { Reason::AsSpecified } else { Reason::CertificatePending }, "")
}

fn authority(organization: &Organization) -> ObjectMeta {
    let slug = organization.name_any();
    let place = NamespacedName::new(&organization.namespace().unwrap_or_default(), &format!("{slug}-ca"));
    let labels = [(label::ORGANIZATION, slug.as_str()), (label::COMPONENT, "authority")];
    secret_metadata(&place, &labels, organization.controller_owner_ref(&()))
}

/// Returns how soon to look again; absent: it is gone.
pub async fn reconcile(context: &Context, place: &NamespacedName) -> Result<Option<Duration>, Error> {
    let item = Item::Organization(place.clone());
    context.seen_own_writes(&item)?;
    let Some(organization) = context.stores.organizations.get(place) else { return Ok(None) };
    let authority = match organization.meta().deletion_timestamp {
        Some(_) => Ok(None),
        None => context.signers.ensure(&item, &authority(&organization), &organization.spec.slug).await.map(Some),
    };
    if let Err(error) = &authority
        && !matches!(error.class(), Class::Invalid | Class::Transient)
    {
        return authority.map(|_| None);
    }
    let now = context.now();
    let mut observed = ObservedOrganization {
        environments: context.stores.environments.members(place).len(),
        has_authority: authority.is_ok(),
        uninvited: uninvited(&organization),
        slug_taken: slug_taken(context, &organization),
        now,
        organization,
    };
    carry_out(context, &item, &observed).await?;
    let authority = authority?;
    // last: its environments do not wait for a control plane that is away
    let invitation = invite(context, &item, &mut observed).await?;
    let soonest = authority.into_iter().chain(invitation).min();
    let again = soonest.map_or(ROUND, |at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
    Ok(Some(again.clamp(Duration::from_mins(1), ROUND)))
}

/// What the status says about the invitation; absent: it is settled.
fn uninvited(organization: &Organization) -> Option<(Reason, String)> {
    let mut conditions = organization.status.iter().flat_map(|status| &status.conditions);
    match conditions.find(|it| it.type_ == ConditionType::CredentialsSynced) {
        Some(known) if known.status == ConditionStatus::True => None,
        Some(known) => Some((known.reason, known.message.clone())),
        None => Some((Reason::Starting, String::new())),
    }
}

/// Settles the invitation of the owner, and says so. Returns when to look again.
async fn invite(
    context: &Context,
    item: &Item,
    observed: &mut ObservedOrganization,
) -> Result<Option<Timestamp>, Error> {
    let organization = Arc::clone(&observed.organization);
    if organization.meta().deletion_timestamp.is_some() {
        return Ok(None);
    }
    let before = observed.uninvited.clone();
    let invited = invitation::settle(context, item, &organization, before.is_none()).await;
    observed.uninvited = match &invited {
        Ok(InvitationOutcome::Settled(_)) => None,
        Ok(InvitationOutcome::Taken) => {
            Some((Reason::Invalid, "the Secret of the owner's invitation is somebody else's".to_owned()))
        }
        Err(error) if matches!(error.class(), Class::Standby | Class::Conflict) => return until(invited),
        Err(error) => Some((error.reason(), error.message())),
    };
    if observed.uninvited != before {
        publish(context, item, &organization, &wanted_status(observed)).await?;
    }
    until(invited)
}

fn until(invited: Result<InvitationOutcome, Error>) -> Result<Option<Timestamp>, Error> {
    invited.map(|outcome| match outcome {
        InvitationOutcome::Settled(at) => at,
        InvitationOutcome::Taken => None,
    })
}

async fn carry_out(context: &Context, item: &Item, observed: &ObservedOrganization) -> Result<(), Error> {
    let organization = observed.organization.as_ref();
    let finalizer = wanted_finalizer(observed);
    if finalizer == Finalizer::Add {
        let fields = json!({ "finalizers": write::finalizers(organization, true) });
        let written = write::metadata(&context.client, organization, fields).await?;
        context.expected.note(item, WrittenObject::Itself, written.resource_version());
    }
    let status = wanted_status(observed);
    if organization.status.as_ref() != Some(&status) {
        publish(context, item, organization, &status).await?;
    }
    if finalizer == Finalizer::Remove {
        remove(context, organization).await?;
    }
    Ok(())
}

async fn publish(
    context: &Context,
    item: &Item,
    organization: &Organization,
    status: &OrganizationStatus,
) -> Result<(), Error> {
    let written = write::status(&context.client, organization, status).await?;
    context.expected.note(item, WrittenObject::Itself, written.resource_version());
    Ok(())
}

/// The version that was looked at may be older than our own status: it is read no more, only written.
async fn remove(context: &Context, organization: &Organization) -> Result<(), Error> {
    let fields = json!({ "finalizers": write::finalizers(organization, false) });
    match write::metadata(&context.client, organization, fields).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => Ok(other.map(|_| ())?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(change: impl FnOnce(&mut Organization), environments: usize) -> ObservedOrganization {
        let mut organization: Organization = serde_json::from_value(json!({
            "apiVersion": "sluice.dev/v1alpha1", "kind": "Organization",
            "metadata": { "name": "acme", "namespace": "n", "uid": "u", "generation": 3, "finalizers": [crds::annotation::FINALIZER] },
            "spec": { "slug": "acme", "name": "Acme", "billingEmail": "a@b" },
        }))
        .unwrap();
        change(&mut organization);
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        ObservedOrganization {
            organization: Arc::new(organization),
            environments,
            has_authority: true,
            uninvited: None,
            slug_taken: false,
            now,
        }
    }

    fn deleted(organization: &mut Organization) {
        let time = "2026-01-01T00:00:00Z".parse().unwrap();
        organization.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time));
    }

    #[test]
    fn the_phase_follows_the_specification_and_the_id_is_the_uid() {
        for (it, phase) in [
            (observed(|_| {}, 0), OrganizationPhase::Active),
            (observed(|it| it.spec.suspended = true, 2), OrganizationPhase::Suspended),
            (ObservedOrganization { has_authority: false, ..observed(|_| {}, 0) }, OrganizationPhase::Provisioning),
            (ObservedOrganization { slug_taken: true, ..observed(|_| {}, 0) }, OrganizationPhase::Provisioning),
            (observed(deleted, 1), OrganizationPhase::Cancelled),
        ] {
            let status = wanted_status(&it);
            assert_eq!((status.phase, status.org_id.as_deref()), (Some(phase), Some("u")));
            assert!(status.conditions.iter().all(|condition| condition.observed_generation == 3));
        }
    }

    #[test]
    fn what_was_active_is_not_provisioned_again() {
        let was = |phase| observed(|it| it.status = Some(OrganizationStatus { phase, ..Default::default() }), 0);
        let (active, suspended) = (Some(OrganizationPhase::Active), Some(OrganizationPhase::Suspended));
        for (it, phase) in [
            (ObservedOrganization { has_authority: false, ..was(active) }, OrganizationPhase::Active),
            (ObservedOrganization { has_authority: false, ..was(suspended) }, OrganizationPhase::Active),
            (ObservedOrganization { slug_taken: true, ..was(active) }, OrganizationPhase::Active),
            (ObservedOrganization { slug_taken: true, ..was(suspended) }, OrganizationPhase::Provisioning),
            (ObservedOrganization { has_authority: false, ..was(None) }, OrganizationPhase::Provisioning),
        ] {
            let status = wanted_status(&it);
            assert_eq!(status.phase, Some(phase));
            let ready = status.conditions.iter().find(|it| it.type_ == ConditionType::Ready).unwrap();
            assert_eq!(ready.status, ConditionStatus::False, "it is said all the same");
        }
    }

    #[test]
    fn the_second_of_a_slug_is_told_so() {
        let status = wanted_status(&ObservedOrganization { slug_taken: true, ..observed(|_| {}, 0) });
        for type_ in [ConditionType::SpecValid, ConditionType::Ready] {
            let said = status.conditions.iter().find(|it| it.type_ == type_).unwrap();
            assert_eq!((said.status, said.reason), (crds::ConditionStatus::False, Reason::Invalid));
        }
    }

    #[test]
    fn a_deletion_waits_until_no_environment_is_left() {
        assert_eq!(wanted_finalizer(&observed(deleted, 1)), Finalizer::Keep);
        assert_eq!(wanted_finalizer(&observed(deleted, 0)), Finalizer::Remove);
        assert_eq!(wanted_finalizer(&observed(|it| it.metadata.finalizers = None, 0)), Finalizer::Add);
        assert_eq!(wanted_finalizer(&observed(|_| {}, 0)), Finalizer::Keep);
    }

    #[test]
    fn an_owner_who_cannot_be_invited_yet_keeps_no_environment_waiting() {
        let away = Some((Reason::ControlPlaneUnreachable, "away".to_owned()));
        let status = wanted_status(&ObservedOrganization { uninvited: away.clone(), ..observed(|_| {}, 0) });
        assert_eq!(status.phase, Some(OrganizationPhase::Active));
        assert_eq!(uninvited(&observed(|it| it.status = Some(status), 0).organization), away);
        let status = wanted_status(&observed(|_| {}, 0));
        assert_eq!(uninvited(&observed(|it| it.status = Some(status), 0).organization), None);
        assert!(uninvited(&observed(|_| {}, 0).organization).is_some(), "nobody has looked");
    }

    #[test]
    fn what_is_settled_is_not_written_again() {
        let mut it = observed(|_| {}, 0);
        let status = wanted_status(&it);
        it.now = "2027-01-01T00:00:00Z".parse().unwrap();
        it.organization = Arc::new(Organization { status: Some(status.clone()), ..it.organization.as_ref().clone() });
        assert_eq!(wanted_status(&it), status);
    }
}
