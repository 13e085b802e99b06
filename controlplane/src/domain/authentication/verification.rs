//! "Verify email with a token", "resend verification email": whoever has the account has the mailbox.
//! Signing up sends the first mail; following a link of any other kind proves as much.

use contract::Timestamp;
use platform::Result;
use platform::http::call::Visit;
use platform::http::json::{Accepted, Json, JsonOrForm, Query};
use platform::http::text::Email;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::accounts::links::{self, LinkRequested, Purpose};
use crate::domain::accounts::page;

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "VerificationResend")]
#[serde(deny_unknown_fields)]
pub struct ResendBody {
    email: Email,
}

pub async fn resend(visit: Visit, Json(body): Json<ResendBody>) -> Result<Accepted<LinkRequested>> {
    links::ask(&visit, Purpose::VerifyEmail, body.email).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerificationToken {
    token: String,
}

pub async fn show(visit: Visit, Query(link): Query<VerificationToken>) -> Result<page::RenderedPage> {
    page::of(&visit.app, &page::VERIFY_EMAIL, &link.token)
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifiedEmail {
    email: String,
    verified: bool,
    verified_at: Timestamp,
}

pub async fn verify(visit: Visit, JsonOrForm(body): JsonOrForm<VerificationToken>) -> Result<Json<VerifiedEmail>> {
    let failed = |error| visit.app.limits().after_failed_credential(visit.peer, error);
    let now = visit.now();
    let mut tx = visit.begin().await?;
    let link = links::presented(&mut tx, &body.token, Purpose::VerifyEmail, now).await.map_err(failed)?;
    links::followed(&mut tx, &link, now).await?;
    tx.commit().await?;
    Ok(Json(VerifiedEmail { email: link.email, verified: true, verified_at: now }))
}
