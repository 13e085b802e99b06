//! A key for a fresh installation, made without a caller: the local platform's demo key.

use contract::caller::Scopes;
use contract::{EnvId, KeyId, Redacted, UserId, key};
use platform::events::{self, Event, EventType, Origin};
use platform::{App, Error, Result};
use serde_json::json;
use sqlx::PgConnection;

use super::input::Admitted;
use super::life::KeyText;
use super::store;
use crate::domain::environments;

/// The seed of the demo key.
#[derive(Debug, Clone)]
pub struct KeySeed {
    pub name: String,
    /// The user the key acts for.
    pub user_id: Option<UserId>,
    pub scopes: Scopes,
}

/// Makes the key, or a new text for it: a text cannot be read back, so one of the same name is
/// given up for the new one.
pub async fn seed(app: &App, env_id: &EnvId, seed: &KeySeed) -> Result<(KeyId, Redacted<String>)> {
    let now = app.now();
    let test_mode = environments::test_mode(app.pool(), env_id).await?.ok_or(Error::EnvironmentNotFound)?;
    let (pepper, entropy) = (app.keyring().key_pepper(), app.entropy().clone());
    let cost = app.slow_hash().cost();
    let minted =
        app.slow_hash().run(move || key::mint(test_mode, &pepper, cost, &entropy)).await?.map_err(Error::internal)?;
    let wanted = Admitted {
        name: seed.name.clone(),
        scopes: seed.scopes.clone(),
        ip_allowlist: Vec::new(),
        expires_at: None,
        user_id: seed.user_id.clone(),
        attributes: std::collections::BTreeMap::new(),
        agent_id: None,
        agent_framework: None,
    };
    let by = seed.user_id.as_ref().map_or("system", UserId::as_str);
    let key_id = KeyId::fresh(now, app.entropy());
    let mut tx = app.pool().begin().await?;
    environments::lock(&mut tx, env_id).await?;
    if let Some(earlier) = store::find_by_name(&mut tx, env_id, &seed.name).await? {
        store::revoke(&mut tx, &earlier, by, now).await?;
        record(app, &mut tx, env_id, Event::new(EventType::KeyRevoked, earlier)).await?;
    }
    store::insert(&mut tx, env_id, &key_id, &wanted, by, now).await?;
    store::insert_secret(&mut tx, &key_id, KeyText { minted: &minted, to: None }, now).await?;
    let after =
        json!({"name": wanted.name, "prefix": minted.prefix, "scopes": wanted.scopes, "user_id": wanted.user_id});
    record(app, &mut tx, env_id, Event::new(EventType::KeyCreated, key_id.clone()).after(after)).await?;
    tx.commit().await?;
    Ok((key_id, minted.text))
}

async fn record(app: &App, tx: &mut PgConnection, env_id: &EnvId, event: Event) -> Result<()> {
    let (_, org_id, _) = environments::governed(tx, env_id).await?.ok_or(Error::EnvironmentNotFound)?;
    let origin = Origin { env_id: Some(env_id.clone()), ..Origin::system(app, org_id) };
    events::record(app, tx, origin, event).await
}
