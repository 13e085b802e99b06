//! The invitation of the owner of an organization that was written as a resource: the control plane invites
//! its billing address, and the operator puts the token, once, into the Secret `<organization>-owner-invitation`.
//!
//! As with keys: `Invite` → the Secret → `InvitationDelivered`; a crash between any two of them
//! repeats from `Invite`. What was delivered is not asked about again before it ends: then the
//! Secret goes if somebody has accepted, and gets another token if nobody has. A Secret that was
//! taken away stays away.

use crds::Organization;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};

use crate::Error;
use crate::cluster::write::Objects;
use crate::context::Context;
use crate::control_plane::proto::invitation::Status;
use crate::control_plane::proto::{Invitation, InvitationDeliveredRequest, InviteRequest};
use crate::objects::names::label;
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::secret_metadata::{secret_metadata, texts};
use crate::stores::Item;

/// Annotation: the end of the token in the Secret.
const EXPIRES_AT: &str = "sluice.dev/expires-at";

/// The Secret of the invitation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InvitationSecret {
    Absent,
    /// It is another's.
    Taken,
    Holds {
        uid: String,
        expires_at: Option<Timestamp>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InvitationAction {
    Nothing,
    Invite { token_wanted: bool },
}

fn action(state: &InvitationSecret, settled: bool, now: Timestamp) -> InvitationAction {
    match state {
        InvitationSecret::Holds { expires_at: Some(at), .. } if *at <= now => {
            InvitationAction::Invite { token_wanted: true }
        }
        _ if settled => InvitationAction::Nothing,
        InvitationSecret::Holds { .. } => InvitationAction::Invite { token_wanted: false },
        InvitationSecret::Absent => InvitationAction::Invite { token_wanted: true },
        // whatever somebody keeps there is not overwritten
        InvitationSecret::Taken => InvitationAction::Nothing,
    }
}

fn place(organization: &Organization) -> NamespacedName {
    let name = format!("{}-owner-invitation", organization.name_any());
    NamespacedName::new(&organization.namespace().unwrap_or_default(), &name)
}

fn state(context: &Context, organization: &Organization) -> InvitationSecret {
    let Some(known) = context.stores.secrets.get(&place(organization)) else { return InvitationSecret::Absent };
    let facts =
        known.facts().filter(|facts| facts.owners.iter().any(|owner| Some(owner) == organization.uid().as_ref()));
    let Some(facts) = facts else { return InvitationSecret::Taken };
    let expires_at = known.annotations.get(EXPIRES_AT).and_then(|at| at.parse().ok());
    InvitationSecret::Holds { uid: facts.uid, expires_at }
}

/// A Secret that no store knows, because it lacks our label.
async fn is_taken(context: &Context, organization: &Organization) -> Result<bool, Error> {
    let found = context.secrets.read(&place(organization)).await?;
    let foreign = |secret: &Secret| secret.labels().get(label::MANAGED_BY).map(String::as_str) != Some(label::OPERATOR);
    Ok(found.as_ref().is_some_and(foreign))
}

/// The result of an invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvitationOutcome {
    /// Until then, if it ends.
    Settled(Option<Timestamp>),
    /// The Secret is somebody else's.
    Taken,
}

/// Does what is to be done; `settled`: it was all done before.
pub async fn settle(
    context: &Context,
    item: &Item,
    organization: &Organization,
    settled: bool,
) -> Result<InvitationOutcome, Error> {
    let state = state(context, organization);
    let InvitationAction::Invite { token_wanted } = action(&state, settled, context.now()) else {
        return Ok(match state {
            InvitationSecret::Taken if !settled => InvitationOutcome::Taken,
            InvitationSecret::Holds { expires_at, .. } => InvitationOutcome::Settled(expires_at),
            _ => InvitationOutcome::Settled(None),
        });
    };
    let org_id = organization.uid().unwrap_or_default();
    let answer = {
        let _step = context.step("Organization", "invite");
        context.control_plane.invite(InviteRequest { org_id: org_id.clone(), token_wanted }).await?
    };
    match (answer.status(), &answer.token, state) {
        (Status::Open, None, InvitationSecret::Absent) => Ok(InvitationOutcome::Settled(None)),
        (Status::Open, Some(_), InvitationSecret::Absent) if is_taken(context, organization).await? => {
            Ok(InvitationOutcome::Taken)
        }
        (Status::Open, token, _) => {
            if let Some(token) = token {
                let _step = context.step("Organization", "secret");
                store(context, item, organization, &answer, token).await?;
            }
            let _step = context.step("Organization", "delivered");
            context.control_plane.invitation_delivered(InvitationDeliveredRequest { org_id }).await?;
            Ok(InvitationOutcome::Settled(answer.expires_at.parse().ok()))
        }
        (_, _, InvitationSecret::Holds { uid, .. }) => {
            let secrets = Objects::of::<Secret>(&context.client, organization.namespace());
            secrets.delete(place(organization).name(), &uid).await?;
            Ok(InvitationOutcome::Settled(None))
        }
        _ => Ok(InvitationOutcome::Settled(None)),
    }
}

async fn store(
    context: &Context,
    item: &Item,
    organization: &Organization,
    answer: &Invitation,
    token: &str,
) -> Result<(), Error> {
    let slug = organization.name_any();
    let labels = [(label::ORGANIZATION, slug.as_str()), (label::COMPONENT, "owner-invitation")];
    let metadata = ObjectMeta {
        annotations: Some(texts(&[(EXPIRES_AT, &answer.expires_at)])),
        ..secret_metadata(&place(organization), &labels, organization.controller_owner_ref(&()))
    };
    let entries = [("email", answer.email.as_str()), ("token", token), ("url", answer.url.as_str())];
    let data = entries.map(|(name, value)| (name.to_owned(), ByteString(value.as_bytes().to_vec()))).into();
    context.secrets.store(item, &metadata, "Opaque", &data).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_asked_for_once_and_again_when_it_has_ended() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let holds = |at: &str| InvitationSecret::Holds { uid: "u".to_owned(), expires_at: at.parse().ok() };
        let [good, ended] = [holds("2026-01-02T00:00:00Z"), holds("2026-01-01T00:00:00Z")];
        for (state, settled, expected) in [
            (&InvitationSecret::Absent, false, InvitationAction::Invite { token_wanted: true }),
            (&InvitationSecret::Absent, true, InvitationAction::Nothing),
            (&good, false, InvitationAction::Invite { token_wanted: false }),
            (&good, true, InvitationAction::Nothing),
            (&ended, true, InvitationAction::Invite { token_wanted: true }),
            (&ended, false, InvitationAction::Invite { token_wanted: true }),
            (&InvitationSecret::Taken, false, InvitationAction::Nothing),
        ] {
            assert_eq!(action(state, settled, now), expected, "{state:?} {settled}");
        }
    }
}
