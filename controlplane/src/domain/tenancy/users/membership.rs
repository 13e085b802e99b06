//! The membership of a user after the invitation: role, suspension, removal, ownership.

use contract::{Role, Timestamp, UserId};
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::{PgConnection, Postgres, Transaction};

use crate::domain::accounts::sessions::ending;
use crate::domain::api_keys;
use crate::domain::tenancy::organizations;
use crate::domain::tenancy::users::invitations::{Assignable, is_self, may_make_admin};
use crate::domain::tenancy::users::store::{self, User};

/// The user in the path, under the lock of the organization.
async fn locked(call: &Call) -> Result<(Transaction<'static, Postgres>, User)> {
    let mut tx = call.begin().await?;
    organizations::store::lock(&mut tx, call.org_id()).await?;
    let user = store::get(&mut tx, call.org_id(), &call.id("user_id")?).await?;
    Ok((tx, user))
}

/// Rule 4: an admin who stops being one leaves another.
async fn leaves_an_admin(call: &Call, tx: &mut PgConnection, user: &User) -> Result<()> {
    if !is_self(call, &user.user_id) || !user.is_admin() {
        return Ok(());
    }
    if store::other_admins(tx, call.org_id(), &user.user_id).await? == 0 {
        return Err(Error::conflict("last_admin", "you are the last admin: make somebody else one first"));
    }
    Ok(())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "RoleInput")]
#[serde(deny_unknown_fields)]
pub struct RoleBody {
    role: Assignable,
}

/// `{user_id, email, name, role, previous_role, updated_at, updated_by}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RoleChange {
    id: UserId,
    user_id: UserId,
    email: String,
    name: Option<String>,
    role: Role,
    previous_role: String,
    updated_at: Timestamp,
    updated_by: String,
}

pub async fn change_role(call: Call, Json(body): Json<RoleBody>) -> Result<Json<RoleChange>> {
    let role = body.role.role();
    let (mut tx, user) = locked(&call).await?;
    if user.is_owner() {
        return Err(Error::Forbidden("the owner's role changes only by transferring ownership"));
    }
    if user.role != role.as_str() {
        may_make_admin(&call, role)?;
        leaves_an_admin(&call, &mut tx, &user).await?;
        store::set_role(&mut tx, &user.user_id, role, call.now()).await?;
        record_role(&call, &mut tx, &user, role).await?;
        tx.commit().await?;
    }
    Ok(Json(RoleChange {
        id: user.id,
        user_id: user.user_id,
        email: user.email,
        name: user.name,
        role,
        previous_role: user.role,
        updated_at: call.now(),
        updated_by: call.caller.actor_id().to_owned(),
    }))
}

/// Rule 6.
async fn record_role(call: &Call, tx: &mut PgConnection, user: &User, role: Role) -> Result<()> {
    let event = Event::new(EventType::UserRoleChanged, user.user_id.as_str())
        .before(json!({"role": user.role}))
        .after(json!({"role": role}));
    events::record(&call.app, tx, call, event).await
}

/// "The user's keys are revoked and sessions ended."
#[derive(Debug, Serialize, JsonSchema)]
pub struct UserRemoval {
    id: UserId,
    user_id: UserId,
    email: String,
    deleted: bool,
    removed_at: Timestamp,
    removed_by: String,
    api_keys_revoked: usize,
    sessions_terminated: u64,
}

pub async fn remove(call: Call) -> Result<Json<UserRemoval>> {
    let (mut tx, user) = locked(&call).await?;
    if user.is_owner() {
        return Err(Error::Forbidden("the organization owner cannot be removed"));
    }
    leaves_an_admin(&call, &mut tx, &user).await?;
    let removed_by = call.caller.actor_id().to_owned();
    let api_keys_revoked = api_keys::revoke_all_of(&call.app, &mut tx, &user.user_id, &removed_by).await?;
    let sessions_terminated = ending::end_all(&mut tx, &user.user_id, call.now()).await?;
    store::remove(&mut tx, &user.user_id).await?;
    let before = json!({"email": user.email, "role": user.role, "status": user.status});
    let after = json!({"api_keys_revoked": api_keys_revoked, "sessions_terminated": sessions_terminated});
    let event = Event::new(EventType::UserRemoved, user.user_id.as_str()).before(before).after(after);
    events::commit(&call.app, tx, &call, event).await?;
    Ok(Json(UserRemoval {
        id: user.id,
        user_id: user.user_id,
        email: user.email,
        deleted: true,
        removed_at: call.now(),
        removed_by,
        api_keys_revoked,
        sessions_terminated,
    }))
}

pub async fn suspend(call: Call) -> Result<Json<User>> {
    let (mut tx, user) = locked(&call).await?;
    if user.is_owner() {
        return Err(Error::Forbidden("the organization owner cannot be suspended"));
    }
    if is_self(&call, &user.user_id) {
        return Err(Error::Forbidden("nobody suspends themselves"));
    }
    if user.status == "suspended" {
        return Err(Error::conflict("suspended", "the user is suspended already"));
    }
    store::suspend(&mut tx, &user.user_id, call.now()).await?;
    ending::end_all(&mut tx, &user.user_id, call.now()).await?;
    restatus(&call, tx, user, EventType::UserSuspended).await
}

pub async fn reactivate(call: Call) -> Result<Json<User>> {
    let (mut tx, user) = locked(&call).await?;
    if user.status != "suspended" {
        return Err(Error::conflict("not_suspended", "the user is not suspended"));
    }
    if user.role == Role::Admin.as_str() {
        may_make_admin(&call, Role::Admin)?;
    }
    store::reactivate(&mut tx, &user.user_id, call.now()).await?;
    restatus(&call, tx, user, EventType::UserReactivated).await
}

async fn restatus(
    call: &Call,
    mut tx: Transaction<'static, Postgres>,
    before: User,
    event: EventType,
) -> Result<Json<User>> {
    let after = store::get(&mut tx, call.org_id(), &before.user_id).await?;
    let event = Event::new(event, after.user_id.as_str())
        .before(json!({"status": before.status}))
        .after(json!({"status": after.status}));
    events::commit(&call.app, tx, call, event).await?;
    Ok(Json(after))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "OwnershipInput")]
#[serde(deny_unknown_fields)]
pub struct TransferBody {
    user_id: UserId,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct OwnershipTransfer {
    owner: User,
    previous_owner: User,
    transferred_at: Timestamp,
}

/// "Ownership is transferred explicitly"; the old owner becomes admin.
pub async fn transfer_ownership(call: Call, Json(body): Json<TransferBody>) -> Result<Json<OwnershipTransfer>> {
    let mut tx = call.begin().await?;
    organizations::store::lock(&mut tx, call.org_id()).await?;
    let owner_id = store::owner(&mut tx, call.org_id()).await?.ok_or(Error::NotFound { kind: "owner" })?;
    if call.caller.user_id.as_ref() != Some(&owner_id) {
        return Err(Error::Forbidden("only the owner gives ownership away"));
    }
    let old = store::get(&mut tx, call.org_id(), &owner_id).await?;
    let new = store::get(&mut tx, call.org_id(), &body.user_id).await?;
    if new.is_owner() {
        return Err(Error::conflict("is_owner", "the user is the owner already"));
    }
    if new.status != "active" || new.role == Role::ServiceAccount.as_str() {
        return Err(Error::conflict("not_active", "the new owner has to be an active person"));
    }
    // Whom a provider alone vouches for is out of the organization's hands.
    if !store::has_account(&mut tx, &new.user_id).await? {
        return Err(Error::conflict("no_account", "the new owner has to have an account of their own"));
    }
    // An organization never has two owners, not even for a moment.
    store::set_role(&mut tx, &old.user_id, Role::Admin, call.now()).await?;
    store::set_role(&mut tx, &new.user_id, Role::Owner, call.now()).await?;
    record_role(&call, &mut tx, &old, Role::Admin).await?;
    record_role(&call, &mut tx, &new, Role::Owner).await?;
    // an admin who was given the text of their key would have the owner's
    api_keys::revoke_known_to_others(&mut tx, &call, &new.user_id).await?;
    let owner = store::get(&mut tx, call.org_id(), &new.user_id).await?;
    let previous_owner = store::get(&mut tx, call.org_id(), &old.user_id).await?;
    tx.commit().await?;
    Ok(Json(OwnershipTransfer { owner, previous_owner, transferred_at: call.now() }))
}
