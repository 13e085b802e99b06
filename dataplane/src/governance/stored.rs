//! Tells the control plane what the environment's data and staged files take on disk: "`storage` (`total_gb`, …)" of
//! the organization's usage; and learns what all of its organization's environments store together.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use tokio_util::sync::CancellationToken;

use super::link::Link;

const EVERY: Duration = Duration::from_mins(1);
/// No folder is deeper: the path of a staged file has at most 1,024 bytes.
const DEPTH_MAX: usize = 520;

/// Measures until told to stop, and hands on what the organization stores. What could not be measured or told is left
/// for the next time.
pub async fn run(folders: [PathBuf; 2], link: Link, told: impl Fn(u64) + Send, shutdown: CancellationToken) {
    loop {
        let all = folders.clone();
        match tokio::task::spawn_blocking(move || bytes_in_all(&all)).await {
            Ok(Ok(bytes)) => match shutdown.run_until_cancelled(link.stored(bytes)).await {
                Some(Ok(organization_bytes)) => told(organization_bytes),
                Some(Err(status)) => tracing::debug!(code = ?status.code(), "the size of the data could not be told"),
                None => return,
            },
            Ok(Err(error)) => tracing::warn!(%error, "the size of the data cannot be measured"),
            Err(_) => return,
        }
        if shutdown.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_none() {
            return;
        }
    }
}

fn bytes_in_all(folders: &[PathBuf]) -> io::Result<u64> {
    folders.iter().try_fold(0_u64, |bytes, folder| Ok(bytes.saturating_add(bytes_in(folder, DEPTH_MAX)?)))
}

/// All files below a folder. One that goes while we look takes nothing; links are not followed.
fn bytes_in(folder: &Path, depth: usize) -> io::Result<u64> {
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if gone(&error) => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut bytes = 0_u64;
    for entry in entries {
        let entry = entry?;
        let held = match entry.metadata() {
            Ok(metadata) if metadata.is_dir() && depth > 0 => bytes_in(&entry.path(), depth - 1)?,
            Ok(metadata) if metadata.is_file() => metadata.len(),
            Ok(_) => 0,
            Err(error) if gone(&error) => 0,
            Err(error) => return Err(error),
        };
        bytes = bytes.saturating_add(held);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_count_wherever_they_lie_and_links_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(bytes_in(&at("absent"), DEPTH_MAX).unwrap(), 0);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("main.db"), [0; 1_000]).unwrap();
        fs::write(at("a/b/part"), [0; 234]).unwrap();
        std::os::unix::fs::symlink(at("main.db"), at("link")).unwrap();
        std::os::unix::fs::symlink(folder.path(), at("a/around")).unwrap();
        assert_eq!(bytes_in(folder.path(), DEPTH_MAX).unwrap(), 1_234);
    }
}
