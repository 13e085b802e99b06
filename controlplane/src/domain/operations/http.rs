//! Reading and cancelling operations.

use std::time::Duration;

use contract::{Caller, OperationId, Timestamp};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use sqlx::PgConnection;

use super::wait::OperationWait;
use super::{OperationKey, OperationRecord, store};

/// How often a read that waits looks again.
const LOOK: Duration = Duration::from_millis(500);

pub async fn find(cx: Call, OperationWait(within): OperationWait) -> Result<Json<OperationRecord>> {
    let operation_id: OperationId = cx.id("operation_id")?;
    if !within.is_zero()
        && let Ok(record) = tokio::time::timeout(within, ended(&cx, &operation_id)).await
    {
        return record.map(Json);
    }
    found(&cx, operation_id).await.map(Json)
}

/// The operation once it has ended.
async fn ended(cx: &Call, operation_id: &OperationId) -> Result<OperationRecord> {
    loop {
        let record = found(cx, operation_id.clone()).await?;
        if record.status.is_final() {
            return Ok(record);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The operation, if whoever calls may see it.
pub async fn found(cx: &Call, operation_id: OperationId) -> Result<OperationRecord> {
    let mut conn = cx.app.pool().acquire().await?;
    shown(&mut conn, &cx.caller, operation_id, cx.now()).await
}

pub async fn cancel(cx: Call) -> Result<Json<OperationRecord>> {
    let mut conn = cx.app.pool().acquire().await?;
    let operation_id: OperationId = cx.id("operation_id")?;
    let record = shown(&mut conn, &cx.caller, operation_id.clone(), cx.now()).await?;
    if record.status.is_final() {
        let message =
            format!("the operation has ended, it is `{}`: there is nothing to cancel", record.status.as_str());
        return Err(Error::conflict("operation_ended", message));
    }
    let key = OperationKey { org_id: cx.org_id().clone(), operation_id: operation_id.clone() };
    store::ask_cancel(&mut conn, &key, cx.now()).await?;
    shown(&mut conn, &cx.caller, operation_id, cx.now()).await.map(Json)
}

/// The operation, if the caller may see it.
pub async fn shown(
    conn: &mut PgConnection,
    caller: &Caller,
    operation_id: OperationId,
    now: Timestamp,
) -> Result<OperationRecord> {
    store::end_silent(conn, now).await?;
    let found = store::find(conn, &OperationKey { org_id: caller.org_id.clone(), operation_id }).await?;
    found.filter(|record| record.is_shown_to(caller)).ok_or(Error::NotFound { kind: "operation" })
}
