//! The endpoints of authentication. Their shapes are ours: the specification does not show them.

use axum::extract::FromRequestParts;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use contract::caller::Credential;
use contract::{Access, Code, EnvId, EventId, KeyId, OrgId, Role, Scopes, SessionId, Tier, Timestamp, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::authentication::accounts;
use crate::authentication::sessions::{self, Holder, Refreshed, Session, Source, Tokens};
use crate::authentication::tokens::ACCESS_SECONDS;
use crate::events::Origin;
use crate::http::call::{Call, Visit};
use crate::http::json::{Created, Json};
use crate::http::routes::Routes;
use crate::http::signature::{Signature, Takes};
use crate::http::text::{self, Email, NAME_MAX};
use crate::users::{self, store::Owner};
use crate::{App, Error, Result, organizations, rooms};

pub fn routes() -> Routes {
    Routes::new()
        .post("/v1/auth/login", Access::Public, None, login)
        .says("Opens a session.")
        .refuses(&[Code::InvalidKey, Code::Forbidden])
        .post("/v1/auth/token/refresh", Access::Public, None, refresh)
        .says("Exchanges a refresh token for a new pair.")
        .refuses(&[Code::InvalidKey, Code::Forbidden])
        .post("/v1/auth/refresh", Access::Public, None, refresh)
        .says("Exchanges a refresh token for a new pair.")
        .refuses(&[Code::InvalidKey, Code::Forbidden])
        .ours()
        .get("/v1/auth/me", Access::Authenticated, None, me)
        .says("Tells who the caller is and what they may.")
        .post("/v1/signup", Access::Public, None, signup)
        .says("Makes an account and an organization that it owns.")
        .refuses(&[Code::Forbidden, Code::Conflict])
        .ours()
        .post("/v1/auth/signup", Access::Public, None, signup)
        .says("Makes an account and an organization that it owns.")
        .refuses(&[Code::Forbidden, Code::Conflict])
        .ours()
        .post("/v1/auth/accept-invitation", Access::Public, None, accept_invitation)
        .says("Accepts an invitation.")
        .refuses(&[Code::InvalidToken, Code::Forbidden, Code::Conflict])
        .ours()
        .post("/v1/auth/logout", Access::Authenticated, None, logout)
        .says("Ends the session.")
        .ours()
        .get("/v1/auth/sessions", Access::Authenticated, None, list_sessions)
        .says("Lists the caller's open sessions.")
        .ours()
        .delete("/v1/auth/sessions/{session_id}", Access::Authenticated, None, end_session)
        .says("Ends one of the caller's sessions.")
        .ours()
        .get("/.well-known/jwks.json", Access::Public, None, jwks)
        .says("Publishes the keys that check our tokens.")
        .ours()
}

/// Where a visitor comes from, as the session remembers it.
struct UserAgent(Option<String>);

impl FromRequestParts<App> for UserAgent {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        Ok(Self(parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).map(str::to_owned)))
    }
}

impl Takes for UserAgent {
    fn takes(_: &mut Signature<'_>) {}
}

fn source(visit: &Visit, agent: UserAgent) -> Source {
    Source { peer: visit.peer, user_agent: agent.0 }
}

/// What a login answers. `token` and `access_token` are the same.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Login")]
struct Opened {
    token: String,
    access_token: String,
    refresh_token: String,
    token_type: &'static str,
    expires_in: i64,
    user: OpenedUser,
    org: OpenedOrg,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LoginUser")]
struct OpenedUser {
    id: UserId,
    user_id: UserId,
    email: String,
    name: Option<String>,
    role: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LoginOrganization")]
struct OpenedOrg {
    id: OrgId,
    org_id: OrgId,
    name: String,
    slug: String,
    tier: String,
}

async fn opened(tx: &mut PgConnection, tokens: Tokens, holder: &Holder) -> Result<Opened> {
    let user = users::store::get(tx, &holder.org_id, &holder.user_id).await?;
    let org = organizations::store::find(tx, &holder.org_id).await?.ok_or(Error::NotFound { kind: "organization" })?;
    Ok(Opened {
        token: tokens.access.clone(),
        access_token: tokens.access,
        refresh_token: tokens.refresh,
        token_type: "Bearer",
        expires_in: ACCESS_SECONDS,
        user: OpenedUser { id: user.id, user_id: user.user_id, email: user.email, name: user.name, role: user.role },
        org: OpenedOrg { id: org.org_id.clone(), org_id: org.org_id, name: org.name, slug: org.slug, tier: org.tier },
    })
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "LoginInput")]
#[serde(deny_unknown_fields)]
struct LoginBody {
    email: String,
    password: String,
    org_id: Option<OrgId>,
}

/// An address that cannot be one fares like one that is unknown.
async fn login(visit: Visit, agent: UserAgent, Json(body): Json<LoginBody>) -> Result<Json<Opened>> {
    let email = Email::try_from(body.email).map_err(|_| Error::WrongPassword)?;
    let account = accounts::check(&visit.app, &email, body.password, visit.peer).await?;
    let mut tx = visit.begin().await?;
    let membership = accounts::membership(&mut tx, &account, body.org_id.as_ref()).await?;
    let membership = membership.ok_or(Error::Forbidden("no active membership: ask an admin of the organization"))?;
    if membership.enforce_sso {
        return Err(Error::SsoEnforced);
    }
    let holder = membership.holder;
    let tokens = sessions::open(&visit.app, &mut tx, &holder, &source(&visit, agent)).await?;
    accounts::remember(&mut tx, &account.id, &holder.org_id).await?;
    let opened = opened(&mut tx, tokens, &holder).await?;
    tx.commit().await?;
    Ok(Json(opened))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "RefreshInput")]
#[serde(deny_unknown_fields)]
struct RefreshBody {
    refresh_token: String,
}

async fn refresh(visit: Visit, Json(body): Json<RefreshBody>) -> Result<Json<Opened>> {
    let mut tx = visit.begin().await?;
    match sessions::refresh(&visit.app, &mut tx, &body.refresh_token).await {
        Ok(Refreshed::Fresh(tokens, holder)) => {
            let opened = opened(&mut tx, tokens, &holder).await?;
            tx.commit().await?;
            Ok(Json(opened))
        }
        Ok(Refreshed::Reused) => {
            tx.commit().await?;
            Err(Error::BadCredential(Code::InvalidToken))
        }
        Err(error) => Err(visit.app.limits().after_failed_credential(visit.peer, error)),
    }
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "SignupInput")]
#[serde(deny_unknown_fields)]
struct SignupBody {
    name: String,
    email: Email,
    password: String,
    org_name: String,
}

/// The first step on a fresh installation: an account, an organization, and its owner.
async fn signup(visit: Visit, agent: UserAgent, Json(body): Json<SignupBody>) -> Result<Created<Opened>> {
    if !visit.app.config().signup {
        return Err(Error::SignupClosed);
    }
    let name = text::checked("name", &body.name, NAME_MAX)?;
    text::checked("org_name", &body.org_name, NAME_MAX)?;
    accounts::admit_password(&body.password, &body.email)?;
    let app = &visit.app;
    let hash = app.slow_hash().hash(body.password, app.entropy().clone()).await?;
    let mut tx = visit.begin().await?;
    let account_id = accounts::insert(&mut tx, app, &body.email, Some(&name), &hash).await?;
    let org = organizations::found(app, &mut tx, &body.org_name, &body.email).await?;
    let owner = Owner { org_id: &org.org_id, account_id: &account_id, email: &body.email, name: Some(&name) };
    let user_id = users::store::insert_owner(&mut tx, app, &owner).await?;
    let origin = Origin {
        actor_email: Some(body.email.to_string()),
        actor_role: Some(Role::Owner),
        ..origin(&visit, org.org_id.clone())
    };
    organizations::record_founding(app, &mut tx, &org, &user_id, origin).await?;
    let holder = Holder { user_id, org_id: org.org_id, role: Role::Owner };
    let tokens = sessions::open(app, &mut tx, &holder, &source(&visit, agent)).await?;
    accounts::remember(&mut tx, &account_id, &holder.org_id).await?;
    let opened = opened(&mut tx, tokens, &holder).await?;
    tx.commit().await?;
    Ok(Created(opened))
}

fn origin(visit: &Visit, org_id: OrgId) -> Origin {
    let at = visit.now();
    Origin {
        event_id: EventId::fresh(at, visit.app.entropy()),
        source_ip: Some(visit.peer),
        at,
        ..Origin::system(&visit.app, org_id)
    }
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "InvitationAcceptance")]
#[serde(deny_unknown_fields)]
struct AcceptBody {
    token: String,
    password: String,
    name: Option<String>,
}

/// Somebody who has an account already proves it with its password; for anybody else the password
/// is the new account's.
async fn accept_invitation(visit: Visit, agent: UserAgent, Json(body): Json<AcceptBody>) -> Result<Json<Opened>> {
    let app = &visit.app;
    let failed = |error| app.limits().after_failed_credential(visit.peer, error);
    let name = body.name.as_deref().map(|name| text::checked("name", name, NAME_MAX)).transpose()?;
    let email = users::addressee(app, &body.token).await.map_err(failed)?;
    let known = accounts::find(&mut *app.pool().acquire().await?, &email).await?;
    let new_hash = if known.is_some() {
        accounts::check(app, &email, body.password, visit.peer).await?;
        None
    } else {
        accounts::admit_password(&body.password, &email)?;
        Some(app.slow_hash().hash(body.password, app.entropy().clone()).await?)
    };
    let mut tx = visit.begin().await?;
    let account_id = match (known, new_hash) {
        (Some(account), _) => account.id,
        (None, hash) => accounts::insert(&mut tx, app, &email, name.as_deref(), &hash.unwrap_or_default()).await?,
    };
    let from = |org_id| origin(&visit, org_id);
    let holder = users::accept(app, &mut tx, &body.token, &account_id, name.as_deref(), from).await.map_err(failed)?;
    let tokens = sessions::open(app, &mut tx, &holder, &source(&visit, agent)).await?;
    accounts::remember(&mut tx, &account_id, &holder.org_id).await?;
    let opened = opened(&mut tx, tokens, &holder).await?;
    tx.commit().await?;
    Ok(Json(opened))
}

#[derive(Debug, Serialize, JsonSchema)]
struct Me {
    id: Option<UserId>,
    user_id: Option<UserId>,
    email: Option<String>,
    name: Option<String>,
    role: Role,
    org_id: OrgId,
    tier: Tier,
    #[serde(skip_serializing_if = "Option::is_none")]
    env_id: Option<EnvId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<KeyId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Scopes>,
    permissions: Vec<&'static str>,
}

async fn me(call: Call) -> Result<Json<Me>> {
    let permissions = rooms::permissions(&call.caller);
    let name = match &call.caller.user_id {
        Some(user_id) => {
            let mut conn = call.app.pool().acquire().await?;
            users::store::get(&mut conn, call.org_id(), user_id).await?.name
        }
        None => None,
    };
    let (env_id, key_id, scopes) = match call.caller.credential {
        Credential::Session { .. } => (None, None, None),
        Credential::Key { key_id, env_id, scopes, .. } => (Some(env_id), Some(key_id), Some(scopes)),
    };
    Ok(Json(Me {
        id: call.caller.user_id.clone(),
        user_id: call.caller.user_id,
        email: call.caller.email,
        name,
        role: call.caller.role,
        org_id: call.caller.org_id,
        tier: call.tier,
        env_id,
        key_id,
        scopes,
        permissions,
    }))
}

/// The user and the session of a caller who signed in.
fn signed_in(call: &Call) -> Result<(UserId, SessionId)> {
    match (&call.caller.credential, &call.caller.user_id) {
        (Credential::Session { session_id }, Some(user_id)) => Ok((user_id.clone(), session_id.clone())),
        _ => Err(Error::Forbidden("a key has no sessions: sign in")),
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionEnd")]
struct Ended {
    id: SessionId,
    session_id: SessionId,
    revoked: bool,
    revoked_at: Timestamp,
}

async fn logout(call: Call) -> Result<Json<Ended>> {
    let (user_id, session_id) = signed_in(&call)?;
    ended(&call, &user_id, session_id).await
}

async fn end_session(call: Call) -> Result<Json<Ended>> {
    let (user_id, _) = signed_in(&call)?;
    ended(&call, &user_id, call.id("session_id")?).await
}

async fn ended(call: &Call, user_id: &UserId, session_id: SessionId) -> Result<Json<Ended>> {
    let mut tx = call.begin().await?;
    if !sessions::end_of_user(&mut tx, user_id, &session_id, call.now()).await? {
        return Err(Error::NotFound { kind: "session" });
    }
    tx.commit().await?;
    Ok(Json(Ended { id: session_id.clone(), session_id, revoked: true, revoked_at: call.now() }))
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionList")]
struct Sessions {
    data: Vec<Session>,
}

async fn list_sessions(call: Call) -> Result<Json<Sessions>> {
    let (user_id, session_id) = signed_in(&call)?;
    let mut conn = call.app.pool().acquire().await?;
    let data = sessions::of_user(&mut conn, &user_id, &session_id, call.now()).await?;
    Ok(Json(Sessions { data }))
}

/// RFC 7517, for Ed25519.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
struct KeySet(#[schemars(with = "PublishedKeys")] jsonwebtoken::jwk::JwkSet);

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is shown")]
struct PublishedKeys {
    keys: Vec<PublishedKey>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is shown")]
struct PublishedKey {
    kty: String,
    crv: String,
    x: String,
    r#use: String,
    alg: String,
    kid: String,
}

async fn jwks(visit: Visit) -> Json<KeySet> {
    Json(KeySet(visit.app.tokens().published()))
}
