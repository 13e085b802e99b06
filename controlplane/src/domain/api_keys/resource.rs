//! Keys that are resources too. A key that REST made gets one written after it ([`tell`]); a key
//! that somebody wrote as a resource is made here when the operator asks ([`put`]).
//!
//! The operator may ask as often as it likes: the uid of the resource finds what an earlier call
//! made. A text is given until it is known to have been delivered, each time a fresh one, so that a
//! crash between minting and the Secret loses nothing and leaves nothing that opens.

use std::collections::BTreeSet;

use chrono::Duration;
use contract::caller::Scopes;
use contract::key::Minted;
use contract::network::range;
use contract::{EnvId, KeyId, OrgId, Redacted, Role, UserId};
use platform::events::{self, Event, EventType, Origin};
use platform::jobs::kind::BackgroundJob;
use platform::jobs::queue;
use platform::resources;
use platform::{App, Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use super::bounds::acts_for;
use super::expiry;
use super::http::GRACE_HOURS_MAX;
use super::input::{Admitted, ApiKeyCreation};
use super::life::{self, KeyText, Making};
use super::store::{self, KeyRow, Resource};
use crate::domain::environments;
use crate::domain::tenancy::organizations;

/// Who a key made of a resource says made it; whoever wrote the resource is known to the cluster.
const BY: &str = "system:kubernetes";
const ID_MAX: usize = 64;

/// The spec of a key in its resource.
#[derive(Debug, Clone)]
pub struct KeySpec {
    pub resource_uid: String,
    pub env_id: EnvId,
    pub name: String,
    pub scopes: Vec<String>,
    pub ip_allowlist: Vec<String>,
    pub expires_in_days: Option<i64>,
    pub user_id: Option<UserId>,
    /// The control plane made the key; nothing but a description is wanted.
    pub key_id: Option<KeyId>,
    pub rotation_id: Option<String>,
    pub grace_period_hours: i64,
    pub text_wanted: bool,
}

/// The reply to the operator.
#[derive(Debug, Clone)]
pub struct KeyReply {
    pub row: KeyRow,
    pub rotation_id: Option<String>,
    pub text: Option<Redacted<String>>,
}

/// The step that a call has to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyStep {
    Describe,
    Make,
    /// Another text for the one that was never delivered.
    Renew,
    Rotate,
}

impl KeySpec {
    fn step(&self, held: Option<&HeldKey>) -> KeyStep {
        let Some(held) = held else {
            return KeyStep::Make;
        };
        if !self.text_wanted || held.row.revoked_at.is_some() || held.resource.env_id != self.env_id {
            return KeyStep::Describe;
        }
        if self.rotation_id.is_some() && self.rotation_id != held.resource.rotation_id {
            return KeyStep::Rotate;
        }
        if held.resource.delivered_at.is_none() { KeyStep::Renew } else { KeyStep::Describe }
    }

    /// With `keyId` a resource is the record of a key that REST made: what it says otherwise changes nothing, and is
    /// told to whoever wrote it.
    fn records(&self, row: &KeyRow) -> Result<()> {
        let ranges = |texts: &[String]| texts.iter().map(|text| range(text)).collect::<Vec<_>>();
        let set = |scopes: &[String]| scopes.iter().cloned().collect::<BTreeSet<_>>();
        let same = [
            ("name", self.name == row.name),
            ("scopes", set(&self.scopes) == set(&row.scopes)),
            ("ip_allowlist", ranges(&self.ip_allowlist) == ranges(&row.ip_allowlist)),
            ("user_id", self.user_id.as_ref().map(UserId::as_str) == row.user_id.as_deref()),
            ("expires_in_days", self.expires_in_days == days(row)),
            ("rotation", self.rotation_id.is_none()),
        ];
        match same.into_iter().find(|(_, same)| !same) {
            None => Ok(()),
            Some((field, _)) => {
                let message = format!("`{field}` is not the key's: REST made the key, and changes or rotates it");
                Err(Error::invalid(field, "as the key", message))
            }
        }
    }

    /// Every part in order; an expiry is counted from `from`.
    fn admit(&self, from: contract::Timestamp) -> Result<Admitted> {
        if !(0..=GRACE_HOURS_MAX).contains(&self.grace_period_hours) {
            let message = format!("`grace_period_hours` is from 0 to {GRACE_HOURS_MAX}");
            return Err(Error::invalid("grace_period_hours", "0..168", message));
        }
        if self.rotation_id.as_ref().is_some_and(|id| !(1..=ID_MAX).contains(&id.len())) {
            return Err(Error::invalid("rotation.id", "1..64", "`rotation.id` is 1 to 64 bytes"));
        }
        let scopes = Scopes::try_from(self.scopes.clone())
            .map_err(|unknown| Error::invalid("scopes", unknown.allowed.clone(), unknown.to_string()))?;
        let creation = ApiKeyCreation {
            name: self.name.clone(),
            scopes,
            ip_allowlist: self.ip_allowlist.clone(),
            expires_in_days: self.expires_in_days,
            user_id: self.user_id.clone(),
            attributes: std::collections::BTreeMap::new(),
            agent_id: None,
            agent_framework: None,
        };
        creation.admit(from)
    }
}

struct HeldKey {
    resource: Resource,
    row: KeyRow,
}

async fn held(conn: &mut PgConnection, resource_uid: &str) -> Result<Option<HeldKey>> {
    let Some(resource) = store::resource(conn, resource_uid).await? else {
        return Ok(None);
    };
    let row = store::find(conn, &resource.env_id, &resource.key_id).await?;
    Ok(row.map(|row| HeldKey { resource, row }))
}

/// Makes the key of a resource, or brings it to what the resource says. `None`: no such key.
pub async fn put(app: &App, wanted: &KeySpec) -> Result<Option<KeyReply>> {
    let mut conn = app.pool().acquire().await?;
    if let Some(key_id) = &wanted.key_id {
        let row = store::find(&mut conn, &wanted.env_id, key_id).await?;
        if let Some(row) = row.as_ref().filter(|row| row.revoked_at.is_none()) {
            wanted.records(row)?;
        }
        return Ok(row.map(|row| KeyReply { row, rotation_id: None, text: None }));
    }
    let step = wanted.step(held(&mut conn, &wanted.resource_uid).await?.as_ref());
    // The hash must not hold a connection.
    drop(conn);
    let minted = if step == KeyStep::Describe { None } else { Some(life::mint(app, &wanted.env_id).await?) };
    let mut tx = app.pool().begin().await?;
    environments::lock(&mut tx, &wanted.env_id).await?;
    let held = held(&mut tx, &wanted.resource_uid).await?;
    let told = match (wanted.step(held.as_ref()), held, minted) {
        (KeyStep::Describe, Some(held), _) => described(app, &mut tx, wanted, held).await?,
        (KeyStep::Make, None, Some(minted)) => make(app, &mut tx, wanted, minted).await?,
        (KeyStep::Renew, Some(held), Some(minted)) => {
            store::replace_secret(&mut tx, &held.row.key_id, &minted, app.now()).await?;
            told(app, &mut tx, wanted, held, minted).await?
        }
        (KeyStep::Rotate, Some(held), Some(minted)) => {
            let origin = origin(app, &mut tx, &wanted.env_id).await?;
            let grace = Duration::hours(wanted.grace_period_hours);
            let admitted = wanted.admit(held.row.created_at)?;
            let (_, org_id, _) =
                environments::governed(&mut tx, &wanted.env_id).await?.ok_or(Error::EnvironmentNotFound)?;
            may_act_for(&mut tx, &org_id, admitted.user_id.as_ref()).await?;
            life::rotate(
                app,
                &mut tx,
                &wanted.env_id,
                (&held.row, KeyText { minted: &minted, to: None }, grace),
                origin,
            )
            .await?;
            store::begin_rotation(&mut tx, &held.row.key_id, wanted.rotation_id.as_deref()).await?;
            told(app, &mut tx, wanted, held, minted).await?
        }
        // Another call has just been here.
        _ => return Err(Error::Unavailable("the key is being changed")),
    };
    tx.commit().await?;
    Ok(Some(told))
}

async fn make(app: &App, tx: &mut PgConnection, wanted: &KeySpec, minted: Minted) -> Result<KeyReply> {
    let now = app.now();
    let admitted = wanted.admit(now)?;
    let (_, org_id, _) = environments::governed(tx, &wanted.env_id).await?.ok_or(Error::EnvironmentNotFound)?;
    may_act_for(tx, &org_id, admitted.user_id.as_ref()).await?;
    let organization = organizations::governed(tx, &org_id).await?.ok_or(Error::EnvironmentNotFound)?;
    let making = Making {
        env_id: &wanted.env_id,
        wanted: &admitted,
        given: KeyText { minted: &minted, to: None },
        by: BY,
        tier: organization.tier,
        limits: organization.limits,
        now,
    };
    let origin = origin(app, tx, &wanted.env_id).await?;
    let row = life::make(app, tx, &making, origin).await?;
    let resource = Resource {
        key_id: row.key_id.clone(),
        env_id: wanted.env_id.clone(),
        uid: wanted.resource_uid.clone(),
        own: false,
        rotation_id: wanted.rotation_id.clone(),
        delivered_at: None,
    };
    store::bind(tx, &resource).await?;
    let text = wanted.text_wanted.then_some(minted.text);
    Ok(KeyReply { row, rotation_id: resource.rotation_id, text })
}

/// The key as it stands, brought to what the resource says.
async fn described(app: &App, tx: &mut PgConnection, wanted: &KeySpec, held: HeldKey) -> Result<KeyReply> {
    let row = bring(app, tx, wanted, &held).await?;
    Ok(KeyReply { row, rotation_id: held.resource.rotation_id, text: None })
}

/// The same, with the text that is the present one from now on.
async fn told(app: &App, tx: &mut PgConnection, wanted: &KeySpec, held: HeldKey, minted: Minted) -> Result<KeyReply> {
    let row = bring(app, tx, wanted, &held).await?;
    let rotation_id = store::resource_of(tx, &row.key_id).await?.and_then(|resource| resource.rotation_id);
    Ok(KeyReply { row, rotation_id, text: Some(minted.text) })
}

async fn bring(app: &App, tx: &mut PgConnection, wanted: &KeySpec, held: &HeldKey) -> Result<KeyRow> {
    let before = &held.row;
    if before.revoked_at.is_none() && held.resource.env_id == wanted.env_id {
        let admitted = wanted.admit(before.created_at)?;
        if differs(before, &admitted) {
            let (_, org_id, _) = environments::governed(tx, &wanted.env_id).await?.ok_or(Error::EnvironmentNotFound)?;
            may_act_for(tx, &org_id, admitted.user_id.as_ref()).await?;
            store::update(tx, &before.key_id, &admitted).await?;
            expiry::announce_own(tx, app, &before.key_id, admitted.expires_at).await?;
            let after = json!({"scopes": admitted.scopes, "ip_allowlist": admitted.ip_allowlist,
                "user_id": admitted.user_id, "expires_at": admitted.expires_at});
            let was = json!({"scopes": before.scopes, "ip_allowlist": before.ip_allowlist,
                "user_id": before.user_id, "expires_at": before.expires_at});
            let event = Event::new(EventType::KeyUpdated, before.key_id.clone()).before(was).after(after);
            let origin = origin(app, tx, &wanted.env_id).await?;
            events::record(app, tx, origin, event).await?;
        }
    }
    let row = store::find(tx, &held.resource.env_id, &before.key_id).await?;
    row.ok_or(Error::NotFound { kind: "API key" })
}

fn differs(row: &KeyRow, wanted: &Admitted) -> bool {
    let networks: Vec<String> = wanted.ip_allowlist.iter().map(ToString::to_string).collect();
    row.scopes != Vec::<String>::from(wanted.scopes.clone())
        || row.ip_allowlist != networks
        || row.user_id.as_deref() != wanted.user_id.as_ref().map(UserId::as_str)
        || row.expires_at != wanted.expires_at
}

/// Whoever writes resources is not known to be the owner, so no such key acts for the owner.
async fn may_act_for(tx: &mut PgConnection, org_id: &OrgId, user_id: Option<&UserId>) -> Result<()> {
    match user_id {
        Some(user_id) if acts_for(tx, org_id, user_id).await? == Role::Owner => {
            Err(Error::Forbidden("only the owner makes a key that acts for the owner"))
        }
        _ => Ok(()),
    }
}

/// The text of this rotation is in its Secret. `None`: no such key.
pub async fn delivered(app: &App, resource_uid: &str, rotation_id: Option<&str>) -> Result<Option<KeyReply>> {
    let mut tx = app.pool().begin().await?;
    let Some(held) = held(&mut tx, resource_uid).await? else {
        return Ok(None);
    };
    if held.resource.rotation_id.as_deref() == rotation_id {
        store::mark_delivered(&mut tx, &held.row.key_id, app.now()).await?;
        tx.commit().await?;
    }
    Ok(Some(KeyReply { row: held.row, rotation_id: held.resource.rotation_id, text: None }))
}

/// The resource is being deleted, and its own key goes with it, whatever key it names by now. `None`: it has none.
pub async fn revoke(app: &App, resource_uid: &str) -> Result<Option<KeyReply>> {
    let mut tx = app.pool().begin().await?;
    let Some(resource) = store::resource(&mut tx, resource_uid).await? else {
        return Ok(None);
    };
    environments::lock(&mut tx, &resource.env_id).await?;
    let Some(held) = held(&mut tx, resource_uid).await? else {
        return Ok(None);
    };
    if held.row.revoked_at.is_none() {
        let origin = origin(app, &mut tx, &held.resource.env_id).await?;
        life::revoke(app, &mut tx, &held.row, BY, origin).await?;
    }
    let row = store::find(&mut tx, &held.resource.env_id, &held.row.key_id).await?;
    tx.commit().await?;
    Ok(row.map(|row| KeyReply { row, rotation_id: held.resource.rotation_id, text: None }))
}

async fn origin(app: &App, tx: &mut PgConnection, env_id: &EnvId) -> Result<Origin> {
    let (_, org_id, _) = environments::governed(tx, env_id).await?.ok_or(Error::EnvironmentNotFound)?;
    Ok(Origin { env_id: Some(env_id.clone()), actor_id: BY.to_owned(), ..Origin::system(app, org_id) })
}

/// The resource is to tell what REST has done to the key. In its transaction; written right after.
pub async fn tell(app: &App, tx: &mut PgConnection, key_id: &KeyId) -> Result<()> {
    if app.resources().is_none() {
        return Ok(());
    }
    queue::enqueue(app, tx, &WriteKey { key_id: key_id.clone() }, app.now()).await
}

/// The job that writes the resource of a key that REST has made, rotated or revoked.
#[derive(Debug, Serialize, Deserialize)]
pub struct WriteKey {
    key_id: KeyId,
}

impl BackgroundJob for WriteKey {
    const KIND: &'static str = "write_key";

    /// Writes the resource as the key stands now.
    async fn run(&self, app: &App) -> Result<()> {
        let Some(resources) = app.resources() else {
            return Ok(());
        };
        let mut conn = app.pool().acquire().await?;
        let Some((env_id, key)) = key(&mut conn, &self.key_id).await? else {
            return Ok(());
        };
        // The API server must not hold a connection.
        drop(conn);
        let Some(uid) = resources.write_key(&key).await? else {
            return Ok(());
        };
        if key.resource_uid.is_none() {
            let delivered_at = Some(app.now());
            let resource =
                Resource { key_id: self.key_id.clone(), env_id, uid, own: true, rotation_id: None, delivered_at };
            store::bind(&mut *app.pool().acquire().await?, &resource).await?;
        }
        Ok(())
    }
}

/// As a resource counts them, in which there is no part of a day.
fn days(row: &KeyRow) -> Option<i64> {
    row.expires_at.map(|end| (end - row.created_at).num_days().max(1))
}

async fn key(conn: &mut PgConnection, key_id: &KeyId) -> Result<Option<(EnvId, resources::Key)>> {
    let Some(env_id) = store::environment(conn, key_id).await? else {
        return Ok(None);
    };
    let place = environments::resource_place(conn, &env_id).await?;
    let (Some((_, environment)), Some(row)) = (place, store::find(conn, &env_id, key_id).await?) else {
        return Ok(None);
    };
    let resource = store::resource_of(conn, key_id).await?.filter(|resource| !resource.own);
    let revoked = row.revoked_at.is_some();
    let expires_in_days = days(&row);
    let key = resources::Key {
        key_id: row.key_id,
        environment,
        resource_uid: resource.map(|resource| resource.uid),
        name: row.name,
        scopes: row.scopes,
        ip_allowlist: row.ip_allowlist,
        user_id: row.user_id.map(UserId::from),
        expires_in_days,
        revoked,
        // A new text has a new prefix.
        revision: if revoked { format!("{}-revoked", row.prefix) } else { row.prefix },
    };
    Ok(Some((env_id, key)))
}
