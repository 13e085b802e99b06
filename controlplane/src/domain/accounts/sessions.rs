//! Sessions: what a login opens. Each use of a token asks the session's row, so ending a session,
//! suspending or removing its user takes effect with the next request.
//!
//! A refresh token is 256 bits, stored as SHA-256, and good once. Its successor is derived from it
//! under a key of ours, so that whoever sends it again within ten seconds, as parallel requests and
//! pages of one browser do, is answered the same successor, and nothing more is stored. A later use
//! means that two parties hold it: the session ends for both.

pub(crate) mod ending;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::Duration;
use contract::caller::{Credential, Limits};
use contract::secrets::hmac_sha256;
use contract::{Caller, Code, OrgId, Role, SessionId, Tier, Timestamp, UserId};
use platform::{App, Error, Result, execute};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::domain::accounts::elsewhere;
use crate::domain::accounts::second_factor::SecondFactorState;
use crate::domain::authentication::AuthenticatedCaller;
use crate::domain::tenancy::users::store::signed_in;

/// "refresh 7 d, session 30 d at most".
pub const REFRESH_DAYS: i64 = 7;
const SESSION_DAYS: i64 = 30;
/// Characters of base62 that hold 256 bits.
const REFRESH_CHARACTERS: usize = 43;
/// How long a used refresh token answers its successor.
const AGAIN: Duration = Duration::seconds(10);

const ENDED: Error = Error::Over { code: Code::InvalidToken, message: "the session has ended: sign in again" };
const EXPIRED: Error = Error::Over {
    code: Code::ExpiredToken,
    message: "the session was good until a moment that has passed: sign in again",
};
const UNKNOWN: Error = Error::Over {
    code: Code::InvalidToken,
    message: "this is no refresh token of a session that goes on: sign in again",
};
const REFRESHED_ELSEWHERE: &str = "this refresh token was used a moment ago, and its session is in another organization: send it \
without `org_id` for its successor, and move with that";
/// Its use has ended the session, and tells so.
pub const REUSED: Error = Error::Over {
    code: Code::InvalidToken,
    message: "this refresh token was used before, so its session has ended: sign in again, and refresh with the newest token",
};

/// The caller behind an access token.
pub async fn known(app: &App, text: &str) -> Result<AuthenticatedCaller> {
    let claims = app.tokens().check(text, app.now())?;
    let known = caller_of_session(app, &claims.sid, &claims.sub).await?;
    if known.caller.org_id != claims.org_id {
        return Err(Error::BadCredential(Code::InvalidToken));
    }
    Ok(known)
}

/// The caller behind an open session of a user.
pub async fn caller_of_session(app: &App, session_id: &SessionId, user_id: &UserId) -> Result<AuthenticatedCaller> {
    let row = sqlx::query!(
        r#"
        select u.org_id, u.email, u.role, u.status, s.expires_at, s.ended_at, o.tier, o.quotas as "quotas: Json<Limits>",
               s.method in ('sso', 'federated') as "vouched_for!", s.second_factor_at, o.mfa_required, u.mfa_enabled, u.attributes as "attributes: Json<BTreeMap<String, String>>"
        from sessions s
        join users u on u.user_id = s.user_id
        join organizations o on o.org_id = u.org_id
        where s.session_id = $1 and s.user_id = $2
        "#,
        session_id.as_str(),
        user_id.as_str(),
    )
    .fetch_optional(app.pool())
    .await?;
    let Some(row) = row else {
        return Err(Error::BadCredential(Code::InvalidToken));
    };
    if row.ended_at.is_some() || row.status != "active" {
        return Err(ENDED);
    }
    if row.expires_at <= app.now() {
        return Err(EXPIRED);
    }
    let caller = Caller {
        org_id: row.org_id.into(),
        user_id: Some(user_id.clone()),
        email: Some(row.email),
        role: Role::from_str(&row.role).map_err(Error::internal)?,
        attributes: row.attributes.0,
        credential: Credential::Session { session_id: session_id.clone() },
    };
    let tier = Tier::from_str(&row.tier).map_err(Error::internal)?;
    let second_factor = SecondFactorState {
        required: row.mfa_required && !row.vouched_for,
        enrolled: row.mfa_enabled && !row.vouched_for,
        shown_at: row.second_factor_at,
    };
    Ok(AuthenticatedCaller {
        caller,
        tier,
        limits: tier.limits().overridden_by(row.quotas.0),
        second_factor,
        agent_id: None,
        place: None,
    })
}

/// The user a session is opened for.
#[derive(Debug, Clone)]
pub struct SessionHolder {
    pub user_id: UserId,
    pub org_id: OrgId,
    pub role: Role,
}

/// Where a login comes from.
#[derive(Debug, Clone)]
pub struct LoginSource {
    pub peer: IpAddr,
    pub user_agent: Option<String>,
}

contract::named! {
    /// The method by which a session was opened.
    pub enum Method {
        Password = "password",
        MagicLink = "magic_link",
        Sso = "sso",
        Federated = "federated",
    }
}

/// How somebody has proven who they are.
#[derive(Debug, Clone, Copy)]
pub struct Proof {
    pub method: Method,
    /// When a second factor was shown with it.
    pub second_factor_at: Option<Timestamp>,
}

/// The tokens of a session, in their holder's hands.
#[derive(Debug)]
pub struct SessionTokens {
    pub access: String,
    pub refresh: String,
}

pub async fn open(
    app: &App,
    tx: &mut PgConnection,
    holder: &SessionHolder,
    source: &LoginSource,
    proof: Proof,
) -> Result<SessionTokens> {
    let expires_at = app.now() + Duration::days(SESSION_DAYS);
    let session_id = begin(app, tx, &holder.user_id, source, proof, expires_at).await?;
    issue(app, tx, holder, session_id, app.entropy().base62(REFRESH_CHARACTERS)).await
}

/// A session without tokens of its own.
pub async fn begin(
    app: &App,
    tx: &mut PgConnection,
    user_id: &UserId,
    source: &LoginSource,
    proof: Proof,
    expires_at: Timestamp,
) -> Result<SessionId> {
    let now = app.now();
    let session_id = SessionId::fresh(now, app.entropy());
    let user_agent: Option<String> = source.user_agent.as_ref().map(|text| text.chars().take(200).collect());
    sqlx::query!(
        "insert into sessions
             (session_id, user_id, created_at, expires_at, last_refreshed_at, source_ip, user_agent, method,
              second_factor_at)
         values ($1, $2, $3, $4, $3, $5, $6, $7, $8)",
        session_id.as_str(),
        user_id.as_str(),
        now,
        expires_at,
        source.peer.to_string(),
        user_agent,
        proof.method.as_str(),
        proof.second_factor_at,
    )
    .execute(&mut *tx)
    .await?;
    signed_in(tx, user_id, now).await?;
    Ok(session_id)
}

/// The refresh token that follows a used one: always the same, and nobody's who has not our key.
fn successor(app: &App, used: &str) -> String {
    URL_SAFE_NO_PAD.encode(hmac_sha256(&app.keyring().refresh_key(), &[used.as_bytes()]))
}

/// A pair of tokens. A refresh token that is known already stays as it is.
async fn issue(
    app: &App,
    tx: &mut PgConnection,
    holder: &SessionHolder,
    session_id: SessionId,
    refresh: String,
) -> Result<SessionTokens> {
    let now = app.now();
    let digest = sha256(&refresh);
    sqlx::query!(
        "insert into refresh_tokens (token_sha256, session_id, created_at, expires_at) values ($1, $2, $3, $4)
         on conflict (token_sha256) do nothing",
        digest.as_slice(),
        session_id.as_str(),
        now,
        now + Duration::days(REFRESH_DAYS),
    )
    .execute(&mut *tx)
    .await?;
    let SessionHolder { user_id, org_id, role } = holder.clone();
    let access = app.tokens().issue(user_id, org_id, role, session_id, now)?;
    Ok(SessionTokens { access, refresh })
}

/// How a refresh token fared.
pub enum Refreshed {
    Fresh(SessionTokens, SessionHolder),
    /// The change to the session stands, so the transaction has to be committed.
    Reused,
}

/// A new pair for an old refresh token, in another organization of the account if one is wanted.
pub async fn refresh(app: &App, tx: &mut PgConnection, text: &str, wanted: Option<&OrgId>) -> Result<Refreshed> {
    let now = app.now();
    let digest = sha256(text);
    // By itself: what a lock has been waited for is read anew, and the session's user may be another one by then.
    let held = sqlx::query_scalar!(
        "select r.session_id
         from refresh_tokens r
         join sessions s on s.session_id = r.session_id
         where r.token_sha256 = $1
         for update of r, s",
        digest.as_slice(),
    );
    held.fetch_optional(&mut *tx).await?.ok_or(UNKNOWN)?;
    let row = sqlx::query!(
        r#"
        select r.session_id, r.used_at, r.expires_at, s.ended_at, s.expires_at as session_expires_at,
               u.user_id, u.org_id, u.role, u.status, o.enforce_sso, s.method = 'sso' as "by_sso!"
        from refresh_tokens r
        join sessions s on s.session_id = r.session_id
        join users u on u.user_id = s.user_id
        join organizations o on o.org_id = u.org_id
        where r.token_sha256 = $1
        "#,
        digest.as_slice(),
    )
    .fetch_one(&mut *tx)
    .await?;
    let session_id = SessionId::from(row.session_id);
    if row.used_at.is_some_and(|used_at| now - used_at >= AGAIN) {
        tracing::warn!(session.id = %session_id, "a refresh token was used again: its session ends");
        ending::end(tx, &session_id, now).await?;
        return Ok(Refreshed::Reused);
    }
    if row.ended_at.is_some() || row.status != "active" {
        return Err(ENDED);
    }
    let is_again = row.used_at.is_some();
    if row.session_expires_at <= now || (row.expires_at <= now && !is_again) {
        return Err(EXPIRED);
    }
    if row.enforce_sso && !row.by_sso {
        return Err(Error::SsoEnforced);
    }
    let role = Role::from_str(&row.role).map_err(Error::internal)?;
    let mut holder = SessionHolder { user_id: row.user_id.into(), org_id: row.org_id.into(), role };
    let other = wanted.filter(|wanted| **wanted != holder.org_id);
    if is_again && other.is_some() {
        return Err(Error::conflict("refreshed_elsewhere", REFRESHED_ELSEWHERE));
    }
    if !is_again {
        spend(tx, &digest, &session_id, now).await?;
    }
    if let Some(wanted) = other {
        holder = elsewhere::moved(tx, &session_id, wanted).await?;
    }
    let tokens = issue(app, tx, &holder, session_id, successor(app, text)).await?;
    Ok(Refreshed::Fresh(tokens, holder))
}

/// The refresh token is used from here on.
async fn spend(tx: &mut PgConnection, digest: &[u8], session_id: &SessionId, now: Timestamp) -> Result<()> {
    sqlx::query!("update refresh_tokens set used_at = $2 where token_sha256 = $1", digest, now)
        .execute(&mut *tx)
        .await?;
    execute!(tx, "update sessions set last_refreshed_at = $2 where session_id = $1", session_id.as_str(), now)
}

/// The session is another user's of the same account.
pub async fn give(tx: &mut PgConnection, session_id: &SessionId, user_id: &UserId) -> Result<()> {
    execute!(tx, "update sessions set user_id = $2 where session_id = $1", session_id.as_str(), user_id.as_str())
}

/// Who opened a session with what is their account's own.
#[derive(Debug)]
pub struct AccountHolder {
    pub account_id: String,
    pub email: String,
}

/// None where somebody else's provider opened it.
pub async fn holder(conn: &mut PgConnection, session_id: &SessionId) -> Result<Option<AccountHolder>> {
    let row = sqlx::query_as!(
        AccountHolder,
        "select a.account_id, a.email
         from sessions s
         join users u on u.user_id = s.user_id
         join accounts a on a.account_id = u.account_id
         where s.session_id = $1 and s.method not in ('sso', 'federated')",
        session_id.as_str(),
    );
    Ok(row.fetch_optional(conn).await?)
}

/// A session as its user sees it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Session {
    pub id: SessionId,
    pub session_id: SessionId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub last_refreshed_at: Timestamp,
    pub source_ip: Option<String>,
    pub user_agent: Option<String>,
    /// `password`, `magic_link`, `sso` or `federated`.
    pub method: String,
    pub current: bool,
}

/// The open sessions of a user, newest first.
pub async fn of_user(
    tx: &mut PgConnection,
    user_id: &UserId,
    current: &SessionId,
    now: Timestamp,
) -> Result<Vec<Session>> {
    let sessions = sqlx::query_as!(
        Session,
        r#"
        select session_id as id, session_id, created_at, expires_at, last_refreshed_at, source_ip, user_agent, method,
               session_id = $3 as "current!"
        from sessions
        where user_id = $1 and ended_at is null and expires_at > $2
        order by created_at desc, session_id desc
        "#,
        user_id.as_str(),
        now,
        current.as_str(),
    )
    .fetch_all(tx)
    .await?;
    Ok(sessions)
}

/// How one-time tokens are stored.
pub fn sha256(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// Forgets sessions that ended, or could have been refreshed for the last time, a month ago.
pub async fn sweep(app: &App) -> Result<()> {
    let before = app.now() - Duration::days(SESSION_DAYS);
    execute!(app.pool(), "delete from sessions where expires_at < $1 or ended_at < $1", before)
}
