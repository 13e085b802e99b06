//! Reading and cancelling operations.

use std::pin::pin;
use std::time::Duration;

use axum::http::HeaderMap;
use contract::{Caller, OperationId, Timestamp};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use sqlx::PgConnection;

use super::wait::OperationWait;
use super::{OperationKey, OperationRecord, READERS, store};
use crate::domain::authentication::reader::Reader;

/// How often a read that waits looks again.
const LOOK: Duration = Duration::from_millis(500);

/// Who waits takes one of the places of those who follow, and is looked at again before each reading; where no place is
/// left, the answer is how it stands.
pub async fn find(cx: Call, OperationWait(within): OperationWait, headers: HeaderMap) -> Result<Json<OperationRecord>> {
    let operation_id: OperationId = cx.id("operation_id")?;
    let (access, scope) = READERS;
    if !within.is_zero()
        && let Ok(reader) = Reader::of(&cx, headers, access, scope)
    {
        return ended(&reader, &operation_id, within).await.map(Json);
    }
    found(&cx, operation_id).await.map(Json)
}

/// The operation once it has ended, or how it stands after that time.
async fn ended(reader: &Reader, operation_id: &OperationId, within: Duration) -> Result<OperationRecord> {
    let mut over = pin!(tokio::time::sleep(within));
    let mut is_over = false;
    loop {
        let (known, mut conn) = reader.admitted().await?;
        let record = shown(&mut conn, &known.caller, operation_id.clone(), reader.app().now()).await?;
        drop(conn);
        if is_over || record.status.is_final() || reader.app().shutdown().is_cancelled() {
            return Ok(record);
        }
        tokio::select! {
            () = &mut over => is_over = true,
            () = reader.app().shutdown().cancelled() => is_over = true,
            () = tokio::time::sleep(LOOK) => {}
        }
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
