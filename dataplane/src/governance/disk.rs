//! The last snapshot on disk: what rules after a restart while the control plane is away.
//!
//! It holds hashes of keys and the mask key, so it is for the owner's eyes alone (0600), and it is replaced as a whole
//! or not at all. Credentials of stores are sealed in it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::{EnvId, Governance};

use super::sealing::SnapshotSeal;

/// Larger than any snapshot can sensibly be.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// One file in the state folder.
#[derive(Debug, Clone)]
pub struct Disk {
    file: PathBuf,
    seal: SnapshotSeal,
}

impl Disk {
    pub fn new(state: &Path, seal: SnapshotSeal) -> Self {
        Self { file: state.join("governance.json"), seal }
    }

    /// The last snapshot kept for this environment. One that cannot be read counts as none. For the folder's owner alone.
    pub fn load(&self, env_id: &EnvId) -> Option<Governance> {
        match self.read() {
            Ok(rules) if rules.environment.env_id == *env_id => {
                // while the control plane has no later snapshot, nothing else would write it anew
                if SnapshotSeal::are_shown(&rules)
                    && let Err(error) = self.keep(&rules)
                {
                    tracing::error!(%error, "credentials on disk, kept by a version before, could not be sealed");
                }
                Some(self.seal.opened(rules))
            }
            Ok(_) => {
                tracing::error!("the snapshot on disk is of another environment: ignored");
                None
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::error!(%error, "the snapshot on disk cannot be read: ignored");
                None
            }
        }
    }

    fn read(&self) -> io::Result<Governance> {
        if fs::metadata(&self.file)?.len() > BYTES_MAX {
            return Err(io::Error::other("it is too large"));
        }
        Ok(serde_json::from_slice(&fs::read(&self.file)?)?)
    }

    /// Replaces what is kept.
    pub fn keep(&self, rules: &Governance) -> io::Result<()> {
        replace(&self.file, &serde_json::to_vec(&*self.seal.sealed(rules)?)?)
    }
}

/// Makes a folder that only its owner can enter.
pub fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file of mode 0600 so that readers see the old content or the new, also after a crash.
pub fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let beside = file.with_extension("new");
    let mut new = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    new.write_all(content)?;
    new.sync_data()?;
    fs::rename(&beside, file)?;
    match file.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governance::sealing::testing::seal;
    use crate::testing::governance;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_last_snapshot_is_found_again_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), seal("k"));
        let rules = governance();
        assert!(disk.load(&rules.environment.env_id).is_none());
        disk.keep(&rules).unwrap();
        assert_eq!(disk.load(&rules.environment.env_id), Some(rules));
        assert_eq!(fs::metadata(&disk.file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_cannot_be_read_or_is_anothers_counts_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), seal("k"));
        disk.keep(&governance()).unwrap();
        assert!(disk.load(&"another".into()).is_none());
        fs::write(&disk.file, b"{\"version\":").unwrap();
        assert!(disk.load(&governance().environment.env_id).is_none());
    }
}
