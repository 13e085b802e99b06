//! Route table and list of users.

use std::str::FromStr;

use contract::{Access, Role, Scope};
use platform::http::call::Call;
use platform::http::json::Query;
use platform::http::page::{PageRequest, Paged};
use platform::http::routes::Routes;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::tenancy::users::store::{self, User, UserFilter};
use crate::domain::tenancy::users::{attributes, invitations, membership};

/// What whoever has lost the token of an invitation does.
const INVITATION_LOST: &str = "the mail holds it too; else remove the user and invite them again";
const STATUSES: [&str; 3] = ["active", "invited", "suspended"];

pub fn routes() -> Routes {
    const USERS: &str = "/v1/organizations/{org_id}/users";
    Routes::new()
        .get(USERS, Access::Admin, Scope::UserRead, list)
        .says("Lists the users.")
        .post(USERS, Access::Admin, Scope::UserWrite, invitations::create)
        .says("Invites somebody; the answer alone holds the token of the invitation.")
        .secret("invitation_token", INVITATION_LOST)
        .post("/v1/organizations/{org_id}/users/invite", Access::Admin, Scope::UserWrite, invitations::invite)
        .says("Invites somebody; answers the invitation.")
        .secret("invitation_token", INVITATION_LOST)
        .put(
            "/v1/organizations/{org_id}/users/{user_id}/role",
            Access::Admin,
            Scope::UserWrite,
            membership::change_role,
        )
        .says("Changes a user's role.")
        .step_up()
        .delete("/v1/organizations/{org_id}/users/{user_id}", Access::Admin, Scope::UserWrite, membership::remove)
        .says("Removes a user; their sessions and keys end.")
        .put("/v1/organizations/{org_id}/users/{user_id}/attributes", Access::Admin, Scope::UserWrite, attributes::put)
        .says("Replaces the attributes that filters compare.")
        .ours()
        .post(
            "/v1/organizations/{org_id}/users/{user_id}/suspend",
            Access::Admin,
            Scope::UserWrite,
            membership::suspend,
        )
        .says("Suspends a user; their sessions end.")
        .ours()
        .post(
            "/v1/organizations/{org_id}/users/{user_id}/reactivate",
            Access::Admin,
            Scope::UserWrite,
            membership::reactivate,
        )
        .says("Lets a suspended user in again.")
        .ours()
        .post("/v1/organizations/{org_id}/transfer-ownership", Access::Owner, None, membership::transfer_ownership)
        .says("Makes somebody else the owner.")
        .ours()
        .step_up()
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListQuery {
    role: Option<String>,
    status: Option<String>,
}

async fn list(call: Call, Query(query): Query<ListQuery>, page: PageRequest) -> Result<Paged<User>> {
    if let Some(role) = &query.role {
        Role::from_str(role).map_err(|unknown| Error::invalid("role", unknown.allowed.clone(), unknown.to_string()))?;
    }
    if let Some(status) = &query.status
        && !STATUSES.contains(&status.as_str())
    {
        return Err(Error::invalid(
            "status",
            STATUSES.join(", "),
            format!("`status` is one of {}", STATUSES.join(", ")),
        ));
    }
    let filter = UserFilter { role: query.role.as_deref(), status: query.status.as_deref() };
    let mut conn = call.app.pool().acquire().await?;
    let rows = store::list(&mut conn, call.org_id(), filter, &page).await?;
    let total = store::count(&mut conn, call.org_id(), filter).await?;
    Ok(page.of(rows, total, |user| (user.created_at, user.user_id.to_string()), |user| user))
}
