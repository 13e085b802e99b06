//! Invitations: a user who has not come yet.

use contract::caller::Credential;
use contract::{Code, OrgId, Role, Timestamp, UserId};
use platform::events::{self, Event, EventType, Origin};
use platform::http::call::Call;
use platform::http::json::{Created, Json};
use platform::http::text::{self, Email, NAME_MAX};
use platform::mails;
use platform::mails::{Cause, MailKind, OutgoingMail, Queued};
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use crate::domain::accounts::account::INVITATION;
use crate::domain::accounts::sessions::{SessionHolder, sha256};
use crate::domain::accounts::{links, page};
use crate::domain::tenancy::organizations;
use crate::domain::tenancy::organizations::store::Organization;
use crate::domain::tenancy::users::store::{self, Invitation, Invitee, User, UserFilter};

/// Characters of base62 that hold 256 bits.
pub(super) const TOKEN_CHARACTERS: usize = 43;

contract::some_roles! {
    /// "`admin`, `analyst`, `auditor`, `developer`, `service_account`": any role but `owner`.
    #[schemars(rename = "AssignableRole")]
    pub enum Assignable { Admin, Analyst, Auditor, Developer, ServiceAccount }
}

/// Rule 1. A key that acts for nobody is not an owner either.
pub fn may_make_admin(call: &Call, role: Role) -> Result<()> {
    if role == Role::Admin && call.caller.role != Role::Owner {
        return Err(Error::Forbidden("only the owner makes somebody `admin`"));
    }
    Ok(())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "InvitationInput")]
#[serde(deny_unknown_fields)]
pub struct InviteBody {
    email: Email,
    name: Option<String>,
    role: Assignable,
}

/// The user, and the token that accepts the invitation: shown once, to whoever hands it on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InvitedUser {
    #[serde(flatten)]
    user: User,
    invitation_token: String,
}

pub async fn create(call: Call, Json(body): Json<InviteBody>) -> Result<Created<InvitedUser>> {
    let (user, invitation_token) = record(&call, body).await?;
    Ok(Created(InvitedUser { user, invitation_token }))
}

/// `{user_id, email, role, status, invited_at}`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Invitation")]
pub struct InvitedView {
    id: UserId,
    user_id: UserId,
    email: String,
    role: String,
    status: String,
    invited_at: Timestamp,
    invitation_expires_at: Option<Timestamp>,
    invitation_token: String,
}

pub async fn invite(call: Call, Json(body): Json<InviteBody>) -> Result<Created<InvitedView>> {
    let (user, invitation_token) = record(&call, body).await?;
    Ok(Created(InvitedView {
        id: user.id,
        user_id: user.user_id,
        email: user.email,
        role: user.role,
        status: user.status,
        invited_at: user.created_at,
        invitation_expires_at: user.invitation_expires_at,
        invitation_token,
    }))
}

async fn record(call: &Call, body: InviteBody) -> Result<(User, String)> {
    let role = body.role.role();
    may_make_admin(call, role)?;
    let name = body.name.as_deref().map(|name| text::checked("name", name, NAME_MAX)).transpose()?;
    let mut tx = call.begin().await?;
    let org = organizations::store::lock(&mut tx, call.org_id()).await?;
    within_tier(&mut tx, call.org_id()).await?;
    may_mail(call, &mut tx).await?;
    let token = call.app.entropy().base62(TOKEN_CHARACTERS);
    let invitee = Invitee {
        org_id: call.org_id(),
        email: &body.email,
        name: name.as_deref(),
        role,
        token_sha256: &sha256(&token),
        expires_at: call.now() + INVITATION,
    };
    let user = store::invite(&mut tx, &call.app, &invitee).await?;
    let after = json!({"email": user.email, "role": user.role, "status": user.status});
    let event = Event::new(EventType::UserInvited, user.user_id.as_str()).after(after);
    events::record(&call.app, &mut tx, call, event).await?;
    mail(&call.app, &mut tx, &org, &invitee, &token).await?;
    tx.commit().await?;
    Ok((user, token))
}

/// "Invitation email sent; invitation has an expiry."
async fn mail(app: &App, tx: &mut PgConnection, org: &Organization, invitee: &Invitee<'_>, token: &str) -> Result<()> {
    let url = links::url(app, &page::ACCEPT_INVITATION, token);
    let name = mails::names::said(&org.name, "an organization");
    let text = format!(
        "You are invited to {name} on Sluice, as {}.\n\n{url}\n\nThe invitation is good for {} days.\n\
         If you do not know who invites you, leave it: nothing happens.\n",
        invitee.role,
        INVITATION.num_days(),
    );
    let outgoing = OutgoingMail {
        to: invitee.email,
        subject: &format!("Invitation to {name}"),
        text: &text,
        good_until: invitee.expires_at,
    };
    let cause = Cause { kind: MailKind::Invitation, org_id: Some(invitee.org_id) };
    match mails::queue(app, tx, cause, &outgoing).await? {
        Queued::Yes => Ok(()),
        Queued::Full => Err(Error::MailsExhausted),
    }
}

/// Whoever invites has us send mail. So their own address is one that was confirmed, and so is that of somebody who
/// answers for the organization: an owner or admin, or whoever gave it a tier.
async fn may_mail(call: &Call, tx: &mut PgConnection) -> Result<()> {
    if call.app.mail_transport().is_none()
        || store::answered_for(tx, call.org_id(), call.caller.user_id.as_ref()).await?
    {
        return Ok(());
    }
    Err(Error::Barred {
        reason: "email_unconfirmed",
        message: "confirm your e-mail address before you invite others: POST /v1/auth/verify-email/resend mails the link \
                  again; where a provider signs you in, an owner or admin with an account confirms theirs",
    })
}

/// Whoever is to own an organization that nobody signed up for. They own it once they have accepted,
/// as anybody accepts. This token is in nobody's hands, because nobody asked for it: the operator
/// asks for another (`ownership`).
pub(crate) async fn invite_owner(
    app: &App,
    tx: &mut PgConnection,
    org_id: &OrgId,
    email: &Email,
    origin: Origin,
) -> Result<()> {
    let token = app.entropy().base62(TOKEN_CHARACTERS);
    let invitee = Invitee {
        org_id,
        email,
        name: None,
        role: Role::Owner,
        token_sha256: &sha256(&token),
        expires_at: app.now() + INVITATION,
    };
    let user = store::invite(tx, app, &invitee).await?;
    let after = json!({"email": user.email, "role": user.role, "status": user.status});
    let event = Event::new(EventType::UserInvited, user.user_id.as_str()).after(after);
    events::record(app, tx, origin, event).await
}

/// The table "Tier quotas", row "Users".
pub(crate) async fn within_tier(tx: &mut PgConnection, org_id: &OrgId) -> Result<()> {
    let organization = organizations::governed(tx, org_id).await?.ok_or(Error::NO_MEMBERSHIP)?;
    let Some(limit) = organization.limits.max_users else {
        return Ok(());
    };
    let count = store::count(tx, org_id, UserFilter { role: None, status: None }).await?;
    if count >= i64::from(limit) {
        return Err(Error::TierLimit { tier: organization.tier, quota: "users", limit: limit.into() });
    }
    Ok(())
}

/// Of an invitation that is over nothing is kept by which to tell why.
const GONE: Error = Error::Over {
    code: Code::InvalidToken,
    message: "this invitation was accepted, withdrawn or replaced by a newer one: sign in, or ask whoever invited you for another",
};
const LATE: Error = Error::Over {
    code: Code::ExpiredToken,
    message: "this invitation has expired: ask whoever invited you for another",
};

/// Finds the invitation that a token accepts.
pub(crate) async fn presented(conn: &mut PgConnection, token: &str, now: Timestamp) -> Result<Invitation> {
    let found = store::invitation(conn, &sha256(token)).await?;
    let invitation = found.filter(|invitation| invitation.status == "invited").ok_or(GONE)?;
    if invitation.expires_at.is_none_or(|expires_at| expires_at <= now) {
        return Err(LATE);
    }
    Ok(invitation)
}

/// Whose invitation a token accepts.
pub(crate) async fn addressee(app: &App, token: &str) -> Result<Email> {
    let mut tx = app.pool().begin().await?;
    let invitation = presented(&mut tx, token, app.now()).await?;
    Ok(Email::kept(invitation.email))
}

/// Makes the invited user `active` behind an account.
pub(crate) async fn accept(
    app: &App,
    tx: &mut PgConnection,
    token: &str,
    account_id: &str,
    name: Option<&str>,
    origin: impl Fn(OrgId) -> Origin,
) -> Result<SessionHolder> {
    let invitation = presented(tx, token, app.now()).await?;
    store::accept(tx, &invitation.user_id, account_id, name, app.now()).await?;
    let role = invitation.role.parse::<Role>().map_err(Error::internal)?;
    let origin = Origin {
        actor_id: invitation.user_id.to_string(),
        actor_email: Some(invitation.email),
        actor_role: Some(role),
        ..origin(invitation.org_id.clone())
    };
    let event = Event::new(EventType::UserAccepted, invitation.user_id.as_str())
        .before(json!({"status": "invited"}))
        .after(json!({"status": "active"}));
    events::record(app, tx, origin, event).await?;
    Ok(SessionHolder { user_id: invitation.user_id, org_id: invitation.org_id, role })
}

/// Is the caller this very user, by session or by a key that acts for them?
pub fn is_self(call: &Call, user_id: &UserId) -> bool {
    let acts = match &call.caller.credential {
        Credential::Session { .. } => true,
        Credential::Key { acts_for_user, .. } => *acts_for_user,
    };
    acts && call.caller.user_id.as_ref() == Some(user_id)
}
