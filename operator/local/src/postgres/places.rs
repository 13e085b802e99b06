//! Where a private PostgreSQL keeps its programs, its data, its socket and its log, and who owns them.
//!
//! The state folder lies in the checkout, which may lie under a home that [`NOBODY`] cannot enter.
//! Started by root, data and socket therefore live beside the programs, in the folder that
//! `./dev prepare` gave to [`NOBODY`], and the state folder holds a link. No link, no data: what
//! an earlier state folder of the same path left behind is removed.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{Error, PORT, USER, percent};

/// The user and group `nobody`, whom PostgreSQL runs as when root starts it.
pub const NOBODY: u32 = 65534;

/// The longest path of a Unix socket that every platform takes, without its closing zero.
const SOCKET_PATH_MAX: usize = 103;

/// The folders of one server.
#[derive(Debug, Clone)]
pub struct Places {
    /// Programs: `initdb`, `postgres`.
    pub bin: PathBuf,
    /// The database files.
    pub data: PathBuf,
    /// The socket.
    pub run: PathBuf,
    /// What the server says of itself.
    pub log: PathBuf,
    /// The port of loopback that it listens on as well.
    pub loopback: Option<u16>,
}

impl Places {
    /// The server that belongs to a state folder, with the programs of `installation`
    /// (`.sluice/pg`).
    pub fn of(installation: &Path, state: &Path) -> Result<Self, Error> {
        let link = state.join("postgres");
        if !root() {
            return Ok(Self::within(installation, &link));
        }
        let state = fs::canonicalize(state).map_err(Error::files("read", state))?;
        let shared = fs::canonicalize(installation).map_err(Error::files("read", installation))?;
        let name = Sha256::digest(state.as_os_str().as_encoded_bytes());
        let own = shared.join(format!("state-{}", hex::encode(name.get(..8).unwrap_or_default())));
        if fs::read_link(&link).ok().as_deref() != Some(&own) {
            if own.exists() {
                fs::remove_dir_all(&own).map_err(Error::files("remove", &own))?;
            }
            if link.is_symlink() {
                fs::remove_file(&link).map_err(Error::files("remove", &link))?;
            }
            symlink(&own, &link).map_err(Error::files("link", &link))?;
        }
        Ok(Self::within(installation, &own))
    }

    /// A server that keeps everything in `folder`, which it will own. Started by root, every
    /// folder above must let [`NOBODY`] pass.
    pub fn within(installation: &Path, folder: &Path) -> Self {
        // as the system will name it: the working directory of a process has no links in it
        let folder = &fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        Self {
            bin: installation.join("bin"),
            data: folder.join("data"),
            run: folder.join("run"),
            log: folder.join("postgres.log"),
            loopback: None,
        }
    }

    /// Another server, in a folder of this name within this one's, that listens on a port of loopback as well.
    pub fn another(&self, name: &str, port: u16) -> Self {
        let folder = self.data.with_file_name(name);
        Self {
            bin: self.bin.clone(),
            data: folder.join("data"),
            run: folder.join("run"),
            log: folder.join("postgres.log"),
            loopback: Some(port),
        }
    }

    /// The port, which names the socket too.
    pub(super) fn port(&self) -> u16 {
        self.loopback.unwrap_or(PORT)
    }

    /// Where `database` is reached while the server runs.
    pub fn url(&self, database: &str) -> String {
        let folder: String = self.run.to_string_lossy().bytes().map(percent).collect();
        format!("postgresql://{USER}@{folder}:{}/{database}", self.port())
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    pub(super) fn socket(&self, port: u16) -> PathBuf {
        self.run.join(format!(".s.PGSQL.{port}"))
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.data.with_extension("lock")
    }

    /// Makes the folders, for their owner alone.
    pub(super) fn prepare(&self) -> Result<(), Error> {
        if self.socket(self.port()).as_os_str().len() > SOCKET_PATH_MAX {
            return Err(Error::PathTooLong(self.run.clone()));
        }
        let parents = [self.data.parent(), self.log.parent()];
        for folder in parents.into_iter().flatten().chain([self.run.as_path()]) {
            own(folder)?;
        }
        Ok(())
    }

    /// A fresh log; the one before is kept under `.1`.
    pub(super) fn new_log(&self) -> Result<File, Error> {
        if self.log.exists() {
            let before = self.log.with_extension("log.1");
            fs::rename(&self.log, before).map_err(Error::files("rename", &self.log))?;
        }
        File::create(&self.log).map_err(Error::files("create", &self.log))
    }

    /// The end of the log, for an error message.
    pub(super) fn log_tail(&self, bytes_max: usize) -> String {
        let mut tail = Vec::new();
        if let Ok(mut log) = File::open(&self.log) {
            let size = log.metadata().map_or(0, |about| about.len());
            let skipped = size.saturating_sub(u64::try_from(bytes_max).unwrap_or(u64::MAX));
            if log.seek(SeekFrom::Start(skipped)).is_ok() {
                let _ = log.read_to_end(&mut tail); // what could be read is shown
            }
        }
        String::from_utf8_lossy(&tail).trim().to_owned()
    }
}

pub(super) fn root() -> bool {
    nix::unistd::Uid::effective().is_root()
}

fn own(folder: &Path) -> Result<(), Error> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(folder).map_err(Error::files("create", folder))?;
    let owner_only = Permissions::from_mode(0o700);
    fs::set_permissions(folder, owner_only).map_err(Error::files("protect", folder))?;
    if root() {
        chown(folder, Some(NOBODY), Some(NOBODY)).map_err(Error::files("give away", folder))?;
    }
    Ok(())
}
