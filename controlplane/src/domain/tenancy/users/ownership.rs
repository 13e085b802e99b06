//! Who owns an organization that somebody wrote as a resource: whoever it bills is invited
//! (`crate::server::kubernetes::organizations`), and the operator fetches the token for a Secret, since nobody asked for
//! the invitation who could be answered.
//!
//! The operator may ask as often as it likes. A token is given until it is known to have been
//! delivered, each time a fresh one: a crash between minting and the Secret loses nothing and leaves
//! nothing that opens. One that nobody used in its time is replaced.

use contract::{OrgId, Redacted, Timestamp};
use platform::events::{self, Event, EventType, Origin};
use platform::{App, Result};
use serde_json::json;

use super::invitations::TOKEN_CHARACTERS;
use super::store::{self, Owning};
use crate::domain::accounts::account::INVITATION;
use crate::domain::accounts::sessions::sha256;
use crate::domain::tenancy::organizations;

/// The outcome of an owner's invitation, for the operator.
#[derive(Debug, Clone)]
pub enum Invited {
    /// The address that is billed is none that can be invited.
    Nobody,
    Open {
        email: String,
        expires_at: Option<Timestamp>,
        token: Option<Redacted<String>>,
    },
    Accepted {
        email: String,
    },
}

/// Who is invited, and the token if it is wanted and still to be had.
pub async fn invite(app: &App, org_id: &OrgId, token_wanted: bool) -> Result<Invited> {
    let mut tx = app.pool().begin().await?;
    organizations::store::lock(&mut tx, org_id).await?;
    let Some(mut owner) = store::owning(&mut tx, org_id).await? else { return Ok(Invited::Nobody) };
    let expired = owner.expires_at.is_some_and(|at| at <= app.now());
    if !owner.is_invited() || !token_wanted || (owner.delivered_at.is_some() && !expired) {
        return Ok(owner.told(None));
    }
    let token = app.entropy().base62(TOKEN_CHARACTERS);
    let expires_at = app.now() + INVITATION;
    store::renew_invitation(&mut tx, &owner.user_id, &sha256(&token), expires_at, app.now()).await?;
    if expired {
        let after = json!({"email": owner.email, "role": "owner", "status": owner.status});
        let event = Event::new(EventType::UserInvited, owner.user_id.as_str()).after(after);
        events::record(app, &mut tx, Origin::system(app, org_id.clone()), event).await?;
    }
    tx.commit().await?;
    owner.expires_at = Some(expires_at);
    Ok(owner.told(Some(Redacted::new(token))))
}

/// The token is in the Secret.
pub async fn delivered(app: &App, org_id: &OrgId) -> Result<Invited> {
    let mut tx = app.pool().begin().await?;
    organizations::store::lock(&mut tx, org_id).await?;
    let Some(owner) = store::owning(&mut tx, org_id).await? else { return Ok(Invited::Nobody) };
    if owner.is_invited() && owner.delivered_at.is_none() {
        store::invitation_delivered(&mut tx, &owner.user_id, app.now()).await?;
        tx.commit().await?;
    }
    Ok(owner.told(None))
}

impl Owning {
    fn is_invited(&self) -> bool {
        self.status == "invited"
    }

    fn told(self, token: Option<Redacted<String>>) -> Invited {
        if self.is_invited() {
            return Invited::Open { email: self.email, expires_at: self.expires_at, token };
        }
        Invited::Accepted { email: self.email }
    }
}
