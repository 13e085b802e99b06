//! Where things are in a cluster's folder, and at which addresses. Nothing lies outside of it: its
//! reaper removes the folder, and what the machine's programs would leave elsewhere vanishes
//! with the mount namespace.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::Error;

/// The node's address: the kubelet refuses loopback.
pub(crate) const NODE: &str = "10.99.0.1";
/// The host's address on the same bridge, in `cluster up`.
pub(crate) const HOST: &str = "10.99.0.254";
pub(crate) const NODE_NAME: &str = "node";
pub(crate) const PODS: &str = "10.98.0.0/16";
pub(crate) const SERVICES: &str = "10.96.0.0/16";
/// The first address of [`SERVICES`] is the API server's.
pub(crate) const API_SERVICE: &str = "10.96.0.1";
pub(crate) const DNS_SERVICE: &str = "10.96.0.10";

#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// A path in the folder.
    pub(crate) fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    /// A folder in the folder, made when it is not there.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.at(name);
        fs::create_dir_all(&path).map_err(Error::at(&path))?;
        Ok(path)
    }

    /// A file in the folder that its owner alone reads: most of them are keys, or hold one.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Result<PathBuf, Error> {
        let path = self.at(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::at(parent))?;
        }
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(text.as_ref())).map_err(Error::at(&path))?;
        Ok(path)
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.at("kubeconfig")
    }

    pub(crate) fn audit_log(&self) -> PathBuf {
        self.at("audit.log")
    }

    pub(crate) fn containerd_socket(&self) -> PathBuf {
        self.at("containerd.sock")
    }
}

/// As an argument: `--flag=path`.
pub(crate) fn flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}
