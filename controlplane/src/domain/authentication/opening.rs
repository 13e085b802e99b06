//! The end of every way in: a session is opened, and this is its answer.

use axum::extract::FromRequestParts;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use contract::{EventId, OrgId, UserId};
use platform::crypto::tokens::ACCESS_SECONDS;
use platform::events::Origin;
use platform::http::call::Visit;
use platform::http::signature::Takes;
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;

use crate::domain::accounts::account;
use crate::domain::accounts::sessions::{self, LoginSource, Proof, SessionHolder, SessionTokens};
use crate::domain::tenancy::{organizations, users};

/// Where a visitor comes from, as the session remembers it.
pub struct UserAgent(Option<String>);

impl FromRequestParts<App> for UserAgent {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        Ok(Self(parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).map(str::to_owned)))
    }
}

impl Takes for UserAgent {}

/// What a login answers. `token` and `access_token` are the same.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Login {
    token: String,
    pub access_token: String,
    pub refresh_token: String,
    token_type: &'static str,
    expires_in: i64,
    user: LoginUser,
    org: LoginOrganization,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LoginUser {
    id: UserId,
    user_id: UserId,
    email: String,
    name: Option<String>,
    role: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LoginOrganization {
    id: OrgId,
    org_id: OrgId,
    name: String,
    slug: String,
    tier: String,
}

/// Opens a session for somebody who has proven who they are, by their account or without one.
pub async fn open(
    visit: &Visit,
    agent: UserAgent,
    tx: &mut PgConnection,
    account_id: Option<&str>,
    holder: &SessionHolder,
    proof: Proof,
) -> Result<Login> {
    let source = LoginSource { peer: visit.peer, user_agent: agent.0 };
    let tokens = sessions::open(&visit.app, tx, holder, &source, proof).await?;
    if let Some(account_id) = account_id {
        account::remember(tx, account_id, &holder.org_id).await?;
    }
    opened(tx, tokens, holder).await
}

pub async fn opened(tx: &mut PgConnection, tokens: SessionTokens, holder: &SessionHolder) -> Result<Login> {
    let user = users::store::get(tx, &holder.org_id, &holder.user_id).await?;
    let org = organizations::store::find(tx, &holder.org_id).await?.ok_or(Error::NotFound { kind: "organization" })?;
    Ok(Login {
        token: tokens.access.clone(),
        access_token: tokens.access,
        refresh_token: tokens.refresh,
        token_type: "Bearer",
        expires_in: ACCESS_SECONDS,
        user: LoginUser { id: user.id, user_id: user.user_id, email: user.email, name: user.name, role: user.role },
        org: LoginOrganization {
            id: org.org_id.clone(),
            org_id: org.org_id,
            name: org.name,
            slug: org.slug,
            tier: org.tier,
        },
    })
}

/// A visitor, before they are anybody's user.
pub fn origin(visit: &Visit, org_id: OrgId) -> Origin {
    let at = visit.now();
    Origin {
        event_id: EventId::fresh(at, visit.app.entropy()),
        source_ip: Some(visit.peer),
        at,
        ..Origin::system(&visit.app, org_id)
    }
}
