//! Whom a provider means: somebody it brought before, a user with the address it vouches for, or
//! somebody new.

use contract::{OrgId, Role, UserId};
use platform::events::{self, Event, EventType, Origin};
use platform::http::call::Visit;
use platform::http::text::{Email, NAME_MAX};
use platform::{Error, Result};
use serde_json::json;
use sqlx::PgConnection;

use super::store::{self, SsoConnection};
use crate::domain::accounts::sessions::SessionHolder;
use crate::domain::authentication::opening;
use crate::domain::tenancy::organizations;
use crate::domain::tenancy::users::store::{self as users, UninvitedUser, User};
use crate::domain::tenancy::users::within_tier;

/// A person as a provider describes them.
#[derive(Debug)]
pub struct Person {
    pub subject: String,
    pub email: Email,
    pub name: Option<String>,
}

/// The user, under the lock of the organization: two sign-ons of one person are one user.
pub async fn user(
    visit: &Visit,
    tx: &mut PgConnection,
    connection: &SsoConnection,
    person: &Person,
) -> Result<SessionHolder> {
    let org_id = &connection.org_id;
    vouches_for(connection, &person.email)?;
    organizations::store::lock(tx, org_id).await?;
    let known = store::identity(tx, org_id, &connection.issuer, &person.subject).await?;
    let user = if let Some(user_id) = &known {
        users::get(tx, org_id, user_id).await?
    } else {
        let user = by_address(visit, tx, connection, person).await?;
        store::link(tx, org_id, &connection.issuer, &person.subject, &user.user_id).await?;
        user
    };
    if user.status != "active" {
        return Err(Error::NO_MEMBERSHIP);
    }
    let role = user.role.parse().map_err(Error::internal)?;
    Ok(SessionHolder { user_id: user.user_id, org_id: org_id.clone(), role })
}

/// An address of another domain is nobody's here, whoever it was before.
fn vouches_for(connection: &SsoConnection, email: &Email) -> Result<()> {
    let domain = email.as_str().rsplit_once('@').map(|(_, domain)| domain).unwrap_or_default();
    if connection.email_domains.iter().any(|own| own == domain) {
        return Ok(());
    }
    Err(Error::Forbidden("the provider may not vouch for addresses of this domain"))
}

async fn by_address(visit: &Visit, tx: &mut PgConnection, connection: &SsoConnection, person: &Person) -> Result<User> {
    let org_id = &connection.org_id;
    match users::by_email(tx, org_id, &person.email).await? {
        Some(user) if user.status == "invited" => {
            users::come_vouched_for(tx, &user.user_id, visit.now()).await?;
            accepted(visit, tx, &user.user_id, &user.role, org_id, &person.email, "invited").await?;
            users::get(tx, org_id, &user.user_id).await
        }
        Some(user) => Ok(user),
        None => uninvited_user(visit, tx, connection, person).await,
    }
}

async fn uninvited_user(
    visit: &Visit,
    tx: &mut PgConnection,
    connection: &SsoConnection,
    person: &Person,
) -> Result<User> {
    let org_id = &connection.org_id;
    within_tier(tx, org_id).await?;
    let role: Role = connection.default_role.parse().map_err(Error::internal)?;
    let name: Option<String> = person.name.as_ref().map(|name| name.chars().take(NAME_MAX).collect());
    let uninvited_user = UninvitedUser { org_id, email: &person.email, name: name.as_deref(), role };
    let user_id = users::insert_vouched_for(tx, &visit.app, &uninvited_user).await?;
    accepted(visit, tx, &user_id, role.as_str(), org_id, &person.email, "absent").await?;
    users::get(tx, org_id, &user_id).await
}

async fn accepted(
    visit: &Visit,
    tx: &mut PgConnection,
    user_id: &UserId,
    role: &str,
    org_id: &OrgId,
    email: &Email,
    before: &str,
) -> Result<()> {
    let origin = Origin {
        actor_id: user_id.to_string(),
        actor_email: Some(email.to_string()),
        actor_role: Some(role.parse().map_err(Error::internal)?),
        ..opening::origin(visit, org_id.clone())
    };
    let event = Event::new(EventType::UserAccepted, user_id.as_str())
        .before(json!({"status": before}))
        .after(json!({"status": "active", "email": email, "role": role, "by": "sso"}));
    events::record(&visit.app, tx, origin, event).await
}
