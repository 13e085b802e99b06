//! "Start password reset", "complete password reset". Whoever resets a password is not signed in by
//! it, and everybody who is signed in to the account is signed out.

use contract::{Role, Timestamp};
use platform::events::{self, Event, EventType, Origin};
use platform::http::call::Visit;
use platform::http::json::{Accepted, Json, JsonOrForm, Query};
use platform::http::text::Email;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use super::browser::{Browser, WithCookies};
use super::opening;
use crate::domain::accounts::links::{self, LinkRequested, MailedLink, Purpose};
use crate::domain::accounts::sessions::ending;
use crate::domain::accounts::{account, page};

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ForgottenPassword")]
#[serde(deny_unknown_fields)]
pub struct ForgotBody {
    email: Email,
}

pub async fn forgot(visit: Visit, Json(body): Json<ForgotBody>) -> Result<Accepted<LinkRequested>> {
    links::ask(&visit, Purpose::ResetPassword, body.email).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetToken {
    token: String,
}

pub async fn show(visit: Visit, Query(link): Query<ResetToken>) -> Result<page::RenderedPage> {
    page::of(&visit.app, &page::RESET_PASSWORD, &link.token)
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PasswordResetInput")]
#[serde(deny_unknown_fields)]
pub struct ResetBody {
    token: String,
    password: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PasswordReset {
    email: String,
    reset: bool,
    reset_at: Timestamp,
    sessions_terminated: u64,
}

pub async fn reset(
    visit: Visit,
    browser: Browser,
    JsonOrForm(body): JsonOrForm<ResetBody>,
) -> Result<WithCookies<Json<PasswordReset>>> {
    let (app, now) = (&visit.app, visit.now());
    let failed = |error| app.limits().after_failed_credential(visit.peer, error);
    let mut tx = visit.begin().await?;
    let link = links::presented(&mut tx, &body.token, Purpose::ResetPassword, now).await.map_err(failed)?;
    // The slow hash holds neither link nor connection: the link is looked at again.
    tx.rollback().await?;
    account::admit_password(&body.password, &Email::kept(link.email.clone()))?;
    let hash = app.slow_hash().hash(body.password, app.entropy().clone()).await?;
    let mut tx = visit.begin().await?;
    let link = links::presented(&mut tx, &body.token, Purpose::ResetPassword, now).await.map_err(failed)?;
    account::enters(&mut tx, &link.account_id).await?;
    links::followed(&mut tx, &link, now).await?;
    account::set_password(&mut tx, &link.account_id, &hash, now).await?;
    let sessions_terminated = ending::end_all_of_account(&mut tx, &link.account_id, None, now).await?;
    record(&visit, &mut tx, &link).await?;
    tx.commit().await?;
    let done = PasswordReset { email: link.email, reset: true, reset_at: now, sessions_terminated };
    Ok(browser.forgets(Json(done)))
}

/// Every organization of the account learns of it.
async fn record(visit: &Visit, tx: &mut PgConnection, link: &MailedLink) -> Result<()> {
    for member in account::memberships(tx, &link.account_id).await? {
        let origin = Origin {
            actor_id: member.user_id.to_string(),
            actor_email: Some(link.email.clone()),
            actor_role: Some(member.role.parse::<Role>().map_err(Error::internal)?),
            ..opening::origin(visit, member.org_id)
        };
        let event = Event::new(EventType::AuthPasswordReset, member.user_id).after(json!({"email": link.email}));
        events::record(&visit.app, tx, origin, event).await?;
    }
    Ok(())
}
