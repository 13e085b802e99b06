//! Signing in by a mailed link: "send a sign-in link by email", "magic link callback".

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use contract::OrgId;
use platform::http::call::Visit;
use platform::http::json::{Accepted, Json, JsonOrForm, Query};
use platform::http::signature::{Answers, ResponseSignature, Signature};
use platform::http::text::Email;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::browser::{Browser, WithCookies};
use super::opening::{self, Login, UserAgent};
use crate::domain::accounts::links::{self, LinkRequested, Purpose};
use crate::domain::accounts::second_factor::{Codes, SecondFactorSubject, passed};
use crate::domain::accounts::sessions::{Method, Proof};
use crate::domain::accounts::{account, page};

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "MagicLinkInput")]
#[serde(deny_unknown_fields)]
pub struct AskBody {
    email: Email,
}

pub async fn ask(visit: Visit, Json(body): Json<AskBody>) -> Result<Accepted<LinkRequested>> {
    links::ask(&visit, Purpose::SignIn, body.email).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MagicLinkCallback {
    token: String,
    org_id: Option<OrgId>,
    totp: Option<String>,
    recovery_code: Option<String>,
}

/// The answer to a fetched link.
#[derive(Debug)]
pub enum Fetched {
    Page(page::RenderedPage),
    Opened(Box<Login>),
}

impl IntoResponse for Fetched {
    fn into_response(self) -> Response {
        match self {
            Self::Page(page) => page.into_response(),
            Self::Opened(opened) => Json(opened).into_response(),
        }
    }
}

impl Answers for Fetched {
    fn answers(said: &mut Signature<'_>) {
        let opened = ("application/json", Some(said.shape::<Login>()));
        said.says(ResponseSignature {
            status: StatusCode::OK,
            content: vec![opened, page::RenderedPage::CONTENT],
            headers: &[],
        });
    }
}

/// A browser is shown a button that posts; a program that asks for JSON is signed in.
pub async fn callback(
    visit: Visit,
    agent: UserAgent,
    headers: HeaderMap,
    Query(callback): Query<MagicLinkCallback>,
) -> Result<Fetched> {
    if !page::wants_json(&headers) {
        return page::of(&visit.app, &page::SIGN_IN, &callback.token).map(Fetched::Page);
    }
    Ok(Fetched::Opened(Box::new(sign_in(&visit, agent, callback).await?)))
}

pub async fn post(
    visit: Visit,
    agent: UserAgent,
    browser: Browser,
    JsonOrForm(body): JsonOrForm<MagicLinkCallback>,
) -> Result<WithCookies<Json<Login>>> {
    let opened = sign_in(&visit, agent, body).await?;
    Ok(browser.keeps(&visit.app, opened, Json))
}

async fn sign_in(visit: &Visit, agent: UserAgent, callback: MagicLinkCallback) -> Result<Login> {
    let failed = |error| visit.app.limits().after_failed_credential(visit.peer, error);
    let app = &visit.app;
    let mut tx = visit.begin().await?;
    let link = links::presented(&mut tx, &callback.token, Purpose::SignIn, visit.now()).await.map_err(failed)?;
    // What is wrong with a code is written down in a transaction of its own; the link stays good.
    tx.rollback().await?;
    let email = Email::kept(link.email);
    let subject = SecondFactorSubject { id: &link.account_id, email: &email, peer: visit.peer };
    let second_factor_at = passed(app, &subject, &Codes::new(callback.totp, callback.recovery_code)).await?;
    let mut tx = visit.begin().await?;
    let link = links::presented(&mut tx, &callback.token, Purpose::SignIn, visit.now()).await.map_err(failed)?;
    let membership = account::membership(&mut tx, &link.account_id, callback.org_id.as_ref()).await?;
    let holder = membership.ok_or(Error::NO_MEMBERSHIP)?.enters()?;
    links::followed(&mut tx, &link, visit.now()).await?;
    let proof = Proof { method: Method::MagicLink, second_factor_at };
    let opened = opening::open(visit, agent, &mut tx, Some(&link.account_id), &holder, proof).await?;
    tx.commit().await?;
    Ok(opened)
}
