//! Who decides: a person, whom the decision is assigned to, and never over their own work.
//!
//! "`assigned_to` (role `pm`, `client`, `admin`, or a specific email)." Owners and admins decide
//! anything. Anybody else who may write decides what is assigned to their e-mail, or to their part:
//! the attribute `review_role`, `pm` where they have none. Four eyes: whoever holds the lease of an
//! attempt does not approve what it made, and neither does anybody who published any of it or completed the attempt.

use contract::Role;
use platform::http::call::Call;
use platform::http::text::Email;
use platform::{Error, Result};
use sqlx::PgConnection;

use super::actor;

/// The attribute that says which part somebody has in reviews.
pub const PART: &str = "review_role";
pub const PM: &str = "pm";
pub const CLIENT: &str = "client";
pub const ADMIN: &str = "admin";

/// The person who decides, as records name them; a key that acts for nobody is none.
pub fn person(cx: &Call) -> Result<String> {
    const MESSAGE: &str = "a person decides this: sign in, or use a key that acts for a user";
    cx.caller.user_id.as_ref().ok_or(Error::Barred { reason: "person_required", message: MESSAGE })?;
    Ok(actor::of(&cx.caller))
}

pub fn is_admin(cx: &Call) -> bool {
    matches!(cx.caller.role, Role::Owner | Role::Admin)
}

/// It is assigned to the caller.
pub fn is_assigned(cx: &Call, assigned_to: &str) -> bool {
    let email = cx.caller.email.as_deref().map(str::to_lowercase);
    let part = cx.caller.attributes.get(PART).map_or(PM, String::as_str);
    let is_theirs = email.as_deref() == Some(assigned_to) || part == assigned_to && assigned_to != ADMIN;
    cx.caller.user_id.is_some() && (is_admin(cx) || is_theirs)
}

/// 403 unless it is assigned to the caller.
pub fn assigned(cx: &Call, assigned_to: &str) -> Result<()> {
    let refused = Error::Barred { reason: "not_assigned", message: "the review is assigned to somebody else" };
    is_assigned(cx, assigned_to).then_some(()).ok_or(refused)
}

/// Somebody a review can be assigned to.
pub fn assignee(field: &'static str, given: &str) -> Result<String> {
    if [PM, CLIENT, ADMIN].contains(&given) {
        return Ok(given.to_owned());
    }
    let wanted = "`pm`, `client`, `admin` or an e-mail address";
    let refused = |_| Error::invalid(field, wanted, format!("`{field}` is {wanted}"));
    Ok(Email::try_from(given.to_owned()).map_err(refused)?.as_str().to_owned())
}

/// Work that was made, by attempt or by all attempts of a task.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    pub task_id: Option<&'a str>,
    pub attempt_id: Option<&'a str>,
}

/// 403 if the caller holds the lease of an attempt that made it, has completed one, or published something for one.
pub async fn four_eyes(cx: &Call, tx: &mut PgConnection, made: Made<'_>) -> Result<()> {
    let is_own = sqlx::query_scalar!(
        r#"select exists (
             select from svc_runtime.task_attempts
             where org_id = $1 and $4 in (held_by, completed_by) and (id = $2 or $2::text is null and task_id = $3)
             union all
             select from svc_runtime.artifact_instances
             where org_id = $1 and published_by = $4 and (attempt_id = $2 or $2::text is null and task_id = $3)
           ) as "is_own!""#,
        cx.org_id().as_str(),
        made.attempt_id,
        made.task_id,
        actor::of(&cx.caller),
    );
    let refused = Error::Barred { reason: "four_eyes", message: "whoever made it does not approve it" };
    if is_own.fetch_one(tx).await? { Err(refused) } else { Ok(()) }
}
