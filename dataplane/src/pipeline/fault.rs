//! The error of a caller for an error of the engine, and how long they wait for it.

use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use super::{Query, Result};
use crate::Error;

impl Query {
    /// What an engine's error means to this caller.
    pub(super) fn fault(&self, error: engine::Error) -> Error {
        match error.kind {
            engine::Kind::Timeout => Error::Timeout(self.timeout),
            engine::Kind::Interrupted if self.closed.is_cancelled() => Error::ShuttingDown,
            engine::Kind::Interrupted => Error::Cancelled,
            engine::Kind::InvalidInput if error.message.contains(sql::CHECK_FAILED) => Error::RowRefused,
            engine::Kind::ColumnMissing => match missing_column(&error.message, &self.ask.sql) {
                Some(name) => Error::ColumnMissing { name },
                None => Error::Engine(error),
            },
            _ => Error::Engine(error),
        }
    }

    /// Waits for what others do, such as a store, until the statement has to end or is given up.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let limited = timeout_at(self.deadline.into(), work);
        match self.ask.cancel.run_until_cancelled(limited).await {
            Some(Ok(done)) => done,
            Some(Err(_)) => Err(Error::Timeout(self.timeout)),
            None if self.closed.is_cancelled() => Err(Error::ShuttingDown),
            None => Err(Error::Cancelled),
        }
    }

    pub(super) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// The column that the engine misses, if it is one that the caller wrote.
fn missing_column(message: &str, text: &str) -> Option<String> {
    let after = |marker: &str| message.split_once(marker).map(|(_, after)| after);
    let quoted = ["column named \"", "column with name \"", "olumn \""].into_iter().find_map(after);
    let (path, _) = match quoted {
        Some(rest) => rest.split_once('"')?,
        None => after("update column ")?.split_once(" not found")?,
    };
    let name = path.rsplit('.').next().unwrap_or(path);
    text.to_ascii_lowercase().contains(&name.to_ascii_lowercase()).then(|| name.to_owned())
}
