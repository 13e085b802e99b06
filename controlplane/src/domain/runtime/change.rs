//! A change of the runtime: one transaction, at one time of the database's clock.

use contract::Timestamp;
use platform::{App, Result};
use sqlx::PgConnection;

use super::clock;

/// A transaction in which something changes, and the time at which it does.
pub struct Change<'a> {
    pub app: &'a App,
    pub tx: &'a mut PgConnection,
    pub now: Timestamp,
}

impl<'a> Change<'a> {
    /// Begun once all is locked: whoever had to wait for a lock is later.
    pub async fn begin(app: &'a App, tx: &'a mut PgConnection) -> Result<Self> {
        Ok(Self { now: clock::now(tx).await?, app, tx })
    }
}
