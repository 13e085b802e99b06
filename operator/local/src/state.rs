//! The state of a platform between starts: a folder (`.sluice/` unless told otherwise) with its
//! secrets, the demo's credentials, PostgreSQL's files and each environment's data.
//!
//! Secrets are made once, mode 0600, and never printed but for the demo's own.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::{Entropy, EnvId, Keyring, Redacted};

/// The state folder could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}", path = path.display())]
pub struct Error {
    path: PathBuf,
    source: io::Error,
}

#[derive(Debug, Clone)]
pub struct State {
    root: PathBuf,
}

impl State {
    /// Opens the folder, making it if it is not there.
    pub fn open(root: &Path) -> Result<Self, Error> {
        private_folder(root)?;
        let root = fs::canonicalize(root).map_err(|source| Error { path: root.to_owned(), source })?;
        let state = Self { root };
        private_folder(&state.root.join("secrets"))?;
        Ok(state)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where one environment keeps its data, log and last governance snapshot.
    pub fn environment(&self, env_id: &EnvId) -> Result<PathBuf, Error> {
        let folder = self.root.join("environments").join(env_id.as_str());
        private_folder(&folder)?;
        Ok(folder)
    }

    /// Where audit exports and signed heads of audit chains are kept.
    pub fn audit(&self) -> PathBuf {
        self.root.join("audit")
    }

    /// `.sluice/env`: what was printed, for scripts.
    pub fn env_file(&self) -> PathBuf {
        self.root.join("env")
    }

    /// The installation's master key.
    pub fn keyring(&self, entropy: &Entropy) -> Result<Keyring, Error> {
        let made = || hex::encode(entropy.bytes::<32>());
        let text = self.secret("master_key", made)?;
        Keyring::from_hex(text.expose()).ok_or_else(|| Error {
            path: self.root.join("secrets/master_key"),
            source: io::Error::new(io::ErrorKind::InvalidData, "not 64 hex digits"),
        })
    }

    /// A secret of this name, made by `make` when it is asked for the first time.
    pub fn secret(&self, name: &str, make: impl FnOnce() -> String) -> Result<Redacted<String>, Error> {
        let path = self.root.join("secrets").join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Redacted::new(text.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let text = make();
                write_private(&path, &text)?;
                Ok(Redacted::new(text))
            }
            Err(source) => Err(Error { path, source }),
        }
    }
}

/// Writes a file that only its owner may read, whole or not at all.
pub fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |source| Error { path: path.to_owned(), source };
    let fresh = path.with_extension("new");
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&fresh, path).map_err(failed)
}

fn private_folder(path: &Path) -> Result<(), Error> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| Error { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_made_once_and_kept_private() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(&folder.path().join("new")).unwrap();
        let first = state.secret("key", || "one".to_owned()).unwrap();
        let again = state.secret("key", || "two".to_owned()).unwrap();
        assert_eq!((first.expose().as_str(), again.expose().as_str()), ("one", "one"));
        let mode = fs::metadata(state.root().join("secrets/key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
