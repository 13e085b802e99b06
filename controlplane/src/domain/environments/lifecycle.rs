//! Environments that are suspended and resumed, and those that are removed.
//!
//! A suspended one keeps data, policies, keys and addresses, and runs nothing. Of one that is removed the keys are
//! revoked, name and slug are free, and the record stays, for what the audit trail says of it. Its data stays where it
//! lies: in a cluster the resource's `deletionPolicy` decides what becomes of it.

use contract::governance::EnvironmentStatus;
use contract::{EnvId, OrgId};
use platform::events::{EventType, Origin};
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use platform::jobs::queue;
use platform::resources::EnvironmentChange;
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::PgConnection;

use super::http::Environment;
use super::placement::{ProvisionEnvironment, RetireEnvironment};
use super::store::{self, EnvironmentRow};
use super::{changes, removal};

/// Which environment is meant to go.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentRemoval {
    /// The environment's name, as it is shown.
    confirm: Option<String>,
}

pub async fn suspend(cx: Call) -> Result<Json<Environment>> {
    switch(&cx, true).await
}

pub async fn resume(cx: Call) -> Result<Json<Environment>> {
    switch(&cx, false).await
}

async fn switch(cx: &Call, suspended: bool) -> Result<Json<Environment>> {
    let mut tx = cx.begin().await?;
    let before = lock_for_change(cx, &mut tx).await?;
    let row = switched(cx, &mut tx, &before, suspended).await?;
    let was_suspended = before.status == EnvironmentStatus::Suspended.as_str();
    if was_suspended != suspended {
        let kind = if suspended { EventType::EnvironmentSuspended } else { EventType::EnvironmentResumed };
        let statuses = (before.status.as_str(), row.status.as_str());
        changes::switched(&cx.app, &mut tx, cx.into(), (&row.env_id, kind), statuses).await?;
    }
    tx.commit().await?;
    Ok(Json(row.into()))
}

async fn switched(
    cx: &Call,
    tx: &mut PgConnection,
    before: &EnvironmentRow,
    suspended: bool,
) -> Result<EnvironmentRow> {
    let (env_id, now) = (&before.env_id, cx.now());
    let place = store::place(tx, env_id).await?;
    if let Some((resources, (_, place))) = cx.app.resources().zip(place) {
        let change = EnvironmentChange { suspended: Some(suspended), ..EnvironmentChange::default() };
        let said = resources.change_environment(&place, &change).await?;
        before.ensure_same(&said)?;
        store::lock(tx, env_id).await?;
        store::project(tx, &said, now).await?;
    } else if suspended != (before.status == EnvironmentStatus::Suspended.as_str()) {
        // its data plane is placed anew: it may have ended
        store::lock(tx, env_id).await?;
        let env_id = env_id.clone();
        if suspended {
            store::set_status(tx, &env_id, EnvironmentStatus::Suspended, now).await?;
            queue::enqueue(&cx.app, tx, &RetireEnvironment { env_id }, now).await?;
        } else {
            store::set_status(tx, &env_id, EnvironmentStatus::Provisioning, now).await?;
            queue::enqueue(&cx.app, tx, &ProvisionEnvironment { env_id }, now).await?;
        }
    }
    store::find(tx, cx.org_id(), env_id).await?.ok_or(Error::EnvironmentNotFound)
}

pub async fn remove(cx: Call, Query(given): Query<EnvironmentRemoval>) -> Result<Json<Environment>> {
    let mut tx = cx.begin().await?;
    let before = lock_for_change(&cx, &mut tx).await?;
    if given.confirm.as_deref().map(str::trim) != Some(before.name.as_str()) {
        let message = format!("`confirm` names the environment that goes: send `confirm={}`", before.name);
        return Err(Error::invalid("confirm", "name", message));
    }
    let env_id = &before.env_id;
    let place = store::place(&mut tx, env_id).await?;
    let origin = || Origin::from(&cx);
    if let Some((resources, (_, place))) = cx.app.resources().zip(place) {
        resources.delete_environment(&place, env_id).await?;
    }
    store::lock(&mut tx, env_id).await?;
    removal::remove(&cx.app, &mut tx, env_id, &origin).await?;
    if before.namespace.is_none() {
        queue::enqueue(&cx.app, &mut tx, &RetireEnvironment { env_id: env_id.clone() }, cx.now()).await?;
    }
    let row = store::find(&mut tx, cx.org_id(), env_id).await?.ok_or(Error::EnvironmentNotFound)?;
    tx.commit().await?;
    Ok(Json(row.into()))
}

/// Resumes it without a caller, if it is suspended: the demo of one machine is up when the platform is.
pub async fn wake(app: &App, org_id: &OrgId, env_id: &EnvId) -> Result<()> {
    let mut tx = app.pool().begin().await?;
    store::serialise_change(&mut tx, env_id).await?;
    let suspended = EnvironmentStatus::Suspended;
    let there = store::find(&mut tx, org_id, env_id).await?;
    if there.is_some_and(|row| row.status == suspended.as_str()) {
        let resumed = EnvironmentStatus::Provisioning;
        store::lock(&mut tx, env_id).await?;
        store::set_status(&mut tx, env_id, resumed, app.now()).await?;
        let origin = Origin { env_id: Some(env_id.clone()), ..Origin::system(app, org_id.clone()) };
        let statuses = (suspended.as_str(), resumed.as_str());
        changes::switched(app, &mut tx, origin, (env_id, EventType::EnvironmentResumed), statuses).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// The environment in the path, for one change at a time; not one that is on its way out.
async fn lock_for_change(cx: &Call, tx: &mut PgConnection) -> Result<EnvironmentRow> {
    let env_id = cx.env_id()?;
    store::serialise_change(tx, &env_id).await?;
    let row = store::find(tx, cx.org_id(), &env_id).await?.ok_or(Error::EnvironmentNotFound)?;
    if row.status == EnvironmentStatus::Decommissioning.as_str() {
        return Err(Error::conflict("decommissioning", "the environment is removed: make another"));
    }
    Ok(row)
}
