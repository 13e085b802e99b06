//! `GET /v1/operations/{operation_id}/events`: an operation as server-sent events, whenever it has got further.
//!
//! Each event holds the whole record: `progress` while it runs, and its status at its end, after which the stream ends.
//! The `id` counts the events of one stream; whoever comes back is told how it stands then.

use std::time::Duration;

use axum::http::HeaderMap;
use bytes::Bytes;
use contract::OperationId;
use platform::Result;
use platform::events::following::{self, EventSource, EventStream};
use platform::http::call::Call;

use super::{OperationRecord, READERS, http};
use crate::domain::authentication::reader::Reader;

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(1);
/// Looks without news until a comment keeps the connection open.
const QUIET_LOOKS_MAX: u32 = 15;

pub async fn follow(call: Call, headers: HeaderMap) -> Result<EventStream> {
    let (access, scope) = READERS;
    let reader = Reader::of(&call, headers, access, scope)?;
    let operation_id: OperationId = call.id("operation_id")?;
    let mut conn = call.app.pool().acquire().await?;
    http::shown(&mut conn, &call.caller, operation_id.clone(), call.now()).await?;
    drop(conn);
    Ok(EventStream::of(FollowedOperation { reader, operation_id, last: None, told: 0 }))
}

/// One stream: who reads, what, and what they were told last.
struct FollowedOperation {
    reader: Reader,
    operation_id: OperationId,
    last: Option<OperationRecord>,
    told: u64,
}

impl EventSource for FollowedOperation {
    async fn next(&mut self) -> Option<Bytes> {
        if self.last.as_ref().is_some_and(|last| last.status.is_final()) {
            return None;
        }
        for _ in 0..QUIET_LOOKS_MAX {
            let record = self.read().await.inspect_err(following::ended).ok()?;
            if self.last.as_ref() != Some(&record) {
                self.told += 1;
                let kind = if record.status.is_final() { record.status.as_str() } else { "progress" };
                let piece = following::told(self.told, kind, &record);
                self.last = Some(record);
                return piece;
            }
            self.reader.app().shutdown().run_until_cancelled(tokio::time::sleep(LOOK)).await?;
        }
        Some(following::silence())
    }
}

impl FollowedOperation {
    /// How it stands, as far as the reader may still see it.
    async fn read(&self) -> Result<OperationRecord> {
        let (known, mut conn) = self.reader.admitted().await?;
        http::shown(&mut conn, &known.caller, self.operation_id.clone(), self.reader.app().now()).await
    }
}
