//! The endpoints of authentication. Their shapes are ours: the specification does not show them.

mod routes;

use contract::caller::Credential;
use contract::{EnvId, KeyId, OrgId, Role, Scopes, SessionId, Tier, Timestamp, UserId};
use platform::events::Origin;
use platform::http::call::{Call, Visit};
use platform::http::json::{Created, Json, JsonOrForm, Query};
use platform::http::text::{self, Email, NAME_MAX};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::accounts::links::{self, Purpose};
use crate::domain::accounts::second_factor::{Codes, SecondFactorSubject, passed};
use crate::domain::accounts::sessions::ending;
use crate::domain::accounts::sessions::{self, Method, Proof, Refreshed, Session, SessionHolder};
use crate::domain::accounts::{account, page};
use crate::domain::authentication::browser::{Browser, WithCookies};
use crate::domain::authentication::opening::{self, Login, UserAgent};
use crate::domain::authentication::permissions::permissions;
use crate::domain::tenancy::users::store::Owner;
use crate::domain::tenancy::{organizations, users};

pub use routes::routes;

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "LoginInput")]
#[serde(deny_unknown_fields)]
struct LoginBody {
    email: String,
    password: String,
    totp: Option<String>,
    recovery_code: Option<String>,
    org_id: Option<OrgId>,
}

/// An address that cannot be one fares like one that is unknown.
async fn login(
    visit: Visit,
    agent: UserAgent,
    browser: Browser,
    Json(body): Json<LoginBody>,
) -> Result<WithCookies<Json<Login>>> {
    let email = Email::try_from(body.email).map_err(|_| Error::WrongPassword)?;
    let account = account::check(&visit.app, &email, body.password, visit.peer).await?;
    let codes = Codes::new(body.totp, body.recovery_code);
    let subject = SecondFactorSubject { id: &account.id, email: &email, peer: visit.peer };
    let proof = Proof { method: Method::Password, second_factor_at: passed(&visit.app, &subject, &codes).await? };
    let mut tx = visit.begin().await?;
    let membership = account::membership(&mut tx, &account.id, body.org_id.as_ref()).await?;
    let holder = membership.ok_or(Error::NO_MEMBERSHIP)?.enters()?;
    let opened = opening::open(&visit, agent, &mut tx, Some(&account.id), &holder, proof).await?;
    tx.commit().await?;
    Ok(browser.keeps(&visit.app, opened, Json))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "RefreshInput")]
#[serde(deny_unknown_fields)]
struct RefreshBody {
    /// A browser that keeps it in a cookie leaves it out.
    refresh_token: Option<String>,
    /// Another organization of the account, for the session to be in from here on.
    org_id: Option<OrgId>,
}

async fn refresh(visit: Visit, browser: Browser, Json(body): Json<RefreshBody>) -> Result<WithCookies<Json<Login>>> {
    let Some(token) = body.refresh_token.as_deref().or_else(|| browser.refresh()) else {
        return Err(Error::invalid("refresh_token", "required", "`refresh_token` is required".to_owned()));
    };
    let mut tx = visit.begin().await?;
    match sessions::refresh(&visit.app, &mut tx, token, body.org_id.as_ref()).await {
        Ok(Refreshed::Fresh(tokens, holder)) => {
            let opened = opening::opened(&mut tx, tokens, &holder).await?;
            tx.commit().await?;
            Ok(browser.keeps(&visit.app, opened, Json))
        }
        Ok(Refreshed::Reused) => {
            tx.commit().await?;
            Err(sessions::REUSED)
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
    /// `free`, which every new organization is.
    tier: Option<Tier>,
}

/// The first step on a fresh installation: an account, an organization, and its owner.
async fn signup(
    visit: Visit,
    agent: UserAgent,
    browser: Browser,
    Json(body): Json<SignupBody>,
) -> Result<WithCookies<Created<Login>>> {
    if !visit.app.config().signup {
        return Err(Error::SignupClosed);
    }
    let name = text::checked("name", &body.name, NAME_MAX)?;
    text::checked("org_name", &body.org_name, NAME_MAX)?;
    if body.tier.is_some_and(|tier| tier != Tier::Free) {
        let message = "a new organization is `free`: leave `tier` out; whoever runs the installation changes it later";
        return Err(Error::invalid("tier", "free", message));
    }
    account::admit_password(&body.password, &body.email)?;
    let app = &visit.app;
    let hash = app.slow_hash().hash(body.password, app.entropy().clone()).await?;
    let mut tx = visit.begin().await?;
    let account_id = account::insert(&mut tx, app, &body.email, Some(&name), &hash).await?;
    let org = organizations::found(app, &mut tx, &body.org_name, &body.email).await?;
    let owner = Owner { org_id: &org.org_id, account_id: &account_id, email: &body.email, name: Some(&name) };
    let user_id = users::store::insert_owner(&mut tx, app, &owner).await?;
    let origin = Origin {
        actor_email: Some(body.email.to_string()),
        actor_role: Some(Role::Owner),
        ..opening::origin(&visit, org.org_id.clone())
    };
    organizations::record_founding(app, &mut tx, &org, &user_id, origin).await?;
    let holder = SessionHolder { user_id, org_id: org.org_id, role: Role::Owner };
    let proof = Proof { method: Method::Password, second_factor_at: None };
    links::promise(app, &mut tx, Purpose::VerifyEmail, body.email).await?;
    let opened = opening::open(&visit, agent, &mut tx, Some(&account_id), &holder, proof).await?;
    tx.commit().await?;
    Ok(browser.keeps(app, opened, Created))
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "InvitationAcceptance")]
#[serde(deny_unknown_fields)]
struct AcceptBody {
    token: String,
    password: String,
    totp: Option<String>,
    recovery_code: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "InvitationToken")]
#[serde(deny_unknown_fields)]
struct InvitationQuery {
    token: String,
}

async fn show_invitation(visit: Visit, Query(link): Query<InvitationQuery>) -> Result<page::RenderedPage> {
    page::of(&visit.app, &page::ACCEPT_INVITATION, &link.token)
}

/// Somebody who has an account already proves it with its password; for anybody else the password
/// is the new account's.
async fn accept_invitation(
    visit: Visit,
    agent: UserAgent,
    browser: Browser,
    JsonOrForm(body): JsonOrForm<AcceptBody>,
) -> Result<WithCookies<Json<Login>>> {
    let app = &visit.app;
    let failed = |error| app.limits().after_failed_credential(visit.peer, error);
    // A form sends its empty fields.
    let name = body.name.as_deref().filter(|name| !name.is_empty());
    let name = name.map(|name| text::checked("name", name, NAME_MAX)).transpose()?;
    let email = users::addressee(app, &body.token).await.map_err(failed)?;
    let known = account::find(&mut *app.pool().acquire().await?, &email).await?;
    let mut proof = Proof { method: Method::Password, second_factor_at: None };
    let new_hash = if let Some(account) = &known {
        account::check(app, &email, body.password, visit.peer).await?;
        let subject = SecondFactorSubject { id: &account.id, email: &email, peer: visit.peer };
        proof.second_factor_at = passed(app, &subject, &Codes::new(body.totp, body.recovery_code)).await?;
        None
    } else {
        account::admit_password(&body.password, &email)?;
        Some(app.slow_hash().hash(body.password, app.entropy().clone()).await?)
    };
    let mut tx = visit.begin().await?;
    let account_id = match (known, new_hash) {
        (Some(account), _) => account.id,
        (None, hash) => account::insert(&mut tx, app, &email, name.as_deref(), &hash.unwrap_or_default()).await?,
    };
    let from = |org_id| opening::origin(&visit, org_id);
    let holder = users::accept(app, &mut tx, &body.token, &account_id, name.as_deref(), from).await.map_err(failed)?;
    let opened = opening::open(&visit, agent, &mut tx, Some(&account_id), &holder, proof).await?;
    tx.commit().await?;
    Ok(browser.keeps(app, opened, Json))
}

#[derive(Debug, Serialize, JsonSchema)]
struct Me {
    id: Option<UserId>,
    user_id: Option<UserId>,
    email: Option<String>,
    name: Option<String>,
    /// Absent for a key that acts for nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    email_verified: Option<bool>,
    /// Whether a second factor is asked for; absent for a key that acts for nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    mfa_enabled: Option<bool>,
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
    let permissions = permissions((call.app.callbacks().routes)(), &call.caller);
    let (name, email_verified, mfa_enabled) = match &call.caller.user_id {
        Some(user_id) => {
            let mut conn = call.app.pool().acquire().await?;
            let user = users::store::get(&mut conn, call.org_id(), user_id).await?;
            (user.name, Some(account::is_verified(&mut conn, user_id).await?), Some(user.mfa_enabled))
        }
        None => (None, None, None),
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
        email_verified,
        mfa_enabled,
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
struct SessionEnd {
    id: SessionId,
    session_id: SessionId,
    revoked: bool,
    revoked_at: Timestamp,
}

async fn logout(call: Call, browser: Browser) -> Result<WithCookies<Json<SessionEnd>>> {
    let (user_id, session_id) = signed_in(&call)?;
    Ok(browser.forgets(ended(&call, &user_id, session_id).await?))
}

async fn end_session(call: Call) -> Result<Json<SessionEnd>> {
    let (user_id, _) = signed_in(&call)?;
    ended(&call, &user_id, call.id("session_id")?).await
}

async fn ended(call: &Call, user_id: &UserId, session_id: SessionId) -> Result<Json<SessionEnd>> {
    let mut tx = call.begin().await?;
    if !ending::end_of_user(&mut tx, user_id, &session_id, call.now()).await? {
        return Err(Error::NotFound { kind: "session" });
    }
    tx.commit().await?;
    Ok(Json(SessionEnd { id: session_id.clone(), session_id, revoked: true, revoked_at: call.now() }))
}

#[derive(Debug, Serialize, JsonSchema)]
struct SessionList {
    data: Vec<Session>,
}

async fn list_sessions(call: Call) -> Result<Json<SessionList>> {
    let (user_id, session_id) = signed_in(&call)?;
    let mut conn = call.app.pool().acquire().await?;
    let data = sessions::of_user(&mut conn, &user_id, &session_id, call.now()).await?;
    Ok(Json(SessionList { data }))
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
