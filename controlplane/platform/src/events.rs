//! Events: the IAM audit trail.
//!
//! [`record`] is the only way to say that something happened, and says it in the caller's
//! transaction: an event without its change, or a change without its event, cannot be committed.
//! "Each hash is computed from the event content plus `previous_hash`, forming a tamper-evident
//! chain with a genesis event."
//!
//! What webhooks tell of it is written in the same transaction ([`crate::context::Callbacks`]).
//!
//! One chain an organization, in the order of its sequence; writers wait for each other at the
//! chain's head (`chain`). What the database could be made to forget is kept elsewhere (`heads`).

mod chain;
mod difference;
mod event_type;
pub mod following;
pub mod heads;
pub mod streams;
#[cfg(test)]
mod tests;
pub mod trail;

use std::net::IpAddr;

use contract::{EnvId, EventId, OrgId, Role, Timestamp};
use serde_json::{Map, Value};
use sqlx::{PgConnection, Postgres, Transaction};

use crate::http::call::Call;
use crate::{App, Error, Result};

pub use chain::{ChainBreak, ChainEntry, ChainWalk, verify};
pub use difference::different;
pub use event_type::{EventType, WebhookName};
pub use trail::{Recorded, page, range};

/// One thing that happened to one resource.
#[derive(Debug, Clone)]
pub struct Event {
    kind: EventType,
    resource_id: String,
    changes: Map<String, Value>,
}

impl Event {
    pub fn new(kind: EventType, resource_id: impl Into<String>) -> Self {
        Self { kind, resource_id: resource_id.into(), changes: Map::new() }
    }

    /// What the resource was. Never a secret.
    pub fn before(mut self, value: impl Into<Value>) -> Self {
        self.changes.insert("before".to_owned(), value.into());
        self
    }

    /// What the resource has become. Never a secret.
    pub fn after(mut self, value: impl Into<Value>) -> Self {
        self.changes.insert("after".to_owned(), value.into());
        self
    }
}

/// Who did it, from where and when.
#[derive(Debug, Clone)]
pub struct Origin {
    pub org_id: OrgId,
    pub env_id: Option<EnvId>,
    pub event_id: EventId,
    pub actor_id: String,
    pub actor_email: Option<String>,
    pub actor_role: Option<Role>,
    pub source_ip: Option<IpAddr>,
    pub at: Timestamp,
}

impl Origin {
    /// The platform itself: jobs and seeding.
    pub fn system(app: &App, org_id: OrgId) -> Self {
        let at = app.now();
        Self {
            org_id,
            env_id: None,
            event_id: EventId::fresh(at, app.entropy()),
            actor_id: "system".to_owned(),
            actor_email: None,
            actor_role: None,
            source_ip: None,
            at,
        }
    }
}

impl Origin {
    /// Whoever wrote a resource: only the name of their field manager is known.
    pub fn writer(app: &App, org_id: OrgId, manager: &str) -> Self {
        Self { actor_id: format!("system:{manager}"), ..Self::system(app, org_id) }
    }

    /// The caller in an environment, also of a path that names none.
    pub fn within(call: &Call, env_id: &EnvId) -> Self {
        Self { env_id: Some(env_id.clone()), ..Self::from(call) }
    }
}

impl From<&Call> for Origin {
    fn from(call: &Call) -> Self {
        let at = call.now();
        Self {
            org_id: call.caller.org_id.clone(),
            env_id: call.path.env_id(),
            event_id: EventId::fresh(at, call.app.entropy()),
            actor_id: call.caller.actor_id().to_owned(),
            actor_email: call.caller.email.clone(),
            actor_role: Some(call.caller.role),
            source_ip: Some(call.peer),
            at,
        }
    }
}

/// For whoever brought the secrets along: is the chain whole under them? Written under other
/// secrets, its head would be sealed by nobody that the installation knows.
pub async fn intact(app: &App, tx: &mut PgConnection, org_id: &OrgId) -> Result<()> {
    match verify(&app.keyring().audit_key(), tx, org_id).await?.broken {
        None => Ok(()),
        Some(_) => Err(Error::conflict(
            "chain_broken",
            "the organization's audit chain does not verify: it is broken, or this is not the secret key it was written under",
        )),
    }
}

/// Adds the event to its organization's chain and tells its webhooks, in the transaction of the
/// change itself.
pub async fn record(app: &App, tx: &mut PgConnection, origin: impl Into<Origin>, event: Event) -> Result<()> {
    let Origin { org_id, env_id, event_id, actor_id, actor_email, actor_role, source_ip, at } = origin.into();
    let Event { kind, resource_id, changes } = event;
    let entry = ChainEntry {
        sequence: 0,
        event_id,
        org_id,
        environment_id: env_id,
        event_type: kind.as_str().to_owned(),
        actor_id,
        actor_email,
        actor_role: actor_role.map(|role| role.as_str().to_owned()),
        source_ip: source_ip.map(|ip| ip.to_string()),
        resource_type: kind.resource_type().to_owned(),
        resource_id,
        changes: Value::Object(changes),
        timestamp: at,
    };
    let entry = chain::append(&app.keyring().audit_key(), tx, entry).await?;
    (app.callbacks().tell)(app, tx, kind, &entry).await
}

/// Records the event as the last of a change, and commits both.
pub async fn commit(
    app: &App,
    mut tx: Transaction<'static, Postgres>,
    origin: impl Into<Origin>,
    event: Event,
) -> Result<()> {
    record(app, &mut tx, origin, event).await?;
    Ok(tx.commit().await?)
}
