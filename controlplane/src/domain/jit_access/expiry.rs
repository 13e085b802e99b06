//! The end of an elevation: it ends by every clock that rules on it; here that is said.

use contract::{JitRequestId, Timestamp};
use platform::events::{self, Event, EventType, Origin};
use platform::jobs::kind::BackgroundJob;
use platform::jobs::queue;
use platform::{App, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use super::store;

/// Plans to say that an elevation is over at `ends`.
pub async fn announce(app: &App, tx: &mut PgConnection, request_id: &JitRequestId, ends: Timestamp) -> Result<()> {
    queue::enqueue(app, tx, &EndElevation { request_id: request_id.clone() }, ends).await
}

/// The job that says that an elevation is over.
#[derive(Debug, Serialize, Deserialize)]
pub struct EndElevation {
    request_id: JitRequestId,
}

impl BackgroundJob for EndElevation {
    const KIND: &'static str = "end_elevation";

    /// `jit.expired`, unless it was revoked.
    async fn run(&self, app: &App) -> Result<()> {
        let mut tx = app.pool().begin().await?;
        let Some(expired) = store::expire(&mut tx, &self.request_id, app.now()).await? else {
            return Ok(());
        };
        let origin = Origin { env_id: Some(expired.env_id), ..Origin::system(app, expired.org_id) };
        let before = json!({
            "requester_id": expired.requester_id,
            "requester_email": expired.requester_email,
            "elevated_role": expired.requested_role,
            "expires_at": expired.expires_at,
        });
        let event = Event::new(EventType::JitExpired, self.request_id.clone()).before(before);
        events::commit(app, tx, origin, event).await
    }
}
