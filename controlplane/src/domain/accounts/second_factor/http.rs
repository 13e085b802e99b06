//! Enrolling a second factor, removing it, and showing it again.

use contract::caller::Credential;
use contract::{SessionId, Timestamp};
use platform::events::{self, Event, EventType, Origin};
use platform::http::call::Call;
use platform::http::json::{Created, Json};
use platform::http::text::Email;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use super::{Codes, SecondFactorSubject, passed, recovery, store, totp};
use crate::domain::accounts::sessions::ending;
use crate::domain::accounts::{account, sessions};

/// Whoever signed in to their own account: with its password or its mailbox, and not by single
/// sign-on, whose provider vouches for one organization alone.
struct SignedInAccount {
    account_id: String,
    email: Email,
    session_id: SessionId,
}

async fn holder(call: &Call, conn: &mut PgConnection) -> Result<SignedInAccount> {
    let Credential::Session { session_id } = &call.caller.credential else {
        return Err(Error::Forbidden("a key has no second factor: sign in"));
    };
    let holder = sessions::holder(conn, session_id).await?;
    let holder = holder.ok_or(Error::Forbidden("single sign-on has its second factor at its provider"))?;
    let email = Email::kept(holder.email);
    Ok(SignedInAccount { account_id: holder.account_id, email, session_id: session_id.clone() })
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AuthenticatorEnrolment {
    secret: String,
    otpauth_uri: String,
}

/// A secret for an authenticator, shown once. It asks for nothing until it is confirmed.
pub async fn enrol(call: Call) -> Result<Created<AuthenticatorEnrolment>> {
    let mut tx = call.begin().await?;
    let holder = holder(&call, &mut tx).await?;
    let secret = totp::fresh(&call.app);
    let record = totp::record(&holder.account_id);
    let sealed = call.app.keyring().seal(&record, &secret, call.app.entropy()).map_err(Error::internal)?;
    if !store::begin(&mut tx, &holder.account_id, &sealed, call.now()).await? {
        return Err(Error::conflict("mfa_enrolled", "the account has an authenticator: remove it first"));
    }
    tx.commit().await?;
    Ok(Created(AuthenticatorEnrolment {
        otpauth_uri: totp::uri(&secret, &holder.email)?,
        secret: secret.expose().clone(),
    }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AuthenticatorConfirmation")]
#[serde(deny_unknown_fields)]
pub struct ConfirmBody {
    code: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AuthenticatorConfirmed {
    mfa_enabled: bool,
    recovery_codes: Vec<String>,
    sessions_terminated: u64,
}

/// The first code shows that the secret is where it belongs. Other sessions of the account, which
/// have shown none, end.
pub async fn confirm(call: Call, Json(body): Json<ConfirmBody>) -> Result<Json<AuthenticatorConfirmed>> {
    let (app, now) = (&call.app, call.now());
    let mut tx = call.begin().await?;
    let holder = holder(&call, &mut tx).await?;
    let begun = store::lock(&mut tx, &holder.account_id).await?;
    let begun = begun.filter(|begun| begun.confirmed_at.is_none());
    let begun = begun.ok_or_else(|| Error::conflict("mfa_not_begun", "nothing waits to be confirmed: enrol first"))?;
    let step = totp::step_of(app, &holder.account_id, &begun, body.code.trim())?;
    let step = step
        .ok_or_else(|| Error::invalid("code", "6 digits", "`code` is not the one that the authenticator shows now"))?;
    let recovery_codes = recovery::fresh(app.entropy());
    let digests: Vec<Vec<u8>> = recovery_codes.iter().map(|code| recovery::digest(code).to_vec()).collect();
    store::confirm(&mut tx, &holder.account_id, step, &digests, now).await?;
    store::shown(&mut tx, &holder.session_id, now).await?;
    let own = Some(&holder.session_id);
    let sessions_terminated = ending::end_all_of_account(&mut tx, &holder.account_id, own, now).await?;
    record(&call, &mut tx, &holder, EventType::AuthMfaEnrolled).await?;
    tx.commit().await?;
    Ok(Json(AuthenticatorConfirmed { mfa_enabled: true, recovery_codes, sessions_terminated }))
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AuthenticatorRemoved {
    deleted: bool,
    deleted_at: Timestamp,
}

/// The guard has asked for a code of the last minutes.
pub async fn remove(call: Call) -> Result<Json<AuthenticatorRemoved>> {
    let mut tx = call.begin().await?;
    let holder = holder(&call, &mut tx).await?;
    let had = store::lock(&mut tx, &holder.account_id).await?.is_some_and(|found| found.confirmed_at.is_some());
    if !store::remove(&mut tx, &holder.account_id).await? {
        return Err(Error::NotFound { kind: "authenticator" });
    }
    if had {
        record(&call, &mut tx, &holder, EventType::AuthMfaRemoved).await?;
    }
    tx.commit().await?;
    Ok(Json(AuthenticatorRemoved { deleted: true, deleted_at: call.now() }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "SecondFactorInput")]
#[serde(deny_unknown_fields)]
pub struct VerifyBody {
    totp: Option<String>,
    recovery_code: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SecondFactorShown {
    verified: bool,
    verified_at: Timestamp,
}

/// Shows the second factor again: what cannot easily be undone asks for a code of the last minutes.
pub async fn verify(call: Call, Json(body): Json<VerifyBody>) -> Result<Json<SecondFactorShown>> {
    let mut conn = call.app.pool().acquire().await?;
    let holder = holder(&call, &mut conn).await?;
    drop(conn);
    let subject = SecondFactorSubject { id: &holder.account_id, email: &holder.email, peer: call.peer };
    let shown = passed(&call.app, &subject, &Codes::new(body.totp, body.recovery_code)).await?;
    let verified_at = shown.ok_or_else(|| Error::conflict("mfa_not_enrolled", "the account has no second factor"))?;
    let mut conn = call.app.pool().acquire().await?;
    store::shown(&mut conn, &holder.session_id, verified_at).await?;
    Ok(Json(SecondFactorShown { verified: true, verified_at }))
}

/// Every organization of the account learns of it; the actor is their own user.
async fn record(call: &Call, tx: &mut PgConnection, holder: &SignedInAccount, kind: EventType) -> Result<()> {
    for member in account::memberships(tx, &holder.account_id).await? {
        let origin = Origin {
            actor_id: member.user_id.to_string(),
            actor_role: Some(member.role.parse().map_err(Error::internal)?),
            event_id: contract::EventId::fresh(call.now(), call.app.entropy()),
            org_id: member.org_id,
            ..Origin::from(call)
        };
        let enabled = kind == EventType::AuthMfaEnrolled;
        let event = Event::new(kind, member.user_id);
        let event = event.before(json!({"mfa_enabled": !enabled})).after(json!({"mfa_enabled": enabled}));
        events::record(&call.app, tx, origin, event).await?;
    }
    Ok(())
}
