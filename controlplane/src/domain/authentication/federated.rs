//! Federated tokens: "`Authorization: Bearer <CLOUD_TOKEN>`, identity tokens from a cloud provider (AWS
//! STS, GCP workload identity, Azure AD)".
//!
//! A token is looked at once. What it proves opens a session that ends when the token does, and that
//! stands for the token from then on: so whoever is removed, suspended or signed out is refused at
//! the next request, whatever their cloud still says. Which provider is meant is in the token; what
//! it says is believed only as that provider's config has it. "No match = 401."

mod aws;
mod jwt;

use std::net::IpAddr;

use contract::{Code, Role, SessionId, Timestamp, UserId};
use platform::events::{self, Event, EventType, Origin};
use platform::http::text::Email;
use platform::{App, Error, Result};
use serde_json::json;
use sqlx::PgConnection;

use super::AuthenticatedCaller;
use crate::domain::accounts::sessions::{self, LoginSource, Method, Proof};
use crate::domain::authentication::federation::{self, Provider};
use crate::domain::tenancy::users::store::UninvitedUser;
use crate::domain::tenancy::{organizations, users};

/// What stands before a signed request to AWS STS.
const AWS_PREFIX: &str = "aws-sts.";
/// Tokens of clouds are shorter.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

const INVALID: Error = Error::BadCredential(Code::InvalidToken);

/// The identity that a token has proven.
#[derive(Debug)]
struct Proven {
    provider: Provider,
    subject: String,
    role: Role,
    expires_at: Timestamp,
}

impl Proven {
    /// A subject that the provider's config lets in.
    fn of(provider: Provider, subject: String, expires_at: Timestamp) -> Result<Self> {
        let role = provider.config.role_of(&subject).ok_or(INVALID)?;
        Ok(Self { provider, subject, role, expires_at })
    }
}

/// The caller behind a token that is not ours.
pub async fn known(app: &App, token: &str, peer: IpAddr) -> Result<AuthenticatedCaller> {
    let is_shaped = token.starts_with(AWS_PREFIX) || jsonwebtoken::decode_header(token).is_ok();
    if token.len() > TOKEN_BYTES_MAX || !is_shaped {
        return Err(INVALID);
    }
    let digest = sessions::sha256(token);
    if let Some((session_id, user_id)) = remembered(app, &digest).await? {
        return sessions::caller_of_session(app, &session_id, &user_id).await;
    }
    let proven = match token.strip_prefix(AWS_PREFIX) {
        Some(request) => aws::proven(app, request).await?,
        None => jwt::proven(app, token).await?,
    };
    let (session_id, user_id) = open(app, &digest, &proven, peer).await?;
    sessions::caller_of_session(app, &session_id, &user_id).await
}

async fn remembered(app: &App, digest: &[u8]) -> Result<Option<(SessionId, UserId)>> {
    let row = sqlx::query!(
        "select s.session_id, s.user_id
         from federated_tokens t
         join sessions s on s.session_id = t.session_id
         where t.token_sha256 = $1",
        digest,
    );
    Ok(row.fetch_optional(app.pool()).await?.map(|row| (row.session_id.into(), row.user_id.into())))
}

/// Under the lock of the organization, so that one subject is one user.
async fn open(app: &App, digest: &[u8], proven: &Proven, peer: IpAddr) -> Result<(SessionId, UserId)> {
    let provider = &proven.provider;
    let mut tx = app.pool().begin().await?;
    organizations::store::lock(&mut tx, &provider.org_id).await?;
    let user_id = match federation::linked(&mut tx, &provider.provider_id, &proven.subject).await? {
        Some(user_id) => {
            follow(app, &mut tx, proven, &user_id, peer).await?;
            user_id
        }
        None => uninvited_user(app, &mut tx, proven, peer).await?,
    };
    let source = LoginSource { peer, user_agent: None };
    let proof = Proof { method: Method::Federated, second_factor_at: None };
    let session_id = sessions::begin(app, &mut tx, &user_id, &source, proof, proven.expires_at).await?;
    sqlx::query!(
        "insert into federated_tokens (token_sha256, provider_id, session_id) values ($1, $2, $3)
         on conflict do nothing",
        digest,
        provider.provider_id,
        session_id.as_str(),
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok((session_id, user_id))
}

/// The role is what the config says now.
async fn follow(app: &App, tx: &mut PgConnection, proven: &Proven, user_id: &UserId, peer: IpAddr) -> Result<()> {
    let user = users::store::get(tx, &proven.provider.org_id, user_id).await?;
    if user.role == proven.role.as_str() {
        return Ok(());
    }
    users::store::set_role(tx, user_id, proven.role, app.now()).await?;
    let event = Event::new(EventType::UserRoleChanged, user_id.as_str())
        .before(json!({"role": user.role}))
        .after(json!({"role": proven.role}));
    events::record(app, tx, origin(app, proven, user_id, peer), event).await
}

/// A user of the organization without an account, whose address is of no mailbox: what the cloud
/// calls them is their name.
async fn uninvited_user(app: &App, tx: &mut PgConnection, proven: &Proven, peer: IpAddr) -> Result<UserId> {
    let provider = &proven.provider;
    users::within_tier(tx, &provider.org_id).await?;
    let mark = hex::encode(&sessions::sha256(&format!("{}\n{}", provider.provider_id, proven.subject))[..8]);
    let email = Email::try_from(format!("{mark}@federated.invalid")).map_err(Error::internal)?;
    let uninvited_user =
        UninvitedUser { org_id: &provider.org_id, email: &email, name: Some(&proven.subject), role: proven.role };
    let user_id = users::store::insert_vouched_for(tx, app, &uninvited_user).await?;
    federation::link(tx, &provider.provider_id, &proven.subject, &user_id).await?;
    let event = Event::new(EventType::UserAccepted, user_id.as_str())
        .before(json!({"status": "absent"}))
        .after(json!({"status": "active", "email": email, "role": proven.role, "by": provider.provider_id,
            "subject": proven.subject}));
    events::record(app, tx, origin(app, proven, &user_id, peer), event).await?;
    Ok(user_id)
}

fn origin(app: &App, proven: &Proven, user_id: &UserId, peer: IpAddr) -> Origin {
    Origin {
        actor_id: user_id.to_string(),
        actor_role: Some(proven.role),
        source_ip: Some(peer),
        ..Origin::system(app, proven.provider.org_id.clone())
    }
}
