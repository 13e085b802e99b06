//! The life of a key, whoever asks: it is made, rotated, revoked. Under the lock of its
//! environment, which the caller holds.

use chrono::Duration;
use contract::caller::{Credential, Limits};
use contract::governance::EnvironmentStatus;
use contract::key::Minted;
use contract::{EnvId, KeyId, Tier, Timestamp, UserId, key};
use platform::events::{self, Event, EventType, Origin};
use platform::http::call::Call;
use platform::snapshot_size::within_share;
use platform::{App, Error, Result};
use serde_json::json;
use sqlx::PgConnection;

use super::input::Admitted;
use super::store::{self, KeyRow};
use super::{expiry, resource};
use crate::domain::{agents, environments};

/// Texts that open one key at once.
const TEXTS_MAX: i64 = 32;
/// Of one that is rotated again and again, the texts that it is known to have had.
const TEXTS_KEPT: i64 = 8;
/// Texts of all keys of an environment: a snapshot holds them.
const TEXTS_OF_ALL_MAX: i64 = 20_000;

/// A text that opens a key, and who alone was given it.
#[derive(Debug, Clone, Copy)]
pub struct KeyText<'a> {
    pub minted: &'a Minted,
    /// None: others may have it too.
    pub to: Option<&'a UserId>,
}

impl<'a> KeyText<'a> {
    /// The answer goes to whoever is in the session. Who holds the text of a key that asked is not known.
    pub fn to_caller(minted: &'a Minted, cx: &'a Call) -> Self {
        let in_person = matches!(cx.caller.credential, Credential::Session { .. });
        Self { minted, to: cx.caller.user_id.as_ref().filter(|_| in_person) }
    }
}

/// A key to be.
#[derive(Debug)]
pub struct Making<'a> {
    pub env_id: &'a EnvId,
    pub wanted: &'a Admitted,
    pub given: KeyText<'a>,
    pub by: &'a str,
    pub tier: Tier,
    pub limits: Limits,
    /// When it is made: an expiry is counted from here.
    pub now: Timestamp,
}

/// Outside any transaction: a hash costs tens of milliseconds.
pub async fn mint(app: &App, env_id: &EnvId) -> Result<Minted> {
    let test_mode = environments::test_mode(app.pool(), env_id).await?.ok_or(Error::EnvironmentNotFound)?;
    let (pepper, entropy) = (app.keyring().key_pepper(), app.entropy().clone());
    let cost = app.slow_hash().cost();
    app.slow_hash().run(move || key::mint(test_mode, &pepper, cost, &entropy)).await?.map_err(Error::internal)
}

pub async fn make(app: &App, tx: &mut PgConnection, making: &Making<'_>, origin: impl Into<Origin>) -> Result<KeyRow> {
    let Making { env_id, wanted, given, by, tier, limits, now } = *making;
    let (_, org_id, environment) = environments::governed(tx, env_id).await?.ok_or(Error::EnvironmentNotFound)?;
    if environment.status == EnvironmentStatus::Decommissioning {
        return Err(Error::conflict("decommissioning", "the environment is being removed: it takes no new keys"));
    }
    let held = store::count_usable(tx, env_id, now).await?;
    if let Some(limit) = limits.max_api_keys_per_environment
        && held >= i64::from(limit)
    {
        return Err(Error::TierLimit { tier, quota: "max_api_keys_per_environment", limit: u64::from(limit) });
    }
    has_room(tx, env_id).await?;
    let key_id = KeyId::fresh(now, app.entropy());
    let before = store::carried_bytes(tx, env_id).await?;
    store::insert(tx, env_id, &key_id, wanted, by, now).await?;
    store::insert_secret(tx, &key_id, given, now).await?;
    within_share("attributes and addresses of keys", before, store::carried_bytes(tx, env_id).await?)?;
    if let Some(agent_id) = &wanted.agent_id {
        let agent = (agent_id.as_str(), wanted.agent_framework.as_deref());
        agents::register(tx, &org_id, agent, agents::RegistrationSource::ApiKey, now).await?;
    }
    let row = store::find(tx, env_id, &key_id).await?.ok_or(Error::NotFound { kind: "API key" })?;
    let after = json!({"name": row.name, "prefix": row.prefix, "scopes": row.scopes, "user_id": row.user_id});
    events::record(app, tx, origin, Event::new(EventType::KeyCreated, key_id).after(after)).await?;
    expiry::announce_own(tx, app, &row.key_id, row.expires_at).await?;
    Ok(row)
}

/// One more text, of whichever key.
async fn has_room(tx: &mut PgConnection, env_id: &EnvId) -> Result<()> {
    if store::count_texts(tx, env_id).await? < TEXTS_OF_ALL_MAX {
        return Ok(());
    }
    let message = format!(
        "the keys of an environment have at most {TEXTS_OF_ALL_MAX} texts together: revoke those that have ended"
    );
    Err(Error::conflict("too_many", message))
}

/// The minted text is the present one from now on. Returns when the old ones end.
pub async fn rotate(
    app: &App,
    tx: &mut PgConnection,
    env_id: &EnvId,
    (row, given, grace): (&KeyRow, KeyText<'_>, Duration),
    origin: impl Into<Origin>,
) -> Result<Timestamp> {
    let now = app.now();
    store::forget_ended(tx, &row.key_id, TEXTS_KEPT, now).await?;
    if grace > Duration::zero() {
        has_room(tx, env_id).await?;
    }
    if grace > Duration::zero() && store::count_valid(tx, &row.key_id, now).await? >= TEXTS_MAX {
        let message =
            format!("{TEXTS_MAX} texts open the key: rotate it with a grace of 0 hours, which ends the old ones");
        return Err(Error::conflict("too_many", message));
    }
    let until = row.expires_at.map_or(now + grace, |expires_at| expires_at.min(now + grace));
    let ends = store::retire_secrets(tx, &row.key_id, until, now).await?;
    store::insert_secret(tx, &row.key_id, given, now).await?;
    let before = json!({"prefix": row.prefix});
    let after = json!({"name": row.name, "prefix": given.minted.prefix, "old_key_expires_at": ends});
    let event = Event::new(EventType::KeyRotated, row.key_id.clone()).before(before).after(after);
    events::record(app, tx, origin, event).await?;
    expiry::announce(tx, app, &row.key_id, ends).await?;
    Ok(ends)
}

pub async fn revoke(app: &App, tx: &mut PgConnection, row: &KeyRow, by: &str, origin: impl Into<Origin>) -> Result<()> {
    store::revoke(tx, &row.key_id, by, app.now()).await?;
    let before = json!({"name": row.name, "prefix": row.prefix});
    let event = Event::new(EventType::KeyRevoked, row.key_id.clone()).before(before);
    events::record(app, tx, origin, event).await
}

/// "The user's keys are revoked": those that act for the user, in every environment. How many.
pub async fn revoke_all_of(app: &App, tx: &mut PgConnection, user_id: &UserId, by: &str) -> Result<usize> {
    let revoked = store::revoke_all_of(tx, user_id, by, app.now()).await?;
    for key_id in &revoked {
        resource::tell(app, tx, key_id).await?;
    }
    Ok(revoked.len())
}

/// Keys that act for a user and of which somebody else may have the text: by making the key, by rotating it, or by a
/// key that did. In a transaction that has locked the organization's environments, as a change of a role does.
pub async fn revoke_known_to_others(tx: &mut PgConnection, cx: &Call, user_id: &UserId) -> Result<()> {
    for (env_id, key_id) in store::known_to_others(tx, user_id, cx.now()).await? {
        if let Some(row) = store::find(tx, &env_id, &key_id).await? {
            let origin = Origin { env_id: Some(env_id), ..Origin::from(cx) };
            revoke(&cx.app, tx, &row, cx.caller.actor_id(), origin).await?;
            resource::tell(&cx.app, tx, &key_id).await?;
        }
    }
    Ok(())
}

/// Every key of an environment that is going.
pub async fn revoke_all_in(
    app: &App,
    tx: &mut PgConnection,
    env_id: &EnvId,
    origin: &(dyn Fn() -> Origin + Send + Sync),
) -> Result<()> {
    for key_id in store::unrevoked(tx, env_id).await? {
        if let Some(row) = store::find(tx, env_id, &key_id).await? {
            let origin = origin();
            let by = origin.actor_id.clone();
            revoke(app, tx, &row, &by, origin).await?;
        }
    }
    Ok(())
}
