//! An operation that this process runs: begun, kept alive, ended.

use contract::{EnvId, OperationId};
use platform::http::call::Call;
use platform::{App, Error, OnConstraint, Result};

use super::store::{self, Beginning};
use super::{OperationEnd, OperationKey, OperationKind};

/// An operation of this process.
#[derive(Debug)]
pub struct RunningOperation {
    app: App,
    key: OperationKey,
    env_id: EnvId,
}

impl RunningOperation {
    /// Begins an operation of the caller's; refused where there is one of this id.
    pub async fn begin(call: &Call, operation_id: OperationId, total: Option<u64>) -> Result<Self> {
        let key = OperationKey { org_id: call.org_id().clone(), operation_id };
        let beginning = Beginning {
            env_id: call.env_id()?,
            kind: OperationKind::Load,
            created_by: call.caller.actor_id().to_owned(),
            bytes_total: total.map(counted),
        };
        let mut conn = call.app.pool().acquire().await?;
        store::insert(&mut conn, &key, &beginning, call.now()).await.on_constraint("operations_pkey", || {
            let message = "there is an operation of this id: choose another for `Sluice-Operation`, such as a new UUID";
            Error::conflict("operation_exists", message)
        })?;
        Ok(Self { app: call.app.clone(), key, env_id: beginning.env_id })
    }

    pub fn env_id(&self) -> &EnvId {
        &self.env_id
    }

    pub fn id(&self) -> &OperationId {
        &self.key.operation_id
    }

    /// Tells how far it is; false where it is to end: somebody has asked for that, or it was taken for dead.
    pub async fn goes_on(&self, bytes: u64, rows: Option<u64>) -> Result<bool> {
        let mut conn = self.app.pool().acquire().await?;
        let is_cancelled =
            store::beat(&mut conn, &self.key, (counted(bytes), rows.map(counted)), self.app.now()).await?;
        Ok(is_cancelled == Some(false))
    }

    /// Tells how it ended, which nobody else knows: it counts even if it was taken for dead.
    pub async fn ended(&self, end: &OperationEnd, bytes: u64) -> Result<()> {
        let mut conn = self.app.pool().acquire().await?;
        store::ended(&mut conn, &self.key, end, counted(bytes), self.app.now()).await
    }
}

/// A count as the table holds it.
fn counted(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
