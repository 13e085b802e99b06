//! Where PostgreSQL is, and who the control plane is there.
//!
//! The URL may stand in a file, as a mounted Secret is one: whoever rotates the password writes it anew, and nothing is
//! restarted. New connections are opened with it once it has let somebody in; open ones stay. A file that names another
//! server or database moves nobody: of several replicas some would write there and some here.

pub mod notifications;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use contract::Redacted;
use futures::future::BoxFuture;
use sqlx::pool::PoolConnectionMetadata;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, PgPool};
use tokio::time::{error::Elapsed, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::identity::files::{EVERY, text};

/// Runs a statement that gives no rows, as the last of a function.
#[macro_export]
macro_rules! execute {
    ($connection:expr, $($query:tt)+) => {{
        ::sqlx::query!($($query)+).execute($connection).await?;
        Ok(())
    }};
}

/// Runs a statement that changes one row at most, as the last of a function: whether it has.
#[macro_export]
macro_rules! changed {
    ($connection:expr, $($query:tt)+) => {
        Ok(::sqlx::query!($($query)+).execute($connection).await?.rows_affected() == 1)
    };
}

/// Asks for one value, as the last of a function.
#[macro_export]
macro_rules! scalar {
    ($connection:expr, $($query:tt)+) => {
        Ok(::sqlx::query_scalar!($($query)+).fetch_one($connection).await?)
    };
}

/// A connection that was in use so short a time ago is taken to be there.
const IN_USE_LATELY: Duration = Duration::from_millis(100);

/// Whether a connection of a pool is still there. To ask takes a round trip, so one of a moment ago is not asked.
pub fn is_there(
    connection: &mut PgConnection,
    PoolConnectionMetadata { idle_for, .. }: PoolConnectionMetadata,
) -> BoxFuture<'_, sqlx::Result<bool>> {
    Box::pin(async move {
        if idle_for >= IN_USE_LATELY {
            connection.ping().await?;
        }
        Ok(true)
    })
}

/// How long a new URL may take to let somebody in.
const TRIAL: Duration = Duration::from_secs(10);

/// The URL of the settings, or of their file.
pub async fn url(config: &Config) -> std::io::Result<Redacted<String>> {
    match (&config.database_url, &config.database_url_file) {
        (Some(url), None) => Ok(url.clone()),
        (None, Some(file)) => Ok(Redacted::new(text(file).await?.trim().to_owned())),
        _ => Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "either a URL or its file is named")),
    }
}

/// A file with the URL that a pool follows.
#[derive(Debug)]
pub struct FollowedUrl {
    file: PathBuf,
    held: Redacted<String>,
    pool: PgPool,
}

/// Why the one held stays.
#[derive(Debug, thiserror::Error)]
enum NotTaken {
    #[error("it cannot be read: {0}")]
    Unread(#[from] std::io::Error),
    #[error("it names another server or database: restart the control plane to move there")]
    Elsewhere,
    #[error("it lets nobody in: {0}")]
    Refused(#[from] sqlx::Error),
    #[error("it let nobody in within {} s", TRIAL.as_secs())]
    Late(#[from] Elapsed),
}

impl FollowedUrl {
    /// `held` is what the pool was opened with.
    pub fn new(file: PathBuf, held: Redacted<String>, pool: PgPool) -> Self {
        Self { file, held, pool }
    }

    pub async fn run(mut self, shutdown: CancellationToken) {
        while shutdown.run_until_cancelled(sleep(EVERY)).await.is_some() {
            self.look().await;
        }
    }

    /// Takes what the file holds now, if it is new and lets somebody in. Else the next look tries again.
    pub async fn look(&mut self) {
        match self.take().await {
            Ok(false) => {}
            Ok(true) => tracing::info!("connections to the database are opened with other credentials from now on"),
            Err(error) => tracing::warn!(%error, "the database's new URL is not taken: the one held stays"),
        }
    }

    /// Whether it was new.
    async fn take(&mut self) -> Result<bool, NotTaken> {
        let found = Redacted::new(text(&self.file).await?.trim().to_owned());
        if found == self.held {
            return Ok(false);
        }
        let options = PgConnectOptions::from_str(found.expose())?;
        if place(&options) != place(&self.pool.connect_options()) {
            return Err(NotTaken::Elsewhere);
        }
        timeout(TRIAL, PgConnection::connect_with(&options)).await??.close().await?;
        self.pool.set_connect_options(options);
        self.held = found;
        Ok(true)
    }
}

/// Server and database. A database that is not named is the user's.
fn place(options: &PgConnectOptions) -> (Option<PathBuf>, String, u16, String) {
    let database = options.get_database().unwrap_or(options.get_username());
    (options.get_socket().cloned(), options.get_host().to_owned(), options.get_port(), database.to_owned())
}
