//! The identity in three files, and the watch over them: whoever renews certificates writes the
//! files, and nothing is restarted.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use contract::Redacted;
use tokio_util::sync::CancellationToken;

use super::{Current, Pems};

/// Read, not watched: a mounted Secret is swapped by symbolic links, which no notification of a
/// file survives.
pub const EVERY: Duration = Duration::from_secs(10);
/// Certificates are small; what is larger is none.
const BYTES_MAX: u64 = 1024 * 1024;

/// Where the identity lies.
#[derive(Debug, Clone)]
pub struct IdentityFiles {
    pub authority: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl IdentityFiles {
    pub async fn read(&self) -> std::io::Result<Pems> {
        Ok(Pems {
            authority: text(&self.authority).await?,
            certificate: text(&self.certificate).await?,
            key: Redacted::new(text(&self.key).await?),
        })
    }
}

/// What a small file holds. An error names it.
pub async fn text(path: &Path) -> std::io::Result<String> {
    let named = |error: std::io::Error| std::io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if tokio::fs::metadata(path).await.map_err(named)?.len() > BYTES_MAX {
        return Err(named(std::io::ErrorKind::FileTooLarge.into()));
    }
    tokio::fs::read_to_string(path).await.map_err(named)
}

/// Files whose contents an identity follows.
#[derive(Debug)]
pub struct FollowedFiles {
    files: IdentityFiles,
    held: Pems,
    current: Arc<Current>,
}

impl FollowedFiles {
    /// `held` is what `current` was made of.
    pub fn new(files: IdentityFiles, held: Pems, current: Arc<Current>) -> Self {
        Self { files, held, current }
    }

    pub async fn run(mut self, shutdown: CancellationToken) {
        while shutdown.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            self.look().await;
        }
    }

    /// Takes what the files hold now, if it is new and whole. Half a renewal keeps the old one: the
    /// next look finds the rest.
    pub async fn look(&mut self) {
        let pems = match self.files.read().await {
            Ok(pems) if pems == self.held => return,
            Ok(pems) => pems,
            Err(error) => return tracing::warn!(%error, "the identity cannot be read: the one held stays"),
        };
        match self.current.replace(&pems) {
            Ok(()) => {
                tracing::info!("the identity was renewed");
                self.held = pems;
            }
            Err(error) => tracing::warn!(%error, "the new identity cannot be used: the one held stays"),
        }
    }
}
