//! `auth.failed`: somebody could not sign in as somebody else, or as themselves.
//!
//! It is recorded with every organization that the account belongs to, by a job: whoever guesses is
//! answered after the same work whether or not there is such an account.

use std::net::IpAddr;

use contract::Timestamp;
use platform::events::{self, Event, EventType, Origin};
use platform::http::text::Email;
use platform::jobs::kind::BackgroundJob;
use platform::jobs::queue;
use platform::{App, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::accounts::account;

/// The reason of a failed login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Password,
    SecondFactor,
}

/// One attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedLogin {
    pub email: Email,
    pub source_ip: IpAddr,
    pub reason: Reason,
    pub attempted_at: Timestamp,
}

/// Has the attempt recorded, if it was for an account.
pub async fn remember(app: &App, email: &Email, source_ip: IpAddr, reason: Reason) -> Result<()> {
    let failed = FailedLogin { email: email.clone(), source_ip, reason, attempted_at: app.now() };
    let mut conn = app.pool().acquire().await?;
    queue::enqueue(app, &mut conn, &RecordFailedLogin { failed }, app.now()).await
}

/// The job that records that somebody failed to sign in.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordFailedLogin {
    failed: FailedLogin,
}

impl BackgroundJob for RecordFailedLogin {
    const KIND: &'static str = "record_failed_login";

    async fn run(&self, app: &App) -> Result<()> {
        let FailedLogin { email, source_ip, reason, attempted_at } = &self.failed;
        let mut tx = app.pool().begin().await?;
        let Some(account) = account::find(&mut tx, email).await? else {
            return Ok(());
        };
        for member in account::memberships(&mut tx, &account.id).await? {
            let origin = Origin {
                actor_id: "anonymous".to_owned(),
                source_ip: Some(*source_ip),
                ..Origin::system(app, member.org_id)
            };
            let after = json!({"email": email, "reason": reason, "attempted_at": attempted_at});
            let event = Event::new(EventType::AuthFailed, member.user_id).after(after);
            events::record(app, &mut tx, origin, event).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}
